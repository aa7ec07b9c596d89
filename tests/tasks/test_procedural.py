"""Generated repair tasks: reproducible, readable by the loader, and with nothing to remember."""

from __future__ import annotations

from pathlib import Path

import pytest

from cligym.errors import ConfigError
from cligym.tasks.load import load_tasks
from cligym.tasks.procedural import DamageKind, family, word_split, write_family


def test_equal_arguments_give_equal_tasks_and_other_seeds_others() -> None:
    assert family("train", count=30, seed=1) == family("train", count=30, seed=1)
    assert family("train", count=30, seed=1) != family("train", count=30, seed=2)


def test_hundreds_of_variants_are_all_different() -> None:
    variants = family("train", count=400, seed=0)
    assert len({variant.task_id for variant in variants}) == 400
    assert len({variant.damage for variant in variants}) == 400
    assert {variant.kind for variant in variants} == set(DamageKind)


def test_the_splits_share_no_project_no_word_and_no_command() -> None:
    train, heldout = (family(split, count=200, seed=3) for split in ("train", "heldout"))
    assert not {v.project for v in train} & {v.project for v in heldout}
    words = [{v.task_id.rpartition("-")[2] for v in split} for split in (train, heldout)]
    assert not words[0] & words[1]
    assert all(word_split(word) == "train" for word in words[0])
    commands = [{step.command for v in split for step in v.steps} for split in (train, heldout)]
    assert not commands[0] & commands[1]


def test_another_seed_never_leaks_a_word_into_the_other_split() -> None:
    train = {
        v.task_id.rpartition("-")[2] for s in range(20) for v in family("train", count=40, seed=s)
    }
    heldout = {
        v.task_id.rpartition("-")[2] for s in range(20) for v in family("heldout", count=40, seed=s)
    }
    assert not train & heldout


def test_written_tasks_are_read_by_the_loader(tmp_path: Path) -> None:
    variants = family("heldout", count=9, seed=0)
    write_family(tmp_path, variants)
    tasks = {task.task_id: task for task in load_tasks(tmp_path)}
    assert tasks.keys() == {variant.task_id for variant in variants}
    for variant in variants:
        task = tasks[variant.task_id]
        assert (task.split, task.repository) == ("heldout", variant.project)
        assert task.test_ids == variant.tests
        assert task.instruction == variant.instruction
        assert task.oracle is not None
        assert all(step.command in task.oracle for step in variant.steps)
        assert f"RUN {variant.damage}\n" in task.dockerfile


def test_the_task_never_tells_where_a_moved_file_lies() -> None:
    moved = [v for v in family("train", count=60, seed=0) if v.kind is DamageKind.MOVED]
    for variant in moved:
        place = variant.damage.rpartition(" ")[2]
        assert place not in variant.instruction
        assert place in variant.steps[-1].command


def test_an_unknown_split_is_refused() -> None:
    with pytest.raises(ConfigError, match="train or heldout"):
        family("test", count=1, seed=0)
