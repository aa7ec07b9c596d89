"""The same game with environments: a script breaks a gold image, another repairs or names it.

The attacker hands in a script and declares which of the chosen tests will fail. The gate builds
gold plus the script and holds it to its word: the task must be usable (see
`cligym.graders.certify`), exactly the declared tests fail, the others pass. The defender gets the
damaged image and the names of the failing tests, and repairs it or names the damaged paths. The
hardened grader judges a repair; paths are scored by their overlap with the damage set. A worked
example with scripted players is in `docs/arena.md`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from enum import StrEnum

from cligym.errors import BuildError
from cligym.graders.certify import make_certificate
from cligym.graders.grade import grade, run_script
from cligym.graders.pytest_run import run_certified
from cligym.graders.verdict import Outcome, Verdict
from cligym.sandboxes.namespace import NamespaceBackend
from cligym.tasks.certificate import Certificate
from cligym.tasks.images import TaskImages, build_task_images
from cligym.tasks.task import Task, make_task
from cligym.tasks.test_ids import render_run_tests

__all__ = [
    "EnvironmentAttack",
    "EnvironmentDefence",
    "EnvironmentRound",
    "RoundOutcome",
    "play_environment_round",
]

_NEEDS_WORK = ("required", "package")


class RoundOutcome(StrEnum):
    """How a round ended."""

    REJECTED = "rejected"
    """The gate: the script failed, the task is not usable, or the declaration is wrong."""
    REPAIRED = "repaired"
    """The defender won: the hardened grader passed its repair."""
    NAMED = "named"
    """The defender did not repair it, and named enough of the damage."""
    EVADED = "evaded"
    """The attacker won."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentAttack:
    """An attacker's action.

    Attributes:
        script: run by `sh` as root on gold, at build time.
        failing: tests (as chosen for the round) that will fail afterwards, not empty.
        rationale: why it is hard to find.
    """

    script: str
    failing: tuple[str, ...]
    rationale: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentDefence:
    """A defender's action: a repair, named paths, or both.

    Attributes:
        repair: script run by bash as root in the damaged box, without network; None does nothing.
        named: absolute paths that it holds to be damaged.
    """

    repair: str | None = None
    named: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentRound:
    """What came of it.

    Attributes:
        outcome: how it ended.
        reason: one line for people.
        damage: absolute paths that had to be undone.
        credit: overlap of the named paths with them (intersection over union), in [0, 1].
        verdict: the hardened grader's, or None when nothing was repaired.
    """

    outcome: RoundOutcome
    reason: str = ""
    damage: tuple[str, ...] = ()
    credit: float = 0.0
    verdict: Verdict | None = None


def play_environment_round(
    gold: str,
    tests: Sequence[str],
    attack: EnvironmentAttack,
    defence: EnvironmentDefence,
    backend: NamespaceBackend,
    *,
    naming_credit: float = 0.5,
) -> EnvironmentRound:
    """Gate, repair and verdict of one round.

    Args:
        gold: name of the gold image, in the store or of the starter pack.
        tests: the chosen tests, as pytest ids.
        attack: what breaks it.
        defence: what repairs or names it.
        backend: where everything runs.
        naming_credit: overlap from which naming the damage counts as found.

    Raises:
        GraderError: our side failed; the round has no outcome.
        SandboxError: a box failed; the round has no outcome.
    """
    task = _task(gold, tests, attack)
    try:
        images = build_task_images(task, backend)
    except BuildError as error:
        return _rejected(f"the script failed: {error}")
    certificate = make_certificate(task, images, backend)
    problem = _gate(tests, attack, certificate, images, backend)
    if problem:
        return _rejected(problem)
    damage = tuple(
        f"/{record.path}" for record in certificate.damage if record.damage_class in _NEEDS_WORK
    )
    credit = _overlap(defence.named, damage)
    verdict = _repair(task, images, certificate, defence, backend)
    outcome, reason = RoundOutcome.EVADED, "neither repaired nor named"
    if verdict is not None and verdict.passed:
        outcome, reason = RoundOutcome.REPAIRED, "the hardened grader passed the repair"
    elif credit >= naming_credit:
        outcome, reason = RoundOutcome.NAMED, f"named {credit:.0%} of the damage"
    elif verdict is not None and verdict.reasons:
        first = verdict.reasons[0]
        reason = f"repair refused: {first.class_} {first.path} {first.detail}"
    return EnvironmentRound(
        outcome=outcome, reason=reason, damage=damage, credit=credit, verdict=verdict
    )


def _task(gold: str, tests: Sequence[str], attack: EnvironmentAttack) -> Task:
    # The exec form of RUN: the script is one word and needs no quoting rules of a shell.
    command = json.dumps(["/bin/sh", "-c", attack.script])
    return make_task(
        task_id="environment-round",
        dockerfile=f"FROM {gold}\nRUN {command}\n",
        run_tests=render_run_tests(tuple(tests)),
        instruction="These tests fail: " + ", ".join(attack.failing),
    )


def _gate(
    tests: Sequence[str],
    attack: EnvironmentAttack,
    certificate: Certificate,
    images: TaskImages,
    backend: NamespaceBackend,
) -> str:
    """Why the attack does not count, in words; "" when it does."""
    unknown = set(attack.failing) - set(tests)
    if unknown or not attack.failing:
        return "declares no failing test of the chosen ones"
    if not certificate.usable or certificate.tests is None:
        return "; ".join(f"{p.kind}: {p.detail}" for p in certificate.problems)
    results = run_certified(
        certificate.tests, image=images.damaged, overlays=(), gold=images.gold, backend=backend
    )
    passed = {test for test in tests if results.outcomes.get(test) == Outcome.PASSED}
    wrong = sorted((set(tests) - set(attack.failing)) ^ passed)
    if wrong:
        return f"declared otherwise than it came out: {', '.join(wrong[:3])}"
    return ""


def _repair(
    task: Task,
    images: TaskImages,
    certificate: Certificate,
    defence: EnvironmentDefence,
    backend: NamespaceBackend,
) -> Verdict | None:
    if defence.repair is None:
        return None
    with closing(run_script(images, backend, defence.repair)) as capture:
        return grade(task, images, certificate, capture, backend)[0]


def _overlap(named: Iterable[str], damage: Iterable[str]) -> float:
    ours, theirs = set(named), set(damage)
    return len(ours & theirs) / len(ours | theirs) if ours and theirs else 0.0


def _rejected(reason: str) -> EnvironmentRound:
    return EnvironmentRound(outcome=RoundOutcome.REJECTED, reason=reason)
