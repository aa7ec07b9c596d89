"""Recorded models on the starter pack: many at once, killed and resumed, failing engines."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from cligym.agents.records import AttemptRecord, read_records
from cligym.agents.scripted import script_command
from cligym.envs.bench import Bench
from cligym.sandboxes.keeper import default_scratch
from cligym.sandboxes.namespace import NamespaceBackend
from tests.agents.test_views import agree
from tests.evaluation.test_resume import COMMAND, rows

pytestmark = [pytest.mark.userns, pytest.mark.xdist_group("starter")]

TASKS, ATTEMPTS = 5, 4


def call(command: str) -> str:
    value = {"name": "bash", "arguments": {"command": command}}
    return f"<tool_call>\n{json.dumps(value)}\n</tool_call>"


def xml_call(command: str) -> str:
    return (
        f"<tool_call>\n<function=bash>\n<parameter=command>\n{command}\n</parameter>\n"
        "</function>\n</tool_call>"
    )


def answers(oracle: str, attempt: int) -> list[str]:
    """Four kinds of attempts: repairs in one call, gives up, errs first, two calls in a round."""
    repair = script_command(oracle)
    return [
        [call(repair), "It works again."],
        ["I see nothing wrong."],
        ['<tool_call>{"name": "bash", "arguments": {}}</tool_call>', xml_call(repair), "Done."],
        ["Look. " + call("pwd") + call(repair), "Done."],
    ][attempt % 4]


@pytest.fixture(scope="module")
def bench(backend: NamespaceBackend) -> Bench:
    return Bench("starter", backend=backend)


def record_answers(bench: Bench, path: Path, task_ids: list[str], attempts: int) -> None:
    lines = []
    for task_id in task_ids:
        oracle = bench.task(task_id).oracle
        assert oracle is not None
        bench.prepare(task_id)
        for attempt in range(attempts):
            value = {"task_id": task_id, "attempt": attempt, "answers": answers(oracle, attempt)}
            lines.append(json.dumps(value))
    path.write_text("\n".join(lines) + "\n")


def start(
    home: Path, out: Path, recording: Path, task_ids: list[str], *more: str
) -> subprocess.Popen[str]:
    words = ["evaluate", "--model", f"replay:{recording}", "--out", str(out), "--json", *more]
    words += [word for task_id in task_ids for word in ("--task", task_id)]
    return subprocess.Popen(
        [*COMMAND, *words],
        env=os.environ | {"CLIGYM_HOME": str(home)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def left_behind(pid: int) -> list[Path]:
    """Box folders of a driver that has ended; a killed one's keeper may be a moment behind it."""
    folder = default_scratch() / f"cligym-{os.geteuid()}"
    deadline = time.monotonic() + 30
    while (found := list(folder.glob(f"{pid}-*"))) and time.monotonic() < deadline:
        time.sleep(0.1)
    return found


def finish(process: subprocess.Popen[str]) -> list[dict[str, Any]]:
    output, errors = process.communicate(timeout=800)
    assert process.returncode == 0, errors
    assert left_behind(process.pid) == []
    found: list[dict[str, Any]] = json.loads(output)
    return found


def check_records(records: list[AttemptRecord]) -> None:
    for record in records:
        kind = record.attempt % 4
        assert record.passed is (kind != 1), (record.task_id, record.attempt, record.verdicts)
        assert record.end_reason == "stopped" and record.infra_error is None
        assert record.parse_errors == (1 if kind == 2 else 0)
        assert len(record.commands) == {0: 1, 1: 0, 2: 1, 3: 2}[kind]
        assert record.model == "replay" and record.messages[0]["role"] == "system"
        agree(record)


