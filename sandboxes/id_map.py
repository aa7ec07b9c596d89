"""Which host ids a sandbox's ids 0..65535 stand for.

Sandbox root is never host root. A root caller takes the range /etc/subuid gives to root, else a
fixed range far above any account; an ordinary user takes the range of /etc/subuid through
newuidmap; with no range there is a map of one id, and the back end says what cannot work then.
"""

from __future__ import annotations

import os
import pwd
import shutil
from dataclasses import dataclass
from pathlib import Path

__all__ = ["CALLER_ID", "RANGE_LENGTH", "IdMap", "find_id_map"]

RANGE_LENGTH = 65536
CALLER_ID = RANGE_LENGTH
"""The caller's own id in the keeper's namespace (never mapped in a box): it lets the keeper's root
work in folders that the caller owns."""

_ROOT_BASE = 1_879_048_192  # 0x7000_0000: below 2**31, above every range that tools hand out


@dataclass(frozen=True, slots=True, kw_only=True)
class IdMap:
    """How ids map.

    Attributes:
        uid_base: host id of in-box user 0.
        gid_base: host id of in-box group 0.
        length: number of ids (65536, or 1 without a range).
        by_root: True when the caller is host root and writes the map itself.
    """

    uid_base: int
    gid_base: int
    length: int
    by_root: bool

    @property
    def key(self) -> str:
        """A name for folders whose files have owners of this map."""
        return f"{self.uid_base}-{self.gid_base}-{self.length}"

    @property
    def has_range(self) -> bool:
        """True when a box has more users than its root."""
        return self.length > 1


def find_id_map() -> IdMap:
    """The best map that this caller can have; reads /etc/subuid and /etc/subgid."""
    uid, gid = os.geteuid(), os.getegid()
    uid_base = _subordinate(Path("/etc/subuid"), uid)
    gid_base = _subordinate(Path("/etc/subgid"), uid)
    if uid == 0:
        uid_base = _free_range(Path("/proc/self/uid_map"), uid_base or _ROOT_BASE)
        gid_base = _free_range(Path("/proc/self/gid_map"), gid_base or _ROOT_BASE)
        if uid_base and gid_base:
            return IdMap(uid_base=uid_base, gid_base=gid_base, length=RANGE_LENGTH, by_root=True)
        return IdMap(uid_base=uid, gid_base=gid, length=1, by_root=False)
    helpers = shutil.which("newuidmap") and shutil.which("newgidmap")
    if uid_base and gid_base and helpers:
        return IdMap(uid_base=uid_base, gid_base=gid_base, length=RANGE_LENGTH, by_root=False)
    return IdMap(uid_base=uid, gid_base=gid, length=1, by_root=False)


def _free_range(own_map: Path, wanted: int) -> int:
    """`wanted`, or in a container whose root has fewer ids, the last range that exists; else 0."""
    extents = [line.split() for line in own_map.read_text().splitlines()]
    spans = [(int(first), int(count)) for first, _, count in extents]
    if any(first <= wanted and wanted + RANGE_LENGTH <= first + count for first, count in spans):
        return wanted
    # never id 0: that is the caller itself
    ends = [first + count for first, count in spans if count - (first == 0) >= RANGE_LENGTH]
    return max(ends) - RANGE_LENGTH if ends else 0


def _subordinate(path: Path, uid: int) -> int:
    """First id of a range of at least 65536 ids given to `uid`, or 0."""
    names = {str(uid)}
    try:
        names.add(pwd.getpwuid(uid).pw_name)
    except KeyError:
        pass  # a uid without an account is usual in containers
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return 0
    for line in lines:
        name, _, rest = line.partition(":")
        first, _, count = rest.partition(":")
        if name in names and first.isdigit() and count.isdigit() and int(count) >= RANGE_LENGTH:
            return int(first)
    return 0
