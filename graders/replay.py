"""Replay: the two states that tests run in, as read-only layers over the damaged image.

*Repaired* holds only the damage-set paths of the change set: what the agent did elsewhere can
neither help nor forge. *As left* holds all of it: the repair must not have broken the rest. In both
the test-side files are gold's and no bytecode is the agent's.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from cligym.graders.path_kinds import is_bytecode, is_python_source, is_test_side
from cligym.graders.prepared import Prepared, stale_bytecode
from cligym.graders.verdict import State
from cligym.sandboxes.base import Capture

__all__ = ["replayed", "state_paths"]


def state_paths(state: State, prepared: Prepared, capture: Capture) -> list[bytes]:
    """The changed paths that belong to a state; tests and bytecode never do.

    A `__pycache__` folder may stay; the files in it may not.
    """
    return [
        path
        for path in capture.changes.paths()
        if not is_test_side(path)
        and not is_bytecode(path)
        and (state is State.AS_LEFT or path in prepared.paths)
    ]


@contextmanager
def replayed(state: State, prepared: Prepared, capture: Capture) -> Iterator[tuple[Capture, ...]]:
    """The layers that make `state` of the damaged image; they are freed afterwards."""
    with ExitStack() as stack:
        layers: list[Capture] = []
        mirror = prepared.mirror()
        if mirror is not None:
            layers.append(mirror)
        paths = state_paths(state, prepared, capture)
        stale = _stale(paths, prepared)
        if stale:
            layers.append(
                prepared.backend.overlay_from_image(
                    prepared.gold_image, (), over=prepared.damaged_image, deleted=sorted(stale)
                )
            )
            stack.callback(layers[-1].close)
        if paths:
            layers.append(capture.subset(paths))
            stack.callback(layers[-1].close)
        yield tuple(layers)


def _stale(paths: list[bytes], prepared: Prepared) -> set[bytes]:
    """Bytecode of sources that changed outside the damage set (the mirror has the rest)."""
    stale: set[bytes] = set()
    for path in paths:
        if is_python_source(path) and path not in prepared.paths:
            stale |= stale_bytecode(path, prepared.damaged)
    return stale
