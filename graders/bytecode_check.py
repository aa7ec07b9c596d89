"""Runs inside a box of the gold image: which .pyc files hold what gold's source compiles to.

Read as text and passed to gold's interpreter with `-c`; Python 3.6 and up, standard library only.
Arguments: .pyc paths, relative to /. Writes one byte for each to the channel: 1 equal, 0 not.
"""

from __future__ import annotations

import ast
import importlib.util
import marshal
import os
import sys
import types
from typing import Any

FIELDS = (
    "co_code",
    "co_names",
    "co_varnames",
    "co_freevars",
    "co_cellvars",
    "co_flags",
    "co_argcount",
    "co_posonlyargcount",
    "co_kwonlyargcount",
    "co_nlocals",
    "co_name",
    "co_exceptiontable",
)


def same_code(one: types.CodeType, other: types.CodeType) -> bool:
    """Whether two code objects do the same; file names and line numbers aside."""
    for field in FIELDS:
        if getattr(one, field, None) != getattr(other, field, None):
            return False
    return same_constants(one.co_consts, other.co_consts)


def same_constants(one: Any, other: Any) -> bool:
    """Whether two constants are the same value of the same types (1, 1.0 and True differ)."""
    if type(one) is not type(other):
        return False
    if isinstance(one, types.CodeType):
        return same_code(one, other)
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(same_constants, one, other))
    if isinstance(one, frozenset):
        return sorted(map(repr, one)) == sorted(map(repr, other))
    return repr(one) == repr(other)


def compiled(path: str) -> types.CodeType:
    """The code that this interpreter makes of the source that belongs to the .pyc at `path`."""
    folder, name = os.path.split(path)
    stem = name[: -len(".pyc")]
    level, rewritten = 0, False
    if os.path.basename(folder) == "__pycache__":
        folder = os.path.dirname(folder)
        stem, _, tag = stem.rpartition(".") if "-pytest-" not in stem else stem.partition(".")
        if tag.startswith("opt-"):
            level = int(tag[4:])
            stem, _, tag = stem.rpartition(".")
        rewritten = "-pytest-" in tag
        if tag.partition("-pytest-")[0] != sys.implementation.cache_tag:
            raise ValueError(tag)
    source_path = os.path.join(folder, stem + ".py")
    with open(source_path, "rb") as stream:
        source = stream.read()
    if not rewritten:
        return compile(source, source_path, "exec", dont_inherit=True, optimize=level)
    from _pytest.assertion.rewrite import rewrite_asserts

    tree = ast.parse(source, filename=source_path)
    rewrite_asserts(tree, source, source_path, None)
    return compile(tree, source_path, "exec", dont_inherit=True)


def holds_gold_code(path: str) -> bool:
    """Whether the .pyc at `path` is what this interpreter makes of gold's source."""
    try:
        with open(path, "rb") as stream:
            data = stream.read()
        if data[:4] != importlib.util.MAGIC_NUMBER or data[4:8] not in HEADER_FLAGS:
            return False
        return same_code(marshal.loads(data[16:]), compiled(path))
    except Exception:  # whatever is wrong with it, it is not equal
        return False


HEADER_FLAGS = (b"\0\0\0\0", b"\1\0\0\0", b"\3\0\0\0")  # by time, unchecked hash, checked hash

if __name__ == "__main__":
    sys.path[:] = [folder for folder in sys.path if folder]
    channel = int(os.environ["CLIGYM_CHANNEL"])
    for argument in sys.argv[1:]:
        verdict = holds_gold_code(os.path.join("/", argument))
        os.write(channel, b"\1" if verdict else b"\0")
