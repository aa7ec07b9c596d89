"""The dataset's own grader: its script, on the whole change set, and what the log then says.

Known ways to cheat it: any. It is here because published numbers were made with it, and because
`vacuous` tasks are found by it.
"""

from __future__ import annotations

import time
from typing import ClassVar

from cligym.graders.dataset_check import run_script_check
from cligym.graders.grader import Attempt, oversized_verdict
from cligym.graders.verdict import Reason, State, StateRun, Verdict

__all__ = ["DatasetGrader"]


class DatasetGrader:
    """Accepts whatever makes the dataset's script print that its tests passed."""

    name: ClassVar[str] = "dataset"
    version: ClassVar[str] = "1"
    needs_certificate: ClassVar[bool] = False

    def grade(self, attempt: Attempt) -> Verdict:
        """Replays the whole change set in a box of its own and runs the script there.

        Raises:
            SandboxError: the box failed.
        """
        if attempt.capture.oversized:
            return oversized_verdict(self, attempt)
        started = time.monotonic()
        result = run_script_check(
            attempt.run_tests,
            image=attempt.damaged,
            overlays=(attempt.capture,),
            backend=attempt.backend,
            timeout_s=attempt.test_timeout_s,
        )
        class_ = "timeout" if result.timed_out else "tests"
        run = StateRun(
            state=State.AS_LEFT,
            ran=True,
            passed=result.passed,
            tests=result.tests,
            seconds=result.seconds,
        )
        total = time.monotonic() - started
        return Verdict(
            grader=self.name,
            version=self.version,
            passed=result.passed,
            reasons=()
            if result.passed
            else (Reason(class_=class_, path="", detail=result.detail),),
            runs=(run,),
            seconds={
                "tests": result.seconds,
                "overhead": total - result.seconds,
                "total": total,
            },
        )
