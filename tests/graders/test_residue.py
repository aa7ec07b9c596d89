"""How each class of damage is judged in the final state."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import pytest

from cligym.graders.damage import Damage, DamageClass
from cligym.graders.residue import Residue, find_residue
from cligym.graders.tree import ImageTree
from cligym.sandboxes.entry import Entry, Kind

MakeTree = Callable[[Mapping[str, bytes | Entry]], ImageTree]


def judge(
    make_tree: MakeTree,
    class_: DamageClass,
    states: tuple[bytes | Entry | None, bytes | Entry | None, bytes | Entry | None],
    *,
    path: str = "testbed/x.dat",
    oracle_left: Mapping[bytes, Entry | None] | None = None,
    good_bytecode: Sequence[bytes] = (),
) -> Residue:
    """The judgement of one path that is (gold, damaged, final) = `states`; None: absent."""
    trees = [make_tree({} if state is None else {path: state}) for state in states]
    gold, damaged, final = trees
    key = path.encode()
    damage = Damage(path=key, class_=class_, gold=gold.entry(key), damaged=damaged.entry(key))
    return find_residue(
        [damage],
        final=final,
        gold=gold,
        oracle_left=oracle_left or {},
        judge_bytecode=lambda paths: [p for p in paths if p in good_bytecode],
    )


STAYS = (DamageClass.PACKAGE, DamageClass.COPY, DamageClass.INERT)


@pytest.mark.parametrize("class_", list(DamageClass))
def test_gold_again_is_right_for_every_class(make_tree: MakeTree, class_: DamageClass) -> None:
    found = judge(make_tree, class_, (b"good", b"bad", b"good"))
    assert not found.reasons and found.all_gold


@pytest.mark.parametrize("class_", list(DamageClass))
def test_as_damaged(make_tree: MakeTree, class_: DamageClass) -> None:
    found = judge(make_tree, class_, (b"good", b"bad", b"bad"))
    assert bool(found.reasons) is (class_ is DamageClass.REQUIRED)
    assert found.all_gold is (class_ in (DamageClass.CLEANUP, DamageClass.BY_PRODUCT))


@pytest.mark.parametrize("class_", list(DamageClass))
def test_a_third_state(make_tree: MakeTree, class_: DamageClass) -> None:
    found = judge(make_tree, class_, (b"good", b"bad", b"third"))
    free = (DamageClass.CLEANUP, DamageClass.BY_PRODUCT)
    assert bool(found.reasons) is (class_ not in free)


def test_words(make_tree: MakeTree) -> None:
    def words(*states: bytes | Entry | None) -> str:
        found = judge(make_tree, DamageClass.REQUIRED, (states[0], states[1], states[2]))
        return found.reasons[0].detail

    link = Entry(kind=Kind.SYMLINK, mode=0o777, target=b"there")
    assert "still the damaged" in words(b"good", b"bad", b"bad")
    assert "not gold's" in words(b"good", b"bad", b"third")
    assert "missing" in words(b"good", None, None)
    assert words(None, b"bad", b"bad") == "still there"
    assert "another form" in words(None, b"bad", b"renamed")
    assert "type symlink" in words(b"good", b"bad", link)
    assert "link to there" in words(replace(link, target=b"here"), link, link)


def test_an_edited_source_may_be_the_same_program(make_tree: MakeTree) -> None:
    states = (b"x = 1\n", b"x = 2\n", b"x = 1  # mended\n")
    found = judge(make_tree, DamageClass.REQUIRED, states, path="testbed/x.py")
    assert not found.reasons and not found.all_gold
    wrong = judge(make_tree, DamageClass.REQUIRED, states[:2] + (b"x = 3\n",), path="testbed/x.py")
    assert wrong.reasons
    text = judge(make_tree, DamageClass.REQUIRED, states, path="testbed/x.txt")
    assert text.reasons


def test_the_same_program_needs_the_same_mode(
    make_tree: MakeTree, make_file: Callable[..., Entry]
) -> None:
    gold, damaged = make_tree({"a.py": b"x = 1\n"}), make_tree({"a.py": b"x = 2\n"})
    content = b"x = 1 # !\n"
    final = ImageTree(lambda: {b"a.py": make_file(content, 0o600)}, lambda path, limit: content)
    damage = Damage(
        path=b"a.py",
        class_=DamageClass.REQUIRED,
        gold=gold.entry(b"a.py"),
        damaged=damaged.entry(b"a.py"),
    )
    found = find_residue(
        [damage], final=final, gold=gold, oracle_left={}, judge_bytecode=lambda paths: []
    )
    assert "mode" in found.reasons[0].detail


def test_what_the_oracle_left_is_right_too(
    make_tree: MakeTree, make_file: Callable[..., Entry]
) -> None:
    states = (b"good", b"bad", b"oracle's")
    left = {b"testbed/x.dat": make_file(b"oracle's")}
    assert not judge(make_tree, DamageClass.REQUIRED, states, oracle_left=left).reasons
    other = {b"testbed/x.dat": make_file(b"other")}
    assert judge(make_tree, DamageClass.REQUIRED, states, oracle_left=other).reasons
    gone: dict[bytes, Entry | None] = {b"testbed/x.dat": None}
    assert judge(make_tree, DamageClass.REQUIRED, states, oracle_left=gone).reasons
    assert not judge(make_tree, DamageClass.REQUIRED, (b"g", b"b", None), oracle_left=gone).reasons


PYC = "testbed/__pycache__/x.cpython-311.pyc"


@pytest.mark.parametrize(
    ("final", "good", "accepted"),
    [
        (None, False, True),
        (b"gold", False, True),
        (b"new", True, True),
        (b"new", False, False),
        (b"poisoned", False, False),
    ],
    ids=["absent", "gold", "remade", "forged", "untouched"],
)
def test_bytecode(make_tree: MakeTree, final: bytes | None, good: bool, accepted: bool) -> None:
    found = judge(
        make_tree,
        DamageClass.REQUIRED,
        (b"gold", b"poisoned", final),
        path=PYC,
        good_bytecode=[PYC.encode()] if good else [],
    )
    assert bool(found.reasons) is not accepted


def test_an_account_file_may_have_more_system_users(make_tree: MakeTree) -> None:
    gold = b"root:x:0:0::/root:/bin/sh\n"
    states = (gold, b"", gold + b"svc:x:101:101::/:/bin/false\n")
    assert not judge(make_tree, DamageClass.REQUIRED, states, path="etc/passwd").reasons
    assert judge(make_tree, DamageClass.REQUIRED, states, path="etc/passwd2").reasons
