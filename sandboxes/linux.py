"""The few Linux calls that Python lacks, through ctypes; no policy.

Everything here is also used inside the keeper process (`keeper_process.py`), so this module imports
the standard library only.
"""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

__all__ = [
    "attach_tree",
    "clone_tree",
    "mount",
    "new_privileges_off",
    "pivot_root",
    "prctl",
    "raise_oserror",
    "set_seccomp",
    "set_title",
    "unmount",
    "unshare",
]

CLONE_NEWNS = 0x00020000
CLONE_NEWCGROUP = 0x02000000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_RDONLY = 1
MS_NOSUID = 2
MS_NODEV = 4
MS_NOEXEC = 8
MS_REMOUNT = 32
MS_BIND = 4096
MS_REC = 16384
MS_PRIVATE = 1 << 18
MNT_DETACH = 2

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_NAME = 15
PR_SET_SECCOMP = 22
PR_CAPBSET_READ = 23
PR_CAPBSET_DROP = 24
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38

# Numbers of system calls without a libc wrapper; equal on all 64-bit architectures since 5.2.
SYS_OPEN_TREE = 428
SYS_MOVE_MOUNT = 429
OPEN_TREE_CLONE = 1
AT_FDCWD = -100
AT_RECURSIVE = 0x8000
MOVE_MOUNT_F_EMPTY_PATH = 4

_libc = ctypes.CDLL(None, use_errno=True)


def raise_oserror(what: str) -> None:
    """Raises OSError for the last failed call, with `what` as its text."""
    number = ctypes.get_errno()
    raise OSError(number, f"{what}: {os.strerror(number)}")


def _check(result: int, what: str) -> int:
    if result < 0:
        raise_oserror(what)
    return result


def unshare(flags: int) -> None:
    """Moves the calling process into new namespaces."""
    _check(_libc.unshare(flags), "unshare")


def mount(
    source: str | bytes, target: str | bytes, fstype: str = "", flags: int = 0, data: str = ""
) -> None:
    """mount(2)."""
    result = _libc.mount(
        os.fsencode(source),
        os.fsencode(target),
        fstype.encode() or None,
        ctypes.c_ulong(flags),
        data.encode() or None,
    )
    _check(result, f"mount {fstype or 'bind'} on {os.fsdecode(target)}")


def unmount(target: str | bytes, flags: int = MNT_DETACH) -> None:
    """umount2(2), lazily by default."""
    _check(_libc.umount2(os.fsencode(target), flags), f"umount {os.fsdecode(target)}")


def pivot_root(new: str, put_old: str) -> None:
    """Makes `new` the root of this mount namespace."""
    number = {"x86_64": 155}.get(os.uname().machine, 41)
    _check(_libc.syscall(number, new.encode(), put_old.encode()), "pivot_root")


def clone_tree(path: str | bytes) -> int:
    """A detached copy of the mounts at `path`, as a descriptor; later placed by `attach_tree`."""
    flags = OPEN_TREE_CLONE | AT_RECURSIVE | os.O_CLOEXEC
    result = _libc.syscall(SYS_OPEN_TREE, AT_FDCWD, os.fsencode(path), ctypes.c_uint(flags))
    return _check(result, f"open_tree {os.fsdecode(path)}")


def attach_tree(tree: int, target: str | bytes) -> None:
    """Mounts what `clone_tree` returned at `target`; closes the descriptor."""
    result = _libc.syscall(
        SYS_MOVE_MOUNT,
        tree,
        b"",
        AT_FDCWD,
        os.fsencode(target),
        ctypes.c_uint(MOVE_MOUNT_F_EMPTY_PATH),
    )
    _check(result, f"move_mount to {os.fsdecode(target)}")
    os.close(tree)


def prctl(option: int, value: int = 0, third: int = 0) -> int:
    """prctl(2) with up to two integer arguments."""
    result = _libc.prctl(option, ctypes.c_ulong(value), ctypes.c_ulong(third), 0, 0)
    return _check(int(result), f"prctl {option}")


def new_privileges_off() -> None:
    """No process from here on gains rights by executing a file (setuid, capabilities)."""
    prctl(PR_SET_NO_NEW_PRIVS, 1)


class _SockFprog(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_char_p)]


def set_seccomp(program: bytes) -> None:
    """Installs a BPF program (8 bytes an instruction) as this process's seccomp filter."""
    block = _SockFprog(len(program) // 8, program)
    result = _libc.prctl(PR_SET_SECCOMP, ctypes.c_ulong(2), ctypes.byref(block), 0, 0)
    _check(result, "prctl seccomp")


def last_capability() -> int:
    """Number of the kernel's last capability."""
    return int(Path("/proc/sys/kernel/cap_last_cap").read_text())


def set_title(text: str) -> None:
    """What `ps` and /proc/PID/cmdline show of this process, instead of its arguments.

    A box can read its PID 1's command line: without this, paths of the host.
    """
    name = ctypes.create_string_buffer(text.encode())
    _libc.prctl(PR_SET_NAME, ctypes.byref(name), 0, 0, 0)
    fields = Path("/proc/self/stat").read_bytes().rpartition(b")")[2].split()
    begin, end = int(fields[45]), int(fields[46])
    if begin:
        ctypes.memset(begin, 0, end - begin)
        ctypes.memmove(begin, name, min(len(name), end - begin))
