"""A run that is killed at any moment goes on where it was, to the same result (FIELD.md ★10)."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from cligym.envs.bench import Bench
from cligym.sandboxes.namespace import NamespaceBackend

pytestmark = [pytest.mark.userns, pytest.mark.xdist_group("starter")]

TASKS = 3
COMMAND = [sys.executable, "-c", "import sys; from cligym.cli import main; sys.exit(main())"]


@pytest.fixture(scope="module")
def task_ids(backend: NamespaceBackend) -> list[str]:
    bench = Bench("starter", backend=backend)
    chosen = sorted(bench.tasks)[:TASKS]
    for task_id in chosen:
        bench.prepare(task_id)
    return chosen


def start(home: Path, out: Path, task_ids: list[str], *more: str) -> subprocess.Popen[str]:
    words = [
        "evaluate",
        "--agent",
        "oracle",
        "--agent",
        "nop",
        "--attempts",
        "2",
        "--out",
        str(out),
    ]
    words += [word for task_id in task_ids for word in ("--task", task_id)]
    return subprocess.Popen(
        [*COMMAND, *words, *more],
        env=os.environ | {"CLIGYM_HOME": str(home)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def rows(out: Path) -> list[dict[str, Any]]:
    """The records without what differs between two runs of the same attempt."""
    values = [json.loads(line) for line in (out / "episodes.jsonl").read_text().splitlines()]
    for value in values:
        value.pop("seconds")
        for verdict in value["verdicts"].values():
            verdict.pop("seconds")
            for run in verdict["runs"]:
                run.pop("seconds")
    return sorted(values, key=lambda value: (value["agent"], value["task_id"], value["attempt"]))


def test_a_killed_run_resumes_to_the_same_result(
    store_home: Path, tmp_path: Path, task_ids: list[str]
) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    process = start(store_home, whole, task_ids)
    _, errors = process.communicate(timeout=600)
    assert process.returncode == 0, errors
    process = start(store_home, killed, task_ids)
    episodes = killed / "episodes.jsonl"
    deadline = time.monotonic() + 300
    while not (episodes.exists() and episodes.read_bytes().count(b"\n") >= 4):
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    with episodes.open("ab") as file:
        file.write(b'{"schema_version": 1, "task_id": "torn')  # as a power cut leaves it
    process = start(store_home, killed, task_ids, "--json")
    output, errors = process.communicate(timeout=600)
    assert process.returncode == 0, errors
    assert rows(killed) == rows(whole)
    assert len(rows(whole)) == 2 * 2 * TASKS
    summary = {row["agent"]: row for row in json.loads(output)}
    assert summary["oracle"]["accepted"] == {"hardened": 2 * TASKS}
    assert summary["nop"]["accepted"] == {"hardened": 0}
    assert (killed / "verified.jsonl").read_bytes() == (whole / "verified.jsonl").read_bytes()


def test_another_run_s_folder_is_refused(
    store_home: Path, tmp_path: Path, task_ids: list[str]
) -> None:
    out = tmp_path / "run"
    first = start(store_home, out, task_ids[:1])
    first.communicate(timeout=600)
    assert first.returncode == 0
    process = start(store_home, out, task_ids[:1], "--max-commands", "7")
    _, errors = process.communicate(timeout=100)
    assert process.returncode == 2
    assert "other settings (max_commands differ)" in errors and "Traceback" not in errors
