"""Lays this machine's settings over an image for the time of a `RUN`, as one more lower layer.

Being a lower layer, its files never are in what the box writes; what a `RUN` itself puts below
`SITE` is dropped (`without_site`). So nothing of it can reach the image.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from cligym.sandboxes.entry import ChangeSet, Entry, Kind
from cligym.sandboxes.host_settings import SITE, HostSettings, apt_settings
from cligym.sandboxes.image import Image
from cligym.sandboxes.layer_form import parents
from cligym.sandboxes.store import ImageStore
from cligym.sandboxes.tar_writer import TreeWriter

__all__ = ["SCRIPT_PATH", "Site", "lay_site", "without_site"]

SCRIPT_PATH = f"{SITE}/run"
"""Where a heredoc with its own `#!` line lies while it runs."""

_FOLDER = Entry(kind=Kind.DIRECTORY, mode=0o755)
_FILE = Entry(kind=Kind.FILE, mode=0o644)
_SCRIPT = Entry(kind=Kind.FILE, mode=0o755)
_APT_SOURCES = b"etc/apt/sources.list"


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """An image with the settings laid over it (never stored), and their variables."""

    image: Image
    env: Mapping[str, str]


def lay_site(store: ImageStore, image: Image, settings: HostSettings, script: str = "") -> Site:
    """Makes the site for one `RUN`; equal ones share a layer.

    Args:
        store: where the image is.
        image: what the `RUN` starts from.
        settings: this machine's network settings.
        script: content of `SCRIPT_PATH`, or "".
    """
    full = apt_settings(settings, sources=not _has_apt_sources(store, image))
    layers = [*image.layers, _layer(store, full.files, full.folders)]
    if script:
        content = script.encode("utf-8", "surrogateescape")
        layers.append(_layer(store, {SCRIPT_PATH: content}, {}))
    return Site(image=Image(layers=tuple(layers), config=image.config), env=full.env)


def without_site(changes: ChangeSet) -> ChangeSet:
    """Changes without what lies below `SITE`."""
    top = SITE.strip("/").encode()
    return ChangeSet(
        {path: e for path, e in changes.changed.items() if not _below(path, top)},
        frozenset(path for path in changes.deleted if not _below(path, top)),
    )


def _below(path: bytes, top: bytes) -> bool:
    return path == top or path.startswith(top + b"/")


def _has_apt_sources(store: ImageStore, image: Image) -> bool:
    paths = store.manifest(image).rows
    folder = _APT_SOURCES + b".d/"
    return _APT_SOURCES in paths or any(path.startswith(folder) for path in paths)


def _layer(store: ImageStore, files: Mapping[str, bytes], folders: Mapping[str, Path]) -> str:
    listed = {
        f"{top}/{path.relative_to(folder)}": path
        for top, folder in folders.items()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }
    digest = hashlib.sha256()
    for name, content in sorted(files.items()):
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    for name, path in listed.items():
        status = path.stat()
        digest.update(f"{name}\0{status.st_size}\0{status.st_mtime_ns}\0".encode())
    key = f"site-{digest.hexdigest()}"
    if not store.has_layer(key):
        with tempfile.TemporaryFile() as archive:
            _write(archive, files, listed)
            store.layers.take_root(archive, key)
    return key


def _write(archive: IO[bytes], files: Mapping[str, bytes], listed: Mapping[str, Path]) -> None:
    made: set[bytes] = set()
    contents: dict[str, bytes | Path] = {**files, **listed}
    with TreeWriter(archive) as writer:
        for name, content in sorted(contents.items()):
            path = name.strip("/").encode("utf-8", "surrogateescape")
            for folder in reversed([*parents(path)]):
                if folder not in made:
                    writer.add(folder, _FOLDER)
                    made.add(folder)
            writer.add(path, _SCRIPT if name == SCRIPT_PATH else _FILE, content)
