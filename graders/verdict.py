"""What a grader says: `Verdict`, with the evidence that a person can read, and its JSON form.

Paths in a verdict are text as `cligym.sandboxes.entry.encode_path` gives it, absolute.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from cligym.sandboxes.entry import encode_path

__all__ = ["ForeignChange", "Outcome", "Reason", "State", "StateRun", "Verdict", "shown"]


class Outcome(StrEnum):
    """What became of one test, setup, call and teardown taken together."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    SKIPPED = "skipped"
    XFAILED = "xfailed"
    XPASSED = "xpassed"


class State(StrEnum):
    """A state of the file system that tests run in."""

    GOLD = "gold"
    DAMAGED = "damaged"
    REPAIRED = "repaired"
    """The damaged image plus only the damage-set paths of the change set."""
    AS_LEFT = "as left"
    """The damaged image plus the whole change set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """Why an attempt failed.

    Attributes:
        class_: `residue`, `hook`, `tests`, `oversized`, `timeout` …; JSON key `class`.
        path: absolute path, or a test id, or "".
        detail: one clear line.
    """

    class_: str
    path: str
    detail: str

    def to_json(self) -> dict[str, str]:
        """`{class, path, detail}`."""
        return {"class": self.class_, "path": self.path, "detail": self.detail}


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignChange:
    """A change outside the damage set.

    Attributes:
        class_: `scratch`, `bytecode`, `test-side`, `hook` or `other`; JSON key `class`.
        path: absolute path.
        detail: `added`, `altered` or `deleted`, and for a hook which kind.
    """

    class_: str
    path: str
    detail: str

    def to_json(self) -> dict[str, str]:
        """`{class, path, detail}`."""
        return {"class": self.class_, "path": self.path, "detail": self.detail}


@dataclass(frozen=True, slots=True, kw_only=True)
class StateRun:
    """How one state's tests came out.

    Attributes:
        state: which state.
        ran: False when the outcome is implied (DESIGN.md, Grading, step 5) or was not needed.
        implied: True when it follows from the certificate or from the other state.
        passed: None when neither ran nor implied.
        tests: id -> outcome; the certificate's when implied.
        seconds: wall time of the test process; 0 when it did not run.
        reruns: how often a failed run was repeated because the task is known to be flaky.
    """

    state: State
    ran: bool
    implied: bool = False
    passed: bool | None = None
    tests: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    reruns: int = 0

    def to_json(self) -> dict[str, Any]:
        """All fields, the state as text."""
        return {
            "state": self.state.value,
            "ran": self.ran,
            "implied": self.implied,
            "passed": self.passed,
            "tests": dict(self.tests),
            "seconds": round(self.seconds, 4),
            "reruns": self.reruns,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """One grader's judgement of one attempt.

    An attempt that cannot be graded has no verdict at all: graders raise instead (reward None).

    Attributes:
        grader: registered name.
        version: version of its rules; regrading under a newer one may flip a verdict.
        passed: the judgement.
        reasons: why it failed, empty when passed.
        foreign: every change outside the damage set.
        touched_tests: test-side files that the agent added, altered or deleted.
        runs: one entry for each state that matters to this grader.
        seconds: named wall times; `total`, and `tests` for the test processes alone.
        certificate: `usable`, `proven` or "" (none was needed).
    """

    grader: str
    version: str
    passed: bool
    reasons: tuple[Reason, ...] = ()
    foreign: tuple[ForeignChange, ...] = ()
    touched_tests: tuple[str, ...] = ()
    runs: tuple[StateRun, ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)
    certificate: str = ""

    @property
    def reward(self) -> float:
        """1.0 when passed, else 0.0."""
        return 1.0 if self.passed else 0.0

    @property
    def tests(self) -> Mapping[str, str]:
        """Id -> outcome of the last state that ran or is implied; empty when none."""
        for run in reversed(self.runs):
            if run.tests:
                return run.tests
        return {}

    def to_json(self) -> dict[str, Any]:
        """The documented keys of `cligym grade --json`."""
        return {
            "grader": self.grader,
            "version": self.version,
            "passed": self.passed,
            "reward": self.reward,
            "reasons": [reason.to_json() for reason in self.reasons],
            "foreign": [change.to_json() for change in self.foreign],
            "touched_tests": list(self.touched_tests),
            "tests": dict(self.tests),
            "runs": [run.to_json() for run in self.runs],
            "seconds": {name: round(value, 4) for name, value in self.seconds.items()},
            "certificate": self.certificate,
        }


def shown(path: bytes) -> str:
    """A path of an image as a person reads it: absolute text that loses nothing."""
    return "/" + encode_path(path)
