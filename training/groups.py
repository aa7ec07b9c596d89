"""Counts per group: the attempts on one task, how many passed, how many had an infra error."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cligym.errors import ConfigError
from cligym.training.episode_rows import AttemptRow

__all__ = ["GroupTable", "count_groups"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupTable:
    """One line per task, sorted by its name; all arrays have shape (tasks,).

    Attributes:
        task_ids: the tasks.
        passes: passed attempts.
        attempts: attempts with a verdict; infra errors are not among them.
        infra_errors: attempts without a verdict.
        digests: digest of each task's files, None where no row says.
    """

    task_ids: tuple[str, ...]
    passes: NDArray[np.int64]
    attempts: NDArray[np.int64]
    infra_errors: NDArray[np.int64]
    digests: tuple[str | None, ...]

    @property
    def rates(self) -> NDArray[np.float64]:
        """Pass rate of each task over its valid attempts; NaN where there is none."""
        rates = np.full(self.passes.shape, np.nan)
        np.divide(self.passes, self.attempts, out=rates, where=self.attempts > 0)
        return rates

    @property
    def rates_infra_as_fail(self) -> NDArray[np.float64]:
        """Pass rate of each task when an infra error is a fail."""
        rates: NDArray[np.float64] = self.passes / (self.attempts + self.infra_errors)
        return rates

    @property
    def mixed(self) -> NDArray[np.bool_]:
        """Which groups hold both outcomes; a group of one attempt never does."""
        return (self.passes > 0) & (self.passes < self.attempts)

    def valid(self) -> GroupTable:
        """Leaves out tasks whose attempts all had infra errors."""
        return self.select(np.flatnonzero(self.attempts > 0))

    def select(self, index: NDArray[np.intp]) -> GroupTable:
        """Takes the tasks at these positions."""
        return GroupTable(
            task_ids=tuple(self.task_ids[i] for i in index),
            passes=self.passes[index],
            attempts=self.attempts[index],
            infra_errors=self.infra_errors[index],
            digests=tuple(self.digests[i] for i in index),
        )


def count_groups(rows: Iterable[AttemptRow], *, grader: str | None = None) -> GroupTable:
    """Counts the outcomes of each task.

    Args:
        rows: the attempts, in any order.
        grader: whose verdict counts; None takes each row's own.

    Raises:
        ConfigError: attempts on one task were made on different versions of its files.
    """
    counts: defaultdict[str, Counter[bool | None]] = defaultdict(Counter)
    digests: dict[str, str] = {}
    for row in rows:
        counts[row.task_id][row.outcome(grader)] += 1
        if row.task_digest is None:
            continue
        if digests.setdefault(row.task_id, row.task_digest) != row.task_digest:
            raise ConfigError(
                f"attempts on task {row.task_id} were made on two versions of its files; "
                "they are no group: compare the versions as two runs"
            )
    tasks = tuple(sorted(counts))
    passes = np.array([counts[task][True] for task in tasks], dtype=np.int64)
    fails = np.array([counts[task][False] for task in tasks], dtype=np.int64)
    errors = np.array([counts[task][None] for task in tasks], dtype=np.int64)
    return GroupTable(
        task_ids=tasks,
        passes=passes,
        attempts=passes + fails,
        infra_errors=errors,
        digests=tuple(digests.get(task) for task in tasks),
    )