def test_twenty_attempts_with_eight_jobs(store_home: Path, tmp_path: Path, bench: Bench) -> None:
    task_ids = sorted(bench.tasks)[:TASKS]
    recording = tmp_path / "recording.jsonl"
    record_answers(bench, recording, task_ids, ATTEMPTS)
    more = ("--attempts", str(ATTEMPTS), "--jobs", "8", "--model-jobs", "2")
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    (row,) = finish(start(store_home, whole, recording, task_ids, *more))
    check_records(list(read_records(whole / "episodes.jsonl")))
    assert (row["attempts"], row["infra_errors"]) == (20, 0)
    assert row["accepted"] == {"hardened": 15} and row["pass_rate"] == 0.75
    assert row["pass_at_k"]["1"] == 0.75 and row["pass_at_k"]["2"] == 1.0
    assert (row["mixed_groups"], row["groups"]) == (TASKS, TASKS)
    assert row["end_reasons"] == {"stopped": 20} and row["parse_errors"] == 5
    assert row["pass_rate_interval"] == [0.75, 0.75]

    process = start(store_home, killed, recording, task_ids, *more)
    episodes = killed / "episodes.jsonl"
    deadline = time.monotonic() + 300
    while not (episodes.exists() and episodes.read_bytes().count(b"\n") >= 7):
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    again = finish(start(store_home, killed, recording, task_ids, *more))
    assert left_behind(process.pid) == []
    assert rows(killed) == rows(whole)
    assert {k: v for k, v in again[0].items() if k != "seconds"} == {
        k: v for k, v in row.items() if k != "seconds"
    }
    assert (killed / "verified.jsonl").read_bytes() == (whole / "verified.jsonl").read_bytes()
    identity = (whole / "run.json").read_text()
    assert str(recording) not in identity and "sha256:" in identity


def test_an_engine_that_fails_is_no_zero_and_runs_again_on_resume(
    store_home: Path, tmp_path: Path, bench: Bench
) -> None:
    task_id = sorted(bench.tasks)[0]
    recording = tmp_path / "recording.jsonl"
    record_answers(bench, recording, [task_id], 1)
    more = ("--attempts", "3", "--jobs", "2")
    out = tmp_path / "run"
    (row,) = finish(start(store_home, out, recording, [task_id], *more))
    assert (row["attempts"], row["infra_errors"], row["pass_rate"]) == (3, 2, 1.0)
    assert row["infra_error_kinds"] == {"ModelCallError": 2}
    failed = [r for r in read_records(out / "episodes.jsonl") if r.attempt]
    assert [(r.passed, r.reward, r.end_reason) for r in failed] == [(None, None, "infra_error")] * 2
    assert all(record.messages for record in failed)
    (row,) = finish(start(store_home, out, recording, [task_id], *more))
    assert row["infra_errors"] == 2 and len(list(read_records(out / "episodes.jsonl"))) == 3


def test_a_foreign_model_word_is_refused_in_one_line(tmp_path: Path) -> None:
    words = ["evaluate", "--model", "gpt", "--out", str(tmp_path / "run")]
    found = subprocess.run([*COMMAND, *words], capture_output=True, text=True, timeout=100)
    assert found.returncode == 2 and "replay:FILE" in found.stderr
    assert found.stderr.count("\n") == 1


def test_the_script_evaluates_models_one_after_the_other(
    store_home: Path, tmp_path: Path, bench: Bench
) -> None:
    task_id = sorted(bench.tasks)[0]
    recording = tmp_path / "recording.jsonl"
    record_answers(bench, recording, [task_id], 2)
    script = Path(__file__).parents[2] / "training" / "evaluate.py"
    folder = tmp_path / "tasks"
    shutil.copytree(script.parents[1] / "tasks" / "starter" / "tasks" / task_id, folder / task_id)
    words = ["--model", f"replay:{recording}", "--tasks", str(folder), "--attempts", "2"]
    found = subprocess.run(
        [sys.executable, str(script), *words, "--out", str(tmp_path / "out")],
        env=os.environ | {"CLIGYM_HOME": str(store_home)},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert found.returncode == 0, found.stderr
    (row,) = json.loads(found.stdout)
    assert (row["agent"], row["attempts"], row["pass_rate"]) == ("model:replay", 2, 0.5)
    check_records(list(read_records(tmp_path / "out" / "replay" / "episodes.jsonl")))


@pytest.mark.slow
def test_two_hundred_attempts_with_thirty_two_jobs_leave_nothing(
    store_home: Path, tmp_path: Path, bench: Bench
) -> None:
    usable = [task_id for task_id in sorted(bench.tasks) if bench.task(task_id).oracle]
    task_ids = usable[:10]
    recording = tmp_path / "recording.jsonl"
    record_answers(bench, recording, task_ids, 20)
    more = ("--attempts", "20", "--jobs", "32")
    (row,) = finish(start(store_home, tmp_path / "run", recording, task_ids, *more))
    records = list(read_records(tmp_path / "run" / "episodes.jsonl"))
    assert len(records) == 200 and row["infra_errors"] == 0
    check_records(records)
    assert Counter(record.passed for record in records) == {True: 150, False: 50}
