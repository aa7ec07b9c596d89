"""Foreign changes: their classes, which fail, and which could matter to the tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from cligym.graders.foreign import Foreign, find_foreign
from cligym.graders.tree import ImageTree
from cligym.sandboxes.entry import ChangeSet, Entry

MakeTree = Callable[[Mapping[str, bytes | Entry]], ImageTree]
BASE: dict[str, bytes | Entry] = {"testbed/a.py": b"a", "testbed/tests/test_a.py": b"t"}


def changes_to(
    make_tree: MakeTree, path: str, content: bytes | None, judged: tuple[bytes, ...] = ()
) -> Foreign:
    before = make_tree(BASE)
    after = make_tree({p: v for p, v in (BASE | {path: content}).items() if v is not None})
    key = path.encode()
    entry = after.entry(key)
    changes = ChangeSet({key: entry}) if entry else ChangeSet({}, frozenset({key}))
    return find_foreign(changes, judged=judged, final=after, damaged=before, gold=before, search=())


@pytest.mark.parametrize(
    ("path", "class_"),
    [
        ("tmp/repro.py", "scratch"),
        ("root/.cache/pip/x", "scratch"),
        ("var/log/apt/history.log", "scratch"),
        ("testbed/.pytest_cache/v/x", "scratch"),
        ("testbed/__pycache__/a.cpython-311.pyc", "bytecode"),
        ("testbed/tests/test_new.py", "test-side"),
        ("testbed/a.py.bak", "other"),
        ("testbed/.git/refs/stash", "other"),
        ("root/.gitconfig", "other"),
        ("usr/lib/python3/site-packages/p.dist-info/RECORD", "other"),
        ("testbed/conftest.py", "hook"),
    ],
)
def test_classes(make_tree: MakeTree, path: str, class_: str) -> None:
    found = changes_to(make_tree, path, b"x")
    assert [change.class_ for change in found.changes] == [class_]
    assert bool(found.reasons) is (class_ == "hook")
    assert found.may_matter is (class_ in ("other", "hook"))


def test_words_and_touched_tests(make_tree: MakeTree) -> None:
    altered = changes_to(make_tree, "testbed/tests/test_a.py", b"assert True")
    assert altered.changes[0].detail == "altered"
    assert altered.touched_tests == ("/testbed/tests/test_a.py",)
    assert not altered.reasons
    assert changes_to(make_tree, "testbed/a.py", None).changes[0].detail == "deleted"
    assert changes_to(make_tree, "testbed/b.py", b"b").changes[0].detail == "added"


def test_a_hook_that_damage_rules_judge_is_not_foreign(make_tree: MakeTree) -> None:
    found = changes_to(make_tree, "testbed/conftest.py", b"x", judged=(b"testbed/conftest.py",))
    assert not found.changes and not found.reasons
    assert found.touched_tests == ("/testbed/conftest.py",)
