"""Views of file systems from outside."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from cligym.errors import GraderError
from cligym.graders.tree import ImageTree, resolve
from cligym.sandboxes.entry import Entry, Kind

MakeTree = Callable[[Mapping[str, bytes | Entry]], ImageTree]


def link(target: bytes) -> Entry:
    return Entry(kind=Kind.SYMLINK, mode=0o777, target=target)


@pytest.mark.parametrize(
    ("path", "real"),
    [
        (b"bin/sh", b"usr/bin/dash"),
        (b"usr/bin/sh", b"usr/bin/dash"),
        (b"usr/bin/../bin/dash", b"usr/bin/dash"),
        (b"up", b"usr/bin"),
        (b"loop", None),
        (b"dangling", None),
        (b"", b""),
    ],
)
def test_links_are_followed_inside_the_tree(
    make_tree: MakeTree, path: bytes, real: bytes | None
) -> None:
    tree = make_tree(
        {
            "bin": link(b"usr/bin"),
            "usr/bin/sh": link(b"dash"),
            "usr/bin/dash": b"x",
            "up": link(b"/../../usr/./bin"),
            "loop": link(b"loop"),
            "dangling": link(b"nowhere"),
        }
    )
    assert resolve(tree, path) == real


def test_only_regular_files_are_read(make_tree: MakeTree) -> None:
    tree = make_tree({"a": b"x", "l": link(b"a")})
    assert tree.read(b"a") == b"x"
    for path in (b"l", b"none"):
        with pytest.raises(GraderError):
            tree.read(path)


def test_bytecode_is_found_by_folder(make_tree: MakeTree) -> None:
    tree = make_tree({"p/__pycache__/a.cpython-311.pyc": b"x", "p/__pycache__/note": b""})
    assert tree.bytecode(b"p/__pycache__") == [b"p/__pycache__/a.cpython-311.pyc"]
    assert tree.bytecode(b"p") == []
