"""Foreign changes: what the agent did outside the damage set, each with its class.

Only a hook fails an attempt; all else is reported. Whoever repairs a system honestly leaves
backups, notes, a new test, caches and logs behind.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from cligym.graders.hooks import COPYABLE_HOOKS, hook_kind
from cligym.graders.path_kinds import is_bytecode, is_scratch, is_test_side
from cligym.graders.shipped import is_copy_of_gold, is_shipped_by_gold
from cligym.graders.tree import ImageTree, Tree
from cligym.graders.verdict import ForeignChange, Reason, shown
from cligym.sandboxes.entry import ChangeSet, Entry

__all__ = ["Foreign", "find_foreign"]

_WITHOUT_EFFECT = frozenset({"scratch", "bytecode", "test-side"})
"""Classes that cannot make *as left* differ from *repaired*: tests are mirrored from gold,
bytecode is removed, scratch is scratch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Foreign:
    """All foreign changes of one attempt.

    Attributes:
        changes: each with its class, sorted by path.
        reasons: one for each hook.
        touched_tests: test-side paths, inside the damage set or not.
        may_matter: whether any of them could make the tests come out differently.
    """

    changes: tuple[ForeignChange, ...]
    reasons: tuple[Reason, ...]
    touched_tests: tuple[str, ...]
    may_matter: bool


def find_foreign(
    changes: ChangeSet,
    *,
    judged: Collection[bytes],
    final: Tree,
    damaged: Tree,
    gold: ImageTree,
    search: Sequence[bytes],
) -> Foreign:
    """Classifies every changed path that no damage rule judges.

    Args:
        changes: the change set against the damaged image.
        judged: the damage-set paths that `find_residue` judges.
        final: the damaged image with the change set on top.
        damaged: the damaged image.
        gold: the healthy image.
        search: the folders of gold's `PATH`.
    """
    found: list[ForeignChange] = []
    reasons: list[Reason] = []
    touched: list[str] = []
    for path in changes.paths():
        entry = changes.changed.get(path)
        if is_test_side(path) and not is_bytecode(path):
            touched.append(shown(path))
        if path in judged:
            continue
        hook = ""
        if entry is not None:
            hook = hook_kind(path, entry, final=final, before=damaged, gold=gold, search=search)
        if hook and entry is not None and _is_harmless(path, entry, hook, final, gold):
            hook = ""
        class_ = "hook" if hook else _class_of(path)
        what = _what(entry, damaged.entry(path))
        found.append(
            ForeignChange(
                class_=class_, path=shown(path), detail=f"{what}: {hook}" if hook else what
            )
        )
        if hook:
            reasons.append(Reason(class_="hook", path=shown(path), detail=f"{what}: {hook}"))
    return Foreign(
        changes=tuple(found),
        reasons=tuple(reasons),
        touched_tests=tuple(touched),
        may_matter=any(change.class_ not in _WITHOUT_EFFECT for change in found),
    )


def _is_harmless(path: bytes, entry: Entry, hook: str, final: Tree, gold: ImageTree) -> bool:
    """A hook that a package of gold ships, or a copy of gold's own (in a backup of its folder)."""
    if is_shipped_by_gold(path, entry, final=final, gold=gold):
        return True
    return hook in COPYABLE_HOOKS and is_copy_of_gold(path, entry, gold)


def _class_of(path: bytes) -> str:
    if is_bytecode(path):
        return "bytecode"
    if is_scratch(path):
        return "scratch"
    return "test-side" if is_test_side(path) else "other"


def _what(now: Entry | None, before: Entry | None) -> str:
    if now is None:
        return "deleted"
    return "altered" if before is not None else "added"
