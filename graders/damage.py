"""The damage set, path by path: which differences between gold and damaged must be undone.

The first class that matches wins, in the order of `DamageClass`; the result is frozen in the
certificate. `inert` needs a test run (see `graders/certify.py`): here it is only a candidate.
"""

from __future__ import annotations

import os.path
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise

from cligym.graders.equality import attribute_difference
from cligym.graders.hooks import hook_kind
from cligym.graders.linker_cache import LINKER_CACHE, linker_cache_difference
from cligym.graders.package_records import read_package_records
from cligym.graders.path_kinds import (
    components,
    is_bytecode,
    is_code_name,
    is_executable,
    under,
)
from cligym.graders.python_source import may_be_ast_equal, same_programs
from cligym.graders.tree import ImageTree, resolve
from cligym.sandboxes.base import MIB
from cligym.sandboxes.entry import ChangeSet, Entry, Kind

__all__ = ["Damage", "DamageClass", "classify_damage", "demote", "inert_candidates"]


class DamageClass(StrEnum):
    """What a final state owes to one damaged path (DESIGN.md, Grading, step 3)."""

    CLEANUP = "cleanup"
    """Deleted caches, history, logs, manuals: not required."""
    BY_PRODUCT = "by-product"
    """Bookkeeping of package managers, accounts and shells: not required."""
    PACKAGE = "package"
    """As its package recorded it: may stay as damaged or become gold's."""
    COPY = "copy"
    """An added copy of some gold file: may stay or go."""
    INERT = "inert"
    """Added or deleted without effect on the tests: may stay or become gold's."""
    REQUIRED = "required"
    """Must become gold's, or what a certified oracle left."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """One path of the damage set.

    Attributes:
        path: the path.
        class_: what the final state owes to it.
        gold: what gold has there, None when the damage added it.
        damaged: what the damage left there, None when it deleted it.
        detail: why this class, for the evidence.
    """

    path: bytes
    class_: DamageClass
    gold: Entry | None
    damaged: Entry | None
    detail: str = ""


_CLEANUP_ROOTS = (
    b"var/cache",
    b"var/lib/apt/lists",
    b"var/log",
    b"usr/share/doc",
    b"usr/share/man",
    b"usr/share/info",
)
_CLEANUP_NAMES = frozenset({b".git", b".cache", b".conda"})
_BY_PRODUCT_ROOTS = (
    b"var/lib/dpkg",
    b"var/lib/apt",
    # What apt and dpkg write while they work; without these, every task whose Dockerfile installs
    # something would owe gold's own log lines (FACTS.md 2.3).
    b"var/cache/apt",
    b"var/cache/debconf",
    b"var/cache/ldconfig",
    b"var/log/apt",
)
_BY_PRODUCT_FILES = frozenset({b"var/log/dpkg.log", b"var/log/alternatives.log"})
_ACCOUNT_BACKUPS = frozenset(
    b"etc/" + name + b"-"
    for name in (b"passwd", b"group", b"shadow", b"gshadow", b"subuid", b"subgid")
)
_HISTORIES = frozenset({b".bash_history", b".zsh_history", b".python_history", b".sh_history"})
_BACKUP_SUFFIXES = (b".bak", b".backup", b".orig", b".old", b".save", b"~")
_MAGIC = (b"\x7fELF", b"#!", b"PK\x03\x04")
"""First bytes of programs, scripts, and archives that Python imports from."""
_READ_MAX = 1024 * MIB
_AUTO_LOADED = ("path file", "module imported", "library preloaded")
"""Hooks that no package record excuses: a package may be made for the damage alone."""


def classify_damage(
    difference: ChangeSet, gold: ImageTree, damaged: ImageTree, *, search: Sequence[bytes]
) -> tuple[Damage, ...]:
    """Classifies every path that differs; inert candidates are still `required`.

    Args:
        difference: damaged against gold, attributes that `Entry` holds and nothing else.
        gold: the healthy image.
        damaged: the damaged image.
        search: the folders of gold's `PATH`, for hooks.
    """
    sorter = _Sorter(difference, gold, damaged, search)
    damages = tuple(sorter.sort(path) for path in difference.paths())
    return _without_made_cache(_without_layout(damages, gold, damaged), gold, damaged)


def _without_made_cache(
    damages: tuple[Damage, ...], gold: ImageTree, damaged: ImageTree
) -> tuple[Damage, ...]:
    """The linker cache of a task that installs packages: theirs, as long as it says no more."""
    packaged = {damage.path for damage in damages if damage.class_ is DamageClass.PACKAGE}

    def known(library: bytes) -> bool:
        real = resolve(damaged, library)
        return real is not None and (real in packaged or gold.entry(real) is not None)

    def is_made(damage: Damage) -> bool:
        if damage.path != LINKER_CACHE or damage.gold is None or damage.damaged is None:
            return False
        if attribute_difference(damage.damaged, damage.gold, None):
            return False
        mine, theirs = damaged.read(damage.path), gold.read(damage.path)
        return not linker_cache_difference(mine, theirs, known)

    return tuple(
        replace(damage, class_=DamageClass.PACKAGE, detail="made anew by ldconfig")
        if is_made(damage)
        else damage
        for damage in damages
    )


def _without_layout(
    damages: tuple[Damage, ...], gold: ImageTree, damaged: ImageTree
) -> tuple[Damage, ...]:
    """Python sources that the damage left the same program may stay: they are equal by rule."""
    sources = [
        damage
        for damage in damages
        if damage.class_ is DamageClass.REQUIRED
        and not (damage.gold is None or damage.damaged is None)
        and may_be_ast_equal(damage.path, damage.damaged, damage.gold)
        and not attribute_difference(damage.damaged, damage.gold, None)
    ]
    pairs = [(damaged.read(damage.path), gold.read(damage.path)) for damage in sources]
    same = {
        damage.path for damage, equal in zip(sources, same_programs(pairs), strict=True) if equal
    }
    return tuple(
        replace(damage, class_=DamageClass.INERT, detail="only comments or layout differ")
        if damage.path in same
        else damage
        for damage in damages
    )


def inert_candidates(damages: Iterable[Damage], gold: ImageTree, damaged: ImageTree) -> list[bytes]:
    """The required paths that a test run may still show to be inert, parents first.

    Additions and deletions of plain files, folders and links that are no code, no executable, no
    hook and not under /etc.
    """
    return [
        damage.path
        for damage in damages
        if damage.class_ is DamageClass.REQUIRED
        and not damage.detail
        and _is_plain(damage, damaged if damage.damaged is not None else gold)
    ]


def demote(damages: Iterable[Damage], inert: Collection[bytes], why: str) -> tuple[Damage, ...]:
    """The same with these required paths now `inert`."""
    return tuple(
        replace(damage, class_=DamageClass.INERT, detail=why)
        if damage.path in inert and damage.class_ is DamageClass.REQUIRED
        else damage
        for damage in damages
    )


class _Sorter:
    """The two images and what is looked up in them again and again."""

    def __init__(
        self,
        difference: ChangeSet,
        gold: ImageTree,
        damaged: ImageTree,
        search: Sequence[bytes],
    ) -> None:
        self._difference = difference
        self._gold = gold
        self._damaged = damaged
        self._search = search
        self._records = read_package_records(gold, damaged)
        self._gold_digests = {
            entry.digest for entry in gold.manifest.values() if entry.kind is Kind.FILE
        }
        self._gold_names: frozenset[bytes] | None = None
        self._holders = {
            parent for path in difference.changed for parent in _parents(path)
        }  # folders that hold something changed

    def sort(self, path: bytes) -> Damage:
        gold, damaged = self._gold.entry(path), self._damaged.entry(path)
        class_, detail = self._class_of(path, gold, damaged)
        return Damage(path=path, class_=class_, gold=gold, damaged=damaged, detail=detail)

    def _class_of(
        self, path: bytes, gold: Entry | None, damaged: Entry | None
    ) -> tuple[DamageClass, str]:
        if damaged is None and _is_cleanup(path):
            return DamageClass.CLEANUP, "deleted cache, history, log or manual"
        if _is_by_product(path):
            return DamageClass.BY_PRODUCT, "bookkeeping"
        hook = self._hook(path, damaged)
        if not hook.startswith(_AUTO_LOADED):
            owner = self._records.owner(path, self._gold, self._damaged)
            if owner:
                return DamageClass.PACKAGE, owner
        if gold is None and damaged is not None:
            if not hook and self._is_harmless_copy(path, damaged):
                return DamageClass.COPY, "same bytes as a file of gold"
            if damaged.kind is Kind.DIRECTORY and path in self._holders:
                return DamageClass.INERT, "folder that only holds other damage"
        return DamageClass.REQUIRED, hook

    def _hook(self, path: bytes, damaged: Entry | None) -> str:
        if damaged is None:
            return ""
        return hook_kind(
            path,
            damaged,
            final=self._damaged,
            before=self._gold,
            gold=self._gold,
            search=self._search,
        )

    def _is_harmless_copy(self, path: bytes, damaged: Entry) -> bool:
        """A copy that cannot take the place of what it copies, nor of anything else.

        `cp lib/empty.py json.py` has some gold file's bytes and still shadows a module: a name
        that gold uses elsewhere, in a folder that gold has, is no mere copy. Nor is an empty file.
        """
        if damaged.kind is not Kind.FILE or not damaged.size or is_bytecode(path):
            return False
        if damaged.digest not in self._gold_digests:
            return False
        folder, name = os.path.split(path)
        if name == b"__init__.py":
            folder, name = os.path.split(folder)
        if name.endswith(_BACKUP_SUFFIXES):
            return True
        if under(path, b"etc"):
            return False  # many programs read whole folders there
        if self._gold.entry(folder) is None:
            return True
        loaded = is_code_name(path) or is_executable(damaged)
        return (_stem(name) if loaded else name) not in self._known_names()

    def _known_names(self) -> frozenset[bytes]:
        if self._gold_names is None:
            names = {os.path.basename(path) for path in self._gold.manifest}
            self._gold_names = frozenset(names | {_stem(name) for name in names})
        return self._gold_names


def _stem(name: bytes) -> bytes:
    """What a module, library or program is asked for by."""
    return name.split(b".")[0]


def _parents(path: bytes) -> Iterable[bytes]:
    while path := os.path.dirname(path):
        yield path


def _is_cleanup(path: bytes) -> bool:
    names = components(path)
    if any(under(path, root) for root in _CLEANUP_ROOTS):
        return True
    if any(name in _CLEANUP_NAMES for name in names):
        return True
    # conda's package cache lies in its root prefix: miniconda3/pkgs, anaconda/pkgs …
    return any(b"conda" in parent and name == b"pkgs" for parent, name in pairwise(names))


def _is_by_product(path: bytes) -> bool:
    if any(under(path, root) for root in _BY_PRODUCT_ROOTS):
        return True
    folder, name = os.path.split(path)
    if path in _BY_PRODUCT_FILES or path in _ACCOUNT_BACKUPS or name in _HISTORIES:
        return True
    return name == b".pwd.lock" or (name == b"history" and folder.endswith(b"/conda-meta"))


def _is_plain(damage: Damage, tree: ImageTree) -> bool:
    """An addition or deletion of something that nothing runs, loads or configures itself by."""
    if (damage.gold is None) == (damage.damaged is None) or under(damage.path, b"etc"):
        return False
    entry = damage.gold or damage.damaged
    assert entry is not None  # exactly one of the two is None
    if entry.kind is Kind.DIRECTORY:
        return True
    if entry.kind is Kind.SYMLINK:
        return not is_code_name(damage.path) and not is_code_name(entry.target)
    if entry.kind is not Kind.FILE or is_executable(entry) or is_code_name(damage.path):
        return False
    return not entry.size or not tree.read(damage.path, limit_bytes=_READ_MAX).startswith(_MAGIC)
