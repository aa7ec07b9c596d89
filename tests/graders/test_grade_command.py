"""`cligym grade`: exit codes, keys, and one clear line for each kind of bad input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cligym.cli import main
from cligym.sandboxes.namespace import NamespaceBackend
from cligym.tasks.test_ids import render_run_tests

pytestmark = pytest.mark.userns

REPAIR = "cd /testbed && git checkout -q workshop/core.py\n"
KEYS = {"passed", "reward", "grader", "reasons", "tests", "seconds"}


@pytest.fixture
def folder(
    tmp_path: Path, workshop: str, backend: NamespaceBackend, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """A folder with one task, `totals`, and the scripts `repair.sh` and `nothing.sh`."""
    monkeypatch.setenv("CLIGYM_HOME", str(backend.store.root.parent))
    task = tmp_path / "tasks" / "totals"
    task.mkdir(parents=True)
    damage = "sed -i 's/100 - percent/100 + percent/' /testbed/workshop/core.py"
    (task / "Dockerfile").write_text(f"FROM {workshop}\nRUN {damage}\n")
    (task / "run-tests.sh").write_text(render_run_tests(["tests/test_core.py::test_discount"]))
    (task / "task.yaml").write_text("instruction: |\n  Discounts are wrong.\n")
    (tmp_path / "repair.sh").write_text(REPAIR)
    (tmp_path / "nothing.sh").write_text("true\n")
    return tmp_path


def grade(folder: Path, script: str, *more: str, task: str = "totals") -> int:
    tasks = str(folder / "tasks")
    return main(["grade", task, "--tasks", tasks, "--script", str(folder / script), *more])


def test_a_repair_passes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert grade(folder, "repair.sh", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found) >= KEYS
    assert (found["passed"], found["reward"], found["grader"]) == (True, 1.0, "hardened")
    assert found["tests"] == {"tests/test_core.py::test_discount": "passed"}


def test_nothing_does_not_pass(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    graders = ("--grader", "hardened", "--grader", "dataset", "--grader", "published")
    assert grade(folder, "nothing.sh", "--json", *graders) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["reasons"][0] == {
        "class": "residue",
        "path": "/testbed/workshop/core.py",
        "detail": "content is still the damaged one",
    }
    assert found["tests"] == {"tests/test_core.py::test_discount": "failed"}
    assert [v["grader"] for v in found["verdicts"]] == ["hardened", "dataset", "published"]
    assert not any(v["passed"] for v in found["verdicts"])


def test_a_person_reads_why(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert grade(folder, "nothing.sh") == 1
    out = capsys.readouterr().out
    assert "hardened: not passed" in out and "/testbed/workshop/core.py" in out


@pytest.mark.parametrize(
    ("script", "task", "more", "words"),
    [
        ("none.sh", "totals", (), "cannot read the script"),
        ("repair.sh", "total", (), "near: totals"),
        ("repair.sh", "totals", ("--grader", "hardend"), "did you mean 'hardened'"),
        ("repair.sh", "totals", ("--tasks", "/nowhere"), "/nowhere"),
    ],
    ids=["script", "task", "grader", "source"],
)
def test_bad_input(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    script: str,
    task: str,
    more: tuple[str, ...],
    words: str,
) -> None:
    assert grade(folder, script, *more, task=task) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert words in captured.err and "Traceback" not in captured.err


def test_a_fault_outside_the_box_is_no_verdict(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLIGYM_SCRATCH", "/proc/1/none")
    assert grade(folder, "repair.sh") == 3
    captured = capsys.readouterr()
    assert captured.err.count("cligym: error:") == 1 and "Traceback" not in captured.err
