"""The system calls a box may make: `seccomp_profile.json`, compiled by libseccomp (thin binding).

Unknown system calls answer ENOSYS, so that libraries fall back; those a container must not make
answer EPERM. Nested user namespaces and mounts are refused: `clone` with namespace flags,
`unshare`, `setns`, `mount` and its kin; `clone3` is ENOSYS because its flags lie in memory a
filter cannot see.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
from pathlib import Path
from typing import Any

__all__ = ["compile_profile"]

_ALLOW = 0x7FFF0000
_ERRNO = 0x00050000
_CMP_NE, _CMP_EQ, _CMP_MASKED_EQ = 1, 4, 7
_ATTRIBUTE_NNP = 3  # we set no-new-privileges ourselves
_ATTRIBUTE_OPTIMIZE = 8  # 2: a binary tree instead of a list (ignored before libseccomp 2.5)


class _Compare(ctypes.Structure):
    _fields_ = [
        ("arg", ctypes.c_uint),
        ("op", ctypes.c_int),
        ("first", ctypes.c_uint64),
        ("second", ctypes.c_uint64),
    ]


def compile_profile(profile: Path) -> bytes:
    """The BPF program of a profile file.

    Raises:
        OSError: libseccomp is missing, or refuses the profile.
    """
    data = json.loads(profile.read_text(encoding="utf-8"))
    library = _library()
    context = library.seccomp_init(_ERRNO | errno.ENOSYS)
    if not context:
        raise OSError(errno.EINVAL, "libseccomp: seccomp_init failed")
    library.seccomp_attr_set(ctypes.c_void_p(context), _ATTRIBUTE_NNP, 0)
    library.seccomp_attr_set(ctypes.c_void_p(context), _ATTRIBUTE_OPTIMIZE, 2)
    try:
        _fill(_Rules(library, context), data)
        return _export(library, context)
    finally:
        library.seccomp_release(ctypes.c_void_p(context))


class _Rules:
    def __init__(self, library: ctypes.CDLL, context: int) -> None:
        self._library = library
        self._context = ctypes.c_void_p(context)

    def add(self, action: int, name: str, *compares: _Compare) -> None:
        number = self._library.seccomp_syscall_resolve_name(name.encode())
        if number == -1:
            return  # a name that this libseccomp or this machine does not have
        block = (_Compare * max(1, len(compares)))(*compares)
        result = self._library.seccomp_rule_add_array(
            self._context, ctypes.c_uint32(action), number, len(compares), block
        )
        if result != 0:
            raise OSError(-result, f"libseccomp: rule for {name}: {os.strerror(-result)}")


def _fill(rules: _Rules, data: dict[str, Any]) -> None:
    for name in data["allow"]:
        if name != "personality":
            rules.add(_ALLOW, name)
    for value in data["personality_allowed"]:
        rules.add(_ALLOW, "personality", _Compare(0, _CMP_EQ, value, 0))
    for name in data["deny_eperm"]:
        rules.add(_ERRNO | errno.EPERM, name)
    # clone: the flags are the first argument, except on s390
    rules.add(_ALLOW, "clone", _Compare(0, _CMP_MASKED_EQ, data["clone_forbidden_flags"], 0))
    rules.add(
        _ERRNO | errno.EPERM,
        "socket",
        *(_Compare(0, _CMP_EQ, family, 0) for family in data["socket_forbidden_families"]),
    )
    rules.add(
        _ALLOW,
        "socket",
        *(_Compare(0, _CMP_NE, family, 0) for family in data["socket_forbidden_families"]),
    )
    for flag_bit in range(64):
        flag = 1 << flag_bit
        if data["clone_forbidden_flags"] & flag:
            rules.add(_ERRNO | errno.EPERM, "clone", _Compare(0, _CMP_MASKED_EQ, flag, flag))


def _library() -> ctypes.CDLL:
    try:
        library = ctypes.CDLL("libseccomp.so.2")
    except OSError as error:
        raise OSError(errno.ENOENT, "libseccomp is missing (Debian: libseccomp2)") from error
    library.seccomp_init.restype = ctypes.c_void_p
    return library


def _export(library: ctypes.CDLL, context: int) -> bytes:
    fd = os.memfd_create("seccomp")
    try:
        result = library.seccomp_export_bpf(ctypes.c_void_p(context), fd)
        if result != 0:
            raise OSError(-result, f"libseccomp: export: {os.strerror(-result)}")
        size = os.fstat(fd).st_size
        return os.pread(fd, size, 0)
    finally:
        os.close(fd)
