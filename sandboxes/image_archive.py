"""Images as one file: a tar archive with the image's record, and each layer's manifest and files.

    image.json               format, layers bottom first, configuration, names
    layers/<hex>.json        canonical change set of a layer
    layers/<hex>.tar         its files, whiteouts as in OCI layers

Owners in it are in-box ids, so it can be read into a store of another id map. Archives are
untrusted: names, layers and the image are all checked against their digests.
"""

from __future__ import annotations

import json
import os
import shutil
import tarfile
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from cligym.errors import ImageError, boundary
from cligym.sandboxes.entry import ChangeSet
from cligym.sandboxes.image import Image, config_from_json
from cligym.sandboxes.layer_store import DIGEST_PREFIX, LayerStore
from cligym.sandboxes.tar_writer import TreeWriter

if TYPE_CHECKING:
    from cligym.sandboxes.keeper import Keeper

__all__ = ["ArchivedImage", "read_archive", "write_archive"]

_FORMAT = "cligym-image-1"
_RECORD = "image.json"
_MAX_RECORD_BYTES = 16 << 20


class ArchivedImage:
    """What an archive's record says, checked.

    Attributes:
        image: the image.
        names: names it had.
    """

    def __init__(self, record: dict[str, Any]) -> None:
        if record.get("format") != _FORMAT:
            raise ImageError(f"format {str(record.get('format'))[:40]!r} is not {_FORMAT!r}")
        layers = tuple(str(layer) for layer in record["layers"])
        for layer in layers:
            text = layer.removeprefix(DIGEST_PREFIX)
            if len(text) != 64 or set(text) - set("0123456789abcdef"):
                raise ImageError(f"layer name {layer[:80]!r} is no digest")
        self.image = Image(layers=layers, config=config_from_json(record["config"]))
        if record["digest"] != self.image.digest:
            raise ImageError(f"the record does not belong to image {str(record['digest'])[:80]}")
        self.names = tuple(str(name) for name in record["names"])


def write_archive(
    layers: LayerStore, keeper: Keeper, image: Image, names: list[str], path: Path
) -> None:
    """Writes an archive; a file that is there is replaced when the new one is whole."""
    record = {
        "format": _FORMAT,
        "digest": image.digest,
        "layers": image.layers,
        "config": asdict(image.config),
        "names": names,
    }
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.") as output:
        with TreeWriter(output) as archive:
            archive.add_file(_RECORD, json.dumps(record, indent=1).encode())
            for layer in dict.fromkeys(image.layers):
                archive.add_file(_member(layer, "json"), layers.manifest_text(layer))
                with tempfile.TemporaryFile() as files:
                    keeper.pack_tar(layers.tree(layer), files.fileno())
                    archive.add_stream(_member(layer, "tar"), files)
        output.flush()
        os.fchmod(output.fileno(), 0o644)
        finished = path.with_name(f".{path.name}.finished")
        finished.unlink(missing_ok=True)
        finished.hardlink_to(output.name)
        finished.replace(path)


def read_archive(layers: LayerStore, path: Path) -> ArchivedImage:
    """Takes in the layers of an archive that are not here yet.

    Raises:
        ImageError: it cannot be read, or something in it is not what its name says.
    """
    with (
        boundary(ImageError, f"image archive {path} cannot be read"),
        tarfile.open(path, "r:", encoding="utf-8", errors="surrogateescape") as archive,
    ):
        archived = ArchivedImage(json.loads(_read(archive, _RECORD).read(_MAX_RECORD_BYTES)))
        for layer in archived.image.layers:
            if layers.has(layer):
                continue
            changes = ChangeSet.from_json(json.load(_read(archive, _member(layer, "json"))))
            with tempfile.TemporaryFile() as files:
                shutil.copyfileobj(_read(archive, _member(layer, "tar")), files, 1 << 20)
                layers.take_tar(files, changes, layer)
        return archived


def _read(archive: tarfile.TarFile, name: str) -> IO[bytes]:
    stream = archive.extractfile(name)
    if stream is None:
        raise ImageError(f"{name} is no file in the archive")
    return stream


def _member(layer: str, kind: str) -> str:
    return f"layers/{layer.removeprefix(DIGEST_PREFIX)}.{kind}"
