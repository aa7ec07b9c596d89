"""Which required differences are inert after all: a test run on gold with them decides."""

from __future__ import annotations

import os.path
from collections.abc import Callable, Sequence

from cligym.graders.damage import Damage, inert_candidates
from cligym.graders.prepared import GradingBackend, image_tree
from cligym.sandboxes.base import Capture
from cligym.sandboxes.image import Image

__all__ = ["damage_layer", "find_inert"]

_ALONE_MAX = 32
"""Differences tried one by one when all together fail; more are tried by folder."""

PassesWith = Callable[[tuple[Capture, ...]], bool]
"""Whether gold's tests come out as certified with these layers on gold."""


def find_inert(
    damages: Sequence[Damage],
    *,
    gold: Image,
    damaged: Image,
    backend: GradingBackend,
    passes_with: PassesWith,
) -> frozenset[bytes]:
    """The required paths that may stay as the damage left them.

    Args:
        damages: the classified damage set.
        gold: the healthy image.
        damaged: the damaged image.
        backend: makes the layers.
        passes_with: runs the tests on gold with layers on top.
    """
    by_path = {damage.path: damage for damage in damages}
    gold_tree, damaged_tree = image_tree(gold, backend), image_tree(damaged, backend)
    candidates = set(inert_candidates(damages, gold_tree, damaged_tree))
    candidates -= _emptied_folders(candidates, by_path)

    def passes(paths: Sequence[bytes]) -> bool:
        layer = damage_layer(paths, damages, gold=gold, damaged=damaged, backend=backend)
        try:
            return passes_with((layer,))
        finally:
            layer.close()

    if not candidates or passes(sorted(candidates)):
        return frozenset(candidates)
    groups = _groups(sorted(candidates))
    return frozenset(path for group in groups if passes(group) for path in group)


def _emptied_folders(candidates: set[bytes], by_path: dict[bytes, Damage]) -> set[bytes]:
    """Deleted folders that held something which is no candidate: they must come back with it."""
    needed: set[bytes] = set()
    for path, damage in by_path.items():
        if damage.gold is not None and damage.damaged is None and path not in candidates:
            folder = os.path.dirname(path)
            while folder:
                needed.add(folder)
                folder = os.path.dirname(folder)
    return candidates & needed


def _groups(paths: Sequence[bytes]) -> list[list[bytes]]:
    """One group for each path; by parent folder when there are too many.

    A folder that other candidates lie in is tried with them.
    """
    roots: dict[bytes, list[bytes]] = {}
    for path in paths:
        parent = next((root for root in roots if path.startswith(root + b"/")), None)
        roots.setdefault(parent if parent is not None else path, []).append(path)
    groups = list(roots.values())
    if len(groups) <= _ALONE_MAX:
        return groups
    folders: dict[bytes, list[bytes]] = {}
    for group in groups:
        folders.setdefault(os.path.dirname(group[0]), []).extend(group)
    return list(folders.values())[:_ALONE_MAX]


def damage_layer(
    paths: Sequence[bytes],
    damages: Sequence[Damage],
    *,
    gold: Image,
    damaged: Image,
    backend: GradingBackend,
) -> Capture:
    """The damage at `paths`, alone, as a layer over gold; folders only damaged has come along."""
    by_path = {damage.path: damage for damage in damages}
    added = {path for path in paths if by_path[path].damaged is not None}
    for path in tuple(added):
        folder = os.path.dirname(path)
        while folder in by_path and by_path[folder].gold is None:
            added.add(folder)  # folders that only the damaged image has
            folder = os.path.dirname(folder)
    deleted = [path for path in paths if by_path[path].damaged is None]
    return backend.overlay_from_image(damaged, sorted(added), over=gold, deleted=deleted)
