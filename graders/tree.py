"""Read-only views of a file system, from the host: an image, or an image with a capture on top.

Nothing in a box is executed to answer: entries come from manifests, bytes from the store.
"""

from __future__ import annotations

import os.path
from collections.abc import Callable
from typing import Protocol

from cligym.errors import GraderError
from cligym.sandboxes.base import MIB, Capture
from cligym.sandboxes.entry import Entry, Kind, Manifest

__all__ = ["NO_PROGRAM", "TEXT_MAX_BYTES", "FinalTree", "ImageTree", "Tree", "absolute", "resolve"]

TEXT_MAX_BYTES = 16 * MIB
"""An agent's file larger than this is no configuration, source or table that rules look into: it is
judged by its digest alone, so that no size of it can make a grader fail."""

NO_PROGRAM = b"\0"
"""Stands for such a file where Python source is compared: it parses as nothing."""

_LINKS_MAX = 40
"""Symlinks followed in one lookup, as in Linux (path_resolution(7))."""


class Tree(Protocol):
    """What a grader may ask of a file system."""

    def entry(self, path: bytes) -> Entry | None:
        """What is at `path` (symlinks are not followed), or None."""

    def read(self, path: bytes, *, limit_bytes: int = 64 * MIB) -> bytes:
        """Bytes of the regular file at `path`.

        Raises:
            GraderError: there is no such regular file.
            SandboxError: it cannot be read, or it is larger.
        """


class ImageTree:
    """An image's files. The manifest is loaded once and only when first asked for."""

    def __init__(self, load: Callable[[], Manifest], read: Callable[[bytes, int], bytes]) -> None:
        self._load = load
        self._read = read
        self._manifest: Manifest | None = None
        self._bytecode: dict[bytes, list[bytes]] | None = None

    @property
    def manifest(self) -> Manifest:
        """Every path of the image."""
        if self._manifest is None:
            self._manifest = self._load()
        return self._manifest

    def bytecode(self, folder: bytes) -> list[bytes]:
        """The .pyc files that lie directly in `folder`."""
        if self._bytecode is None:
            index: dict[bytes, list[bytes]] = {}
            for path in self.manifest:
                if path.endswith(b".pyc"):
                    index.setdefault(os.path.dirname(path), []).append(path)
            self._bytecode = index
        return self._bytecode.get(folder, [])

    def entry(self, path: bytes) -> Entry | None:
        """See `Tree`."""
        return self.manifest.get(path)

    def read(self, path: bytes, *, limit_bytes: int = 64 * MIB) -> bytes:
        """See `Tree`."""
        return self._read(_regular(self, path), limit_bytes)


class FinalTree:
    """An image with what an agent changed: the state at the end of an attempt."""

    def __init__(self, base: Tree, capture: Capture) -> None:
        self._base = base
        self._capture = capture
        self._changes = capture.changes

    def entry(self, path: bytes) -> Entry | None:
        """See `Tree`."""
        changed = self._changes.changed.get(path)
        if changed is not None:
            return changed
        return None if path in self._changes.deleted else self._base.entry(path)

    def read(self, path: bytes, *, limit_bytes: int = 64 * MIB) -> bytes:
        """See `Tree`."""
        if path not in self._changes.changed:
            return self._base.read(_regular(self, path), limit_bytes=limit_bytes)
        entry = self._changes.changed[_regular(self, path)]
        base = self._base.entry(path)
        if base is not None and base.kind is Kind.FILE and base.digest == entry.digest:
            return self._base.read(path, limit_bytes=limit_bytes)  # only attributes changed
        return self._capture.read(path, limit_bytes=limit_bytes)


def _regular(tree: Tree, path: bytes) -> bytes:
    entry = tree.entry(path)
    if entry is None or entry.kind is not Kind.FILE:
        raise GraderError(f"no regular file {path!r} in this tree")
    return path


def absolute(base: bytes, target: bytes) -> bytes:
    """Where a link at `base` with `target` points, lexically, without a leading slash."""
    joined = target if target.startswith(b"/") else b"/" + os.path.dirname(base) + b"/" + target
    return os.path.normpath(b"/" + joined.lstrip(b"/")).lstrip(b"/")


def resolve(tree: Tree, path: bytes) -> bytes | None:
    """The path that `path` names once all symlinks are followed; None when dangling or a loop."""
    pending = [name for name in reversed(path.split(b"/")) if name]
    done: list[bytes] = []
    links = 0
    while pending:
        name = pending.pop()
        if name == b"..":
            del done[-1:]
            continue
        if name in (b"", b"."):
            continue
        here = b"/".join([*done, name])
        entry = tree.entry(here)
        if entry is None:
            return None
        if entry.kind is not Kind.SYMLINK:
            done.append(name)
            continue
        links += 1
        if links > _LINKS_MAX:
            return None
        if entry.target.startswith(b"/"):
            done = []
        pending += [part for part in reversed(entry.target.split(b"/")) if part]
    return b"/".join(done)
