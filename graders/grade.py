"""One call from a finished attempt to its verdicts; and an attempt made of one script."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from cligym.errors import GraderError, SandboxDestroyedError, boundary
from cligym.graders.grader import Attempt
from cligym.graders.prepared import GradingBackend
from cligym.graders.registry import grader_names, load_grader
from cligym.graders.verdict import Verdict
from cligym.sandboxes.base import Capture, SandboxSpec
from cligym.tasks.certificate import Certificate
from cligym.tasks.images import TaskImages
from cligym.tasks.task import Task

__all__ = ["grade", "run_script"]


def grade(
    task: Task,
    images: TaskImages,
    certificate: Certificate | None,
    capture: Capture,
    backend: GradingBackend,
    *,
    graders: Sequence[str] = ("hardened",),
    always_run: bool = False,
) -> list[Verdict]:
    """Judges one finished attempt, once by each grader; each has boxes of its own.

    Args:
        task: the task.
        images: its two images.
        certificate: its certificate; None is enough for `dataset` and `published`.
        capture: what the attempt left; it stays open.
        backend: runs the boxes that tests need.
        graders: names, see `cligym.graders.registry`.
        always_run: run the tests even if the attempt has failed without them.

    Returns:
        One verdict for each grader, in order.

    Raises:
        ConfigError: no such grader.
        GraderError: the attempt cannot be judged; it stays unscored.
        SandboxError: a box of ours failed; the attempt stays unscored.
    """
    attempt = Attempt(
        task_id=task.task_id,
        run_tests=task.run_tests,
        gold=images.gold,
        damaged=images.damaged,
        capture=capture,
        backend=backend,
        test_timeout_s=task.test_timeout_s,
        certificate=certificate,
        always_run=always_run,
    )
    verdicts = []
    for name in grader_names(graders):
        grader = load_grader(name)
        with boundary(GraderError, f"grader {name} on task {task.task_id}"):
            verdicts.append(grader.grade(attempt))
    return verdicts


def run_script(
    images: TaskImages, backend: GradingBackend, script: str, *, timeout_s: float = 600.0
) -> Capture:
    """Runs a script as the agent would, in a fresh damaged box, and captures what it left.

    A script that fails or destroys its box is captured all the same: it is graded as it stands.
    """
    sandbox = backend.start(SandboxSpec(image=images.damaged))
    try:
        try:
            # In a bash of its own, so that `exit` and `set -e` end only the script.
            sandbox.run(f"bash -c {shlex.quote(script)}", timeout_s=timeout_s)
        except SandboxDestroyedError:
            pass  # its own doing; what it left counts
        return sandbox.capture()
    finally:
        sandbox.close()
