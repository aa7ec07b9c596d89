"""Choosing tasks where outcomes are mixed."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from cligym.errors import ConfigError
from cligym.training.advantages import GroupOutcome
from cligym.training.task_chooser import ChooserSettings, TaskChooser


def outcome(task: str, *rewards: float, errors: int = 0) -> GroupOutcome:
    return GroupOutcome(task_id=task, rewards=rewards, infra_errors=errors)


def fed(settings: ChooserSettings | None = None, seed: int = 0) -> TaskChooser:
    chooser = TaskChooser(["easy", "hard", "mixed"], group_size=4, settings=settings, seed=seed)
    for _ in range(2):
        chooser.update(outcome("easy", 1, 1, 1, 1))
        chooser.update(outcome("hard", 0, 0, 0, 0))
        chooser.update(outcome("mixed", 1, 0, 1, 0))
    return chooser


def test_tasks_always_or_never_passed_are_dropped_after_a_fair_chance() -> None:
    chooser = TaskChooser(["easy", "hard", "mixed"], group_size=4)
    chooser.update(outcome("hard", 0, 0, 0, 0))
    assert chooser.dropped() == []
    assert fed().dropped() == ["easy", "hard"]


def test_attempts_go_to_mixed_tasks_and_dropped_ones_are_revisited() -> None:
    chooser = fed(ChooserSettings(revisit_share=0.2))
    drawn = Counter(chooser.choose(1)[0] for _ in range(500))
    assert drawn["mixed"] == pytest.approx(400, abs=40)
    assert abs(drawn["easy"] - drawn["hard"]) <= 1


def test_a_task_that_becomes_mixed_comes_back() -> None:
    chooser = fed()
    chooser.update(outcome("hard", 1, 1, 0, 0))
    assert "hard" not in chooser.dropped()
    assert chooser.rate("hard") > fed().rate("hard")


def test_infra_errors_say_nothing_about_a_task() -> None:
    chooser = TaskChooser(["a"], group_size=4, settings=ChooserSettings(fair_attempts=1))
    chooser.update(outcome("a", errors=4))
    assert chooser.rate("a") == 0.5
    assert chooser.dropped() == []


def test_groups_of_an_update_are_about_different_tasks_while_there_are_enough() -> None:
    chooser = TaskChooser([str(i) for i in range(4)], group_size=4)
    assert sorted(chooser.choose(4)) == ["0", "1", "2", "3"]
    assert set(chooser.choose(6)) == {"0", "1", "2", "3"}


def test_a_restored_chooser_goes_on_exactly() -> None:
    first = fed(seed=3)
    first.choose(2)
    second = fed(seed=99)
    second.restore(json.loads(json.dumps(first.state())))
    assert [first.choose(2) for _ in range(20)] == [second.choose(2) for _ in range(20)]


def test_no_task_is_refused() -> None:
    with pytest.raises(ConfigError, match="no task"):
        TaskChooser([], group_size=4)
