"""Rates with their counts and intervals, and correlations; small, exact, without dependencies."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

__all__ = ["mean", "pearson", "rate", "spearman"]

_Z = 1.959963984540054
"""The 97.5 % point of the normal distribution."""


def rate(hits: int, of: int) -> dict[str, Any]:
    """`{hits, of, rate, low, high}` with the 95 % Wilson interval; rate None when `of` is 0.

    Wilson (1927), Probable inference, the law of succession, and statistical inference. It takes
    attempts as independent; attempts on the same task are not quite.
    """
    if of == 0:
        return {"hits": 0, "of": 0, "rate": None, "low": None, "high": None}
    share, z2 = hits / of, _Z * _Z
    middle = (share + z2 / (2 * of)) / (1 + z2 / of)
    half = _Z * math.sqrt(share * (1 - share) / of + z2 / (4 * of * of)) / (1 + z2 / of)
    low, high = max(0.0, middle - half), min(1.0, middle + half)
    return {"hits": hits, "of": of, "rate": share, "low": low, "high": high}


def mean(values: Sequence[float]) -> dict[str, Any]:
    """`{n, mean, low, high}` with a 95 % interval from the sample's own spread."""
    count = len(values)
    if count == 0:
        return {"n": 0, "mean": None, "low": None, "high": None}
    middle = math.fsum(values) / count
    if count == 1:
        return {"n": 1, "mean": middle, "low": None, "high": None}
    spread = math.sqrt(math.fsum((v - middle) ** 2 for v in values) / (count - 1))
    half = _Z * spread / math.sqrt(count)
    return {"n": count, "mean": middle, "low": middle - half, "high": middle + half}


def pearson(xs: Sequence[float], ys: Sequence[float]) -> float | None:
    """Pearson's correlation; None for fewer than three pairs or without any spread."""
    if len(xs) < 3:
        return None
    mx, my = math.fsum(xs) / len(xs), math.fsum(ys) / len(ys)
    sxy = math.fsum((x - mx) * (y - my) for x, y in zip(xs, ys, strict=True))
    sxx = math.fsum((x - mx) ** 2 for x in xs)
    syy = math.fsum((y - my) ** 2 for y in ys)
    if sxx <= 1e-12 or syy <= 1e-12:
        return None
    return sxy / math.sqrt(sxx * syy)


def spearman(xs: Sequence[float], ys: Sequence[float]) -> float | None:
    """Spearman's rank correlation, ties at their mean rank."""
    return pearson(_ranks(xs), _ranks(ys))


def _ranks(values: Sequence[float]) -> list[float]:
    ordered = sorted(values)
    return [
        (ordered.index(value) + len(ordered) - 1 - ordered[::-1].index(value)) / 2
        for value in values
    ]
