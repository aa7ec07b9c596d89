"""The normal form: a tree that its change set names completely."""

from __future__ import annotations

from cligym.sandboxes.entry import ChangeSet, Entry, Kind
from cligym.sandboxes.layer_form import layer_changes, layer_pieces

FILE = Entry(kind=Kind.FILE, mode=0o644, size=1, digest="0" * 64)
LINK = Entry(kind=Kind.SYMLINK, mode=0o777, target=b"x")


def folder(mode: int = 0o755) -> Entry:
    return Entry(kind=Kind.DIRECTORY, mode=mode)


def whiteouts(changes: ChangeSet) -> list[bytes]:
    return [piece.path for piece in layer_pieces(changes, "") if piece.entry is None]


def test_folders_above_are_named_with_their_attributes() -> None:
    parent = {b"a": folder(0o700), b"a/b": folder(), b"z": folder()}
    full = layer_changes(parent, ChangeSet({b"a/b/c": FILE}))
    assert full == ChangeSet({b"a": folder(0o700), b"a/b": folder(), b"a/b/c": FILE})


def test_other_parents_make_other_digests() -> None:
    changes = ChangeSet({b"a/c": FILE})
    one = layer_changes({b"a": folder(0o755)}, changes)
    two = layer_changes({b"a": folder(0o700)}, changes)
    assert one.digest != two.digest


def test_deleted_folder_is_one_whiteout() -> None:
    parent = {b"a": folder(), b"a/b": folder(), b"a/b/c": FILE}
    full = layer_changes(parent, ChangeSet({}, frozenset([b"a/b", b"a/b/c"])))
    assert dict(full.changed) == {b"a": folder()}
    assert whiteouts(full) == [b"a/b"]


def test_deleted_top_folder() -> None:
    full = layer_changes({b"a": folder(), b"a/b": FILE}, ChangeSet({}, frozenset([b"a", b"a/b"])))
    assert full.changed == {} and whiteouts(full) == [b"a"]


def test_folder_made_anew_hides_what_was_in_it() -> None:
    parent = {b"a": folder(), b"a/b": FILE, b"a/d": folder(), b"a/d/e": FILE}
    changes = ChangeSet({b"a": folder(0o700)}, frozenset([b"a/b", b"a/d", b"a/d/e"]))
    assert whiteouts(layer_changes(parent, changes)) == [b"a/b", b"a/d"]


def test_folder_replaced_by_a_link_needs_no_whiteout_below() -> None:
    parent = {b"a": folder(), b"a/b": FILE}
    full = layer_changes(parent, ChangeSet({b"a": LINK}, frozenset([b"a/b"])))
    assert whiteouts(full) == []
    assert [piece.path for piece in layer_pieces(full, "t")] == [b"a"]


def test_parents_come_before_children() -> None:
    changes = ChangeSet({b"a/b/c": FILE, b"a": folder(), b"a/b": folder(), b"a-": FILE})
    order = [piece.path for piece in layer_pieces(changes, "t")]
    assert order.index(b"a") < order.index(b"a/b") < order.index(b"a/b/c")


def test_a_child_of_what_stays_a_file_is_left_out() -> None:
    full = layer_changes({b"a": FILE}, ChangeSet({b"a/x/y": FILE, b"b": FILE}))
    assert dict(full.changed) == {b"b": FILE}


def test_nothing_is_said_below_a_folder_that_became_a_link() -> None:
    parent = {b"a": folder(), b"a/b": folder(), b"a/b/c": FILE, b"a/b/d": FILE}
    part = ChangeSet({b"a": LINK}, frozenset([b"a/b/c"]))
    assert [piece.path for piece in layer_pieces(layer_changes(parent, part), "")] == [b"a"]


def test_depth_is_no_problem() -> None:
    path = b"/".join([b"d"] * 2000)
    assert len(layer_changes({}, ChangeSet({path: FILE})).changed) == 2000
