"""Tar streams to trees and back, inside the keeper's namespace; archives are hostile input.

Whiteouts travel as `.wh.NAME` and opaque folders as `.wh..wh..opq`, as in OCI layers. Names with
`..`, parents that are links, and anything outside the tree are refused. Standard library only.
"""

from __future__ import annotations

import errno
import os
import stat
import tarfile
from typing import IO

from cligym.sandboxes.entry import Entry, Kind
from cligym.sandboxes.tree_edit import open_parent, remove_tree, write_attributes
from cligym.sandboxes.tree_scan import TreeScan

__all__ = ["pack_tar", "unpack_tar"]

_WHITEOUT = b".wh."
_OPAQUE = b".wh..wh..opq"
_XATTR = "SCHILY.xattr."
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def unpack_tar(stream: IO[bytes], root_fd: int) -> list[str]:
    """Unpacks a tar stream (plain, gzip, bzip2, xz) into the tree; names of skipped device nodes.

    Raises:
        OSError: a name or link leaves the tree, or the archive is damaged.
    """
    skipped: list[str] = []
    times: list[tuple[bytes, int]] = []
    try:
        with tarfile.open(
            fileobj=stream, mode="r|*", encoding="utf-8", errors="surrogateescape"
        ) as archive:
            for member in archive:
                path = _safe_path(os.fsencode(member.name))
                if member.isdev() and not member.isfifo():
                    skipped.append(member.name)
                    continue
                _unpack_member(archive, member, path, root_fd)
                if path and not _is_mark(path) and not member.islnk():
                    times.append((path, int(member.mtime * 1_000_000_000)))
    except tarfile.TarError as error:
        raise OSError(errno.EINVAL, f"damaged tar archive: {error}") from error
    for path, mtime_ns in reversed(times):
        _set_time(root_fd, path, mtime_ns)
    return skipped


def _safe_path(name: bytes) -> bytes:
    parts = [part for part in name.split(b"/") if part not in (b"", b".")]
    if b".." in parts:
        raise OSError(errno.EINVAL, f"archive holds an unsafe name {name!r}")
    return b"/".join(parts)


def _is_mark(path: bytes) -> bool:
    return os.path.basename(path).startswith(_WHITEOUT)


def _unpack_member(
    archive: tarfile.TarFile, member: tarfile.TarInfo, path: bytes, root_fd: int
) -> None:
    if not path:
        return
    _make_parents(root_fd, path)
    parent = open_parent(root_fd, path)
    name = os.path.basename(path)
    try:
        if name == _OPAQUE:
            os.fchdir(parent)
            os.setxattr(".", "user.overlay.opaque", b"y")
        elif name.startswith(_WHITEOUT):
            os.mknod(name.removeprefix(_WHITEOUT), stat.S_IFCHR, 0, dir_fd=parent)
        elif member.islnk():
            _link(root_fd, _safe_path(os.fsencode(member.linkname)), parent, name)
        else:
            _make_member(archive, member, parent, name)
    finally:
        os.close(parent)


def _make_parents(root_fd: int, path: bytes) -> None:
    parts = path.split(b"/")[:-1]
    for end in range(1, len(parts) + 1):
        parent = open_parent(root_fd, b"/".join(parts[:end]))
        try:
            os.mkdir(parts[end - 1], 0o755, dir_fd=parent)
        except FileExistsError:
            pass
        finally:
            os.close(parent)


def _link(root_fd: int, target: bytes, parent: int, name: bytes) -> None:
    source_parent = open_parent(root_fd, target)
    try:
        _clear(parent, name)
        os.link(
            os.path.basename(target),
            name,
            src_dir_fd=source_parent,
            dst_dir_fd=parent,
            follow_symlinks=False,
        )
    finally:
        os.close(source_parent)


def _make_member(
    archive: tarfile.TarFile, member: tarfile.TarInfo, parent: int, name: bytes
) -> None:
    entry = _entry_of(member)
    if entry.kind is Kind.DIRECTORY:
        try:
            os.mkdir(name, 0o700, dir_fd=parent)
        except FileExistsError:
            os.close(os.open(name, _DIRECTORY, dir_fd=parent))  # not a link to elsewhere
    else:
        _clear(parent, name)
        if entry.kind is Kind.SYMLINK:
            os.symlink(entry.target, name, dir_fd=parent)
        elif entry.kind is Kind.FIFO:
            os.mkfifo(name, 0o600, dir_fd=parent)
        else:
            _write_file(archive, member, parent, name)
    write_attributes(parent, name, entry)


