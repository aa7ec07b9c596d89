"""Whole roots of stacks of layers: the last few in memory, large ones also as files."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from threading import Lock

from cligym.sandboxes.entry import ChangeSet
from cligym.sandboxes.manifest_rows import RowManifest

__all__ = ["RootCache"]

_IN_MEMORY = 6
_WORTH_A_FILE = 2000  # paths above the nearest stored root; fewer are applied faster than read

_Layers = tuple[str, ...]


class RootCache:
    """Roots by their layers.

    Args:
        folder: where the files go.
        changes_of: reads one layer's change set.
    """

    def __init__(self, folder: Path, changes_of: Callable[[str], ChangeSet]) -> None:
        self._folder = folder
        self._changes_of = changes_of
        self._memory: OrderedDict[_Layers, RowManifest] = OrderedDict()
        self._lock = Lock()
        folder.mkdir(mode=0o755, parents=True, exist_ok=True)

    def get(self, layers: _Layers) -> RowManifest:
        """The root of a stack of layers, bottom first."""
        count = len(layers)
        root = self._stored(layers[:count])
        while root is None and count:
            count -= 1
            root = self._stored(layers[:count])
        root = RowManifest({}) if root is None else root
        applied = 0
        for layer in layers[count:]:
            changes = self._changes_of(layer)
            root = root.with_changes(changes)
            applied += len(changes.changed) + len(changes.deleted)
        if applied >= _WORTH_A_FILE:
            root.save(self._path(layers))
        self._remember(layers, root)
        return root

    def forget(self) -> None:
        """Drops what is in memory, and the files (they come back when asked for)."""
        with self._lock:
            self._memory.clear()
        for path in self._folder.glob("[0-9a-f]*"):
            path.unlink(missing_ok=True)

    def _stored(self, layers: _Layers) -> RowManifest | None:
        with self._lock:
            root = self._memory.get(layers)
        return root if root is not None or not layers else RowManifest.load(self._path(layers))

    def _remember(self, layers: _Layers, root: RowManifest) -> None:
        with self._lock:
            self._memory[layers] = root
            self._memory.move_to_end(layers)
            while len(self._memory) > _IN_MEMORY:
                self._memory.popitem(last=False)

    def _path(self, layers: _Layers) -> Path:
        return self._folder / hashlib.sha256("\n".join(layers).encode()).hexdigest()
