"""Limits by control group, where one may be made: v1, v2 and hybrid hosts.

`prepare` runs as the caller (root) before the keeper gives up its rights, and hands folders named
`cligym` to the keeper's id; the keeper's seats (`seat.py`) then make groups below them.
Without such folders a watchdog in the supervisor does what it can (`cligym doctor` says which).
Standard library only.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["BoxGroup", "GroupRoots", "move_process", "prepare", "remove_groups"]

_V1_CONTROLLERS = ("memory", "pids", "cpu")
_PERIOD_US = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRoots:
    """Folders in which groups may be made: controller -> folder (v2: one folder for all)."""

    version: int
    folders: dict[str, str] = field(default_factory=dict)

    @property
    def controllers(self) -> tuple[str, ...]:
        """Controllers that limit something here."""
        return tuple(self.folders)


def prepare(owner_uid: int, owner_gid: int) -> GroupRoots:
    """Makes the `cligym` folders below the caller's own groups and gives them to the owner."""
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return GroupRoots(version=0)
    own = {}
    for line in lines:
        _, names, path = line.split(":", 2)
        for name in names.split(","):
            own[name] = path
    folders = {}
    for controller in _V1_CONTROLLERS:
        mount = Path("/sys/fs/cgroup") / controller
        if controller in own and (mount / "cgroup.procs").exists():
            made = _make_root(mount / own[controller].lstrip("/"), owner_uid, owner_gid)
            if made:
                folders[controller] = made
    if folders:
        return GroupRoots(version=1, folders=folders)
    return _prepare_v2(owner_uid, owner_gid)


def _prepare_v2(owner_uid: int, owner_gid: int) -> GroupRoots:
    """Version 2: below the root group, the only one that may hold processes and subgroups."""
    mount = Path("/sys/fs/cgroup")
    try:
        enabled = (mount / "cgroup.subtree_control").read_text().split()
    except OSError:
        return GroupRoots(version=0)
    wanted = [name for name in _V1_CONTROLLERS if name in enabled]
    made = _make_root(mount, owner_uid, owner_gid) if wanted else ""
    if not made:
        return GroupRoots(version=0)
    try:
        Path(made, "cgroup.subtree_control").write_text(" ".join(f"+{name}" for name in wanted))
        # A process may enter a group only if its mover may write to the groups' common ancestor.
        for name in ("cgroup.procs", "cgroup.subtree_control"):
            os.chown(Path(made, name), owner_uid, owner_gid)
        keeper = Path(made, f"keeper-{os.getpid()}")
        keeper.mkdir(exist_ok=True)
        os.chown(keeper / "cgroup.procs", owner_uid, owner_gid)
        (keeper / "cgroup.procs").write_text(str(os.getpid()))
    except OSError:
        return GroupRoots(version=0)
    return GroupRoots(version=2, folders=dict.fromkeys(wanted, made))


def _make_root(parent: Path, owner_uid: int, owner_gid: int) -> str:
    folder = parent / "cligym"
    try:
        folder.mkdir(exist_ok=True)
        os.chown(folder, owner_uid, owner_gid)
    except OSError:
        return ""
    return str(folder)


class BoxGroup:
    """The groups of one box."""

    def __init__(self, roots: GroupRoots, name: str) -> None:
        self._roots = roots
        self._limits: tuple[int, int, float] | None = None
        self._folders = {
            controller: f"{folder}/{name}" for controller, folder in roots.folders.items()
        }

    def make(self) -> None:
        """Makes the groups; raises OSError when the host refuses."""
        for folder in set(self._folders.values()):
            os.mkdir(folder)

    def limit(self, *, memory_bytes: int, pids: int, cpus: float) -> None:
        """Writes the limits, when they are not the ones that hold already."""
        wanted = (memory_bytes, pids, cpus)
        if wanted == self._limits:
            return
        self._limits = wanted
        quota_us = int(cpus * _PERIOD_US)
        if self._roots.version == 1:
            # memory+swap may never be below memory: lift it first, lower it last
            self._write("memory", "memory.memsw.limit_in_bytes", "-1", missing=True)
            self._write("memory", "memory.limit_in_bytes", str(memory_bytes))
            self._write("memory", "memory.memsw.limit_in_bytes", str(memory_bytes), missing=True)
            self._write("pids", "pids.max", str(pids))
            self._write("cpu", "cpu.cfs_period_us", str(_PERIOD_US), missing=True)
            self._write("cpu", "cpu.cfs_quota_us", str(quota_us), missing=True)
        else:
            self._write("memory", "memory.max", str(memory_bytes))
            self._write("memory", "memory.swap.max", "0", missing=True)
            self._write("pids", "pids.max", str(pids))
            self._write("cpu", "cpu.max", f"{quota_us} {_PERIOD_US}")

    def _write(self, controller: str, name: str, value: str, *, missing: bool = False) -> None:
        folder = self._folders.get(controller)
        if folder is None:
            return
        try:
            with open(f"{folder}/{name}", "w") as file:
                file.write(value)
        except FileNotFoundError:
            if not missing:
                raise

    @property
    def memory_folder(self) -> str:
        """The group that only the box itself enters, not who watches it; "" where all do.

        Whoever shares a group that is out of memory is stopped or killed with it, so a box could
        take its supervisor down. Version 2 has one group for all limits: there it stays so.
        """
        return self._folders.get("memory", "") if self._roots.version == 1 else ""

    def add(self, pid: int) -> None:
        """Moves a process into all groups but `memory_folder`; so is what it forks later."""
        for folder in set(self._folders.values()) - {self.memory_folder}:
            move_process(folder, pid)


def move_process(folder: str, pid: int) -> None:
    """Moves a process into a group."""
    with open(f"{folder}/cgroup.procs", "w") as file:
        file.write(str(pid))


def remove_groups(roots: GroupRoots, prefix: str) -> None:
    """Removes the empty groups whose names begin with `prefix`; waits up to two seconds."""
    deadline = time.monotonic() + 2
    for folder in set(roots.folders.values()):
        for name in os.listdir(folder):
            while name.startswith(prefix):
                try:
                    os.rmdir(f"{folder}/{name}")
                    break
                except FileNotFoundError:
                    break
                except OSError:
                    if time.monotonic() > deadline:
                        break  # left for the next keeper's sweep
                    time.sleep(0.002)
