"""A task's executed admission: tries its images, tests and scripts, writes the certificate.

*Usable*: gold passes twice with identical ids and outcomes; the untouched damaged image fails the
dataset's own check, run as the agent would run it; something is left to undo. *Proven*: also the
oracle passes through replay and every known wrong answer fails.
"""

from __future__ import annotations

import time
from pathlib import Path

from cligym.errors import GraderError, TaskError, boundary
from cligym.graders.bytecode import find_made_bytecode
from cligym.graders.damage import Damage, DamageClass, classify_damage, demote
from cligym.graders.dataset_check import run_script_check
from cligym.graders.gold_tests import GoldTests, certify_gold_tests
from cligym.graders.grade import grade, run_script
from cligym.graders.hardened import HardenedGrader
from cligym.graders.hooks import search_path
from cligym.graders.inert import find_inert
from cligym.graders.oracle import oracle_leavings
from cligym.graders.prepared import (
    GradingBackend,
    damage_records,
    forget,
    image_tree,
)
from cligym.graders.pytest_results import compare_outcomes
from cligym.graders.pytest_run import run_certified
from cligym.sandboxes.base import Capture
from cligym.tasks.certificate import (
    Certificate,
    CertifiedTests,
    Problem,
    certificate_path,
)
from cligym.tasks.images import TaskImages
from cligym.tasks.task import Task

__all__ = ["certificate_home", "certify", "make_certificate"]

_NEEDS_WORK = (DamageClass.REQUIRED, DamageClass.PACKAGE)


def certificate_home(backend: GradingBackend) -> Path:
    """The folder whose `certificates/` holds this back end's: `CLIGYM_HOME`."""
    root: Path = backend.store.root
    return root.parent


def certify(
    task: Task, images: TaskImages, backend: GradingBackend, *, again: bool = False
) -> Certificate:
    """The task's certificate: the stored one, or a new one, executed now.

    Args:
        task: the task.
        images: its images, built.
        backend: where boxes run.
        again: execute it even if a valid one is stored.

    Raises:
        GraderError: it could not be executed to its end; nothing is known about the task.
        SandboxError: a box failed.
    """
    path = certificate_path(
        certificate_home(backend),
        gold_digest=images.gold.digest,
        damaged_digest=images.damaged.digest,
        task_digest=task.digest,
    )
    if not again:
        try:
            stored = Certificate.load(path)
        except TaskError:
            stored = None  # of another schema: made again
        if stored is not None and stored.grader_version == HardenedGrader.version:
            return stored
    with boundary(GraderError, f"certifying {task.task_id}"):
        certificate = make_certificate(task, images, backend)
    certificate.save(path)
    return certificate


def make_certificate(task: Task, images: TaskImages, backend: GradingBackend) -> Certificate:
    """Executes every check and writes nothing."""
    forget(task.digest, images.gold, images.damaged, backend)
    return _Admission(task, images, backend).run()


