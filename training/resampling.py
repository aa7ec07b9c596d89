"""Intervals and tests that need nothing but counts: bootstrap, Wilson, sign test.

The bootstrap draws *tasks*, never attempts: attempts on one task are not independent, and an
interval that treats them so is too narrow.

Sources: B. Efron, "Bootstrap Methods" (1979), percentile interval; E. B. Wilson, "Probable
Inference" (1927), score interval.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Interval", "bootstrap_mean", "sign_test", "wilson_interval"]

RESAMPLES = 100_000
SEED = 20_260_301
CONFIDENCE = 0.95
_CHUNK_CELLS = 4_000_000  # at most 32 MB of indexes or counts at a time
_MULTINOMIAL_FACTOR = 8  # a binomial draw costs about this many index draws


class Interval(NamedTuple):
    """An interval with its lower and upper end."""

    low: float
    high: float


def bootstrap_mean(
    values: NDArray[np.float64],
    *,
    resamples: int = RESAMPLES,
    seed: int = SEED,
    confidence: float = CONFIDENCE,
) -> Interval | None:
    """Gives the percentile bootstrap interval of the mean of one value per task.

    The result depends on the multiset of values and the seed, not on their order. Where few
    distinct values occur (four attempts give at most five pass rates), a resample is drawn as the
    multinomial count of each distinct value, which has exactly the same distribution and costs far
    less.

    Args:
        values: one number per task, shape (tasks,).
        resamples: number of resamples.
        seed: seed of the draws.
        confidence: share of the resampled means inside the interval, in (0, 1).

    Returns:
        The interval, or None without any task.
    """
    if values.size == 0:
        return None
    distinct, counts = np.unique(values, return_counts=True)
    if distinct.size == 1:
        return Interval(float(distinct[0]), float(distinct[0]))
    rng = np.random.default_rng(seed)
    if distinct.size * _MULTINOMIAL_FACTOR <= values.size or values.size <= 32:
        means = _multinomial_means(rng, distinct, counts, resamples)
    else:
        means = _indexed_means(rng, np.sort(values), resamples)
    tail = (1.0 - confidence) / 2.0
    low, high = np.quantile(means, [tail, 1.0 - tail])
    return Interval(float(low), float(high))


def _multinomial_means(
    rng: np.random.Generator,
    distinct: NDArray[np.float64],
    counts: NDArray[np.int64],
    resamples: int,
) -> NDArray[np.float64]:
    """Draws how often each distinct value falls into a resample; shape (resamples,)."""
    size = int(counts.sum())
    chunk = max(1, _CHUNK_CELLS // distinct.size)
    means = [
        rng.multinomial(size, counts / size, size=min(chunk, resamples - start)) @ distinct / size
        for start in range(0, resamples, chunk)
    ]
    return np.concatenate(means)


def _indexed_means(
    rng: np.random.Generator, values: NDArray[np.float64], resamples: int
) -> NDArray[np.float64]:
    """Draws the tasks of each resample one by one; shape (resamples,)."""
    size = values.size
    kind = np.uint16 if size <= 1 << 16 else np.uint32
    chunk = max(1, _CHUNK_CELLS // size)
    means = []
    for start in range(0, resamples, chunk):
        shape = (min(chunk, resamples - start), size)
        means.append(values[rng.integers(0, size, size=shape, dtype=kind)].mean(axis=1))
    return np.concatenate(means)


def wilson_interval(
    successes: int, total: int, *, confidence: float = CONFIDENCE
) -> Interval | None:
    """Gives Wilson's score interval of a share; honest also at 0 and 1.

    Returns:
        The interval in [0, 1], or None when `total` is 0.
    """
    if total == 0:
        return None
    z = NormalDist().inv_cdf(0.5 + confidence / 2.0)
    share = successes / total
    centre = share + z * z / (2 * total)
    half = z * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    scale = 1 + z * z / total
    low = 0.0 if successes == 0 else (centre - half) / scale
    high = 1.0 if successes == total else (centre + half) / scale
    return Interval(low, high)


def sign_test(wins: int, losses: int) -> float:
    """Gives the two-sided exact p-value of the sign test; ties carry no information.

    Returns:
        The probability, under a fair coin, of a split at least this uneven; 1.0 without any pair.
    """
    total = wins + losses
    smaller = min(wins, losses)
    tail = sum(math.comb(total, k) for k in range(smaller + 1))
    return min(1.0, 2 * tail / (1 << total))
