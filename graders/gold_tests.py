"""The tests of a task frozen on its gold image: which ids, which outcomes, how they are run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cligym.graders.prepared import GradingBackend
from cligym.graders.pytest_results import TestResults
from cligym.graders.pytest_run import GoldEnvironment, gold_environment, run_pytest
from cligym.graders.verdict import Outcome
from cligym.sandboxes.image import Image
from cligym.tasks.certificate import CertifiedTests
from cligym.tasks.task import Task

__all__ = ["GoldTests", "certify_gold_tests"]

_GOOD = frozenset({Outcome.PASSED, Outcome.SKIPPED, Outcome.XFAILED, Outcome.XPASSED})
_QUIET = ("-p", "no:cacheprovider")
_ONE_PROCESS = ("-n0",)
"""Outcomes must not depend on how many workers a machine has; needs pytest-xdist."""
_SHOWN = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldTests:
    """What two runs on gold showed.

    Attributes:
        tests: how to run them and what must come out; None when gold cannot be tested.
        problem: why the task cannot be used, in words; "" when it can.
        flake_rate: share of ids whose outcome differed between the runs.
    """

    tests: CertifiedTests | None
    problem: str = ""
    flake_rate: float = 0.0


def certify_gold_tests(task: Task, gold: Image, backend: GradingBackend) -> GoldTests:
    """Runs the task's tests twice on gold.

    The first run finds out how gold is configured; the second one is told so, as every later run.

    Raises:
        GraderError: gold has no usable Python.
        SandboxError: a box failed.
    """
    environment = gold_environment(gold, backend)
    options = [*task.pytest_args, *_QUIET]
    first = _run(environment, [*options, *task.test_ids], task, gold, backend)
    if _used_workers(first):
        options += _ONE_PROCESS
        first = _run(environment, [*options, *task.test_ids], task, gold, backend)
    if problem := _gold_problem(first):
        return GoldTests(tests=None, problem=problem)
    pinned = [*options, *_pins(first), *task.test_ids]
    second = _run(environment, pinned, task, gold, backend)
    tests = _frozen(environment, pinned, first, second)
    if problem := _gold_problem(second):
        return GoldTests(tests=tests, problem=f"second run: {problem}")
    ids = {*first.outcomes, *second.outcomes}
    differing = sorted(i for i in ids if first.outcomes.get(i) != second.outcomes.get(i))
    if differing:
        shown = ", ".join(differing[:_SHOWN])
        rate = len(differing) / len(ids)
        problem = f"{len(differing)} of {len(ids)} tests differ between two runs: {shown}"
        return GoldTests(tests=tests, problem=problem, flake_rate=rate)
    return GoldTests(tests=tests)


def _run(
    environment: GoldEnvironment,
    arguments: Sequence[str],
    task: Task,
    gold: Image,
    backend: GradingBackend,
) -> TestResults:
    return run_pytest(
        environment, arguments, image=gold, backend=backend, timeout_s=task.test_timeout_s
    )


def _used_workers(results: TestResults) -> bool:
    return int(results.start.get("workers", "0") or 0) > 0


def _gold_problem(results: TestResults) -> str:
    """Why this run on gold is no success, or ""."""
    if results.problem:
        return f"gold's tests: {results.problem}{_said(results)}"
    if results.collection_errors:
        return f"gold's tests: {', '.join(results.collection_errors[:_SHOWN])} cannot be collected"
    bad = sorted(i for i, outcome in results.outcomes.items() if outcome not in _GOOD)
    if bad:
        return (
            f"{len(bad)} of {len(results.outcomes)} tests fail on gold: {', '.join(bad[:_SHOWN])}"
        )
    if Outcome.PASSED not in results.outcomes.values():
        return f"no test passes on gold (exit status {results.exit_code}){_said(results)}"
    return ""


def _said(results: TestResults) -> str:
    lines = results.printed.strip().splitlines()
    return f"; pytest said: {lines[-1].strip()[:200]}" if lines else ""


def _pins(results: TestResults) -> list[str]:
    """Options that keep every later run at gold's own configuration."""
    rootdir = results.start["rootdir"]
    configuration = results.start["configuration"] or "/dev/null"
    return [f"--rootdir={rootdir}", f"--confcutdir={rootdir}", "-c", configuration]


def _frozen(
    environment: GoldEnvironment, arguments: list[str], first: TestResults, second: TestResults
) -> CertifiedTests:
    return CertifiedTests(
        interpreter=environment.interpreter,
        program=environment.program,
        python_version=first.start["python"],
        cache_tag=first.start["cache_tag"],
        pytest_version=first.start["pytest"],
        arguments=arguments,
        rootdir=first.start["rootdir"],
        configuration=first.start["configuration"],
        workdir=environment.workdir,
        env=environment.env,
        outcomes=dict(second.outcomes),
        exit_code=second.exit_code if second.exit_code is not None else 1,
        seconds=max(first.seconds, second.seconds),
    )
