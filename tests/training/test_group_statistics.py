"""Group statistics against values computed by hand, against scipy, and by properties."""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping, Sequence

import numpy as np
import pytest
import scipy.special
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from cligym.errors import ConfigError
from cligym.training.episode_rows import AttemptRow
from cligym.training.group_statistics import (
    GroupStatistics,
    expected_mixed_share,
    pass_at_k,
    summarise,
)
from cligym.training.groups import count_groups
from cligym.training.stats_report import verdict_sentence

Outcomes = Mapping[str, Sequence[bool | None]]


def rows(outcomes: Outcomes) -> list[AttemptRow]:
    return [
        AttemptRow(task_id=task, attempt=str(i), passed=passed)
        for task, attempts in outcomes.items()
        for i, passed in enumerate(attempts)
    ]


def stats(outcomes: Outcomes) -> GroupStatistics:
    return summarise(count_groups(rows(outcomes)))


T, F, E = True, False, None
EXAMPLE: Outcomes = {"a": [T, T, F, F], "b": [F, F, F, F], "c": [T, T, T, E], "d": [E, E, E, E]}

outcomes_strategy = st.dictionaries(
    st.sampled_from("abcdefghij"),
    st.lists(st.sampled_from([True, False, None]), min_size=1, max_size=6),
    min_size=1,
)


def test_values_computed_by_hand() -> None:
    found = stats(EXAMPLE)
    assert found.pass_rate == pytest.approx((0.5 + 0 + 1) / 3)
    assert found.pass_rate_infra_as_fail == pytest.approx((0.5 + 0 + 0.75 + 0) / 4)
    assert (found.groups, found.groups_without_verdict) == (3, 1)
    assert (found.attempts, found.passes, found.infra_errors) == (11, 5, 5)
    assert found.mixed_groups == 1
    assert found.mixed_share == pytest.approx(1 / 3)
    assert found.variances == {"a": 0.25, "b": 0.0, "c": 0.0}
    assert found.mean_variance == pytest.approx(0.25 / 3)
    assert found.mean_variance_unbiased == pytest.approx(0.25 * 4 / 3 / 3)
    assert found.passes_per_group == {0: 1, 2: 1, 3: 1}
    assert found.group_sizes == {3: 1, 4: 2}
    assert found.attempts_per_informative_group == 16
    # pass@2 of a: 1 - C(2,2)/C(4,2) = 5/6; of b 0; of c 1.
    assert found.pass_at_k[1] == pytest.approx(0.5)
    assert found.pass_at_k[2] == pytest.approx((5 / 6 + 0 + 1) / 3)
    assert found.pass_at_k[4] == pytest.approx(0.5)
    assert found.pass_at_k_tasks == {1: 3, 2: 3, 3: 3, 4: 2}


def test_expected_mixed_share_by_hand() -> None:
    only_mixed = stats({"a": [T, F], "b": [T, F, F, F]})
    # 1 - p^4 - (1-p)^4 at p = 1/2 and p = 1/4.
    assert only_mixed.expected_mixed_share[4] == pytest.approx((0.875 + (1 - 82 / 256)) / 2)
    assert only_mixed.expected_attempts_per_informative_group[4] == pytest.approx(
        4 / only_mixed.expected_mixed_share[4]
    )
    # One fail under Beta(1/2, 3/2): at G = 2 the expectation is 2 E[p(1-p)] = 2 ab/((a+b)(a+b+1)).
    constant = stats({"a": [F]})
    assert constant.expected_mixed_share[2] == pytest.approx(2 * 0.5 * 1.5 / (2 * 3))
    assert constant.supported_mixed_share[64] == 0.0


