"""Writes a file so that a reader, or a kill at any moment, sees the old bytes or the new ones."""

from __future__ import annotations

import fcntl
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["file_lock", "sync_folder", "try_file_lock", "write_atomically"]


def write_atomically(path: Path, data: bytes) -> None:
    """Writes `data` beside `path`, syncs it and renames it over `path`."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}.tmp")
    try:
        with temporary.open("xb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Makes renames inside `folder` durable."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


@contextmanager
def file_lock(path: Path, *, shared: bool = False) -> Iterator[None]:
    """Holds an advisory lock; it goes away with the process, also after SIGKILL."""
    fd = _open_lock(path)
    try:
        fcntl.flock(fd, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def try_file_lock(path: Path, *, make: bool = True) -> int | None:
    """A descriptor that holds the lock until it is closed, or None when somebody has it.

    Raises:
        FileNotFoundError: with `make` False, there is no such file.
    """
    fd = _open_lock(path, make=make)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(fd)
        return None
    return fd


def _open_lock(path: Path, *, make: bool = True) -> int:
    return os.open(path, os.O_RDWR | (os.O_CREAT if make else 0) | os.O_CLOEXEC, 0o600)
