"""Both sides of every attribute rule of `equality.py`."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cligym.graders.equality import attribute_difference, bytes_equal, identical
from cligym.sandboxes.entry import Entry, Kind

FILE = Entry(kind=Kind.FILE, mode=0o644, uid=1000, gid=1000, size=3, digest="aa")
FOLDER = Entry(kind=Kind.DIRECTORY, mode=0o755)
CAPABILITY = ("security.capability", b"\x01")
ACL = ("system.posix_acl_access", b"\x02")


@pytest.mark.parametrize("bit", [0o4000, 0o2000, 0o1000, 0o400, 0o100, 0o040, 0o010, 0o4, 0o1, 0o2])
def test_bits_that_always_count(bit: int) -> None:
    final = replace(FILE, mode=FILE.mode ^ bit)
    assert attribute_difference(final, FILE, replace(FILE, digest="bb"))


@pytest.mark.parametrize("bit", [0o200, 0o020])
def test_write_bits_count_only_if_the_damage_changed_them(bit: int) -> None:
    final = replace(FILE, mode=FILE.mode ^ bit)
    assert not attribute_difference(final, FILE, replace(FILE, digest="bb"))
    assert attribute_difference(final, FILE, replace(FILE, mode=FILE.mode ^ bit))
    assert not attribute_difference(final, FILE, None)


@pytest.mark.parametrize("field", ["uid", "gid"])
def test_owner_counts_only_if_the_damage_changed_it(field: str) -> None:
    def owned(number: int) -> Entry:
        return replace(FILE, uid=number) if field == "uid" else replace(FILE, gid=number)

    final = owned(0)
    assert not attribute_difference(final, FILE, replace(FILE, digest="bb"))
    assert not attribute_difference(final, FILE, None)
    assert attribute_difference(final, FILE, owned(7))


def test_owner_and_write_bits_count_for_special_files() -> None:
    setuid = replace(FILE, mode=0o4755)
    assert attribute_difference(replace(setuid, uid=0), setuid, None)
    assert attribute_difference(replace(setuid, mode=0o4775), setuid, None)
    capable = replace(FILE, xattrs=(CAPABILITY,))
    assert attribute_difference(replace(capable, gid=0), capable, None)
    assert not attribute_difference(
        replace(FOLDER, mode=0o2775), replace(FOLDER, mode=0o2755), None
    )


def test_owner_is_free_when_the_damage_changed_the_type() -> None:
    link = Entry(kind=Kind.SYMLINK, mode=0o777, target=b"x")
    assert not attribute_difference(replace(FILE, uid=0), FILE, link)


def test_xattrs_count_only_if_gold_or_damaged_has_one() -> None:
    marked = replace(FILE, xattrs=(ACL,))
    assert not attribute_difference(marked, FILE, FILE)
    assert attribute_difference(FILE, marked, FILE)
    assert attribute_difference(marked, FILE, marked)
    assert not attribute_difference(marked, marked, FILE)


def test_a_capability_always_counts() -> None:
    assert attribute_difference(replace(FILE, xattrs=(CAPABILITY,)), FILE, FILE)


def test_modes_of_links_never_count() -> None:
    link = Entry(kind=Kind.SYMLINK, mode=0o777, target=b"x")
    assert not attribute_difference(replace(link, mode=0o700), link, None)


def test_contents() -> None:
    assert bytes_equal(replace(FILE, mode=0o600), FILE)
    assert not bytes_equal(replace(FILE, digest="bb"), FILE)
    link = Entry(kind=Kind.SYMLINK, mode=0o777, target=b"x")
    assert not bytes_equal(link, replace(link, target=b"y"))
    device = Entry(kind=Kind.CHARACTER, mode=0o666, rdev=(1, 3))
    assert not bytes_equal(device, replace(device, rdev=(1, 5)))
    assert not bytes_equal(Entry(kind=Kind.FIFO, mode=0o644), Entry(kind=Kind.SOCKET, mode=0o644))


def test_absent_equals_only_absent() -> None:
    assert identical(None, None, FILE)
    assert not identical(None, FILE, None)
    assert not identical(FILE, None, FILE)
    assert identical(FILE, FILE, None)
