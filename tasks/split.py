"""Splits tasks of a foreign source into train and held-out, by hash: never by order or chance.

Held out are whole repositories and, of the others, single tasks: the first say how a model does on
projects it has never seen, the second on new damage in projects it knows. A task's split depends on
its own names alone, so adding or removing tasks moves no other. A split that a task brings along is
kept.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import replace

from cligym.errors import ConfigError
from cligym.tasks.task import Task

__all__ = ["SPLITS", "hash_split", "select_split"]

SPLITS = ("train", "heldout", "heldout-repository", "heldout-task")
REPOSITORY_SHARE = 0.15
TASK_SHARE = 0.10


def hash_split(task: Task) -> str:
    """`train`, `heldout-repository` or `heldout-task`, from the names of repository and task."""
    repository = task.repository or task.gold_name
    if _number("repository", repository) < REPOSITORY_SHARE:
        return "heldout-repository"
    return "heldout-task" if _number("task", task.task_id) < TASK_SHARE else "train"


def select_split(tasks: Iterable[Task], split: str) -> list[Task]:
    """The tasks of a split; "" takes all as they are.

    Raises:
        ConfigError: there is no split of that name.
    """
    if not split:
        return list(tasks)
    if split not in SPLITS:
        raise ConfigError(f"unknown split {split!r}; known: {', '.join(SPLITS)}")
    chosen = []
    for task in tasks:
        name = task.split or hash_split(task)
        kind = "train" if name == "train" else "heldout"
        if split in (name, kind):
            chosen.append(task if task.split else replace(task, split=kind))
    return chosen


def _number(kind: str, name: str) -> float:
    """Evenly spread over [0, 1)."""
    digest = hashlib.sha256(f"cligym-split|{kind}|{name}".encode()).hexdigest()
    return int(digest[:13], 16) / 16**13
