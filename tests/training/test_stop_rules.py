"""Rules that stop a run."""

from __future__ import annotations

import math
from typing import Any

import pytest

from cligym.training.stop_rules import INFORMATIVE, INFRA_SHARE, TRUNCATED, StopRules, StopSettings

GOOD = {"loss": 0.1, "grad_norm": 1.0, INFORMATIVE: 1.0, INFRA_SHARE: 0.0, TRUNCATED: 0.0}


def stopped_after(logs: list[dict[str, Any]], settings: StopSettings | None = None) -> int | None:
    """Number of updates until a rule stops the run."""
    rules = StopRules(settings)
    for number, log in enumerate(logs, 1):
        if rules.update({**GOOD, **log}) is not None:
            return number
    return None


def test_a_good_run_goes_on() -> None:
    assert stopped_after([{}] * 500) is None


@pytest.mark.parametrize("name", ["loss", "grad_norm"])
@pytest.mark.parametrize("value", [math.nan, math.inf, "nan"])
def test_numbers_that_are_not_finite_stop_at_once(name: str, value: object) -> None:
    assert stopped_after([{}, {name: value}]) == 2


def test_updates_without_variance_stop_only_in_a_row() -> None:
    constant = {INFORMATIVE: 0.0}
    settings = StopSettings(informative_window=None)
    assert stopped_after([constant, constant, {}, constant, constant], settings) is None
    assert stopped_after([{}, constant, constant, constant], settings) == 4
    off = StopSettings(constant_updates=None, informative_window=None)
    assert stopped_after([constant] * 100, off) is None


def test_two_poor_windows_in_a_row_stop() -> None:
    poor = [{INFORMATIVE: 0.5}] * 32
    fine = [{INFORMATIVE: 0.9}] * 32
    assert stopped_after([*poor, *fine, *poor, *fine]) is None
    assert stopped_after([*fine, *poor, *poor]) == 96


def test_too_many_cut_off_attempts_stop() -> None:
    assert stopped_after([{TRUNCATED: 0.06}] * 100) == 16
    assert stopped_after([{TRUNCATED: 0.05}] * 100) is None


def test_infra_errors_in_most_attempts_stop() -> None:
    assert stopped_after([{INFRA_SHARE: 0.6}] * 10) == 3
    assert stopped_after([{INFRA_SHARE: 0.5}] * 10) is None
