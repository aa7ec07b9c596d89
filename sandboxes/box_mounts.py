"""Builds one box's view of the file system: overlay root, /proc, /sys, /dev, engine-owned files.

Runs as the box's PID 1 before anything of the image does, with all rights of the *box's* user
namespace and none of the host's. After the pivot every path resolves inside the box, so a hostile
image (links at /dev, /etc, ...) can only aim at itself. Standard library and `linux.py` only.
"""

from __future__ import annotations

import fcntl
import os
import socket
import stat
import struct
from dataclasses import dataclass

from cligym.sandboxes import linux

__all__ = ["ENGINE_PATHS", "FOLDERS", "BoxView", "enter_root", "leave_old_root", "raise_loopback"]

ENGINE_PATHS = frozenset(
    [b"proc", b"sys", b"dev", b"etc/hosts", b"etc/hostname", b"etc/resolv.conf"]
)
"""Paths that belong to the engine: never part of a change set."""

FOLDERS = ("u", "w", "m", "d", "e", "p", "s")
"""Folders of a box: upper, work, mount point, devices, engine-owned files, /proc, /sys."""

_NODES = ("null", "zero", "full", "random", "urandom", "tty")
_READ_ONLY_PROC = ("sys", "sysrq-trigger", "irq", "bus", "fs")
_MASKED_PROC = (
    "acpi",
    "asound",
    "interrupts",
    "kcore",
    "keys",
    "latency_stats",
    "sched_debug",
    "scsi",
    "timer_list",
    "timer_stats",
)
_SAFE = linux.MS_NOSUID | linux.MS_NODEV | linux.MS_NOEXEC


@dataclass(frozen=True, slots=True, kw_only=True)
class BoxView:
    """What the box's file system is made of.

    Attributes:
        lower_count: number of links `0`, `1`, ... (top layer first) in the box's folder.
        files: engine-owned files: path in the box -> content.
        sysfs: mount /sys (not possible when the host's network is shared).
        shm_bytes: size of /dev/shm.
    """

    lower_count: int
    files: dict[str, str]
    sysfs: bool
    shm_bytes: int


def leave_old_root() -> None:
    """Lets go of the host's file system, right before the first process of the box starts.

    It is a step of its own because the kernel takes milliseconds for it: by then the driver is
    already told that the box is ready, and both go on side by side.
    """
    linux.unmount(".")
    os.chdir("/")


def enter_root(folder: str, view: BoxView) -> None:
    """Makes the overlay in `folder` (with the folders `FOLDERS` and the links) the root.

    `leave_old_root` must follow before anything of the image is executed.
    """
    linux.mount("none", "/", flags=linux.MS_REC | linux.MS_PRIVATE)
    os.chdir(folder)
    lowers = ":".join(str(number) for number in range(view.lower_count))
    options = f"lowerdir={lowers},upperdir=u,workdir=w,userxattr,volatile,xino=off"
    linux.mount("overlay", "m", "overlay", linux.MS_NODEV, options)
    # While the old root is still there: the kernel grants /proc and /sys only to a mount namespace
    # that can see whole ones already.
    kernel = {"/proc": _fresh_tree("proc", "p", _SAFE)}
    if view.sysfs:
        kernel["/sys"] = _fresh_tree("sysfs", "s", _SAFE | linux.MS_RDONLY)
    devices = _device_tree(view.shm_bytes)
    files = _engine_files(view.files)
    os.chdir("m")
    linux.pivot_root(".", ".")  # the old root now lies over the new one, at the working directory
    for name in ("/proc", "/sys", "/dev"):
        _ensure_folder(name)
    for path, tree in kernel.items():
        linux.attach_tree(tree, path)
    linux.attach_tree(devices, "/dev")
    for path, tree in files.items():
        _attach_file(path, tree)
    _protect_proc(view.sysfs)


def _fresh_tree(fstype: str, folder: str, flags: int) -> int:
    linux.mount(fstype, folder, fstype, flags)
    return linux.clone_tree(folder)


def _device_tree(shm_bytes: int) -> int:
    linux.mount("tmpfs", "d", "tmpfs", linux.MS_NOSUID | linux.MS_NOEXEC, "mode=755,size=64k")
    for node in _NODES:
        os.close(os.open(f"d/{node}", os.O_CREAT | os.O_WRONLY, 0o666))
        linux.mount(f"/dev/{node}", f"d/{node}", flags=linux.MS_BIND)
    for name, target in (
        ("fd", "/proc/self/fd"),
        ("stdin", "/proc/self/fd/0"),
        ("stdout", "/proc/self/fd/1"),
        ("stderr", "/proc/self/fd/2"),
        ("ptmx", "pts/ptmx"),
    ):
        os.symlink(target, f"d/{name}")
    os.mkdir("d/pts")
    os.mkdir("d/shm")
    options = "newinstance,ptmxmode=0666,mode=620"
    linux.mount("devpts", "d/pts", "devpts", linux.MS_NOSUID | linux.MS_NOEXEC, options)
    linux.mount("tmpfs", "d/shm", "tmpfs", _SAFE, f"mode=1777,size={shm_bytes}")
    return linux.clone_tree("d")


def _engine_files(files: dict[str, str]) -> dict[str, int]:
    """One detached mount a file, from a small private file system (so no host path shows)."""
    linux.mount("tmpfs", "e", "tmpfs", _SAFE, "mode=755,size=1m")
    trees = {}
    for number, (path, text) in enumerate(files.items()):
        fd = os.open(f"e/{number}", os.O_CREAT | os.O_WRONLY, 0o644)
        os.write(fd, text.encode())
        os.close(fd)
        trees[path] = linux.clone_tree(f"e/{number}")
    return trees


def _ensure_folder(name: str) -> None:
    """A mount point must be a real folder; whatever else is there is replaced."""
    try:
        if stat.S_ISDIR(os.lstat(name).st_mode):
            return
        os.unlink(name)
    except FileNotFoundError:
        pass
    os.mkdir(name, 0o755)


def _attach_file(path: str, tree: int) -> None:
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            os.unlink(path)
            raise FileNotFoundError
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644))
    except OSError:
        os.close(tree)  # the image has something there that cannot be a mount point: leave it
        return
    linux.attach_tree(tree, path)


def _protect_proc(sysfs: bool) -> None:
    for name in _READ_ONLY_PROC:
        path = f"/proc/{name}"
        if os.path.exists(path):
            linux.mount(path, path, flags=linux.MS_BIND | linux.MS_REC)
            flags = linux.MS_BIND | linux.MS_REMOUNT | linux.MS_RDONLY | _SAFE
            linux.mount("none", path, flags=flags)
    masked = [f"/proc/{name}" for name in _MASKED_PROC]
    if sysfs:
        masked.append("/sys/firmware")
    for path in masked:
        if os.path.isdir(path):
            linux.mount("tmpfs", path, "tmpfs", _SAFE | linux.MS_RDONLY, "size=0")
        elif os.path.exists(path):
            linux.mount("/dev/null", path, flags=linux.MS_BIND)


def raise_loopback() -> None:
    """Brings up `lo` of the box's own network namespace."""
    up, running = 0x1, 0x40
    set_interface_flags = 0x8914
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        request = struct.pack("16sH14x", b"lo", up | running)
        fcntl.ioctl(control, set_interface_flags, request)
