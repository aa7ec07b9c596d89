"""Our images in a Docker engine: each layer once, named by our digest.

Layers go in as `docker load` archives, which engines without BuildKit take as well. A layer that
the engine has already is only named in the archive.
"""

from __future__ import annotations

import hashlib
import io
import json
import platform
import secrets
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import IO, Any

from cligym.sandboxes.image import Image
from cligym.sandboxes.namespace import NamespaceBackend

__all__ = ["LABEL", "EngineImages", "EngineLayer"]

LABEL = "cligym"
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


class EngineLayer:
    """A layer as an uncompressed tar file on this machine."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file
        file.seek(0)
        digest = hashlib.sha256()
        while data := file.read(1 << 20):
            digest.update(data)
        self.diff_id = f"sha256:{digest.hexdigest()}"
        self.size = file.tell()

    def close(self) -> None:
        """Removes the file."""
        self.file.close()


class EngineImages:
    """What the engine behind `api` holds of our images.

    Args:
        api: low-level client of the SDK.
        source: whose store the images come from.
    """

    def __init__(self, api: Any, source: NamespaceBackend) -> None:
        self._api = api
        self._source = source
        self._lock = Lock()

    def ensure(self, image: Image) -> str:
        """The engine's name of an image, which is put there when missing."""
        name = f"{LABEL}:{image.digest.removeprefix('sha256:')[:24]}"
        with self._lock:
            if not self._has(name):
                layers = [self._pack(digest) for digest in image.layers]
                try:
                    self._load(name, [], layers, labels={})
                finally:
                    for layer in layers:
                        layer.close()
        return name

    def stack(self, base: str, layers: Sequence[EngineLayer], labels: dict[str, str]) -> str:
        """The name of a new image: `layers` over the image `base`; remove it after use."""
        name = f"{LABEL}-over:{secrets.token_hex(12)}"
        below = self._api.inspect_image(base)["RootFS"]["Layers"]
        self._load(name, below, layers, labels)
        return name

    def remove(self, name: str) -> None:
        """Removes an image; missing is fine."""
        if self._has(name):
            self._api.remove_image(name, force=True)

    def _has(self, name: str) -> bool:
        return any(name in (each["RepoTags"] or ()) for each in self._api.images(name=name))

    def _pack(self, digest: str) -> EngineLayer:
        file = tempfile.TemporaryFile()
        self._source.keeper.pack_tar(self._source.store.layer_path(digest), file.fileno())
        return EngineLayer(file)

    def _load(
        self, name: str, below: list[str], layers: Sequence[EngineLayer], labels: dict[str, str]
    ) -> None:
        diff_ids = [*below, *(layer.diff_id for layer in layers)]
        config = {
            "architecture": _ARCHITECTURES.get(platform.machine(), platform.machine()),
            "os": "linux",
            "config": {"Labels": {LABEL: "image"} | labels},
            "rootfs": {"type": "layers", "diff_ids": diff_ids},
            "history": [{"created_by": LABEL} for _ in diff_ids],
        }
        manifest = [
            {
                "Config": "config.json",
                "RepoTags": [name],
                "Layers": [f"{diff_id.partition(':')[2]}.tar" for diff_id in diff_ids],
            }
        ]
        with tempfile.TemporaryFile() as file:
            with tarfile.open(fileobj=file, mode="w") as archive:
                for member_name, value in (("config.json", config), ("manifest.json", manifest)):
                    text = json.dumps(value).encode()
                    member = tarfile.TarInfo(member_name)
                    member.size = len(text)
                    archive.addfile(member, io.BytesIO(text))
                for layer in layers:
                    member = tarfile.TarInfo(f"{layer.diff_id.partition(':')[2]}.tar")
                    member.size = layer.size
                    layer.file.seek(0)
                    archive.addfile(member, layer.file)
            file.seek(0)
            for _ in self._api.load_image(file):
                pass


def host_folder(api: Any) -> Path:
    """Where the engine keeps its data on its machine."""
    return Path(str(api.info()["DockerRootDir"]))
