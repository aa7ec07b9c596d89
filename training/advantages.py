"""Advantages within groups: exactly zero for a constant group, infra errors masked.

A group's mean computed in 32-bit arithmetic can differ from equal rewards by a rounding residue;
divided by the (zero) spread plus a small constant it becomes an advantage out of nothing. Here a
group whose valid rewards are all equal has advantage 0.0, by comparison and not by subtraction.

Source: Z. Liu et al., "Understanding R1-Zero-Like Training" (Dr. GRPO), arXiv:2503.20783: rewards
are centred on the group's mean and not divided by its spread.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cligym.errors import ConfigError

__all__ = ["GroupOutcome", "group_advantages", "group_outcomes"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupOutcome:
    """One group of attempts on one task.

    Attributes:
        task_id: the task.
        rewards: rewards of the valid attempts.
        infra_errors: attempts without a reward.
    """

    task_id: str
    rewards: tuple[float, ...]
    infra_errors: int

    @property
    def informative(self) -> bool:
        """Whether the valid attempts differ; a group of fewer than two never does."""
        return len(set(self.rewards)) > 1


def group_advantages(rewards: Sequence[float], group_size: int) -> NDArray[np.float64]:
    """Centres rewards on the mean of their group's valid members.

    Args:
        rewards: one per attempt, groups one after another; NaN is an infra error.
        group_size: attempts in each group.

    Returns:
        The advantages, shape (attempts,); 0.0 for infra errors, constant groups and groups with
        fewer than two valid members.

    Raises:
        ConfigError: the number of rewards is no multiple of the group size.
    """
    groups = _grouped(np.asarray(rewards, dtype=np.float64), group_size)
    advantages = np.zeros(groups.shape)
    for group, out in zip(groups, advantages, strict=True):
        valid = ~np.isnan(group)
        members = group[valid]
        if members.size > 1 and members.min() != members.max():
            out[valid] = members - members.mean()
    return advantages.reshape(-1)


def group_outcomes(
    tasks: Sequence[str], rewards: Sequence[float], group_size: int
) -> list[GroupOutcome]:
    """Describes each group: its task, valid rewards, infra errors.

    Args:
        tasks: the task of each attempt; the same within a group.
        rewards: one per attempt; NaN is an infra error.
        group_size: attempts in each group.

    Raises:
        ConfigError: a group mixes tasks, or the lengths do not fit.
    """
    groups = _grouped(np.asarray(rewards, dtype=np.float64), group_size)
    outcomes = []
    for number, group in enumerate(groups):
        members = set(tasks[number * group_size : (number + 1) * group_size])
        if len(members) != 1:
            raise ConfigError(f"a group holds attempts on one task, found {sorted(members)}")
        valid = tuple(float(reward) for reward in group if not np.isnan(reward))
        errors = group_size - len(valid)
        outcomes.append(GroupOutcome(task_id=members.pop(), rewards=valid, infra_errors=errors))
    return outcomes


def _grouped(rewards: NDArray[np.float64], group_size: int) -> NDArray[np.float64]:
    """Gives the rewards as shape (groups, group_size)."""
    if group_size < 1 or rewards.size % group_size:
        raise ConfigError(f"{rewards.size} rewards do not make groups of {group_size}")
    return rewards.reshape(-1, group_size)