def _clear(parent: int, name: bytes) -> None:
    try:
        os.unlink(name, dir_fd=parent)
    except FileNotFoundError:
        pass
    except IsADirectoryError:
        remove_tree(parent, os.fsdecode(name))


def _write_file(
    archive: tarfile.TarFile, member: tarfile.TarInfo, parent: int, name: bytes
) -> None:
    source = archive.extractfile(member)
    fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600, dir_fd=parent)
    with open(fd, "wb") as target:
        while source is not None and (data := source.read(1 << 20)):
            target.write(data)


def _entry_of(member: tarfile.TarInfo) -> Entry:
    if member.isdir():
        kind = Kind.DIRECTORY
    elif member.issym():
        kind = Kind.SYMLINK
    elif member.isfifo():
        kind = Kind.FIFO
    else:
        kind = Kind.FILE
    pairs = [
        (key.removeprefix(_XATTR), os.fsencode(value))
        for key, value in member.pax_headers.items()
        if key.startswith(_XATTR)
    ]
    return Entry(
        kind=kind,
        mode=stat.S_IMODE(member.mode),
        uid=member.uid,
        gid=member.gid,
        target=os.fsencode(member.linkname) if member.issym() else b"",
        xattrs=tuple(pair for pair in sorted(pairs) if pair[0].startswith(("user.", "security.c"))),
    )


def _set_time(root_fd: int, path: bytes, mtime_ns: int) -> None:
    try:
        parent = open_parent(root_fd, path)
    except OSError:
        return  # a later member replaced a parent
    try:
        name = os.path.basename(path)
        os.utime(name, ns=(mtime_ns, mtime_ns), dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        pass  # a later member replaced it
    finally:
        os.close(parent)


def pack_tar(scan: TreeScan, root_fd: int, stream: IO[bytes]) -> None:
    """Writes a scanned tree as a PAX tar stream, parents before children."""
    with tarfile.open(
        fileobj=stream,
        mode="w|",
        format=tarfile.PAX_FORMAT,
        encoding="utf-8",
        errors="surrogateescape",
    ) as archive:
        marks = {os.path.join(path, _OPAQUE) for path in scan.opaque}
        marks |= {
            os.path.join(os.path.dirname(path), _WHITEOUT + os.path.basename(path))
            for path in scan.whiteouts
        }
        for path in sorted({*scan.changed, *marks}):
            if path in marks:
                archive.addfile(tarfile.TarInfo(os.fsdecode(path)))
            else:
                _pack_entry(archive, path, scan.changed[path], root_fd)


def _pack_entry(archive: tarfile.TarFile, path: bytes, entry: Entry, root_fd: int) -> None:
    member = tarfile.TarInfo(os.fsdecode(path))
    member.mode, member.uid, member.gid = entry.mode, entry.uid, entry.gid
    member.pax_headers = {_XATTR + name: os.fsdecode(value) for name, value in entry.xattrs}
    parent = open_parent(root_fd, path)
    try:
        name = os.path.basename(path)
        status = os.stat(name, dir_fd=parent, follow_symlinks=False)
        member.mtime = status.st_mtime_ns / 1_000_000_000
        if entry.kind is Kind.FILE:
            member.size = status.st_size
            fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=parent)
            with open(fd, "rb") as source:
                archive.addfile(member, source)
            return
    finally:
        os.close(parent)
    if entry.kind is Kind.DIRECTORY:
        member.type = tarfile.DIRTYPE
    elif entry.kind is Kind.SYMLINK:
        member.type, member.linkname = tarfile.SYMTYPE, os.fsdecode(entry.target)
    elif entry.kind is Kind.FIFO:
        member.type = tarfile.FIFOTYPE
    else:
        return  # sockets and devices have no place in an image
    archive.addfile(member)
