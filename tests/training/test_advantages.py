"""Advantages: exact zeros for constant groups, infra errors masked and counted."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cligym.errors import ConfigError
from cligym.training.advantages import group_advantages, group_outcomes

NAN = math.nan


@pytest.mark.parametrize("kind", [np.float32, np.float16, np.float64])
@pytest.mark.parametrize("reward", [0.1, 1 / 3, 1.0, 0.0])
def test_a_constant_group_has_exactly_zero_advantage(kind: type, reward: float) -> None:
    rewards = [float(kind(reward))] * 8
    assert group_advantages(rewards, 8).tolist() == [0.0] * 8


def test_values_computed_by_hand() -> None:
    rewards = [0, 0, 0, 1, NAN, NAN, NAN, NAN, 1, 1, NAN, 1, 1, NAN, NAN, 0]
    expected = [-0.25, -0.25, -0.25, 0.75, *[0] * 4, 0, 0, 0, 0, 0.5, 0, 0, -0.5]
    assert group_advantages(rewards, 4).tolist() == expected


def test_a_group_of_one_learns_nothing() -> None:
    assert group_advantages([1.0, 0.0], 1).tolist() == [0.0, 0.0]
    assert group_advantages([1.0, NAN, NAN, NAN], 4).tolist() == [0.0] * 4


@given(st.lists(st.sampled_from([0.0, 1.0, NAN]), min_size=6, max_size=6))
def test_infra_errors_never_move_the_others(group: list[float]) -> None:
    valid = [reward for reward in group if not math.isnan(reward)]
    found = group_advantages(group, 6)
    assert all(found[i] == 0.0 for i, reward in enumerate(group) if math.isnan(reward))
    kept = [found[i] for i, reward in enumerate(group) if not math.isnan(reward)]
    if valid:
        assert kept == pytest.approx(group_advantages(valid, len(valid)).tolist())
    assert sum(kept) == pytest.approx(0, abs=1e-12)


def test_groups_are_described() -> None:
    tasks = ["a"] * 4 + ["b"] * 4
    first, second = group_outcomes(tasks, [0, NAN, 1, 0, 1, NAN, NAN, NAN], 4)
    assert (first.task_id, first.rewards, first.infra_errors) == ("a", (0.0, 1.0, 0.0), 1)
    assert (first.informative, second.informative) == (True, False)
    assert (second.rewards, second.infra_errors) == ((1.0,), 3)


def test_groups_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ConfigError, match="do not make groups"):
        group_advantages([1.0] * 5, 4)
    with pytest.raises(ConfigError, match="attempts on one task"):
        group_outcomes(["a", "b"], [1.0, 0.0], 2)
