"""`cligym stats`, `cligym compare` and `training/variance.py` from the command line."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from cligym.cli import main
from cligym.training import variance
from cligym.training.tables import Table, TableFormat, render

STATS_KEYS = {
    "pass_rate",
    "pass_rate_interval",
    "groups",
    "mixed_groups",
    "mixed_share_interval",
    "mean_variance",
    "pass_at_k",
    "infra_errors",
    "expected_mixed_share",
}
COMPARE_KEYS = {"difference", "interval", "wins", "losses", "ties", "common_tasks"}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    rng = random.Random(7)
    rows = [
        {"task_id": f"t{i}", "attempt": k, "passed": rng.random() < 0.3}
        for i in range(12)
        for k in range(4)
    ]
    rows.append({"task_id": "t0", "attempt": 4, "passed": None})
    return save(tmp_path / "run.jsonl", rows)


def save(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def output(capsys: pytest.CaptureFixture[str], *argv: object) -> str:
    assert main([str(word) for word in argv]) == 0
    return capsys.readouterr().out


def test_stats_json_has_the_promised_keys(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(output(capsys, "stats", run, "--json"))
    assert found.keys() >= STATS_KEYS
    assert (found["groups"], found["infra_errors"]) == (12, 1)
    assert set(found["expected_mixed_share"]) == {"2", "4", "8", "16", "32", "64"}
    low, high = found["pass_rate_interval"]
    assert low < found["pass_rate"] < high


@pytest.mark.parametrize(
    ("form", "sign"), [("text", "####"), ("markdown", "| groups |"), ("latex", r"\toprule")]
)
def test_stats_writes_tables(
    run: Path, capsys: pytest.CaptureFixture[str], form: str, sign: str
) -> None:
    text = output(capsys, "stats", run, "--format", form)
    assert sign in text.replace("passes | groups |", "| groups |")
    assert "group-based RL" in text or "be mixed" in text


def test_stats_draws_a_plot_that_depends_on_the_numbers_only(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output(capsys, "stats", run, "--plot", tmp_path / "a.svg")
    output(capsys, "stats", run, "--plot", tmp_path / "b.svg")
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_stats_ignores_the_order_of_rows(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = output(capsys, "stats", run, "--json")
    save(run, rows_of(run)[::-1])
    assert output(capsys, "stats", run, "--json") == first


def test_several_runs_are_pooled_and_shown_one_by_one(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = save(tmp_path / "other.jsonl", rows_of(run))
    found = json.loads(output(capsys, "stats", run, other, "--json"))
    assert found["attempts"] == 96
    assert found["groups"] == 12
    assert [stats["attempts"] for stats in found["runs"].values()] == [48, 48]


def test_a_run_given_twice_is_refused(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stats", str(run), str(run)]) == 2
    assert "given twice" in capsys.readouterr().err


def test_several_agents_need_a_choice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"task_id": "a", "agent": agent, "passed": True} for agent in ("x", "y")]
    path = save(tmp_path / "e.jsonl", rows)
    assert main(["stats", str(path)]) == 2
    assert "--agent" in capsys.readouterr().err
    assert json.loads(output(capsys, "stats", path, "--agent", "x", "--json"))["attempts"] == 1


def test_compare_json_has_the_promised_keys(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    better = save(tmp_path / "b.jsonl", [{**row, "passed": True} for row in rows_of(run)])
    found = json.loads(output(capsys, "compare", run, better, "--json"))
    assert found.keys() >= COMPARE_KEYS
    assert found["difference"] > 0
    assert found["wins"] + found["ties"] == found["common_tasks"] == 12


@pytest.mark.parametrize(
    ("form", "sign"), [("text", "B - A"), ("markdown", "|---|"), ("latex", "%")]
)
def test_compare_writes_tables_and_names_lonely_tasks(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], form: str, sign: str
) -> None:
    fewer = save(tmp_path / "b.jsonl", [row for row in rows_of(run) if row["task_id"] != "t3"])
    text = output(capsys, "compare", run, fewer, "--format", form)
    assert sign in text
    assert "only in A (1): t3" in text


def test_the_script_says_the_same(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    expected = output(capsys, "stats", run, "--json")
    assert variance.main([str(run), "--json"]) == 0
    assert capsys.readouterr().out == expected
    assert variance.main([str(run / "missing")]) == 2
    assert "no attempts at" in capsys.readouterr().err


def test_cells_are_escaped() -> None:
    table = Table(title="", header=("task",), rows=[("a_b & 50% | \x1b[31m",)])
    assert r"a\_b \& 50\% | ?[31m" in render(table, TableFormat.LATEX)
    assert r"a_b & 50% \| ?[31m" in render(table, TableFormat.MARKDOWN)
