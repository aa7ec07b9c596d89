"""`cligym arena`: its commands, exit codes and files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cligym.cli import main


def test_tasks_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["arena", "tasks", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert len(rows) >= 20
    assert all(row["certified"] and row["score"] >= 0.9 for row in rows)


def test_a_score_that_is_too_low_is_exit_code_1() -> None:
    assert main(["arena", "tasks", "--task", "stack", "--minimum", "0.999"]) == 1


def test_unknown_task_is_bad_input(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["arena", "tasks", "--task", "stock"]) == 2
    assert "known:" in capsys.readouterr().err


def test_unknown_setting_is_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "a.yaml"
    config.write_text("roundz: 3\n")
    assert main(["arena", "run", "--config", str(config), "--out", str(tmp_path / "run")]) == 2
    assert "roundz" in capsys.readouterr().err


def test_no_run_to_rejudge(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["arena", "rejudge", str(tmp_path), "--out", str(tmp_path / "new")]) == 2
    assert "no arena run" in capsys.readouterr().err


@pytest.mark.userns
def test_a_scripted_run(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    store_home: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CLIGYM_HOME", str(store_home))
    run = tmp_path / "run"
    words = ["arena", "run", "--scripted", "--rounds", "1", "--seed", "1", "--task", "stack"]
    assert main([*words, "--out", str(run), "--json"]) == 0
    metrics = json.loads(capsys.readouterr().out)
    assert metrics["attack"]["attacks"] == 1
    assert (run / "report.html").is_file()
    assert main(["arena", "report", str(run), "--no-plots"]) == 0
    assert "Published formulas" in capsys.readouterr().out
    assert main(["stats", str(run), "--agent", "defender:scripted_defender"]) == 0
