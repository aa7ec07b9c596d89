"""What a grader is: the evidence it gets (`Attempt`) and the protocol it fulfils (`Grader`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from cligym.errors import GraderError
from cligym.graders.prepared import GradingBackend
from cligym.graders.verdict import Reason, Verdict
from cligym.sandboxes.base import Capture
from cligym.sandboxes.image import Image
from cligym.tasks.certificate import Certificate, CertifiedTests

__all__ = ["Attempt", "Grader", "oversized_verdict"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One finished attempt: its box is stopped, captured and gone.

    Attributes:
        task_id: which task.
        run_tests: the task's own test script.
        gold: the healthy image.
        damaged: the damaged image that the attempt started from.
        capture: what the attempt left.
        backend: runs the boxes that tests need.
        test_timeout_s: limit of the task's own script (the other runs have limits of their own).
        certificate: the task's certificate; None is fine for graders that need none.
        always_run: run the tests also when the attempt has failed already, for the evidence.
    """

    task_id: str
    run_tests: str
    gold: Image
    damaged: Image
    capture: Capture
    backend: GradingBackend
    test_timeout_s: float = 1500.0
    certificate: Certificate | None = None
    always_run: bool = False

    @property
    def certified(self) -> Certificate:
        """The certificate.

        Raises:
            GraderError: there is none, or the task was refused.
        """
        if self.certificate is None:
            raise GraderError(f"task {self.task_id} has no certificate; run: cligym audit")
        if not self.certificate.usable:
            why = "; ".join(f"{p.kind}: {p.detail}" for p in self.certificate.problems)
            raise GraderError(f"task {self.task_id} is not usable: {why}")
        return self.certificate

    @property
    def certified_tests(self) -> CertifiedTests:
        """The certified tests.

        Raises:
            GraderError: see `certified`.
        """
        tests = self.certified.tests
        if tests is None:
            raise GraderError(f"the certificate of {self.task_id} knows no tests")
        return tests


class Grader(Protocol):
    """Judges attempts. Frozen and picklable; a new rule is a new `version`."""

    @property
    def name(self) -> str:
        """The name it is registered under."""

    @property
    def version(self) -> str:
        """Version of its rules."""

    @property
    def needs_certificate(self) -> bool:
        """Whether `Attempt.certificate` must be there."""

    def grade(self, attempt: Attempt) -> Verdict:
        """Judges one attempt; whatever keeps it from judging is raised, never a 0.

        Raises:
            GraderError: the attempt cannot be judged.
            SandboxError: a box of ours failed.
        """


def oversized_verdict(grader: Grader, attempt: Attempt) -> Verdict:
    """The verdict on a change set over the limits: failed, and nothing of it is replayed."""
    reason = Reason(class_="oversized", path="", detail=attempt.capture.oversized)
    status = attempt.certificate.status if attempt.certificate is not None else ""
    return Verdict(
        grader=grader.name,
        version=grader.version,
        passed=False,
        reasons=(reason,),
        seconds=dict.fromkeys(("tests", "total"), 0.0),
        certificate=status,
    )
