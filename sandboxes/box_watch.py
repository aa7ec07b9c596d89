"""Watches what a box writes to disk, and its memory and processes where no control group does.

The walk over the box's upper folder is made only when the file system lost space since the last
look, so an idle box costs one `statvfs` a tick. Standard library only.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable
from typing import NamedTuple

__all__ = ["BoxWatch"]

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_PROCESSES_GRACE = 16
_KERNEL_LISTS_CHILDREN = os.path.exists(f"/proc/self/task/{os.getpid()}/children")


class _Held(NamedTuple):
    """Bytes in files that have no name any more but are still open."""

    disk: int
    memory: int


class BoxWatch:
    """Says when a box passes its limits.

    Args:
        upper: the box's writable folder.
        disk_bytes: blocks it may take.
        memory_bytes: memory it may take; 0 where a control group limits it.
        pids: processes it may have; 0 where a control group limits them.
        find: the box's processes but its PID 1, by the pid of that.
    """

    def __init__(
        self,
        upper: str,
        *,
        disk_bytes: int,
        memory_bytes: int,
        pids: int,
        find: Callable[[int], list[str]] | None = None,
    ) -> None:
        self.pids = pids
        self._find = find or _descendants
        self._upper = upper
        self._disk_bytes = disk_bytes
        self._memory_bytes = memory_bytes
        self._free_at_walk = -1
        self._used_bytes = 0

    def check(self, init_pid: int) -> str:
        """Why the box must end, or ""."""
        reason = self._check_disk(init_pid)
        if not reason and (self._memory_bytes or self.pids):
            reason = self._check_processes(init_pid)
        return reason

    def _check_disk(self, init_pid: int) -> str:
        status = os.statvfs(self._upper)
        free = status.f_bavail * status.f_frsize
        if self._free_at_walk < 0:
            self._free_at_walk = free
        # Whatever the file system lost since the last walk might all be this box's.
        if self._used_bytes + self._free_at_walk - free > self._disk_bytes or free == 0:
            self._used_bytes = _blocks_bytes(self._upper, self._disk_bytes)
            if self._used_bytes <= self._disk_bytes:
                self._used_bytes += _held_bytes(self._find(init_pid)).disk
            self._free_at_walk = free
            if self._used_bytes > self._disk_bytes:
                return f"it wrote more than {self._disk_bytes} bytes to disk"
        return ""

    def _check_processes(self, init_pid: int) -> str:
        pids = self._find(init_pid)
        if self.pids and len(pids) > self.pids + _PROCESSES_GRACE:
            return f"it had more than {self.pids} processes"
        used = sum(_resident_bytes(pid) for pid in pids)
        if self._memory_bytes and used + _held_bytes(pids).memory > self._memory_bytes:
            return f"it used more than {self._memory_bytes} bytes of memory"
        return ""


def _descendants(init_pid: int) -> list[str]:
    """Every process of the box but its PID 1, found as descendants of that.

    Not by their namespace: the kernel lets nobody look at PID 1's (it is not dumpable). And not by
    a walk over all of /proc, where the kernel lists children: 64 boxes that each look at every
    process of the machine four times a second keep it busy with nothing else.
    """
    found: list[str] = []
    todo = [str(init_pid)]
    while todo:
        try:
            children = _children(todo.pop())
        except FileNotFoundError:
            continue  # it ended meanwhile
        found += children
        todo += children
    return found


def _children(pid: str) -> list[str]:
    """Processes that any thread of `pid` started and that have not been given to another parent."""
    if not _KERNEL_LISTS_CHILDREN:
        return _children_by_scan().get(pid, [])
    children: list[str] = []
    for thread in os.listdir(f"/proc/{pid}/task"):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{thread}/children") as file:
            children += file.read().split()
    return children


def _children_by_scan() -> dict[str, list[str]]:
    """Parent -> children over the whole machine: for kernels without lists of children."""
    children: dict[str, list[str]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    parent = file.read().rpartition(b")")[2].split()[1].decode()
            except (OSError, IndexError):
                continue  # it ended meanwhile
            children.setdefault(parent, []).append(name)
    return children


def _resident_bytes(pid: str) -> int:
    try:
        with open(f"/proc/{pid}/statm", "rb") as file:
            return int(file.read().split()[1]) * _PAGE_BYTES
    except (OSError, IndexError):
        return 0


def _held_bytes(pids: list[str]) -> _Held:
    """What open files without a name take: an agent may hide a full disk in them."""
    fd = os.memfd_create("probe")
    memory_device = os.fstat(fd).st_dev
    os.close(fd)
    seen: dict[tuple[int, int], int] = {}
    for pid in pids:
        try:
            numbers = os.listdir(f"/proc/{pid}/fd")
        except OSError:
            continue
        for number in numbers:
            try:
                status = os.stat(f"/proc/{pid}/fd/{number}")
            except OSError:
                continue
            if stat.S_ISREG(status.st_mode) and status.st_nlink == 0:
                seen[status.st_dev, status.st_ino] = status.st_blocks * 512
    disk = sum(size for (device, _), size in seen.items() if device != memory_device)
    return _Held(disk=disk, memory=sum(seen.values()) - disk)


def _blocks_bytes(root: str, enough: int) -> int:
    """Bytes on disk below `root`; stops counting once past `enough`."""
    total = 0
    todo = [root]
    while todo and total <= enough:
        try:
            with os.scandir(todo.pop()) as entries:
                for entry in entries:
                    status = entry.stat(follow_symlinks=False)
                    total += status.st_blocks * 512
                    if stat.S_ISDIR(status.st_mode):
                        todo.append(entry.path)
        except OSError:
            continue  # gone meanwhile, or a path too long to follow by name
    return total
