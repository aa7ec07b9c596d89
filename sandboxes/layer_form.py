"""The one tree that belongs to a change set: what a layer folder holds, in overlayfs form.

An upper directory as a box leaves it holds more than its changes: files copied up and unchanged,
folders marked opaque. The same changes made on another image would leave another tree, so such a
tree cannot be named by its changes alone. In the normal form it can: every changed path, every
folder above one with its attributes, and a whiteout for every path that is gone; nothing else.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from cligym.sandboxes.entry import ChangeSet, Entry, Kind, Manifest
from cligym.sandboxes.tree_edit import Piece

__all__ = ["layer_changes", "layer_pieces", "parents"]

_UNSTATED = Entry(kind=Kind.DIRECTORY, mode=0o755)


def parents(path: bytes) -> Iterator[bytes]:
    """Every folder above `path` except the root, the nearest one first."""
    while (cut := path.rfind(b"/")) > 0:
        path = path[:cut]
        yield path


def layer_changes(parent: Manifest, changes: ChangeSet) -> ChangeSet:
    """`changes` with the folders above each changed or deleted path added as they are.

    With them the digest names the tree completely: overlayfs takes a folder's owner and mode from
    the topmost layer that holds it.
    """
    blocked: dict[bytes, bool] = {}
    changed = {
        path: entry
        for path, entry in changes.changed.items()
        if not _is_blocked(path, parent, changes, blocked)
    }
    for path in changes.paths():
        if _is_blocked(path, parent, changes, blocked):
            continue
        for folder in parents(path):
            if folder in changed:
                break
            if folder in changes.deleted:
                continue
            changed[folder] = parent.get(folder, _UNSTATED)
    return ChangeSet(changed, changes.deleted)


def _is_blocked(
    path: bytes, parent: Manifest, changes: ChangeSet, known: dict[bytes, bool]
) -> bool:
    """Whether something above `path` is no folder, so that nothing can be there.

    Whole change sets hold no such path. Parts of one may: a folder that took a file's place and is
    left out, or what was deleted below a folder that became a link.
    """
    chain = []
    folder = os.path.dirname(path)
    while folder and folder not in known:
        chain.append(folder)
        folder = os.path.dirname(folder)
    blocked = known.get(folder, False)
    for folder in reversed(chain):
        entry = changes.changed.get(folder)
        if entry is None and folder not in changes.deleted:
            entry = parent.get(folder)
        blocked = blocked or (entry is not None and entry.kind is not Kind.DIRECTORY)
        known[folder] = blocked
    return blocked


def layer_pieces(changes: ChangeSet, source: str) -> list[Piece]:
    """The pieces of the normal form, parents before children.

    Args:
        changes: as `layer_changes` made them.
        source: the tree that holds the bytes of the changed files.
    """
    pieces = [
        Piece(path=path, entry=entry, source=source if entry.kind is Kind.FILE else "")
        for path, entry in changes.changed.items()
    ]
    for path in changes.deleted:
        above = next(parents(path), b"")
        entry = changes.changed.get(above)
        # below a deleted folder, or below what is no folder any more, nothing is left to hide
        if path not in changes.changed and (
            not above or (entry is not None and entry.kind is Kind.DIRECTORY)
        ):
            pieces.append(Piece(path=path, entry=None))
    return sorted(pieces, key=lambda piece: piece.path)
