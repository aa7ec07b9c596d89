"""What a task's oracle leaves where it does not leave gold's own state, once it is proven good."""

from __future__ import annotations

from typing import Any

from cligym.graders.grade import grade, run_script
from cligym.graders.prepared import GradingBackend, prepare
from cligym.graders.tree import FinalTree
from cligym.sandboxes.base import Capture
from cligym.sandboxes.entry import decode_path, encode_path
from cligym.tasks.certificate import Certificate
from cligym.tasks.images import TaskImages
from cligym.tasks.task import Task

__all__ = ["oracle_leavings"]

_SHOWN = 5


def oracle_leavings(
    task: Task, images: TaskImages, usable: Certificate, backend: GradingBackend
) -> tuple[dict[str, list[Any] | None], str]:
    """(path -> entry that the oracle left instead of gold's, why the oracle fails or "").

    A state that is not gold's is accepted only if the oracle made it (it is not the damage's own)
    and the tests pass with it.
    """
    capture = run_script(images, backend, task.oracle or "")
    try:
        (verdict,) = grade(task, images, usable, capture, backend)
        if verdict.passed:
            return {}, ""
        residue = [r for r in verdict.reasons if r.class_ == "residue"]
        if len(residue) != len(verdict.reasons):
            return {}, _words(verdict.reasons)
        paths = [decode_path(reason.path[1:]) for reason in residue]
        left = _left_by_oracle(paths, images, usable, capture, backend)
        if len(left) != len(paths):
            return {}, _words(verdict.reasons)
        certificate = usable.model_copy(update={"oracle_left": left})
        (verdict,) = grade(task, images, certificate, capture, backend)
        return (left, "") if verdict.passed else ({}, _words(verdict.reasons))
    finally:
        capture.close()


def _left_by_oracle(
    paths: list[bytes],
    images: TaskImages,
    usable: Certificate,
    capture: Capture,
    backend: GradingBackend,
) -> dict[str, list[Any] | None]:
    prepared = prepare(images.gold, images.damaged, usable, backend)
    final = FinalTree(prepared.damaged, capture)
    left: dict[str, list[Any] | None] = {}
    for path in paths:
        entry = final.entry(path)
        if entry != prepared.damaged.entry(path):
            left[encode_path(path)] = None if entry is None else entry.to_json()
    return left


def _words(reasons: tuple[Any, ...]) -> str:
    rows = [f"{r.class_} {r.path} ({r.detail})" for r in reasons[:_SHOWN]]
    more = len(reasons) - len(rows)
    return "; ".join(rows) + (f"; and {more} more" if more > 0 else "")
