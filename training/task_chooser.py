"""Chooses tasks for groups where their outcomes are likely to be mixed.

Attempts on a task that always or never passes teach nothing. For each task a running estimate of
its pass rate is kept, older groups fading since the policy changes. Tasks with an estimate near 0
or 1 are dropped once they had their fair number of attempts, and are revisited now and then.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from cligym.errors import ConfigError
from cligym.training.advantages import GroupOutcome

__all__ = ["ChooserSettings", "TaskChooser"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChooserSettings:
    """How tasks are chosen.

    Attributes:
        lowest_rate: a task with a lower estimated pass rate is dropped, in [0, 1].
        highest_rate: a task with a higher one is dropped, in [0, 1].
        fair_attempts: attempts before a task can be dropped.
        memory: weight of what was seen before each new group, in (0, 1].
        revisit_share: probability that a place goes to a dropped task, in [0, 1].
    """

    lowest_rate: float = 0.05
    highest_rate: float = 0.95
    fair_attempts: int = 8
    memory: float = 0.9
    revisit_share: float = 0.1


@dataclass(slots=True, kw_only=True)
class _Record:
    """What is known of one task; the counts fade, `attempts` does not."""

    passes: float = 0.0
    fails: float = 0.0
    attempts: int = 0
    last_round: int = -1


class TaskChooser:
    """Keeps the estimates and draws tasks; equal calls give equal choices.

    Args:
        tasks: names of the tasks.
        group_size: attempts in a group.
        settings: how tasks are chosen.
        seed: seed of the draws.
    """

    def __init__(
        self,
        tasks: Sequence[str],
        *,
        group_size: int,
        settings: ChooserSettings | None = None,
        seed: int = 0,
    ) -> None:
        if not tasks:
            raise ConfigError("no task to choose from")
        self.settings = settings or ChooserSettings()
        self._records = {task: _Record() for task in tasks}
        self._group_size = group_size
        self._rng = random.Random(seed)
        self._round = 0

    def choose(self, count: int) -> list[str]:
        """Draws tasks for the next groups, all different while there are enough."""
        chosen: list[str] = []
        for _ in range(count):
            free = [task for task in self._records if task not in chosen] or list(self._records)
            task = self._draw(free)
            self._records[task].last_round = self._round
            chosen.append(task)
        self._round += 1
        return chosen

    def update(self, outcome: GroupOutcome) -> None:
        """Takes in the valid outcomes of a group; a reward above one half is a pass."""
        if not outcome.rewards:
            return
        record = self._records[outcome.task_id]
        passes = sum(reward > 0.5 for reward in outcome.rewards)
        record.passes = record.passes * self.settings.memory + passes
        record.fails = record.fails * self.settings.memory + len(outcome.rewards) - passes
        record.attempts += len(outcome.rewards)

    def rate(self, task: str) -> float:
        """Estimates a task's pass rate; one half before any attempt (Laplace's rule)."""
        record = self._records[task]
        return (record.passes + 1) / (record.passes + record.fails + 2)

    def dropped(self) -> list[str]:
        """Tasks whose estimate is near 0 or 1 after their fair number of attempts."""
        return [task for task in self._records if self._is_dropped(task)]

    def state(self) -> dict[str, Any]:
        """Everything needed to go on after a stop, as JSON values."""
        version, internal, gauss = self._rng.getstate()
        return {
            "records": {task: asdict(record) for task, record in self._records.items()},
            "round": self._round,
            "rng": [version, list(internal), gauss],
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Goes back to a state; tasks that no longer exist are forgotten."""
        for task, record in state["records"].items():
            if task in self._records:
                self._records[task] = _Record(**record)
        self._round = state["round"]
        version, internal, gauss = state["rng"]
        self._rng.setstate((version, tuple(internal), gauss))

    def _draw(self, free: Sequence[str]) -> str:
        """Draws one task: now and then a dropped one, else in proportion to what it may teach."""
        dropped = [task for task in free if self._is_dropped(task)]
        active = [task for task in free if not self._is_dropped(task)]
        if dropped and (not active or self._rng.random() < self.settings.revisit_share):
            return min(dropped, key=lambda task: (self._records[task].last_round, task))
        return self._rng.choices(active, weights=[self._mixed_chance(task) for task in active])[0]

    def _mixed_chance(self, task: str) -> float:
        """Probability of a mixed group at the estimated pass rate."""
        rate = self.rate(task)
        return float(1 - rate**self._group_size - (1 - rate) ** self._group_size)

    def _is_dropped(self, task: str) -> bool:
        """Whether a task has had its chance and is too hard or too easy."""
        record = self._records[task]
        if record.attempts < self.settings.fair_attempts:
            return False
        seen = record.passes / (record.passes + record.fails)
        return not self.settings.lowest_rate <= seen <= self.settings.highest_rate