def test_the_prior_term_equals_scipy() -> None:
    table = count_groups(rows({"a": [F] * 4}))
    posterior = scipy.stats.beta(0.5, 4.5)
    for size in (2, 8, 16):
        expected = posterior.expect(lambda p, g=size: 1 - p**g - (1 - p) ** g)
        assert expected_mixed_share(table, [size])[size] == pytest.approx(expected, rel=1e-6)


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), min_size=1, max_size=8))
def test_pass_at_k_equals_its_definition(counts: list[tuple[int, int]]) -> None:
    made = {str(i): [T] * c + [F] * f for i, (c, f) in enumerate(counts) if c + f}
    if not made:
        return
    values, tasks = pass_at_k(count_groups(rows(made)))
    for k, value in values.items():
        large = [(sum(map(bool, v)), len(v)) for v in made.values() if len(v) >= k]
        terms = [1 - scipy.special.comb(n - c, k) / scipy.special.comb(n, k) for c, n in large]
        assert value == pytest.approx(np.mean(terms), abs=1e-9)
        assert tasks[k] == len(large)


@settings(max_examples=40, deadline=None)
@given(outcomes_strategy, st.randoms(use_true_random=False))
def test_the_order_of_attempts_changes_nothing(outcomes: Outcomes, rng: random.Random) -> None:
    forward = rows(outcomes)
    shuffled = forward[:]
    rng.shuffle(shuffled)
    assert summarise(count_groups(forward)) == summarise(count_groups(shuffled))


@settings(max_examples=40, deadline=None)
@given(outcomes_strategy)
def test_an_infra_error_never_moves_the_masked_numbers(outcomes: Outcomes) -> None:
    clean = stats(outcomes)
    noisy = stats({task: [*attempts, None] for task, attempts in outcomes.items()})
    assert noisy.pass_rate == clean.pass_rate
    assert noisy.mixed_share == clean.mixed_share
    assert noisy.pass_at_k == clean.pass_at_k
    assert noisy.expected_mixed_share == clean.expected_mixed_share
    assert noisy.infra_errors == clean.infra_errors + len(outcomes)


@settings(max_examples=40, deadline=None)
@given(outcomes_strategy)
def test_shares_stay_in_range_and_grow_with_group_size_and_k(outcomes: Outcomes) -> None:
    found = stats(outcomes)
    shares = list(found.expected_mixed_share.values())
    assert all(0 <= share <= 1 for share in shares)
    assert shares == sorted(shares)
    for size, share in found.supported_mixed_share.items():
        assert share <= found.expected_mixed_share[size] + 1e-12
    if len(set(found.pass_at_k_tasks.values())) == 1:
        values = list(found.pass_at_k.values())
        assert all(b >= a - 1e-12 for a, b in itertools.pairwise(values))


def test_all_infra_errors_give_no_numbers_and_no_crash() -> None:
    found = stats({"a": [E, E]})
    assert (found.pass_rate, found.mixed_share, found.pass_rate_interval) == (None, None, None)
    assert found.pass_rate_infra_as_fail == 0.0
    assert "nothing can be said" in verdict_sentence(found)


def test_a_group_size_below_two_is_refused() -> None:
    with pytest.raises(ConfigError, match="at least 2"):
        summarise(count_groups(rows(EXAMPLE)), group_sizes=[1])


def test_attempts_on_two_versions_of_a_task_are_no_group() -> None:
    made = [AttemptRow(task_id="a", passed=True, task_digest=digest) for digest in ("x", "y")]
    with pytest.raises(ConfigError, match="two versions"):
        count_groups(made)


@pytest.mark.parametrize(
    ("outcomes", "start", "part"),
    [
        ({str(i): [T, F, T, F] for i in range(20)}, "Yes", "G = 2 or more"),
        ({str(i): [F] * 4 for i in range(20)}, "No", "too hard"),
        ({str(i): [T] * 4 for i in range(20)}, "No", "too easy"),
        (
            {str(i): [T, F] if i < 6 else [F, F] for i in range(20)},
            "Only with task selection",
            "the 6 tasks",
        ),
        ({"a": [T, F]}, "Yes", "Only 1 groups"),
    ],
)
def test_the_sentence_rests_on_what_was_seen(outcomes: Outcomes, start: str, part: str) -> None:
    sentence = verdict_sentence(stats(outcomes))
    assert sentence.startswith(start)
    assert part in sentence
