"""The Docker back end: the same boxes as containers of a Docker engine (or one that speaks alike).

Covered: no network, Docker's default capabilities and seccomp profile, no new privileges, limits of
memory, processes and CPU, an init process, disk limit where the engine's folders are readable;
everything carries the label `cligym`, and a driver that dies takes its containers' processes along.
Not covered: in-box root is root of the host unless the engine remaps users; PATH, HOME and HOSTNAME
are always set in `execute`; `spawn` passes no descriptors above 2; capture needs to read the
engine's overlay2 folder, so the engine has to run on this machine and we as root.

Images come from the store of a namespace back end. Needs Docker 20.10 or newer with overlay2.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import weakref
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from cligym.errors import SandboxStartError, SandboxUnavailableError, boundary
from cligym.sandboxes.base import MIB, Capture, SandboxSpec
from cligym.sandboxes.docker_box import DockerSandbox
from cligym.sandboxes.docker_capture import DockerCapture
from cligym.sandboxes.docker_images import LABEL, EngineImages
from cligym.sandboxes.docker_stream import EngineStream
from cligym.sandboxes.entry import Manifest
from cligym.sandboxes.image import Image
from cligym.sandboxes.namespace import NamespaceBackend
from cligym.sandboxes.store import ImageStore

__all__ = ["DockerBackend"]

_TIMEOUT_S = 120
_SHM_BYTES = 64 * MIB


class DockerBackend:
    """Runs boxes as containers.

    Args:
        images: whose store the images come from; None makes one with the usual folders.
        base_url: the engine, `unix:///…` or `tcp://…`; None: `DOCKER_HOST` or the usual socket.

    Raises:
        SandboxUnavailableError: no engine answers, or it does not use overlay2.
    """

    name = "docker"

    def __init__(self, images: NamespaceBackend | None = None, base_url: str | None = None) -> None:
        import docker  # heavy: whoever does not use an engine does not pay for it

        self.base_url = base_url or os.environ.get("DOCKER_HOST") or "unix:///var/run/docker.sock"
        with boundary(SandboxUnavailableError, f"no Docker engine answers at {self.base_url}"):
            _knock(self.base_url)
            self.api = docker.APIClient(base_url=self.base_url, version="auto", timeout=_TIMEOUT_S)
            info = self.api.info()
        if info["Driver"] != "overlay2":
            self.api.close()
            raise SandboxUnavailableError(
                f"the engine at {self.base_url} stores images with {info['Driver']}; needs overlay2"
            )
        self._owns_source = images is None
        self.source = images or NamespaceBackend()
        self.images = EngineImages(self.api, self.source)
        self.labels = {LABEL: "box", f"{LABEL}.driver": _identity(os.getpid())}
        self._open: weakref.WeakSet[DockerSandbox] = weakref.WeakSet()
        self._lock = threading.Lock()
        self.reap()

    def reap(self) -> None:
        """Removes the containers and images of drivers that are no more."""
        label = f"{LABEL}.driver"
        for row in self.api.containers(all=True, filters={"label": label}):
            if not _lives(row["Labels"][label]):
                with contextlib.suppress(Exception):  # another driver may be faster
                    self.api.remove_container(row["Id"], force=True)
        for row in self.api.images(filters={"label": label}):
            if not _lives(row["Labels"][label]):
                with contextlib.suppress(Exception):
                    self.api.remove_image(row["Id"], force=True)

    def start(self, spec: SandboxSpec) -> DockerSandbox:
        """Starts a container; see `Backend.start`."""
        overlays = [_as_docker(overlay) for overlay in spec.overlays]
        with boundary(SandboxStartError, "container did not start"):
            name, is_own = self.images.ensure(spec.image), False
            if overlays:
                layers = [overlay.layer for overlay in overlays]
                name, is_own = self.images.stack(name, layers, self.labels), True
            container = self.api.create_container_from_config(self._config(name, spec))["Id"]
        box = DockerSandbox(self, container, spec, overlays, name if is_own else "")
        try:
            with boundary(SandboxStartError, "container did not start"):
                box.begin()
        except BaseException:
            box.close()
            raise
        self._open.add(box)
        return box

    def _config(self, image: str, spec: SandboxSpec) -> dict[str, Any]:
        limits = spec.limits
        host = self.api.create_host_config(
            network_mode="host" if spec.network else "none",
            mem_limit=limits.memory_bytes,
            memswap_limit=limits.memory_bytes,
            pids_limit=limits.pids,
            nano_cpus=int(limits.cpus * 1e9),
            shm_size=_SHM_BYTES,
            init=True,
            security_opt=["no-new-privileges"],
            log_config={"type": "none", "config": {}},
            ulimits=[{"Name": "core", "Soft": 0, "Hard": 0}],
        )
        return dict(
            self.api.create_container_config(
                image,
                # ends when its input does, and that is ours: a killed driver takes the box along
                command=["/bin/cat"],
                stdin_open=True,
                user="0:0",
                working_dir="/",
                hostname=None if spec.network else "sandbox",
                labels=self.labels,
                host_config=host,
            )
        ) | {"StdinOnce": True}

    def open_exec(self, container: str, config: dict[str, Any]) -> tuple[str, EngineStream]:
        """Starts a process in a container; its id and stream."""
        made = self.api.exec_create(container, **config)["Id"]
        path = f"/v{self.api.api_version}/exec/{made}/start"
        return made, EngineStream(self.base_url, path, {"Detach": False, "Tty": False})

    @property
    def store(self) -> ImageStore:
        """The images."""
        return self.source.store

    def manifest(self, image: Image, overlays: Sequence[Capture] = ()) -> Manifest:
        """The whole root of an image with captures laid over it."""
        return self.source.manifest(image, overlays)

    def read_file(self, image: Image, path: bytes, *, limit_bytes: int = 64 * MIB) -> bytes:
        """Bytes of a regular file of an image."""
        return self.source.read_file(image, path, limit_bytes=limit_bytes)

    def overlay_from_image(
        self, image: Image, paths: Iterable[bytes], *, over: Image, deleted: Iterable[bytes] = ()
    ) -> DockerCapture:
        """A layer that makes `paths` what they are in `image`, to be laid over `over`."""
        made = self.source.overlay_from_image(image, paths, over=over, deleted=deleted)
        with made:
            return DockerCapture.of_tree(self.source.keeper, made, self.store.manifest(over))

    def close(self) -> None:
        """Removes every box that is still open; idempotent."""
        for box in list(self._open):
            box.close()
        self.api.close()
        if self._owns_source:
            self.source.close()

    def __enter__(self) -> DockerBackend:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _knock(url: str) -> None:
    """Raises OSError where nobody listens; the SDK leaks the socket of a failed try."""
    if url.startswith("unix://"):
        with socket.socket(socket.AF_UNIX) as probe:
            probe.settimeout(_TIMEOUT_S)
            probe.connect(url.removeprefix("unix://"))


def _as_docker(capture: Capture) -> DockerCapture:
    if not isinstance(capture, DockerCapture):
        raise SandboxStartError("overlays of another back end cannot be used here")
    if capture.oversized:
        raise SandboxStartError(f"an oversized change set cannot be replayed: {capture.oversized}")
    return capture


def _identity(pid: int) -> str:
    """Names a process of this boot, also after its number is used again."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    with open(f"/proc/{pid}/stat", "rb") as file:
        start = int(file.read().rpartition(b")")[2].split()[19])
    return f"{boot}:{pid}:{start}"


def _lives(identity: str) -> bool:
    try:
        return _identity(int(identity.split(":")[1])) == identity
    except (OSError, IndexError, ValueError):
        return False