class _Admission:
    """The checks of one task, in order; the first reason to refuse ends them."""

    def __init__(self, task: Task, images: TaskImages, backend: GradingBackend) -> None:
        self._task = task
        self._images = images
        self._backend = backend
        self._started = time.monotonic()
        self._problems: list[Problem] = []
        self._checks: dict[str, bool] = {}
        self._damages: tuple[Damage, ...] = ()
        self._gold_tests: GoldTests | None = None

    def run(self) -> Certificate:
        self._gold_tests = certify_gold_tests(self._task, self._images.gold, self._backend)
        self._checks["gold passes twice"] = not self._gold_tests.problem
        if self._gold_tests.problem:
            return self._refused("gold-fails", self._gold_tests.problem)
        self._damages = self._classified()
        if not any(damage.class_ in _NEEDS_WORK for damage in self._damages):
            self._checks["something to undo"] = False
            return self._refused("no-residue", self._nothing_left())
        self._checks["something to undo"] = True
        untouched = run_script_check(
            self._task.run_tests,
            image=self._images.damaged,
            backend=self._backend,
            timeout_s=self._task.test_timeout_s,
        )
        self._checks["untouched fails"] = not untouched.passed
        if untouched.passed:
            return self._refused(
                "vacuous", "the untouched damaged image passes the dataset's own check"
            )
        usable = self._certificate("usable")
        return self._proven(usable) if self._task.oracle is not None else usable

    def _classified(self) -> tuple[Damage, ...]:
        gold, damaged = self._images.gold, self._images.damaged
        tests = self._tests()
        damages = classify_damage(
            self._backend.store.diff(gold, damaged),
            image_tree(gold, self._backend),
            image_tree(damaged, self._backend),
            search=search_path(tests.env.get("PATH", "")),
        )

        made = find_made_bytecode(
            damages, gold=gold, damaged=damaged, known=tests.interpreter, backend=self._backend
        )
        damages = demote(damages, made, "bytecode that an honest interpreter made")

        def passes_with(layers: tuple[Capture, ...]) -> bool:
            results = run_certified(
                tests, image=gold, overlays=layers, gold=gold, backend=self._backend
            )
            return not compare_outcomes(results, tests.outcomes, tests.exit_code)

        inert = find_inert(
            damages,
            gold=gold,
            damaged=damaged,
            backend=self._backend,
            passes_with=passes_with,
        )
        return demote(damages, inert, "the tests pass on gold with it")

    def _proven(self, usable: Certificate) -> Certificate:
        """Runs the oracle and the wrong answers; `proven` when all come out as they must."""
        oracle_left, problem = oracle_leavings(self._task, self._images, usable, self._backend)
        self._checks["oracle passes"] = not problem
        if problem:
            self._problems.append(Problem(kind="oracle-fails", detail=problem))
        certificate = usable.model_copy(update={"oracle_left": oracle_left})
        for name, script in sorted(self._task.wrong.items()):
            capture = run_script(self._images, self._backend, script)
            try:
                (verdict,) = grade(self._task, self._images, certificate, capture, self._backend)
            finally:
                capture.close()
            self._checks[f"wrong answer {name} fails"] = not verdict.passed
            if verdict.passed:
                self._problems.append(Problem(kind="wrong-passes", detail=name))
        status = "usable" if self._problems else "proven"
        return certificate.model_copy(
            update={
                "status": status,
                "problems": list(self._problems),
                "checks": dict(self._checks),
                "seconds": time.monotonic() - self._started,
            }
        )

    def _tests(self) -> CertifiedTests:
        assert self._gold_tests is not None and self._gold_tests.tests is not None
        return self._gold_tests.tests

    def _nothing_left(self) -> str:
        env = self._env_damage()
        if env:
            return f"the damage is only in the image's environment: {', '.join(env)}"
        return f"none of {len(self._damages)} damaged paths has to be undone"

    def _env_damage(self) -> list[str]:
        old = dict(self._images.gold.config.env)
        new = dict(self._images.damaged.config.env)
        return sorted(name for name in {*old, *new} if old.get(name) != new.get(name))

    def _refused(self, kind: str, detail: str) -> Certificate:
        self._problems.append(Problem(kind=kind, detail=detail))
        return self._certificate("refused")

    def _certificate(self, status: str) -> Certificate:
        gold_tests = self._gold_tests
        return Certificate.model_validate(
            {
                "grader_version": HardenedGrader.version,
                "task_id": self._task.task_id,
                "task_digest": self._task.digest,
                "gold_digest": self._images.gold.digest,
                "damaged_digest": self._images.damaged.digest,
                "status": status,
                "problems": self._problems,
                "damage": damage_records(self._damages),
                "damage_in_env": self._env_damage(),
                "tests": gold_tests.tests if gold_tests is not None else None,
                "flake_rate": gold_tests.flake_rate if gold_tests is not None else 0.0,
                "checks": self._checks,
                "seconds": time.monotonic() - self._started,
            }
        )
