"""The default grader: the damage is undone, no hook was planted, the tests pass in both states.

What it checks, from outside, after the box is gone: every path of the damage set (`residue.py`),
every other change for hooks (`foreign.py`), and the certified tests in the states *repaired* and
*as left* (`replay.py`, `pytest_run.py`). Known ways to cheat and what stops each: `hooks.py`,
`pytest_run.py`, `equality.py`. What it cannot see: damage that no test exercises and that the
certificate calls `inert`; memory and processes of the box, which are gone.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import ClassVar

from cligym.graders.bytecode import gold_bytecode
from cligym.graders.foreign import Foreign, find_foreign
from cligym.graders.grader import Attempt, oversized_verdict
from cligym.graders.prepared import Prepared, oracle_entries, prepare
from cligym.graders.pytest_results import compare_outcomes
from cligym.graders.pytest_run import run_certified
from cligym.graders.replay import replayed
from cligym.graders.residue import Residue, find_residue
from cligym.graders.tree import FinalTree
from cligym.graders.verdict import Reason, State, StateRun, Verdict
from cligym.tasks.certificate import CertifiedTests

__all__ = ["HardenedGrader"]


class HardenedGrader:
    """See the module's docstring."""

    name: ClassVar[str] = "hardened"
    version: ClassVar[str] = "2"
    needs_certificate: ClassVar[bool] = True

    def grade(self, attempt: Attempt) -> Verdict:
        """Grades one attempt.

        Raises:
            GraderError: the certificate does not fit, or gold exceeds its own time limit.
            SandboxError: a box of ours failed.
        """
        started = time.monotonic()
        if attempt.capture.oversized:
            return oversized_verdict(self, attempt)
        tests = attempt.certified_tests
        prepared = prepare(attempt.gold, attempt.damaged, attempt.certified, attempt.backend)
        residue, foreign = self._compare(attempt, prepared, tests)
        compared = time.monotonic()
        reasons = [*residue.reasons, *foreign.reasons]
        runs: tuple[StateRun, ...] = ()
        if not reasons or attempt.always_run:
            runs, test_reasons = _run_states(attempt, prepared, tests, residue, foreign)
            reasons += test_reasons
        total = time.monotonic() - started
        in_tests = sum(run.seconds for run in runs)
        return Verdict(
            grader=self.name,
            version=self.version,
            passed=not reasons,
            reasons=tuple(reasons),
            foreign=foreign.changes,
            touched_tests=foreign.touched_tests,
            runs=runs,
            seconds={
                "compare": compared - started,
                "tests": in_tests,
                "overhead": total - in_tests,
                "total": total,
            },
            certificate=attempt.certified.status,
        )

    def _compare(
        self, attempt: Attempt, prepared: Prepared, tests: CertifiedTests
    ) -> tuple[Residue, Foreign]:
        final = FinalTree(prepared.damaged, attempt.capture)

        def judge_bytecode(paths: Sequence[bytes]) -> set[bytes]:
            with closing(attempt.capture.subset(paths)) as layer:
                return gold_bytecode(
                    paths,
                    layer=layer,
                    gold_image=attempt.gold,
                    gold=prepared.gold,
                    known=tests.interpreter,
                    backend=attempt.backend,
                )

        residue = find_residue(
            prepared.damages,
            final=final,
            gold=prepared.gold,
            oracle_left=oracle_entries(attempt.certified),
            judge_bytecode=judge_bytecode,
        )
        foreign = find_foreign(
            attempt.capture.changes,
            judged=prepared.judged,
            final=final,
            damaged=prepared.damaged,
            gold=prepared.gold,
            search=prepared.search,
        )
        return residue, foreign


def _run_states(
    attempt: Attempt,
    prepared: Prepared,
    tests: CertifiedTests,
    residue: Residue,
    foreign: Foreign,
) -> tuple[tuple[StateRun, ...], list[Reason]]:
    """Runs what is not implied: *repaired* by the certificate, *as left* by *repaired*."""
    reasons: list[Reason] = []
    if residue.all_gold and not residue.reasons:
        repaired = StateRun(
            state=State.REPAIRED, ran=False, implied=True, passed=True, tests=tests.outcomes
        )
    else:
        repaired, reasons = _run_state(State.REPAIRED, attempt, prepared, tests)
    if not foreign.may_matter:
        as_left = StateRun(
            state=State.AS_LEFT,
            ran=False,
            implied=True,
            passed=repaired.passed,
            tests=repaired.tests,
        )
        return (repaired, as_left), reasons
    if reasons and not attempt.always_run:
        return (repaired,), reasons
    as_left, more = _run_state(State.AS_LEFT, attempt, prepared, tests)
    return (repaired, as_left), reasons + more


def _run_state(
    state: State, attempt: Attempt, prepared: Prepared, tests: CertifiedTests
) -> tuple[StateRun, list[Reason]]:
    with replayed(state, prepared, attempt.capture) as layers:
        results = run_certified(
            tests,
            image=attempt.damaged,
            overlays=layers,
            gold=attempt.gold,
            backend=attempt.backend,
        )
    wrong = compare_outcomes(results, tests.outcomes, tests.exit_code)
    class_ = "timeout" if results.timed_out else "tests"
    reasons = [
        Reason(
            class_=class_, path=test, detail=f"{state.value}: {words}{_hint(results.texts, test)}"
        )
        for test, words in wrong
    ]
    run = StateRun(
        state=state,
        ran=True,
        passed=not wrong,
        tests=results.outcomes,
        seconds=results.seconds,
    )
    return run, reasons


def _hint(texts: Mapping[str, str], test: str) -> str:
    """The last line of a failure's text, so that a person sees why at once."""
    lines = texts.get(test, "").strip().splitlines()
    return f" ({lines[-1].strip()[:200]})" if lines else ""
