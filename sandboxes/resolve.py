"""Turns what a writable layer holds into what really changed against the layers below it."""

from __future__ import annotations

from collections.abc import Mapping

from cligym.sandboxes.box_mounts import ENGINE_PATHS
from cligym.sandboxes.entry import ChangeSet, Entry, Kind
from cligym.sandboxes.tree_scan import TreeScan

__all__ = ["resolve_changes"]


def resolve_changes(scan: TreeScan, lower: Mapping[bytes, Entry]) -> ChangeSet:
    """The canonical change set of a scanned upper tree.

    Copied-up paths that are equal to what lies below are no change; whiteouts, opaque folders and
    folders replaced by something else become deletions of every path that they hide. Paths that
    belong to the engine (`ENGINE_PATHS`) are left out.
    """
    changed = {
        path: entry
        for path, entry in scan.changed.items()
        if path not in ENGINE_PATHS and lower.get(path) != entry
    }
    hidden = _hidden_folders(scan, lower)
    deleted = {path for path in scan.whiteouts if path in lower}
    if hidden:
        deleted |= {
            path
            for path in lower
            if path not in scan.changed and any(above in hidden for above in _above(path))
        }
    return ChangeSet(changed, frozenset(deleted - ENGINE_PATHS))


def _hidden_folders(scan: TreeScan, lower: Mapping[bytes, Entry]) -> set[bytes]:
    """Folders below whose lower content does not show any more."""
    hidden = set(scan.opaque)
    candidates = scan.whiteouts | {
        path for path, entry in scan.changed.items() if entry.kind is not Kind.DIRECTORY
    }
    for path in candidates:
        entry = lower.get(path)
        if entry is not None and entry.kind is Kind.DIRECTORY:
            hidden.add(path)
    return hidden


def _above(path: bytes) -> list[bytes]:
    parts = path.split(b"/")
    return [b"/".join(parts[:end]) for end in range(1, len(parts))]
