"""The account files: gold's lines must all be there; extra system users are no difference.

Installing a package or a service adds system users; a repair may do so too. Last-change days in
shadow are clock readings.
"""

from __future__ import annotations

import re

__all__ = ["ACCOUNT_FILES", "account_difference"]

ACCOUNT_FILES = frozenset(
    {
        b"etc/passwd",
        b"etc/group",
        b"etc/shadow",
        b"etc/gshadow",
        b"etc/subuid",
        b"etc/subgid",
    }
)

_SYSTEM_IDS = range(1, 1000)
_LOCKED = (b"!", b"*")


def account_difference(path: bytes, final: bytes, gold: bytes) -> str:
    """The first line that counts as a difference, in words; "" when the files agree."""
    mine, theirs = _rows(path, final), _rows(path, gold)
    for row in theirs:
        if row not in mine:
            return f"line of {row[0].decode('utf-8', 'replace')!r} is not gold's"
    kept = [row for row in mine if row in theirs]
    if [row[0] for row in kept] != [row[0] for row in theirs]:
        return "gold's lines are repeated or in another order"
    names = {row[0] for row in theirs}
    ids = {int(row[2]) for row in theirs if len(row) > 2 and row[2].isdigit()}
    for row in mine:
        if row not in theirs and not _is_system_extra(path, row, names, ids):
            return f"extra line of {row[0].decode('utf-8', 'replace')!r}"
    return ""


_PLAIN_NAME = re.compile(rb"[A-Za-z_][A-Za-z0-9_.-]*\$?")


def _rows(path: bytes, text: bytes) -> list[list[bytes]]:
    rows = [line.split(b":") for line in text.split(b"\n") if line.strip()]
    if path == b"etc/shadow":
        for row in rows:
            row[2:3] = [b""] if len(row) > 2 else []
    return rows


def _is_system_extra(path: bytes, row: list[bytes], names: set[bytes], ids: set[int]) -> bool:
    name = row[0]
    if name in names or not _PLAIN_NAME.fullmatch(name):
        # A second line of a known name could win over gold's; and the C library skips blanks before
        # a name, and takes `+` and `-` for orders to look elsewhere.
        return False
    if path in (b"etc/subuid", b"etc/subgid"):
        return True  # more ranges give nobody more than root has
    if path in (b"etc/shadow", b"etc/gshadow"):
        return len(row) > 1 and row[1].startswith(_LOCKED)
    if len(row) < 3 or not row[2].isdigit() or int(row[2]) in ids:
        return False
    return int(row[2]) in _SYSTEM_IDS
