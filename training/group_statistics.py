"""What groups of attempts say about a task source: pass rates, pass@k, variance, mixed groups.

Group-based RL (GRPO and its kin) learns from a group only if some of its attempts pass and some
fail: a constant group has zero advantage. What counts is therefore not the pass rate but the share
of mixed groups, here as seen and as expected at other group sizes.

Prior: a task seen with both outcomes enters the expectation with its own pass rate p, as
1 - p^G - (1-p)^G. A task seen all-0 or all-1 would enter as exactly 0, which overstates what n
attempts can show; it enters with the mean of that term under the posterior Beta(1/2 + passes,
1/2 + fails), that is under Jeffreys' prior.

Sources: M. Chen et al., arXiv:2107.03374, section 2.1 (unbiased pass@k).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cligym.errors import ConfigError
from cligym.training.groups import GroupTable
from cligym.training.resampling import SEED, Interval, bootstrap_mean, wilson_interval

__all__ = [
    "GROUP_SIZES",
    "PRIOR",
    "GroupStatistics",
    "expected_mixed_share",
    "pass_at_k",
    "summarise",
]

GROUP_SIZES = (2, 4, 8, 16, 32, 64)
PRIOR = 0.5  # both parameters of the Beta prior (Jeffreys)
MAX_K = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupStatistics:
    """All numbers about one set of attempts. Shares and rates are in [0, 1].

    Attributes:
        pass_rate: mean over tasks of each task's pass rate; None without a valid attempt.
        pass_rate_interval: its 95 % interval, from a bootstrap over tasks.
        pass_rate_infra_as_fail: the pass rate if every infra error were a fail.
        groups: tasks with at least one valid attempt.
        groups_without_verdict: tasks whose attempts all had infra errors.
        attempts: attempts with a verdict.
        passes: attempts that passed.
        infra_errors: attempts without a verdict.
        group_sizes: number of groups by their valid attempts.
        passes_per_group: number of groups by their passes.
        mixed_groups: groups with both outcomes.
        mixed_share: mixed groups over groups.
        mixed_share_interval: Wilson's 95 % interval.
        variances: p(1-p) of each task by its name.
        mean_variance: mean of p(1-p) over groups.
        mean_variance_unbiased: mean of p(1-p) n/(n-1) over groups of two or more.
        pass_at_k: unbiased pass@k by k, over the tasks with at least k attempts.
        pass_at_k_tasks: how many tasks each pass@k rests on.
        expected_mixed_share: expected share of mixed groups by group size.
        supported_mixed_share: the same without the prior: tasks seen constant stay constant.
        attempts_per_informative_group: all attempts spent, infra errors too, per mixed group.
        expected_attempts_per_informative_group: the same by group size, G over the share.
    """

    pass_rate: float | None
    pass_rate_interval: Interval | None
    pass_rate_infra_as_fail: float | None
    groups: int
    groups_without_verdict: int
    attempts: int
    passes: int
    infra_errors: int
    group_sizes: dict[int, int]
    passes_per_group: dict[int, int]
    mixed_groups: int
    mixed_share: float | None
    mixed_share_interval: Interval | None
    variances: dict[str, float]
    mean_variance: float | None
    mean_variance_unbiased: float | None
    pass_at_k: dict[int, float]
    pass_at_k_tasks: dict[int, int]
    expected_mixed_share: dict[int, float]
    supported_mixed_share: dict[int, float]
    attempts_per_informative_group: float | None
    expected_attempts_per_informative_group: dict[int, float | None]


def summarise(
    table: GroupTable, *, group_sizes: Sequence[int] = GROUP_SIZES, seed: int = SEED
) -> GroupStatistics:
    """Computes every statistic of a table of groups.

    Args:
        table: the groups, infra errors counted apart.
        group_sizes: group sizes for the expectations, each at least 2.
        seed: seed of the bootstrap.
    """
    groups = table.valid()
    rates = groups.rates
    variances = rates * (1 - rates)
    repeated = groups.attempts > 1
    scale = groups.attempts[repeated] / (groups.attempts[repeated] - 1)
    at_k, at_k_tasks = pass_at_k(groups)
    mixed = int(groups.mixed.sum())
    count = len(groups.task_ids)
    shares = expected_mixed_share(groups, group_sizes) if count else {}
    spent = int(table.attempts.sum() + table.infra_errors.sum())
    return GroupStatistics(
        pass_rate=_mean(rates),
        pass_rate_interval=bootstrap_mean(rates, seed=seed),
        pass_rate_infra_as_fail=_mean(table.rates_infra_as_fail),
        groups=count,
        groups_without_verdict=len(table.task_ids) - count,
        attempts=int(table.attempts.sum()),
        passes=int(table.passes.sum()),
        infra_errors=int(table.infra_errors.sum()),
        group_sizes=_histogram(groups.attempts),
        passes_per_group=_histogram(groups.passes),
        mixed_groups=mixed,
        mixed_share=mixed / count if count else None,
        mixed_share_interval=wilson_interval(mixed, count),
        variances=dict(zip(groups.task_ids, variances.tolist(), strict=True)),
        mean_variance=_mean(variances),
        mean_variance_unbiased=_mean(variances[repeated] * scale),
        pass_at_k=at_k,
        pass_at_k_tasks=at_k_tasks,
        expected_mixed_share=shares,
        supported_mixed_share=(
            expected_mixed_share(groups, group_sizes, prior=False) if count else {}
        ),
        attempts_per_informative_group=spent / mixed if mixed else None,
        expected_attempts_per_informative_group={
            size: size / share if share > 0 else None for size, share in shares.items()
        },
    )


def pass_at_k(groups: GroupTable) -> tuple[dict[int, float], dict[int, int]]:
    """Estimates pass@k without bias, for every k up to the largest group (at most 64).

    1 - C(n-c, k) / C(n, k) is built up as a running product over the k draws.

    Returns:
        The estimate by k, and the number of tasks it rests on: those with at least k attempts.
    """
    attempts, fails = groups.attempts, groups.attempts - groups.passes
    largest = min(int(attempts.max(initial=0)), MAX_K)
    all_failed = np.ones(attempts.shape)
    values: dict[int, float] = {}
    tasks: dict[int, int] = {}
    for k in range(1, largest + 1):
        enough = attempts >= k
        left = np.maximum(attempts - (k - 1), 1)
        all_failed = all_failed * np.maximum(fails - (k - 1), 0) / left
        values[k] = float(np.mean(1.0 - all_failed[enough]))
        tasks[k] = int(enough.sum())
    return values, tasks


def expected_mixed_share(
    groups: GroupTable, sizes: Sequence[int], *, prior: bool = True
) -> dict[int, float]:
    """Expects the share of mixed groups at other group sizes; the prior is in the module's text.

    Args:
        groups: groups with at least one valid attempt each.
        sizes: group sizes.
        prior: False counts tasks seen all-0 or all-1 as never mixed: what the data alone support.

    Returns:
        The expected share, in [0, 1], by group size.

    Raises:
        ConfigError: a group size is below 2, where no group can be mixed.
    """
    if any(size < 2 for size in sizes):
        raise ConfigError(f"a group size is at least 2, found {min(sizes)}")
    rates, mixed = groups.rates, groups.mixed
    passes = groups.passes[~mixed].astype(np.float64)
    fails = (groups.attempts - groups.passes)[~mixed].astype(np.float64)
    alpha, beta = PRIOR + passes, PRIOR + fails
    shares: dict[int, float] = {}
    for size in sizes:
        terms = np.empty(rates.shape)
        seen = rates[mixed]
        terms[mixed] = 1 - seen**size - (1 - seen) ** size
        unseen = 1 - _beta_moment(alpha, beta, size) - _beta_moment(beta, alpha, size)
        terms[~mixed] = unseen if prior else 0.0
        shares[size] = float(terms.mean())
    return shares


def _beta_moment(
    alpha: NDArray[np.float64], beta: NDArray[np.float64], order: int
) -> NDArray[np.float64]:
    """E[p^order] for p ~ Beta(alpha, beta): the product of (alpha + j) / (alpha + beta + j)."""
    moment = np.ones(alpha.shape)
    for j in range(order):
        moment *= (alpha + j) / (alpha + beta + j)
    return moment


def _mean(values: NDArray[np.float64]) -> float | None:
    """The mean, or None of nothing."""
    return float(values.mean()) if values.size else None


def _histogram(values: NDArray[np.int64]) -> dict[int, int]:
    """How often each value occurs, by value."""
    distinct, counts = np.unique(values, return_counts=True)
    return dict(zip(distinct.tolist(), counts.tolist(), strict=True))
