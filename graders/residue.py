"""What of the damage is left: every damaged path judged by the class that it was given.

Also tells whether the final state is byte-equal to gold wherever it must be, in which case the
certificate already knows how the tests come out.
"""

from __future__ import annotations

import os.path
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from cligym.graders.accounts import ACCOUNT_FILES, account_difference
from cligym.graders.damage import Damage, DamageClass
from cligym.graders.equality import attribute_difference, bytes_equal, identical
from cligym.graders.linker_cache import LINKER_CACHE, linker_cache_difference
from cligym.graders.path_kinds import is_bytecode
from cligym.graders.python_source import may_be_ast_equal, same_programs
from cligym.graders.tree import NO_PROGRAM, TEXT_MAX_BYTES, Tree, resolve
from cligym.graders.verdict import Reason, shown
from cligym.sandboxes.entry import Entry, Kind

__all__ = ["BytecodeJudge", "Residue", "find_residue"]

BytecodeJudge = Callable[[Sequence[bytes]], Collection[bytes]]
"""From changed .pyc paths to those that hold what gold's source compiles to."""

_FREE = frozenset({DamageClass.CLEANUP, DamageClass.BY_PRODUCT})
_MAY_STAY = frozenset({DamageClass.PACKAGE, DamageClass.COPY, DamageClass.INERT})


@dataclass(frozen=True, slots=True, kw_only=True)
class Residue:
    """The judgement over the whole damage set.

    Attributes:
        reasons: one for each path that is not undone; empty when all is.
        all_gold: every path outside `cleanup` and `by-product` is byte-equal to gold.
    """

    reasons: tuple[Reason, ...]
    all_gold: bool


def find_residue(
    damages: Iterable[Damage],
    *,
    final: Tree,
    gold: Tree,
    oracle_left: Mapping[bytes, Entry | None],
    judge_bytecode: BytecodeJudge,
) -> Residue:
    """Judges every path of the damage set in its final state.

    Args:
        damages: the classified damage set of the certificate.
        final: the damaged image with the change set on top.
        gold: the healthy image.
        oracle_left: what a certified oracle left where it did not leave gold's state.
        judge_bytecode: see `BytecodeJudge`; called at most once.
    """
    reasons: list[Reason] = []
    sources: list[tuple[Damage, Entry]] = []
    bytecode: list[Damage] = []
    all_gold = True
    damages = tuple(damages)
    packaged = {d.path for d in damages if d.class_ is DamageClass.PACKAGE}
    for damage in damages:
        if damage.class_ in _FREE:
            continue
        entry = final.entry(damage.path)
        if identical(entry, damage.gold, damage.damaged):
            continue
        all_gold = False
        if _accepted(damage, entry, oracle_left):
            continue
        if entry is not None and damage.gold is not None and _is_python_edit(damage, entry):
            sources.append((damage, entry))
        elif _is_new_bytecode(damage, entry):
            bytecode.append(damage)
        elif detail := _difference(damage, entry, final, gold, packaged):
            reasons.append(_reason(damage, detail))
    reasons += _source_reasons(sources, final, gold)
    if bytecode:
        good = judge_bytecode([damage.path for damage in bytecode])
        reasons += [
            _reason(damage, "bytecode is not what gold's source compiles to")
            for damage in bytecode
            if damage.path not in good
        ]
    return Residue(reasons=tuple(sorted(reasons, key=lambda r: r.path)), all_gold=all_gold)


def _accepted(
    damage: Damage, entry: Entry | None, oracle_left: Mapping[bytes, Entry | None]
) -> bool:
    """Whether the path may be in this state although it is not gold's."""
    if damage.class_ in _MAY_STAY and entry == damage.damaged:
        return True
    if damage.path in oracle_left:
        certified = oracle_left[damage.path]
        if certified is None or entry is None:
            return certified is entry
        if bytes_equal(entry, certified):
            return not attribute_difference(entry, certified, damage.damaged)
    return False


