"""Whether compiled Python files are what gold's interpreter makes of gold's source.

A .pyc holds its source's time and size, so no honest repair can give gold's bytes back. The
question is answered in a fresh box of the gold image, where the doubtful files lie on top.
"""

from __future__ import annotations

import importlib.resources
import re
from collections.abc import Sequence
from contextlib import ExitStack

from cligym.graders.prepared import GradingBackend
from cligym.graders.tree import Tree, resolve
from cligym.sandboxes.base import Capture, SandboxSpec
from cligym.sandboxes.entry import Kind, encode_path
from cligym.sandboxes.image import Image

__all__ = ["gold_bytecode", "interpreters"]

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
    capture: Capture,
    gold_image: Image,
    damaged_image: Image,
    gold: Tree,
    known: str,
    backend: GradingBackend,
) -> set[bytes]:
    """Those of the damage set's .pyc `paths` that hold what gold's source compiles to.

    Files that the agent left alone are the damaged image's: without them gold's own would be
    judged in their place, and a forged file that gold has a good one of would pass.
    """
    by_interpreter: dict[str, list[bytes]] = {}
    for path in paths:
        interpreter = interpreters(path, gold, known)
        if interpreter:
            by_interpreter.setdefault(interpreter, []).append(path)
    good: set[bytes] = set()
    if not by_interpreter:
        return good
    script = importlib.resources.files(__package__).joinpath("bytecode_check.py").read_text()
    untouched = [path for path in paths if path not in capture.changes.changed]
    with ExitStack() as stack:
        left = backend.overlay_from_image(damaged_image, untouched, over=gold_image)
        stack.callback(left.close)
        touched = capture.subset([path for path in paths if path in capture.changes.changed])
        stack.callback(touched.close)
        sandbox = backend.start(SandboxSpec(image=gold_image, overlays=(left, touched)))
        stack.callback(sandbox.close)
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
