"""Reads a layer's unpacked tree (overlayfs form) into entries, trusting nothing in it.

The walk uses directory descriptors and no recursion, never opens fifos or devices, and reads sparse
files by extents. It runs inside the keeper's namespace, where owners appear as in-box ids and no
file is unreadable. Standard library and `entry.py` only.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import struct
from dataclasses import dataclass, field

from cligym.sandboxes.entry import Entry, Kind

__all__ = ["ScanLimits", "TreeScan", "file_digest", "make_entry", "scan_tree"]

_KINDS = {
    stat.S_IFREG: Kind.FILE,
    stat.S_IFDIR: Kind.DIRECTORY,
    stat.S_IFLNK: Kind.SYMLINK,
    stat.S_IFCHR: Kind.CHARACTER,
    stat.S_IFBLK: Kind.BLOCK,
    stat.S_IFIFO: Kind.FIFO,
    stat.S_IFSOCK: Kind.SOCKET,
}
USER_MARK = "user.overlay."
_CHUNK_BYTES = 1 << 20
_ZEROS = bytes(_CHUNK_BYTES)
_CAPABILITY = "security.capability"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanLimits:
    """Where a scan stops and calls the tree oversized."""

    files: int = 1 << 40
    bytes_on_disk: int = 1 << 60
    bytes_apparent: int = 1 << 60
    depth: int = 2000
    name_bytes: int = 255
    text_bytes: int = 1 << 60


@dataclass(slots=True)
class TreeScan:
    """What a tree holds.

    Attributes:
        changed: path -> entry, the root itself (b"") left out.
        whiteouts: paths that hide something below.
        opaque: folders that hide everything below them in lower layers.
        oversized: which limit was passed, in words; "" when none.
    """

    changed: dict[bytes, Entry] = field(default_factory=dict)
    whiteouts: set[bytes] = field(default_factory=set)
    opaque: set[bytes] = field(default_factory=set)
    oversized: str = ""


class _OversizedError(Exception):
    """The tree passes a limit."""


def scan_tree(root_fd: int, limits: ScanLimits, mark: str = USER_MARK) -> TreeScan:
    """Walks the tree at `root_fd`; changes the working directory of this process.

    Overlayfs keeps its own attributes under `mark`, and those of a box that look like them escaped.

    A tree over a limit comes back with `oversized` set and the paths seen so far.
    """
    scan = TreeScan()
    walker = _Walker(scan, limits, mark)
    try:
        walker.walk(root_fd)
    except _OversizedError as error:
        scan.oversized = str(error)
    finally:
        walker.close()
    return scan


class _Walker:
    def __init__(self, scan: TreeScan, limits: ScanLimits, mark: str) -> None:
        self._mark = mark
        self._scan = scan
        self._limits = limits
        self._open: list[int] = []
        self._files = 0
        self._blocks_bytes = 0
        self._apparent_bytes = 0
        self._text_bytes = 0

    def close(self) -> None:
        while self._open:
            os.close(self._open.pop())

    def walk(self, root_fd: int) -> None:
        self._open.append(os.dup(root_fd))
        todo: list[tuple[bytes, list[str]]] = [(b"", self._names(root_fd))]
        while todo:
            prefix, names = todo[-1]
            if not names:
                todo.pop()
                os.close(self._open.pop())
                if self._open:
                    os.fchdir(self._open[-1])
                continue
            name = names.pop()
            path = prefix + os.fsencode(name)
            if self._visit(name, path):
                if len(todo) >= self._limits.depth:
                    raise _OversizedError(f"folders nested deeper than {self._limits.depth}")
                flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
                self._open.append(os.open(name, flags))
                todo.append((path + b"/", self._names(self._open[-1])))

    def _names(self, fd: int) -> list[str]:
        os.fchdir(fd)
        names = os.listdir(fd)
        self._files += len(names)
        if self._files > self._limits.files:
            raise _OversizedError(f"more than {self._limits.files} paths")
        names.sort(reverse=True)
        return names

    def _visit(self, name: str, path: bytes) -> bool:
        """Records one path of the current directory; True when it is a folder to enter."""
        if len(os.fsencode(name)) > self._limits.name_bytes:
            raise _OversizedError(f"a name longer than {self._limits.name_bytes} bytes")
        status = os.stat(name, follow_symlinks=False)
        if stat.S_ISCHR(status.st_mode) and status.st_rdev == 0:
            self._scan.whiteouts.add(path)
            return False
        self._blocks_bytes += status.st_blocks * 512
        if self._blocks_bytes > self._limits.bytes_on_disk:
            raise _OversizedError(f"more than {self._limits.bytes_on_disk} bytes on disk")
        if stat.S_ISREG(status.st_mode):
            self._apparent_bytes += status.st_size
            if self._apparent_bytes > self._limits.bytes_apparent:
                raise _OversizedError(f"more than {self._limits.bytes_apparent} bytes in files")
        entry, opaque = make_entry(name, status, self._mark)
        # Names, link targets and attributes are what a scan keeps in memory and in records.
        self._text_bytes += len(path) + len(entry.target)
        self._text_bytes += sum(len(key) + len(value) for key, value in entry.xattrs)
        if self._text_bytes > self._limits.text_bytes:
            raise _OversizedError(f"more than {self._limits.text_bytes} bytes of names")
        self._scan.changed[path] = entry
        if opaque:
            self._scan.opaque.add(path)
        return entry.kind is Kind.DIRECTORY


def make_entry(name: str, status: os.stat_result, mark: str = USER_MARK) -> tuple[Entry, bool]:
    """The entry of `name` in the current directory, and whether it is an opaque folder."""
    kind = _KINDS[stat.S_IFMT(status.st_mode)]
    xattrs, opaque = _xattrs(name, mark)
    is_device = kind in (Kind.CHARACTER, Kind.BLOCK)
    entry = Entry(
        kind=kind,
        mode=0o777 if kind is Kind.SYMLINK else stat.S_IMODE(status.st_mode),
        uid=status.st_uid,
        gid=status.st_gid,
        size=status.st_size if kind is Kind.FILE else 0,
        digest=file_digest(name) if kind is Kind.FILE else "",
        target=os.fsencode(os.readlink(name)) if kind is Kind.SYMLINK else b"",
        rdev=(os.major(status.st_rdev), os.minor(status.st_rdev)) if is_device else (0, 0),
        xattrs=xattrs,
    )
    return entry, opaque


def file_digest(name: str) -> str:
    """Hex sha256 of a regular file of the current directory; holes cost no reading."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    fd = os.open(name, flags)
    try:
        size = os.fstat(fd).st_size
        digest = hashlib.sha256()
        position = 0
        while position < size:
            start, end = _next_extent(fd, position, size)
            _update_zeros(digest, start - position)
            position = start
            while position < end:
                data = os.pread(fd, min(_CHUNK_BYTES, end - position), position)
                if not data:
                    _update_zeros(digest, end - position)
                    position = end
                    break
                digest.update(data)
                position += len(data)
        return digest.hexdigest()
    finally:
        os.close(fd)