def _is_new_bytecode(damage: Damage, entry: Entry | None) -> bool:
    """Bytecode that the agent made; what the damage left there was judged at certification."""
    if entry is None or entry.kind is not Kind.FILE or not is_bytecode(damage.path):
        return False
    return damage.damaged is None or not bytes_equal(entry, damage.damaged)


def _is_python_edit(damage: Damage, entry: Entry) -> bool:
    gold = damage.gold
    if gold is None or bytes_equal(entry, gold):
        return False
    if damage.damaged is not None and bytes_equal(entry, damage.damaged):
        return False  # certification has compared the damaged source already
    return may_be_ast_equal(damage.path, entry, gold)


def _difference(
    damage: Damage, entry: Entry | None, final: Tree, gold: Tree, packaged: Collection[bytes]
) -> str:
    """Why the final state is not gold's, in words; "" when a rule for contents accepts it."""
    if is_bytecode(damage.path) and _is_harmless_bytecode(damage.path, entry):
        return ""
    if entry is None:
        return "missing, in gold it is there"
    if damage.gold is None:
        return "still there" if entry == damage.damaged else "there in another form, not in gold"
    if entry.kind is not damage.gold.kind:
        return f"type {entry.kind.name.lower()}, in gold {damage.gold.kind.name.lower()}"
    if bytes_equal(entry, damage.gold):
        return attribute_difference(entry, damage.gold, damage.damaged)
    words = _content_difference(damage, entry, final, gold, packaged)
    return words or attribute_difference(entry, damage.gold, damage.damaged)


def _content_difference(
    damage: Damage, entry: Entry, final: Tree, gold: Tree, packaged: Collection[bytes]
) -> str:
    """What differs in contents that are not gold's bytes; files with a rule of their own aside."""
    path = damage.path
    if entry.size > TEXT_MAX_BYTES:
        return _content_words(damage, entry)
    if entry.kind is Kind.FILE and path in ACCOUNT_FILES:
        return account_difference(path, final.read(path), gold.read(path))
    if entry.kind is Kind.FILE and path == LINKER_CACHE:

        def known(library: bytes) -> bool:
            real = resolve(final, library)
            return real is not None and (real in packaged or gold.entry(real) is not None)

        return linker_cache_difference(final.read(path), gold.read(path), known)
    return _content_words(damage, entry)


def _content_words(damage: Damage, entry: Entry) -> str:
    if entry.kind is Kind.SYMLINK:
        gold_target = damage.gold.target if damage.gold is not None else b""
        return f"link to {_target_text(entry.target)}, in gold to {_target_text(gold_target)}"
    if entry.kind is not Kind.FILE:
        return "device numbers are not gold's"
    untouched = damage.damaged is not None and entry.digest == damage.damaged.digest
    return "content is still the damaged one" if untouched else "content is not gold's"


def _target_text(target: bytes) -> str:
    """A link target as text."""
    return target.decode("utf-8", "backslashreplace")


def _is_harmless_bytecode(path: bytes, entry: Entry | None) -> bool:
    """Absent bytecode is made again; a `__pycache__` folder means nothing by itself."""
    if entry is None:
        return True
    return entry.kind is Kind.DIRECTORY and os.path.basename(path) == b"__pycache__"


def _source_reasons(
    sources: Sequence[tuple[Damage, Entry]], final: Tree, gold: Tree
) -> list[Reason]:
    pairs = [
        (
            final.read(damage.path) if entry.size <= TEXT_MAX_BYTES else NO_PROGRAM,
            gold.read(damage.path),
        )
        for damage, entry in sources
    ]
    reasons = []
    for (damage, entry), equal in zip(sources, same_programs(pairs), strict=True):
        assert damage.gold is not None  # only such paths are taken as Python edits
        if not equal:
            reasons.append(_reason(damage, _content_words(damage, entry)))
        elif detail := attribute_difference(entry, damage.gold, damage.damaged):
            reasons.append(_reason(damage, detail))
    return reasons


def _reason(damage: Damage, detail: str) -> Reason:
    return Reason(class_="residue", path=shown(damage.path), detail=detail)
