"""The dynamic linker's cache: a made file, judged by what it says and not by its bytes.

Every package that brings a library makes `ldconfig` write it anew, and a repair may do so too. What
counts is which file each library name leads to.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

__all__ = ["LINKER_CACHE", "linker_cache_difference", "read_linker_cache"]

LINKER_CACHE = b"etc/ld.so.cache"

_MAGIC = b"glibc-ld.so.cache1.1"
_HEADER = struct.Struct("<20sIIB3xI12x")
_ENTRY = struct.Struct("<iIIIQ")
_ENTRIES_MAX = 100_000

Route = tuple[int, int, bytes]
"""Flags, hardware capabilities, path without its leading slash."""


def read_linker_cache(data: bytes) -> dict[bytes, list[Route]] | None:
    """Library name -> its routes in the linker's order; None when the linker could not read it.

    The format is glibc's `struct cache_file_new` (sysdeps/generic/dl-cache.h, since 2.2); an older
    table may stand before it.
    """
    start = data.find(_MAGIC)
    if start < 0:
        return None
    base = data[start:]
    try:
        _, count, _, _, _ = _HEADER.unpack_from(base)
        if count > _ENTRIES_MAX:
            return None
        routes: dict[bytes, list[Route]] = {}
        for index in range(count):
            fields = _ENTRY.unpack_from(base, _HEADER.size + index * _ENTRY.size)
            flags, key, value, _, capabilities = fields
            name, path = _string(base, key), _string(base, value)
            routes.setdefault(name, []).append((flags, capabilities, path.lstrip(b"/")))
    except (struct.error, ValueError):
        return None
    return routes


def _string(data: bytes, offset: int) -> bytes:
    return data[offset : data.index(b"\0", offset)]


def linker_cache_difference(final: bytes, gold: bytes, known: Callable[[bytes], bool]) -> str:
    """The first difference that counts, in words; "" when both lead to the same libraries.

    Args:
        final: the cache as it is now.
        gold: gold's cache.
        known: whether a library's path is gold's or an accepted package's; more names may lead
            there.
    """
    mine, theirs = read_linker_cache(final), read_linker_cache(gold)
    if mine is None or theirs is None:
        return "the linker cache cannot be read"
    for name, routes in theirs.items():
        if mine.get(name) != routes:
            return f"library {name.decode('utf-8', 'replace')} does not lead where gold's does"
    for name, routes in mine.items():
        if name not in theirs and not all(known(path) for _, _, path in routes):
            return f"library {name.decode('utf-8', 'replace')} leads to a file that is not gold's"
    return ""
