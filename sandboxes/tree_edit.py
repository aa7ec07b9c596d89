"""Makes, links and removes trees in overlayfs form; runs inside the keeper's namespace.

Nobody else works in these trees at that time (their box is dead), so going up by ".." is safe;
links are never followed all the same. Standard library and `entry.py` only.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Iterable
from dataclasses import dataclass

from cligym.sandboxes.entry import Entry, Kind

__all__ = ["Piece", "compose_tree", "open_parent", "remove_tree", "write_attributes"]

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One path of a tree to be made.

    Attributes:
        path: where it goes.
        entry: what it is, or None for a whiteout.
        source: the tree (a path the keeper can open) that holds a regular file's bytes at the same
            path; "" for other kinds.
    """

    path: bytes
    entry: Entry | None
    source: str = ""


def remove_tree(parent_fd: int, name: str) -> None:
    """Removes `name` in the folder `parent_fd`, however deep; missing is fine."""
    try:
        status = os.stat(name, dir_fd=parent_fd, follow_symlinks=False)
    except FileNotFoundError:
        return
    if not stat.S_ISDIR(status.st_mode):
        os.unlink(name, dir_fd=parent_fd)
        return
    current = os.open(name, _DIRECTORY, dir_fd=parent_fd)
    trail: list[str] = []
    while True:
        subfolder = _empty_files(current)
        if subfolder is not None:
            current = _swap(current, os.open(subfolder, _DIRECTORY, dir_fd=current))
            trail.append(subfolder)
        elif trail:
            current = _swap(current, os.open("..", _DIRECTORY, dir_fd=current))
            os.rmdir(trail.pop(), dir_fd=current)
        else:
            break
    os.close(current)
    os.rmdir(name, dir_fd=parent_fd)


def _swap(old: int, new: int) -> int:
    os.close(old)
    return new


def _empty_files(fd: int) -> str | None:
    """Unlinks what is no folder; the name of one folder that is left, or None."""
    with os.scandir(fd) as entries:
        children = [(child.name, child.is_dir(follow_symlinks=False)) for child in entries]
    folder = None
    for name, is_folder in children:
        if is_folder:
            try:
                os.rmdir(name, dir_fd=fd)  # most are empty by now: saves going down
            except OSError as error:
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                    raise
                folder = name
        else:
            os.unlink(name, dir_fd=fd)
    return folder


def compose_tree(root_fd: int, pieces: Iterable[Piece]) -> None:
    """Fills an empty tree; every parent folder of a piece must be an earlier piece.

    Regular files are hard links where the file system allows, else copies with their times.
    """
    for piece in pieces:
        parent = open_parent(root_fd, piece.path)
        try:
            _make(parent, os.path.basename(piece.path), piece)
        finally:
            os.close(parent)


def open_parent(root_fd: int, path: bytes) -> int:
    """A descriptor of the folder that holds `path`; refuses links and `..` on the way."""
    fd = os.dup(root_fd)
    for part in path.split(b"/")[:-1]:
        if part in (b"", b".", b".."):
            os.close(fd)
            raise OSError(errno.EINVAL, f"unsafe path {path!r}")
        fd = _swap_or_close(fd, part)
    if os.path.basename(path) in (b"", b".", b".."):
        os.close(fd)
        raise OSError(errno.EINVAL, f"unsafe path {path!r}")
    return fd


def _swap_or_close(fd: int, part: bytes) -> int:
    try:
        return os.open(part, _DIRECTORY, dir_fd=fd)
    finally:
        os.close(fd)


def _make(parent: int, name: bytes, piece: Piece) -> None:
    entry = piece.entry
    if entry is None:
        os.mknod(name, stat.S_IFCHR, 0, dir_fd=parent)
    elif entry.kind is Kind.FILE:
        _link_or_copy(parent, name, piece)
    elif entry.kind is Kind.DIRECTORY:
        os.mkdir(name, 0o700, dir_fd=parent)
        write_attributes(parent, name, entry)
    elif entry.kind is Kind.SYMLINK:
        os.symlink(entry.target, name, dir_fd=parent)
        write_attributes(parent, name, entry)
    elif entry.kind in (Kind.FIFO, Kind.SOCKET):
        kind = stat.S_IFIFO if entry.kind is Kind.FIFO else stat.S_IFSOCK
        os.mknod(name, kind | 0o600, 0, dir_fd=parent)
        write_attributes(parent, name, entry)
    # device nodes cannot be made in a user namespace, and no box can have made one


def _link_or_copy(parent: int, name: bytes, piece: Piece) -> None:
    source_root = os.open(piece.source, _DIRECTORY)
    try:
        source_parent = open_parent(source_root, piece.path)
    finally:
        os.close(source_root)
    try:
        os.link(name, name, src_dir_fd=source_parent, dst_dir_fd=parent, follow_symlinks=False)
    except OSError as error:
        if error.errno not in (errno.EXDEV, errno.EMLINK, errno.EPERM):
            raise
        _copy(source_parent, parent, name, piece)
    finally:
        os.close(source_parent)


def _copy(source_parent: int, parent: int, name: bytes, piece: Piece) -> None:
    assert piece.entry is not None  # only files are copied
    reader = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=source_parent)
    with open(reader, "rb") as source:
        writer = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=parent)
        with open(writer, "wb") as target:
            shutil.copyfileobj(source, target, 1 << 20)
        status = os.fstat(reader)
        write_attributes(parent, name, piece.entry)
        os.utime(name, ns=(status.st_atime_ns, status.st_mtime_ns), dir_fd=parent)


def write_attributes(parent: int, name: bytes, entry: Entry) -> None:
    """Owner, mode and extended attributes of a path that this process just made."""
    os.chown(name, entry.uid, entry.gid, dir_fd=parent, follow_symlinks=False)
    if entry.kind is not Kind.SYMLINK:
        os.chmod(name, entry.mode, dir_fd=parent)  # after chown, which clears setuid bits
    if entry.xattrs:
        # setxattr knows no directory descriptors; sources of later pieces are relative paths.
        before = os.open(".", _DIRECTORY)
        try:
            os.fchdir(parent)
            for attribute, value in entry.xattrs:
                escaped = attribute.replace("user.overlay.", "user.overlay.overlay.", 1)
                os.setxattr(name, escaped, value, follow_symlinks=False)
        finally:
            os.fchdir(before)
            os.close(before)
