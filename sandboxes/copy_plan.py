"""What a `COPY` or `WORKDIR` puts where: paths, owners and modes, before anything is written."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from cligym.errors import BuildError
from cligym.sandboxes.build_context import BuildContext, Source
from cligym.sandboxes.entry import Entry, Kind, Manifest

__all__ = ["CopyPlan", "Ownership", "real_path"]

_MAX_LINKS = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Ownership:
    """Owner of what is made, and its mode (None: the source's own)."""

    uid: int = 0
    gid: int = 0
    mode: int | None = None


@dataclass(slots=True)
class CopyPlan:
    """Paths to write over a root.

    Attributes:
        root: the root they are written over.
        owner: owner and mode of all of them.
        entries: path -> entry, parents before children (digest and size still open).
        contents: path of a regular file -> its bytes or the file that has them.
    """

    root: Manifest
    owner: Ownership = Ownership()
    entries: dict[bytes, Entry] = field(default_factory=dict)
    contents: dict[bytes, bytes | Path] = field(default_factory=dict)

    def add_folder(self, path: str) -> bytes:
        """Makes a folder and those above it where there are none; where it really is."""
        real = real_path(self._look, path)
        parts = real.split(b"/") if real else []
        for end in range(1, len(parts) + 1):
            part = b"/".join(parts[:end])
            found = self._look(part)
            if found is None:
                self._put(part, Entry(kind=Kind.DIRECTORY, mode=0o755), keep_mode=True)
            elif found.kind is not Kind.DIRECTORY:
                raise BuildError(f"/{os.fsdecode(part)} is not a folder")
        return real

    def add_text(self, path: str, content: bytes) -> None:
        """Writes a small file with mode 644."""
        self._add_at(path, Entry(kind=Kind.FILE, mode=0o644), content)

    def add_source(self, source: Source, target: str, context: BuildContext) -> None:
        """Copies a file or link to `target`, or the contents of a folder into it."""
        if source.entry.kind is not Kind.DIRECTORY:
            self._add_at(target, source.entry, source.path)
            return
        top = self.add_folder(target)
        for found in context.below(source):
            name = found.name[len(source.name) :].strip("/")
            self._add_at(f"/{os.fsdecode(top)}/{name}", found.entry, found.path, follow=False)

    def is_folder(self, path: str) -> bool:
        """True when there is a folder (links followed)."""
        found = self._look(real_path(self._look, path))
        return found is not None and found.kind is Kind.DIRECTORY

    def digest(self) -> str:
        """Hex sha256 over everything that will be written."""
        total = hashlib.sha256()
        for path, entry in sorted(self.entries.items()):
            content = self.contents.get(path, b"")
            data = _file_digest(content) if isinstance(content, Path) else _digest(content)
            total.update(repr((path, entry.to_json(), data)).encode())
        return total.hexdigest()

    def _look(self, path: bytes) -> Entry | None:
        if not path:
            return Entry(kind=Kind.DIRECTORY, mode=0o755)
        return self.entries.get(path) or self.root.get(path)

    def _add_at(
        self, target: str, entry: Entry, content: bytes | Path, *, follow: bool = True
    ) -> None:
        folder, _, name = target.rstrip("/").rpartition("/")
        parent = self.add_folder(folder or "/")
        path = parent + b"/" + os.fsencode(name) if parent else os.fsencode(name)
        if follow:
            path = real_path(self._look, "/" + os.fsdecode(path))
        found = self._look(path)
        found_folder = found is not None and found.kind is Kind.DIRECTORY
        if found_folder and entry.kind is Kind.DIRECTORY:
            return  # it stays as it is
        if found_folder or (found is not None and entry.kind is Kind.DIRECTORY):
            raise BuildError(f"cannot put a {entry.kind.name.lower()} over /{os.fsdecode(path)}")
        self._put(path, entry)
        if entry.kind is Kind.FILE:
            self.contents[path] = content

    def _put(self, path: bytes, entry: Entry, *, keep_mode: bool = False) -> None:
        mode = entry.mode
        if self.owner.mode is not None and entry.kind is not Kind.SYMLINK and not keep_mode:
            mode = self.owner.mode
        self.entries[path] = replace(entry, mode=mode, uid=self.owner.uid, gid=self.owner.gid)


def real_path(look: Callable[[bytes], Entry | None], path: str) -> bytes:
    """Where an absolute path of a root leads, links followed, as far as there is something.

    Args:
        look: function path -> entry or None.
        path: the path; `..` is resolved as the kernel does.

    Raises:
        BuildError: too many links.
    """
    todo = [part for part in reversed(os.fsencode(path).split(b"/")) if part not in (b"", b".")]
    done: list[bytes] = []
    links = 0
    while todo:
        part = todo.pop()
        if part == b"..":
            del done[-1:]
            continue
        entry = look(b"/".join([*done, part]))
        if entry is None or entry.kind is not Kind.SYMLINK:
            done.append(part)
            continue
        links += 1
        if links > _MAX_LINKS:
            raise BuildError(f"too many links on the way to {path}")
        if entry.target.startswith(b"/"):
            done.clear()
        todo += [p for p in reversed(entry.target.split(b"/")) if p not in (b"", b".")]
    return b"/".join(done)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _file_digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
