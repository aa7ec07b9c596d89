"""Splits of foreign tasks: fixed by hash, by repository and by task."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from cligym.errors import ConfigError
from cligym.tasks.split import hash_split, select_split
from cligym.tasks.task import Task

FROZEN = [1, 12, 20, 23, 27, 29, 37, 38]  # numbers of held-out tasks among the first forty


def tasks() -> list[Task]:
    return [
        Task(
            task_id=f"task-{number}",
            instruction="repair",
            dockerfile="FROM a",
            run_tests="",
            repository=f"owner/repo-{number % 40}",
        )
        for number in range(2000)
    ]


def test_order_and_neighbours_change_nothing() -> None:
    whole = tasks()
    held = {task.task_id for task in select_split(whole, "heldout")}
    shuffled = random.Random(1).sample(whole, 900)
    again = {task.task_id for task in select_split(shuffled, "heldout")}
    assert again == held & {task.task_id for task in shuffled}


def test_every_task_is_in_one_split_and_keeps_its_digest() -> None:
    whole = tasks()
    train, held = select_split(whole, "train"), select_split(whole, "heldout")
    assert len(train) + len(held) == len(whole)
    assert {t.split for t in train} == {"train"} and {t.split for t in held} == {"heldout"}
    assert {t.digest for t in train + held} == {t.digest for t in whole}
    parts = [select_split(whole, f"heldout-{kind}") for kind in ("repository", "task")]
    assert len(parts[0]) + len(parts[1]) == len(held) and all(parts)


def test_a_held_out_repository_is_held_out_whole() -> None:
    whole = tasks()
    unseen = {task.repository for task in select_split(whole, "heldout-repository")}
    assert 1 <= len(unseen) <= 15
    assert not unseen & {task.repository for task in select_split(whole, "train")}
    assert not unseen & {task.repository for task in select_split(whole, "heldout-task")}


def test_the_hash_does_not_move() -> None:
    """Published numbers depend on it: a change here is a change of the test set."""
    names = [hash_split(task) for task in tasks()[:40]]
    assert [n for n, name in enumerate(names) if name != "train"] == FROZEN


def test_a_split_that_a_task_brings_along_is_kept() -> None:
    frozen = [replace(task, split="heldout") for task in tasks()[:20]]
    assert select_split(frozen, "heldout") == frozen and select_split(frozen, "train") == []
    assert select_split(frozen, "") == frozen


def test_an_unknown_split_is_refused() -> None:
    with pytest.raises(ConfigError, match="known: train, heldout"):
        select_split(tasks(), "test")
