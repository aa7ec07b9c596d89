"""The linker's cache is judged by where its names lead."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import pytest

from cligym.graders.linker_cache import linker_cache_difference, read_linker_cache


def cache(*rows: tuple[bytes, bytes], prefix: bytes = b"") -> bytes:
    """A cache file with these (name, path) entries."""
    strings, entries = b"", []
    start = 48 + 24 * len(rows)
    for name, path in rows:
        key = start + len(strings)
        strings += name + b"\0"
        value = start + len(strings)
        strings += path + b"\0"
        entries.append(struct.pack("<iIIIQ", 3, key, value, 0, 0))
    head = struct.pack("<20sIIB3xI12x", b"glibc-ld.so.cache1.1", len(rows), len(strings), 2, 0)
    return prefix + head + b"".join(entries) + strings


A = (b"liba.so.1", b"/lib/liba.so.1")
B = (b"libb.so.1", b"/lib/libb.so.1")


def known(path: bytes) -> bool:
    return path == b"lib/libb.so.1"


@pytest.mark.parametrize(
    ("rows", "accepted"),
    [
        ([A], True),
        ([A, B], True),
        ([], False),
        ([(A[0], b"/tmp/liba.so.1")], False),
        ([A, (A[0], b"/tmp/liba.so.1")], False),
        ([A, (B[0], b"/tmp/libb.so.1")], False),
    ],
    ids=["same", "known extra", "missing", "elsewhere", "second route", "unknown extra"],
)
def test_where_names_lead(rows: Sequence[tuple[bytes, bytes]], accepted: bool) -> None:
    assert (linker_cache_difference(cache(*rows), cache(A), known) == "") is accepted


def test_an_older_table_in_front_does_not_matter() -> None:
    assert (
        linker_cache_difference(cache(A, prefix=b"ld.so-1.7.0" + b"\0" * 37), cache(A), known) == ""
    )


@pytest.mark.parametrize("bad", [b"", b"glibc-ld.so.cache1.1", cache(A)[:70], cache(A)[:-3]])
def test_what_cannot_be_read_is_a_difference(bad: bytes) -> None:
    assert read_linker_cache(bad) is None
    assert linker_cache_difference(bad, cache(A), known)
