"""The starter pack is whole: its shape here, its behaviour in real boxes in the slow lane."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

import pytest

from cligym.sandboxes.base import SandboxSpec
from cligym.sandboxes.image import Image
from cligym.sandboxes.namespace import NamespaceBackend
from cligym.tasks.export import write_parquet
from cligym.tasks.images import build_task_images
from cligym.tasks.load import load_tasks, starter_folder
from cligym.tasks.task import Task
from cligym.tasks.test_ids import render_run_tests

TASKS = load_tasks("starter")
FAMILIES = {
    "conftest-undo",
    "data-emptied",
    "partial-repair",
    "pytest-hook",
    "sitecustomize-shadow",
    "stub-module",
    "surface-file",
    "test-edit",
}
each_task = pytest.mark.parametrize("task", TASKS, ids=lambda task: task.task_id)


def test_sixteen_tasks_over_eight_projects() -> None:
    assert len(TASKS) == 16
    assert len({task.repository for task in TASKS}) >= 8
    assert {family for task in TASKS for family in task.wrong} == FAMILIES


def test_no_project_is_in_both_halves() -> None:
    halves = defaultdict(set)
    for task in TASKS:
        halves[task.repository].add(task.split)
    assert all(len(splits) == 1 for splits in halves.values())
    heldout = sum(task.split == "heldout" for task in TASKS)
    assert len(TASKS) / 4 <= heldout <= len(TASKS) / 3


@each_task
def test_task_is_complete(task: Task) -> None:
    assert task.oracle and len(task.wrong) >= 2
    assert task.licence and task.faults and task.split in ("train", "heldout")
    assert 1 <= len(task.test_ids) <= 50
    assert task.run_tests == render_run_tests(task.test_ids, task.pytest_args)
    assert task.faults not in task.instruction


@each_task
def test_gold_is_pinned_by_version_and_hash(task: Task) -> None:
    found = re.fullmatch(r"cligym/([a-z0-9-]+):([0-9.]+)", task.gold_name)
    assert found
    folder = starter_folder() / "golds" / found[1]
    assert (folder / "Dockerfile").read_text().startswith(f"# {task.gold_name}:")
    for path in folder.glob("files/*.txt"):
        for line in path.read_text().splitlines():
            assert re.match(r"[\w.-]+==[\w.]+ --hash=sha256:[0-9a-f]{64}", line), line
    source = (folder / "files" / "source.txt").read_text()
    assert re.match(rf"[\w.-]+=={re.escape(found[2])} ", source)


def test_pack_reads_back_from_parquet_unchanged(tmp_path: Path) -> None:
    write_parquet(TASKS, tmp_path / "starter.parquet")
    read = load_tasks(tmp_path / "starter.parquet")
    assert read == TASKS
    assert [task.digest for task in read] == [task.digest for task in TASKS]


@pytest.mark.slow
@pytest.mark.userns
@each_task
def test_data_sets_own_check_sees_gold_and_damage_and_believes_wrong_answers(
    task: Task, backend: NamespaceBackend
) -> None:
    images = build_task_images(task, backend)
    assert own_check(task, backend, images.gold)
    assert own_check(task, backend, images.gold)
    assert not own_check(task, backend, images.damaged)
    assert own_check(task, backend, images.damaged, task.oracle)
    for name, script in task.wrong.items():
        assert own_check(task, backend, images.damaged, script), name


def own_check(
    task: Task, backend: NamespaceBackend, image: Image, script: str | None = None
) -> bool:
    """Runs `script`, then the task's own run_tests in the same box, and reads its log."""
    with backend.start(SandboxSpec(image=image, workdir="/testbed")) as box:
        for name, text in (("agent", script or ""), ("tests", task.run_tests)):
            box.run(f"cat > /tmp/.{name}.sh <<'END-OF-FILE'\n{text}\nEND-OF-FILE\n")
            box.run(f"bash /tmp/.{name}.sh")
        log = box.run("cat /test.log").output.decode(errors="replace")
    passed = set(re.findall(r"^(\S+::\S+) PASSED", log, re.MULTILINE))
    return passed >= set(task.test_ids)
