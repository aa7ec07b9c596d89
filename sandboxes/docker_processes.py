"""Finds and kills processes of a container from the host, where the host can reach them."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Collection

__all__ = ["can_reach", "kill_all_but", "processes", "ticks_now"]

_TICKS = os.sysconf("SC_CLK_TCK")
_ROUNDS = 20


def ticks_now() -> int:
    """Now, in the unit of a process's start time (/proc/PID/stat)."""
    return int(time.clock_gettime(time.CLOCK_BOOTTIME) * _TICKS)


def can_reach(init_pid: int) -> bool:
    """True when the container runs on this machine and we may kill in it."""
    if os.geteuid() != 0:
        return False
    try:
        os.stat(f"/proc/{init_pid}/ns/pid")
    except OSError:
        return False
    return True


def kill_all_but(init_pid: int, spared: Collection[int]) -> None:
    """Kills every process of the container that is not in `spared`, but its PID 1.

    By number, not by time of start: the kernel's clock for that ticks a hundred times a second, and
    the container's own first process may have begun in the same tick as a command.
    """
    stopped: set[int] = set()
    for _ in range(_ROUNDS):
        victims = [p for p in processes(init_pid) if p not in spared and not _is_dead(p)]
        if not victims:
            return
        for pid in victims:
            with contextlib.suppress(ProcessLookupError):
                if pid not in stopped:
                    os.kill(pid, signal.SIGSTOP)  # first all stand still, then all die
                    stopped.add(pid)
        for pid in victims:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.005)


def processes(init_pid: int) -> list[int]:
    """Every process of the container but its PID 1."""
    try:
        space = os.stat(f"/proc/{init_pid}/ns/pid").st_ino
    except OSError:
        return []
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != init_pid:
            with contextlib.suppress(OSError):
                if os.stat(f"/proc/{name}/ns/pid").st_ino == space:
                    found.append(int(name))
    return found


def _is_dead(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] in (b"Z", b"X")
    except OSError:
        return True
