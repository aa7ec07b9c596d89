"""Intervals and the sign test against scipy; two ways to draw a bootstrap against each other."""

from __future__ import annotations

import time

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from cligym.training import resampling
from cligym.training.resampling import bootstrap_mean, sign_test, wilson_interval


@given(st.integers(0, 60), st.integers(0, 60))
def test_sign_test_equals_scipy(wins: int, losses: int) -> None:
    if wins + losses == 0:
        assert sign_test(0, 0) == 1.0
        return
    expected = scipy.stats.binomtest(wins, wins + losses).pvalue
    assert sign_test(wins, losses) == pytest.approx(expected, rel=1e-9)


def test_sign_test_by_hand() -> None:
    assert sign_test(5, 0) == 2 / 32
    assert sign_test(3, 1) == 2 * (1 + 4) / 16
    assert sign_test(2, 2) == 1.0


@given(st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_interval_equals_scipy(case: tuple[int, int]) -> None:
    successes, total = case
    found = wilson_interval(successes, total)
    expected = scipy.stats.binomtest(successes, total).proportion_ci(method="wilson")
    assert found is not None
    assert found == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_no_data_has_no_interval() -> None:
    assert wilson_interval(0, 0) is None
    assert bootstrap_mean(np.array([])) is None


def test_bootstrap_equals_scipy_within_noise() -> None:
    values = np.random.default_rng(5).integers(0, 5, size=60) / 4
    found = bootstrap_mean(values)
    expected = scipy.stats.bootstrap(
        (values,), np.mean, method="percentile", n_resamples=20_000, rng=np.random.default_rng(1)
    ).confidence_interval
    assert found == pytest.approx((expected.low, expected.high), abs=0.006)


def test_both_ways_to_draw_agree() -> None:
    values = np.sort(np.random.default_rng(2).integers(0, 9, size=50) / 8 - 0.5)
    distinct, counts = np.unique(values, return_counts=True)
    by_count = resampling._multinomial_means(np.random.default_rng(3), distinct, counts, 50_000)
    by_index = resampling._indexed_means(np.random.default_rng(4), values, 50_000)
    quantiles = [0.025, 0.25, 0.5, 0.75, 0.975]
    assert np.quantile(by_count, quantiles) == pytest.approx(
        np.quantile(by_index, quantiles), abs=0.006
    )


@settings(max_examples=25, deadline=None)
@given(st.lists(st.sampled_from([-1.0, -0.5, -0.25, 0.0, 0.25, 1.0]), min_size=1, max_size=80))
def test_order_changes_nothing_and_the_interval_stays_in_range(values: list[float]) -> None:
    forward = bootstrap_mean(np.array(values), resamples=500)
    backward = bootstrap_mean(np.array(values[::-1]), resamples=500)
    assert forward is not None
    assert forward == backward
    assert min(values) - 1e-12 <= forward.low <= forward.high <= max(values) + 1e-12


def test_the_seed_decides() -> None:
    values = np.random.default_rng(0).random(40)
    assert bootstrap_mean(values, seed=1) == bootstrap_mean(values, seed=1)
    assert bootstrap_mean(values, seed=1) != bootstrap_mean(values, seed=2)


@pytest.mark.parametrize("distinct", [9, 1_000], ids=["few values", "every task its own value"])
def test_a_hundred_thousand_resamples_take_less_than_two_seconds(distinct: int) -> None:
    values = np.random.default_rng(0).integers(0, distinct, size=1_000) / distinct
    start = time.process_time()
    assert bootstrap_mean(values, resamples=100_000) is not None
    assert time.process_time() - start < 2.0
