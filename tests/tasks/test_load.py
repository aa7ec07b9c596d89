"""Tasks are read from folders and rows; bad input is one clear line that names the place."""

from __future__ import annotations

import os
import pickle
from dataclasses import replace
from pathlib import Path

import pyarrow
import pytest
from pyarrow import parquet

from cligym.errors import TaskError
from cligym.tasks.export import task_row, write_parquet
from cligym.tasks.load import load_rows, load_tasks
from cligym.tasks.task import Task
from cligym.tasks.test_ids import render_run_tests

YAML = "instruction: |\n  It is broken.\n\n  Please repair it.\nrepository: h11\nsplit: train\n"
RUN_TESTS = render_run_tests(["t.py::a", "t.py::b"])
ROW = {
    "task_id": "broken-thing.hard",
    "task_yaml": YAML,
    "dockerfile": "\nFROM  someone/swesmith.x86_64.owner_1776_project.0c6a7871\nRUN true\n",
    "docker_compose": "services: {}\n",
    "run_tests": RUN_TESTS,
}


def one(**changes: object) -> Task:
    """The task of a row with some cells changed."""
    return next(load_rows([ROW | changes], "rows"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with one task folder in it."""
    task = tmp_path / "pack" / "broken-thing"
    (task / "wrong").mkdir(parents=True)
    (task / "task.yaml").write_text(YAML)
    (task / "Dockerfile").write_text("FROM debian:bookworm-slim\n")
    (task / "run-tests.sh").write_text(RUN_TESTS)
    (task / "solution.sh").write_text("true\n")
    (task / "wrong" / "stub-module.sh").write_text("false\n")
    return task


def test_row_becomes_a_task() -> None:
    task = one()
    assert task.instruction == "It is broken.\n\nPlease repair it."
    assert task.gold_name == "someone/swesmith.x86_64.owner_1776_project.0c6a7871"
    assert task.test_ids == ("t.py::a", "t.py::b")
    assert (task.repository, task.split, task.licence, task.oracle) == ("h11", "train", "", None)


def test_repository_is_read_from_the_image_name() -> None:
    assert one(task_yaml="instruction: x").repository == "owner/project"


def test_instruction_column_is_used() -> None:
    assert one(task_yaml=None, instruction=" Mend it. ").instruction == "Mend it."


def test_whole_suite_has_no_ids() -> None:
    assert one(run_tests=render_run_tests([])).test_ids == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("instruction: |\n    first\n  second\nauthor_name: x\n", "first\nsecond"),
        (
            "instruction: |\n  first\nHint: look: there\n  third\ndifficulty: hard\n",
            "first\nHint: look: there\nthird",
        ),
        ("instruction: first: second\n  third\ntags: []\n", "first: second\nthird"),
        ("instruction: >-\n  a\n\tb: [\nparser_name: pytest\n", "a\n\tb: ["),
    ],
    ids=["less-indented", "margin", "plain", "tab"],
)
def test_malformed_yaml_still_gives_the_instruction(text: str, expected: str) -> None:
    assert one(task_yaml=text).instruction == expected


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"task_id": "../etc"}, "only|at most 200 letters"),
        ({"task_id": ""}, "column task_id is missing"),
        ({"dockerfile": None}, "column dockerfile is missing"),
        ({"dockerfile": "RUN true\n"}, "no FROM line"),
        ({"run_tests": "exit 0\n"}, "no pytest command"),
        ({"task_yaml": "tags: []\n"}, "no instruction"),
        ({"task_yaml": YAML + "split: weird\n"}, "key split"),
        ({"task_yaml": b"bytes"}, "column task_yaml holds bytes"),
        ({"wrong": "[1"}, "column wrong is no JSON"),
        ({"wrong": '{"a": 1}'}, "no JSON object of texts"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_bad_row_is_named(changes: dict[str, object], words: str) -> None:
    with pytest.raises(TaskError, match=words) as caught:
        one(**changes)
    assert str(caught.value).startswith("rows, row 0: ")
    assert "\n" not in str(caught.value)


def test_folder_and_folder_of_folders(folder: Path) -> None:
    (task,) = load_tasks(folder.parent)
    assert load_tasks(str(folder)) == [task]
    assert (task.task_id, task.oracle, task.wrong) == (
        "broken-thing",
        "true\n",
        {"stub-module": "false\n"},
    )


def test_missing_file_is_named(folder: Path) -> None:
    (folder / "Dockerfile").unlink()
    with pytest.raises(TaskError, match="Dockerfile is missing"):
        load_tasks(folder)


@pytest.mark.parametrize("kind", ["link", "fifo", "latin-1", "huge"])
def test_hostile_files_are_refused(folder: Path, kind: str) -> None:
    path = folder / "solution.sh"
    path.unlink()
    match kind:
        case "link":
            path.symlink_to("/etc/passwd")
        case "fifo":
            os.mkfifo(path)
        case "latin-1":
            path.write_bytes(b"\xe9")
        case _:
            path.touch()
            os.truncate(path, 4 * 1024 * 1024 + 1)
    with pytest.raises(TaskError, match=r"solution\.sh: "):
        load_tasks(folder)


def test_sources_that_hold_no_tasks(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match="no tasks at 'nothing-here'"):
        load_tasks("nothing-here")
    with pytest.raises(TaskError, match="no tasks at"):
        load_tasks(tmp_path / "missing.parquet")
    with pytest.raises(TaskError, match="holds no task"):
        load_tasks(tmp_path)


def test_unreadable_parquet_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    path.write_bytes(b"PAR1 this is no parquet")
    with pytest.raises(TaskError, match="cannot be read as parquet"):
        load_tasks(path)
    parquet.write_table(pyarrow.table({"a": [1]}), path)
    with pytest.raises(TaskError, match="no column task_id"):
        load_tasks(path)


def test_two_tasks_with_one_id_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    write_parquet([one(), one()], path)
    with pytest.raises(TaskError, match=r"two tasks have the id 'broken-thing\.hard'"):
        load_tasks(path)


def test_exported_rows_read_back_equal(tmp_path: Path) -> None:
    task = one(solution="true\n", wrong='{"a": "b"}')
    write_parquet([task], tmp_path / "rows.parquet")
    assert load_tasks(tmp_path / "rows.parquet") == [task]
    assert [path.name for path in tmp_path.iterdir()] == ["rows.parquet"]
    assert list(task_row(task))[:5] == list(ROW)


def test_digest_pairs_what_an_attempt_depends_on() -> None:
    task = one()
    assert replace(task, oracle="x", licence="MIT").digest == task.digest
    others = (
        replace(task, task_id="other"),
        replace(task, instruction="other"),
        replace(task, dockerfile="other"),
        replace(task, run_tests="other"),
    )
    assert len({task.digest, *(other.digest for other in others)}) == 5
    assert pickle.loads(pickle.dumps(task)) == task