def _next_extent(fd: int, position: int, size: int) -> tuple[int, int]:
    """Start and end of the next run of data at or after `position`."""
    if size - position <= _CHUNK_BYTES:
        return position, size  # small files: two seeks would cost more than the read
    try:
        start = os.lseek(fd, position, os.SEEK_DATA)
    except OSError as error:
        if error.errno == errno.ENXIO:
            return size, size
        return position, size
    return start, min(os.lseek(fd, start, os.SEEK_HOLE), size)


def _update_zeros(digest: hashlib._Hash, count: int) -> None:
    while count > 0:
        digest.update(_ZEROS[: min(count, _CHUNK_BYTES)])
        count -= _CHUNK_BYTES


def _xattrs(name: str, mark: str) -> tuple[tuple[tuple[str, bytes], ...], bool]:
    try:
        names = os.listxattr(name, follow_symlinks=False)
    except OSError as error:
        if error.errno in (errno.ENOTSUP, errno.EPERM, errno.EACCES):
            return (), False
        raise
    if not names:
        return (), False
    pairs: list[tuple[str, bytes]] = []
    opaque = False
    for attribute in names:
        if attribute.startswith("trusted.") and not attribute.startswith(mark):
            continue
        try:
            value = os.getxattr(name, attribute, follow_symlinks=False)
        except OSError as error:
            if error.errno in (errno.ENODATA, errno.EOVERFLOW):
                continue  # a capability of a foreign namespace is none in here
            raise
        if attribute.startswith(f"{mark}overlay."):
            pairs.append((mark + attribute.removeprefix(f"{mark}overlay."), value))
        elif attribute.startswith(mark):
            opaque = opaque or (attribute == f"{mark}opaque" and value == b"y")
        elif attribute == _CAPABILITY:
            pairs.append((attribute, _normal_capability(value)))
        else:
            pairs.append((attribute, value))
    return tuple(sorted(pairs)), opaque


def _normal_capability(value: bytes) -> bytes:
    """Revision 3 (with a namespace's root id) as revision 2, the form without one."""
    if len(value) == 24:
        (magic,) = struct.unpack_from("<I", value)
        return struct.pack("<I", 0x02000000 | (magic & 1)) + value[4:20]
    return value
