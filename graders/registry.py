"""Graders by name: ours, those of other packages (entry-point group), or a dotted path."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Sequence
from importlib.metadata import entry_points

from cligym.errors import ConfigError
from cligym.graders.grader import Grader

__all__ = ["ENTRY_POINT_GROUP", "grader_names", "load_grader"]

ENTRY_POINT_GROUP = "cligym.graders"

_OURS = {
    "dataset": "cligym.graders.dataset:DatasetGrader",
    "published": "cligym.graders.published:PublishedGrader",
    "hardened": "cligym.graders.hardened:HardenedGrader",
}


def grader_names(names: Sequence[str]) -> tuple[str, ...]:
    """The names, each once, in order, once all are known to exist.

    Raises:
        ConfigError: no name at all, or one that no grader has.
    """
    if isinstance(names, str):
        names = (names,)
    if not names:
        raise ConfigError(f"no grader given; known: {', '.join(sorted(_known()))}")
    for name in names:
        _path_of(name)
    return tuple(dict.fromkeys(names))


def load_grader(name: str) -> Grader:
    """The grader of a name, or of a path `package.module:Class`.

    Raises:
        ConfigError: no such grader, or it cannot be imported.
    """
    path = _path_of(name)
    module, _, attribute = path.partition(":")
    try:
        grader: Grader = getattr(importlib.import_module(module), attribute)()
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"grader {name!r} cannot be loaded from {path}: {error}") from error
    return grader


def _known() -> dict[str, str]:
    foreign = {point.name: point.value for point in entry_points(group=ENTRY_POINT_GROUP)}
    return foreign | _OURS


def _path_of(name: str) -> str:
    if name in _OURS:
        return _OURS[name]  # reading every installed package's metadata takes 20 ms
    if ":" in name:
        return name
    known = _known()
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise ConfigError(f"no grader {name!r}; known: {', '.join(sorted(known))}{hint}")
