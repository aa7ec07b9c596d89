"""The demo's table is as promised, for every starter task and every known wrong answer."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cligym.tasks.load import load_tasks

pytestmark = [pytest.mark.userns, pytest.mark.xdist_group("starter")]


@pytest.fixture(scope="module")
def demo(store_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("demo")
    done = subprocess.run(
        [sys.executable, "-c", "from cligym.cli import main; main()", "demo", "--out", str(out)],
        env=os.environ | {"CLIGYM_HOME": str(store_home)},
        capture_output=True,
        text=True,
        timeout=880,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return out


@pytest.fixture(scope="module")
def records(demo: Path) -> list[dict[str, Any]]:
    lines = (demo / "run" / "episodes.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def test_every_task_and_every_answer_is_in_it(records: list[dict[str, Any]]) -> None:
    tasks = load_tasks("starter")
    assert len(tasks) >= 16 and len({task.repository for task in tasks}) >= 8
    wanted = {(task.task_id, "nop") for task in tasks} | {
        (task.task_id, "oracle") for task in tasks
    }
    wanted |= {(task.task_id, f"wrong:{name}") for task in tasks for name in task.wrong}
    assert {(row["task_id"], row["agent"]) for row in records} == wanted
    assert all(len(task.wrong) >= 2 for task in tasks)
    assert all(row["certificate"] == "proven" and not row["infra_error"] for row in records)


def test_hardened_accepts_every_oracle_and_nothing_else(records: list[dict[str, Any]]) -> None:
    accepted = {(r["task_id"], r["agent"]) for r in records if r["verdicts"]["hardened"]["passed"]}
    assert accepted == {(r["task_id"], "oracle") for r in records}


def test_dataset_accepts_every_wrong_answer_and_no_untouched_box(
    records: list[dict[str, Any]],
) -> None:
    passed = {(r["task_id"], r["agent"]): r["verdicts"]["dataset"]["passed"] for r in records}
    refused = sorted(key for key, value in passed.items() if not value)
    assert refused == sorted(key for key in passed if key[1] == "nop")


def test_the_report_is_written(demo: Path) -> None:
    table = json.loads((demo / "demo.json").read_text())
    assert [row["agent"] for row in table][:2] == ["nop", "oracle"]
    for row in table:
        assert {"agent", "attempts", "dataset", "published", "hardened"} <= set(row)
        wanted = row["attempts"] if row["agent"] == "oracle" else 0
        assert row["hardened"] == wanted
    assert (demo / "demo.png").read_bytes().startswith(b"\x89PNG")
    page = (demo / "demo.html").read_text()
    assert "wrong:" in page and "http" not in page.replace("http-equiv", "")
