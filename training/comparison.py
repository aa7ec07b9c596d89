"""Compares two runs on the tasks that both attempted: paired difference, interval, sign test.

The unit is the task. A task's pass rate over its valid attempts is one number per run; the
difference of the two is one number per pair; the bootstrap draws pairs. A task counts as a win for
B if its pass rate is higher there, decided with whole numbers and therefore exactly.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from cligym.errors import ConfigError
from cligym.training.groups import GroupTable
from cligym.training.resampling import RESAMPLES, SEED, Interval, bootstrap_mean, sign_test

__all__ = ["Comparison", "compare_groups"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """B against A on their common tasks. Rates are in [0, 1], differences in [-1, 1].

    Attributes:
        difference: mean over common tasks of B's pass rate minus A's.
        interval: its 95 % interval, from a bootstrap over tasks.
        rate_a: A's mean pass rate on the common tasks.
        rate_b: B's.
        rate_a_infra_as_fail: A's, if every infra error on a common task were a fail.
        rate_b_infra_as_fail: B's.
        wins: common tasks where B's pass rate is higher.
        losses: common tasks where A's is higher.
        ties: common tasks with the same pass rate.
        sign_test_p: two-sided exact p-value of wins against losses.
        common_tasks: number of tasks with a valid attempt in both.
        attempts_a: A's valid attempts on the common tasks.
        attempts_b: B's.
        infra_errors_a: A's attempts without a verdict, on any task.
        infra_errors_b: B's.
        only_in_a: tasks with a valid attempt in A only.
        only_in_b: tasks with a valid attempt in B only.
        changed_tasks: tasks of one name whose files differ between A and B; never paired.
        resamples: number of bootstrap resamples.
        seed: seed of the bootstrap.
    """

    difference: float
    interval: Interval
    rate_a: float
    rate_b: float
    rate_a_infra_as_fail: float
    rate_b_infra_as_fail: float
    wins: int
    losses: int
    ties: int
    sign_test_p: float
    common_tasks: int
    attempts_a: int
    attempts_b: int
    infra_errors_a: int
    infra_errors_b: int
    only_in_a: tuple[str, ...]
    only_in_b: tuple[str, ...]
    changed_tasks: tuple[str, ...]
    resamples: int
    seed: int


def compare_groups(
    table_a: GroupTable, table_b: GroupTable, *, resamples: int = RESAMPLES, seed: int = SEED
) -> Comparison:
    """Compares two tables of groups, paired by task.

    Args:
        table_a: the base.
        table_b: what is compared with it.
        resamples: bootstrap resamples.
        seed: seed of the bootstrap.

    Raises:
        ConfigError: no task has a valid attempt in both.
    """
    valid_a, valid_b = table_a.valid(), table_b.valid()
    at_a = {task: i for i, task in enumerate(valid_a.task_ids)}
    at_b = {task: i for i, task in enumerate(valid_b.task_ids)}
    shared = sorted(at_a.keys() & at_b.keys())
    changed = {task for task in shared if _changed(valid_a, at_a[task], valid_b, at_b[task])}
    common = [task for task in shared if task not in changed]
    if not common:
        raise ConfigError(
            f"no task to compare on: A has {len(at_a)} tasks with a verdict, B has {len(at_b)}, "
            f"{len(shared)} have the same name and {len(changed)} of these have other files"
        )
    a = valid_a.select(_positions(common, at_a))
    b = valid_b.select(_positions(common, at_b))
    order = np.sign(b.passes * a.attempts - a.passes * b.attempts)
    wins, losses = int((order > 0).sum()), int((order < 0).sum())
    differences = b.rates - a.rates
    interval = bootstrap_mean(differences, resamples=resamples, seed=seed)
    assert interval is not None  # there is at least one common task
    return Comparison(
        difference=float(differences.mean()),
        interval=interval,
        rate_a=float(a.rates.mean()),
        rate_b=float(b.rates.mean()),
        rate_a_infra_as_fail=float(a.rates_infra_as_fail.mean()),
        rate_b_infra_as_fail=float(b.rates_infra_as_fail.mean()),
        wins=wins,
        losses=losses,
        ties=len(common) - wins - losses,
        sign_test_p=sign_test(wins, losses),
        common_tasks=len(common),
        attempts_a=int(a.attempts.sum()),
        attempts_b=int(b.attempts.sum()),
        infra_errors_a=int(table_a.infra_errors.sum()),
        infra_errors_b=int(table_b.infra_errors.sum()),
        only_in_a=tuple(sorted(at_a.keys() - at_b.keys())),
        only_in_b=tuple(sorted(at_b.keys() - at_a.keys())),
        changed_tasks=tuple(sorted(changed)),
        resamples=resamples,
        seed=seed,
    )


def _changed(a: GroupTable, at_a: int, b: GroupTable, at_b: int) -> bool:
    """Whether both sides know the digest of the task's files and the two differ."""
    digest_a, digest_b = a.digests[at_a], b.digests[at_b]
    return digest_a is not None and digest_b is not None and digest_a != digest_b


def _positions(
    tasks: list[str], at: Mapping[str, int]
) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    """Where each task stands in its table."""
    return np.array([at[task] for task in tasks], dtype=np.intp)
