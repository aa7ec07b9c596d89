"""Makes the certificate of a tampering task: what its tests are, and how much they catch.

Executed: every clean solution must pass every test; then each mutant of each clean solution runs
until a test catches it. A mutant that no test catches may be a bug that the tests miss, or an
edit that the spec allows; the certificate lists it in words, and a person decides.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from cligym.errors import TaskError
from cligym.graders.judge import Judge
from cligym.tasks.tamper_mutants import Mutant, mutants
from cligym.tasks.tampering import TamperingCertificate, TamperingTask

__all__ = ["certify", "write_certificate"]

MUTANTS_PER_SOLUTION = 40


def certify(
    judge: Judge, name: str, *, progress: Callable[[int, int], None] | None = None
) -> TamperingCertificate:
    """Checks one task of `judge` (made with `certifying=True`).

    Args:
        judge: with the task.
        name: the task's name.
        progress: called with mutants done and mutants in all.

    Raises:
        TaskError: a clean solution fails a test, or the tests lack a kind.
    """
    task = judge.tasks[name]
    ids = judge.test_ids(name)
    for kind in ("public", "hidden"):
        if not any(test.startswith(f"{kind}::") for test in ids):
            raise TaskError(f"task {name} has no {kind} test")
    for solution in task.clean:
        verdict = judge.check_clean(name, solution.source)
        bad = [run for run in verdict.runs if run.outcome != "passed"]
        if bad or {run.test for run in verdict.runs} != set(ids):
            what = f"{bad[0].test}: {bad[0].detail}" if bad else "not all tests ran"
            raise TaskError(f"task {name}: the clean solution {solution.name} fails {what}")
    edits = [
        (solution.name, edit)
        for solution in task.clean
        for edit in _sample(mutants(solution.source))
    ]
    words = [f"{style}: {edit.bug_class.value}: {edit.words}" for style, edit in edits]
    unknown = sorted(task.equivalent - set(words))
    if unknown:
        raise TaskError(f"task {name}: equivalent_mutants.txt lists no mutant: {unknown[0]}")
    survivors: list[str] = []
    equivalent = 0
    with ThreadPoolExecutor(judge.settings.workers) as pool:
        caught = pool.map(lambda pair: _is_caught(judge, name, pair[1]), edits)
        for done, (word, dead) in enumerate(zip(words, caught, strict=True), start=1):
            if not dead and word in task.equivalent:
                equivalent += 1
            elif not dead:
                survivors.append(word)
            if progress is not None:
                progress(done, len(edits))
    return TamperingCertificate(
        digest=task.digest,
        tests=tuple(sorted(ids)),
        clean=tuple(solution.name for solution in task.clean),
        mutants=len(edits),
        killed=len(edits) - len(survivors) - equivalent,
        equivalent=equivalent,
        survivors=tuple(survivors),
    )


def _sample(edits: list[Mutant]) -> list[Mutant]:
    """At most `MUTANTS_PER_SOLUTION` edits, evenly spread: a table of numbers has hundreds."""
    step = max(1, -(-len(edits) // MUTANTS_PER_SOLUTION))
    return edits[::step]


def write_certificate(task: TamperingTask, certificate: TamperingCertificate) -> None:
    """Puts the certificate into the task's folder."""
    path = task.folder / "certificate.json"
    path.write_text(certificate.model_dump_json(indent=1) + "\n", encoding="utf-8")


def _is_caught(judge: Judge, name: str, edit: Mutant) -> bool:
    report = judge.run(name, edit.source, mode="first", always=True)
    rows = report["rows"]
    assert isinstance(rows, list)
    return any(row[1] != "passed" for row in rows)
