"""Whether compiled Python files are what gold's interpreter makes of gold's source.

A .pyc holds its source's time and size, so no honest repair can give gold's bytes back. The
question is answered in a fresh box of the gold image, where the doubtful files lie on top.
"""

from __future__ import annotations

import importlib.resources
import re
from collections.abc import Sequence
from contextlib import closing

from cligym.graders.damage import Damage, DamageClass
from cligym.graders.inert import damage_layer
from cligym.graders.path_kinds import is_bytecode
from cligym.graders.prepared import GradingBackend, image_tree
from cligym.graders.tree import Tree, resolve
from cligym.sandboxes.base import Backend, Capture, SandboxSpec
from cligym.sandboxes.entry import Kind, encode_path
from cligym.sandboxes.image import Image

__all__ = ["find_made_bytecode", "gold_bytecode", "interpreters"]

_TAG = re.compile(rb"\.(cpython-(\d)(\d+))[^/]*\.pyc$")
_PLACES = ("usr/local/bin", "opt/miniconda3/bin", "usr/bin")
_BATCH = 500
_TIMEOUT_S = 120.0


def interpreters(path: bytes, gold: Tree, known: str) -> str:
    """The absolute path of gold's interpreter that made the .pyc at `path`, or "".

    Args:
        path: a .pyc; without a version in its name it is `known`'s.
        gold: the healthy image.
        known: the interpreter that runs the tests, as in the certificate.
    """
    found = _TAG.search(path)
    if found is None:
        return known
    name = f"python{found[2].decode()}.{found[3].decode()}"
    known_real = resolve(gold, known.lstrip("/").encode())
    if known_real is not None and known_real.endswith(b"/" + name.encode()):
        return known
    for place in _PLACES:
        candidate = resolve(gold, f"{place}/{name}".encode())
        entry = gold.entry(candidate) if candidate is not None else None
        if entry is not None and entry.kind is Kind.FILE:
            return f"/{place}/{name}"
    return ""


def gold_bytecode(
    paths: Sequence[bytes],
    *,
    layer: Capture,
    gold_image: Image,
    gold: Tree,
    known: str,
    backend: Backend,
) -> set[bytes]:
    """Those of the .pyc `paths` in `layer` that hold what gold's source compiles to.

    Args:
        paths: where they lie; all must be in the layer, else gold's own would be judged.
        layer: laid over gold.
        gold_image: the healthy image.
        gold: its files.
        known: the interpreter that runs the tests.
        backend: runs the box.
    """
    by_interpreter: dict[str, list[bytes]] = {}
    for path in paths:
        interpreter = interpreters(path, gold, known) if path in layer.changes.changed else ""
        if interpreter:
            by_interpreter.setdefault(interpreter, []).append(path)
    if not by_interpreter:
        return set()
    good: set[bytes] = set()
    script = importlib.resources.files(__package__).joinpath("bytecode_check.py").read_text()
    sandbox = backend.start(SandboxSpec(image=gold_image, overlays=(layer,)))
    with closing(sandbox):
        for interpreter, mine in by_interpreter.items():
            for start in range(0, len(mine), _BATCH):
                batch = mine[start : start + _BATCH]
                result = sandbox.execute(
                    [interpreter, "-I", "-B", "-c", script, *map(encode_path, batch)],
                    env={},
                    timeout_s=_TIMEOUT_S,
                    channel=True,
                )
                good.update(
                    path for path, byte in zip(batch, result.channel, strict=False) if byte == 1
                )
    return good


def find_made_bytecode(
    damages: Sequence[Damage], *, gold: Image, damaged: Image, known: str, backend: GradingBackend
) -> frozenset[bytes]:
    """The damaged .pyc files that an honest interpreter made: they may stay.

    Of gold's own sources, or of sources that a new package's record vouches for.

    Args:
        damages: the classified damage set.
        gold: the healthy image.
        damaged: the damaged image.
        known: the interpreter that runs the tests.
        backend: runs the box.
    """
    paths = [
        damage.path
        for damage in damages
        if damage.class_ is DamageClass.REQUIRED
        and is_bytecode(damage.path)
        and damage.damaged is not None
        and damage.damaged.kind is Kind.FILE
    ]
    if not paths:
        return frozenset()
    packaged = [
        damage.path
        for damage in damages
        if damage.class_ is DamageClass.PACKAGE
        and damage.path.endswith(b".py")
        and damage.damaged is not None
    ]
    layer = damage_layer([*paths, *packaged], damages, gold=gold, damaged=damaged, backend=backend)
    try:
        found = gold_bytecode(
            paths,
            layer=layer,
            gold_image=gold,
            gold=image_tree(gold, backend),
            known=known,
            backend=backend,
        )
    finally:
        layer.close()
    return frozenset(found)
