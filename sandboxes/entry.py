"""What one path of an image or of a change set is: `Entry`, and canonical sets of them.

Paths are bytes, relative to the image's root, without a leading slash (`b"etc/hosts"`); the root
itself is `b""`. Ids are the ids *inside* the box. No times, sizes on disk or link counts: two
trees with equal entries are equal to everybody who reads them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

__all__ = ["ChangeSet", "Entry", "Kind", "Manifest", "decode_path", "encode_path"]


class Kind(StrEnum):
    """Type of a path, in one letter (the letters of `find -printf %y`)."""

    FILE = "f"
    DIRECTORY = "d"
    SYMLINK = "l"
    CHARACTER = "c"
    BLOCK = "b"
    FIFO = "p"
    SOCKET = "s"


@dataclass(frozen=True, slots=True)
class Entry:
    """One path, as everybody inside the box sees it.

    Attributes:
        kind: type of the path.
        mode: permission bits with setuid, setgid and sticky (0..0o7777); 0o777 for symlinks.
        uid: owner inside the box.
        gid: group inside the box.
        size: bytes of a regular file, else 0.
        digest: hex sha256 of a regular file's bytes, else "".
        target: target of a symlink, else b"".
        rdev: (major, minor) of a device node, else (0, 0).
        xattrs: extended attributes as sorted (name, value) pairs; capabilities are normalised to
            revision 2, overlay's own marks are removed and escaped ones unescaped.
    """

    kind: Kind
    mode: int
    uid: int = 0
    gid: int = 0
    size: int = 0
    digest: str = ""
    target: bytes = b""
    rdev: tuple[int, int] = (0, 0)
    xattrs: tuple[tuple[str, bytes], ...] = ()

    def to_json(self) -> list[object]:
        """A short JSON list; fields that are empty at the end are left out."""
        row: list[object] = [
            self.kind.value,
            self.mode,
            self.uid,
            self.gid,
            self.size,
            self.digest,
            encode_path(self.target),
            list(self.rdev) if self.rdev != (0, 0) else 0,
            [[name, value.hex()] for name, value in self.xattrs],
        ]
        while row[-1] in (0, "", []):
            row.pop()
        return row

    @staticmethod
    def from_json(row: list[object]) -> Entry:
        """The inverse of `to_json`."""
        full: list[object] = [*row, *[None] * (9 - len(row))]
        kind, mode, uid, gid, size, digest, target, rdev, xattrs = full
        return Entry(
            kind=Kind(str(kind)),
            mode=int(str(mode)),
            uid=int(str(uid or 0)),
            gid=int(str(gid or 0)),
            size=int(str(size or 0)),
            digest=str(digest or ""),
            target=decode_path(str(target or "")),
            rdev=(int(rdev[0]), int(rdev[1])) if isinstance(rdev, list) else (0, 0),
            xattrs=tuple((str(n), bytes.fromhex(v)) for n, v in xattrs)
            if isinstance(xattrs, list)
            else (),
        )


Manifest = Mapping[bytes, Entry]
"""A whole tree: every path that exists."""


@dataclass(frozen=True, slots=True)
class ChangeSet:
    """What differs from an image: new or altered paths, and paths that are gone.

    Attributes:
        changed: path -> what is there now. Only real differences: a file that was opened for
            writing but holds the same bytes and attributes is no change.
        deleted: paths of the image that are no more, *every* path below a deleted folder included
            (an opaque folder is expanded into deletions).
    """

    changed: Mapping[bytes, Entry] = field(default_factory=dict)
    deleted: frozenset[bytes] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.changed or self.deleted)

    def paths(self) -> Iterator[bytes]:
        """Every path of the set, sorted."""
        yield from sorted({*self.changed, *self.deleted})

    def subset(self, paths: Iterable[bytes]) -> ChangeSet:
        """The same, reduced; a deleted folder stays only if everything below it stays deleted."""
        wanted = set(paths)
        kept_below: set[bytes] = set()
        for path in self.deleted - wanted:
            parts = path.split(b"/")
            kept_below |= {b"/".join(parts[:end]) for end in range(1, len(parts))}
        return ChangeSet(
            {path: entry for path, entry in self.changed.items() if path in wanted},
            frozenset((self.deleted & wanted) - kept_below),
        )

    def to_json(self) -> dict[str, object]:
        """Canonical JSON value: sorted keys, no times."""
        return {
            "changed": {encode_path(p): self.changed[p].to_json() for p in sorted(self.changed)},
            "deleted": [encode_path(p) for p in sorted(self.deleted)],
        }

    @staticmethod
    def from_json(value: Mapping[str, object]) -> ChangeSet:
        """The inverse of `to_json`."""
        changed, deleted = value["changed"], value["deleted"]
        assert isinstance(changed, dict) and isinstance(deleted, list)  # our own files
        return ChangeSet(
            {decode_path(p): Entry.from_json(row) for p, row in changed.items()},
            frozenset(decode_path(p) for p in deleted),
        )

    @property
    def digest(self) -> str:
        """`sha256:` and the hex sha256 of the canonical JSON text."""
        text = json.dumps(self.to_json(), separators=(",", ":"), sort_keys=True)
        return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def encode_path(path: bytes) -> str:
    """Bytes to JSON-safe text that loses nothing (UTF-8, other bytes as lone surrogates)."""
    return path.decode("utf-8", "surrogateescape")


def decode_path(text: str) -> bytes:
    """The inverse of `encode_path`."""
    return text.encode("utf-8", "surrogateescape")
