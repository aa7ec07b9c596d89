"""When a path counts as *gold's again*: the attributes that matter, and those that do not.

Times, sizes on disk and link counts never matter; they are not even in an `Entry`. Rules for
contents (Python source, bytecode, account files) have files of their own and are applied by
`graders/residue.py` when the bytes differ.
"""

from __future__ import annotations

from cligym.sandboxes.entry import Entry, Kind

__all__ = ["attribute_difference", "bytes_equal", "identical"]

_ALWAYS = 0o7000 | 0o555 | 0o002
"""setuid, setgid, sticky; read and execute for all three; write for others."""
_IF_DAMAGED = 0o220
"""User-write and group-write: `git checkout` by root leaves other ones than an sdist."""
_CAPABILITY = "security.capability"


def bytes_equal(final: Entry, gold: Entry) -> bool:
    """Same type and same content: bytes, link target or device numbers."""
    return (final.kind, final.digest, final.target, final.rdev) == (
        gold.kind,
        gold.digest,
        gold.target,
        gold.rdev,
    )


def attribute_difference(final: Entry, gold: Entry, damaged: Entry | None) -> str:
    """The first attribute of `final` that counts and is not gold's, in words; "" when none.

    Args:
        final: what is there now.
        gold: what is there in the healthy image, of the same type.
        damaged: what the damage left there, or None when it deleted the path.
    """
    if damaged is not None and damaged.kind is not gold.kind:
        damaged = None  # replaced by something else: as good as deleted
    special = _is_special(gold) or _is_special(final)
    mask = 0 if gold.kind is Kind.SYMLINK else _counted_bits(gold, damaged, special)
    if (final.mode ^ gold.mode) & mask:
        return f"mode {final.mode:04o}, in gold {gold.mode:04o}"
    for name in ("uid", "gid"):
        mine, theirs = getattr(final, name), getattr(gold, name)
        damage_changed = damaged is not None and getattr(damaged, name) != theirs
        if (special or damage_changed) and mine != theirs:
            return f"{name} {mine}, in gold {theirs}"
    return _xattr_difference(final, gold, damaged)


def _counted_bits(gold: Entry, damaged: Entry | None, special: bool) -> int:
    if special:
        return 0o7777
    changed = 0 if damaged is None else (damaged.mode ^ gold.mode) & _IF_DAMAGED
    return _ALWAYS | changed


def _is_special(entry: Entry) -> bool:
    """Whether the owner decides what the file may do: setuid, setgid (files), capabilities."""
    if entry.kind is not Kind.FILE:
        return False
    return bool(entry.mode & 0o6000) or any(name == _CAPABILITY for name, _ in entry.xattrs)


def _xattr_difference(final: Entry, gold: Entry, damaged: Entry | None) -> str:
    if not gold.xattrs and (damaged is None or not damaged.xattrs):
        mine = [pair for pair in final.xattrs if pair[0] == _CAPABILITY]
        return f"extended attribute {_CAPABILITY}, in gold none" if mine else ""
    if final.xattrs == gold.xattrs:
        return ""
    here, there = dict(final.xattrs), dict(gold.xattrs)
    names = sorted(n for n in {*here, *there} if here.get(n) != there.get(n))
    return "extended attributes " + ", ".join(names)


def identical(final: Entry | None, gold: Entry | None, damaged: Entry | None) -> bool:
    """Whether `final` is byte-equal to gold in everything that counts (absent equals absent)."""
    if final is None or gold is None:
        return final is gold
    return bytes_equal(final, gold) and not attribute_difference(final, gold, damaged)
