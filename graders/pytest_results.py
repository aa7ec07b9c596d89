"""What a trusted test run said: strict reading of the channel, one outcome for each test.

Printed text is never evidence; only records with this run's nonce are, in the right order, with a
final record that agrees with the exit status. Anything else is *no result*, which fails.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from cligym.graders.verdict import Outcome

__all__ = ["TestResults", "compare_outcomes", "read_results"]

_SHOWN = 20
"""Tests named one by one in a verdict's reasons; the rest is counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TestResults:
    """The outcome of one run.

    Attributes:
        outcomes: id -> outcome, setup, call and teardown taken together.
        problem: why this is no complete result, in words; "" when it is one.
        collection_errors: ids of files that could not be collected.
        texts: id -> end of the failure's text (untrusted).
        start: what the run said about itself (`python`, `pytest`, `rootdir` …).
        exit_code: pytest's exit status, None when it did not end.
        timed_out: whether it was killed at its limit.
        seconds: wall time of the process.
        printed: end of what it printed: untrusted, for people's eyes, never evidence.
    """

    __test__ = False  # not a test, although pytest likes the name

    outcomes: Mapping[str, str] = field(default_factory=dict)
    problem: str = ""
    collection_errors: tuple[str, ...] = ()
    texts: Mapping[str, str] = field(default_factory=dict)
    start: Mapping[str, str] = field(default_factory=dict)
    exit_code: int | None = None
    timed_out: bool = False
    seconds: float = 0.0
    printed: str = ""


def read_results(
    channel: bytes,
    *,
    nonce: str,
    exit_code: int | None,
    timed_out: bool = False,
    seconds: float = 0.0,
    printed: str = "",
) -> TestResults:
    """Reads what one run wrote.

    Args:
        channel: everything that came over the channel.
        nonce: this run's nonce; records without it are a problem, never evidence.
        exit_code: exit status of the process.
        timed_out: whether it was killed at its limit.
        seconds: its wall time.
        printed: end of what it printed.
    """
    reader = _Reader(nonce)
    problem = "ran past its time limit" if timed_out else ""
    for line in channel.splitlines():
        trouble = reader.take(line)
        if trouble:
            problem = problem or trouble
            break
    problem = problem or reader.end_problem(exit_code)
    return TestResults(
        outcomes=reader.outcomes(),
        problem=problem,
        collection_errors=tuple(reader.collection_errors),
        texts=reader.texts,
        start=reader.start,
        exit_code=exit_code,
        timed_out=timed_out,
        seconds=seconds,
        printed=printed,
    )


class _Reader:
    """Collects records one by one."""

    def __init__(self, nonce: str) -> None:
        self._nonce = nonce
        self._phases: dict[str, list[dict[str, Any]]] = {}
        self._count = 0
        self._end: dict[str, Any] | None = None
        self.start: dict[str, str] = {}
        self.texts: dict[str, str] = {}
        self.collection_errors: list[str] = []

    def take(self, line: bytes) -> str:
        """Takes one line; what is wrong with it, or ""."""
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            return "the result channel holds something that is no record"
        if not isinstance(record, dict) or record.pop("nonce", None) != self._nonce:
            return "the result channel holds a record of somebody else"
        if self._end is not None:
            return "the result channel goes on after the final record"
        kind = record.pop("kind", None)
        if kind == "start" and not self.start:
            self.start = {str(key): str(value) for key, value in record.items()}
        elif kind == "collect-error":
            self.collection_errors.append(str(record.get("id", "")))
            self.texts[str(record.get("id", ""))] = str(record.get("text", ""))
        elif kind == "phase":
            if not all(isinstance(record.get(key), str) for key in ("id", "when", "outcome")):
                return "the result channel holds a malformed record"
            self._count += 1
            self._phases.setdefault(record["id"], []).append(record)
            if record.get("text"):
                self.texts[record["id"]] = str(record["text"])
        elif kind == "end":
            self._end = record
        else:
            return f"the result channel holds an unexpected record {kind!r}"
        return ""

    def end_problem(self, exit_code: int | None) -> str:
        """What is wrong with the run as a whole, or ""."""
        if self._end is None:
            return f"pytest did not come to its end (exit status {exit_code})"
        if self._end.get("reports") != self._count:
            return f"{self._end.get('reports')} reports were sent, {self._count} arrived"
        if self._end.get("exit_code") != exit_code:
            return f"pytest said exit status {self._end.get('exit_code')}, the process {exit_code}"
        return ""

    def outcomes(self) -> dict[str, str]:
        """One outcome for each id."""
        return {test: _outcome(phases).value for test, phases in self._phases.items()}


def _outcome(phases: list[dict[str, Any]]) -> Outcome:
    """Merges phases as pytest's own summary does; the worst of repeated runs counts."""
    found = Outcome.ERROR if not any(p.get("when") == "call" for p in phases) else Outcome.PASSED
    for phase in phases:
        when, outcome = phase.get("when"), phase.get("outcome")
        if outcome == "rerun":
            found = Outcome.PASSED  # pytest-rerunfailures: only what follows counts
        elif outcome == "failed":
            return Outcome.FAILED if when == "call" else Outcome.ERROR
        elif outcome == "skipped":
            found = Outcome.XFAILED if phase.get("xfail") else Outcome.SKIPPED
        elif outcome == "passed" and when == "call" and phase.get("xfail"):
            found = Outcome.XPASSED
        elif outcome != "passed":
            return Outcome.ERROR
    return found


def compare_outcomes(
    results: TestResults, expected: Mapping[str, str], exit_code: int
) -> list[tuple[str, str]]:
    """(test id, what is wrong) for everything that is not as certified; empty when all is.

    Args:
        results: the run.
        expected: id -> outcome on gold; the exact set.
        exit_code: pytest's exit status on gold.
    """
    wrong: list[tuple[str, str]] = []
    if results.problem:
        wrong.append(("", results.problem))
    wrong += [(test, "cannot be collected") for test in results.collection_errors]
    for test, outcome in expected.items():
        found = results.outcomes.get(test)
        if found is None:
            wrong.append((test, "did not run"))
        elif found != outcome:
            wrong.append((test, f"{found}, on gold {outcome}"))
    extra = [test for test in results.outcomes if test not in expected]
    wrong += [(test, "is not among the certified tests") for test in extra]
    if not wrong and results.exit_code != exit_code:
        wrong.append(
            ("", f"pytest ended with exit status {results.exit_code}, on gold {exit_code}")
        )
    if len(wrong) > _SHOWN:
        wrong = [*wrong[:_SHOWN], ("", f"and {len(wrong) - _SHOWN} more")]
    return wrong
