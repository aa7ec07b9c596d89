"""Watches what a box writes to disk, and its memory where no control group can limit it.

The walk over the box's upper folder is made only when the file system lost space since the last
look, so an idle box costs one `statvfs` a tick. Standard library only.
"""

from __future__ import annotations

import os
import stat

__all__ = ["DiskWatch"]

_PROC_ROOT_PAGES = os.sysconf("SC_PAGE_SIZE")


class DiskWatch:
    """Says when a box passes its limits.

    Args:
        upper: the box's writable folder.
        disk_bytes: blocks it may take.
        memory_bytes: resident memory it may take (used only without a memory control group).
    """

    def __init__(self, upper: str, disk_bytes: int, memory_bytes: int) -> None:
        self._upper = upper
        self._disk_bytes = disk_bytes
        self._memory_bytes = memory_bytes
        self._free_at_walk = -1
        self._used_bytes = 0

    def check_disk(self) -> str:
        """Why the box must end, or ""."""
        status = os.statvfs("scratch")
        free = status.f_bavail * status.f_frsize
        if self._free_at_walk < 0:
            self._free_at_walk = free
        # Whatever the file system lost since the last walk might all be this box's.
        if self._used_bytes + self._free_at_walk - free > self._disk_bytes or free == 0:
            self._used_bytes = _blocks_bytes(self._upper, self._disk_bytes)
            self._free_at_walk = free
            if self._used_bytes > self._disk_bytes:
                return f"it wrote more than {self._disk_bytes} bytes to disk"
        return ""

    def check_memory(self, init_pid: int) -> str:
        """Why the box must end, or ""; sums the memory of PID 1's namespace."""
        used = 0
        try:
            space = os.stat(f"/proc/{init_pid}/ns/pid").st_ino
        except OSError:
            return ""
        for name in os.listdir("/proc"):
            if name.isdigit() and int(name) != init_pid:
                try:
                    if os.stat(f"/proc/{name}/ns/pid").st_ino == space:
                        with open(f"/proc/{name}/statm", "rb") as file:
                            used += int(file.read().split()[1]) * _PROC_ROOT_PAGES
                except OSError:
                    continue
        if used > self._memory_bytes:
            return f"it used more than {self._memory_bytes} bytes of memory"
        return ""


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
