"""Writes the tar archives that become trees: names and owners as they are inside the box."""

from __future__ import annotations

import io
import os
import stat
import tarfile
from pathlib import Path
from typing import IO

from cligym.sandboxes.entry import Entry, Kind

__all__ = ["TreeWriter", "give_all_to_root"]


class TreeWriter:
    """Fills an archive entry by entry; a context manager.

    Args:
        stream: where to; a real file.
    """

    def __init__(self, stream: IO[bytes]) -> None:
        self._archive = tarfile.open(
            fileobj=stream,
            mode="w",
            format=tarfile.PAX_FORMAT,
            encoding="utf-8",
            errors="surrogateescape",
        )

    def add(self, path: bytes, entry: Entry, content: bytes | Path = b"") -> None:
        """Adds one path; its parents should have been added before.

        Args:
            path: inside the box, without a leading slash.
            entry: type, mode, owner and link target; size and digest are not looked at.
            content: a regular file's bytes, or the file of this machine that has them.
        """
        member = tarfile.TarInfo(os.fsdecode(path))
        member.mode, member.uid, member.gid = entry.mode, entry.uid, entry.gid
        if entry.kind is Kind.DIRECTORY:
            member.type = tarfile.DIRTYPE
        elif entry.kind is Kind.SYMLINK:
            member.type, member.linkname = tarfile.SYMTYPE, os.fsdecode(entry.target)
        elif isinstance(content, bytes):
            member.size = len(content)
            self._archive.addfile(member, io.BytesIO(content))
            return
        else:
            self._add_file(member, content)
            return
        self._archive.addfile(member)

    def add_file(self, path: str, content: bytes) -> None:
        """A small file of root's that everybody may read."""
        self.add(os.fsencode(path), Entry(kind=Kind.FILE, mode=0o644), content)

    def add_stream(self, path: str, stream: IO[bytes]) -> None:
        """A file with the bytes of an open file, from its start."""
        member = tarfile.TarInfo(path)
        member.mode = 0o644
        member.size = stream.seek(0, os.SEEK_END)
        stream.seek(0)
        self._archive.addfile(member, stream)

    def _add_file(self, member: tarfile.TarInfo, source: Path) -> None:
        fd = os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(fd, "rb") as stream:
            status = os.fstat(fd)
            if not stat.S_ISREG(status.st_mode):
                raise OSError(f"{source} is no regular file any more")
            member.size, member.mtime = status.st_size, int(status.st_mtime)
            self._archive.addfile(member, stream)

    def close(self) -> None:
        """Writes the end of the archive."""
        self._archive.close()

    def __enter__(self) -> TreeWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def give_all_to_root(source: IO[bytes], target: IO[bytes]) -> None:
    """Copies an archive with root as the owner of everything; `target` is left at its start."""
    with (
        tarfile.open(
            fileobj=source, mode="r:", encoding="utf-8", errors="surrogateescape"
        ) as reader,
        tarfile.open(
            fileobj=target,
            mode="w",
            format=tarfile.PAX_FORMAT,
            encoding="utf-8",
            errors="surrogateescape",
        ) as writer,
    ):
        for member in reader:
            member.uid = member.gid = 0
            writer.addfile(member, reader.extractfile(member) if member.isreg() else None)
    target.flush()
    target.seek(0)
