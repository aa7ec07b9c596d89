"""Reading attempts: infra errors, torn lines, repeated rows, records with several graders."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cligym.errors import ConfigError
from cligym.training.episode_rows import AttemptRow, parse_row, read_episodes


def write(path: Path, *rows: object, tail: bytes = b"") -> Path:
    path.write_bytes("".join(json.dumps(row) + "\n" for row in rows).encode() + tail)
    return path


@pytest.mark.parametrize(
    ("extra", "passed"),
    [
        ({"passed": True}, True),
        ({"passed": False}, False),
        ({"passed": 1}, True),
        ({"passed": None}, None),
        ({}, None),
        ({"passed": float("nan")}, None),
        ({"passed": True, "infra_error": "host disk full"}, None),
    ],
)
def test_a_row_is_a_pass_a_fail_or_an_infra_error(
    tmp_path: Path, extra: dict[str, object], passed: bool | None
) -> None:
    path = write(tmp_path / "e.jsonl", {"task_id": "a", "attempt": 0, **extra})
    assert [row.passed for row in read_episodes(path).rows] == [passed]


@pytest.mark.parametrize(
    "tail", [b'{"task_id": "b", "pas', b'{"task_id": "\xc3', b'{"a"\n', b"\x00"]
)
def test_a_torn_last_line_is_left_out_and_counted(tmp_path: Path, tail: bytes) -> None:
    path = write(tmp_path / "e.jsonl", {"task_id": "a", "attempt": 0, "passed": True}, tail=tail)
    file = read_episodes(path)
    assert [row.task_id for row in file.rows] == ["a"]
    assert file.torn_lines == 1


def test_a_whole_last_line_without_a_line_break_counts(tmp_path: Path) -> None:
    path = write(tmp_path / "e.jsonl", tail=b'{"task_id": "a", "passed": true}')
    file = read_episodes(path)
    assert (len(file.rows), file.torn_lines) == (1, 0)


def test_a_broken_line_in_the_middle_is_refused_with_its_number(tmp_path: Path) -> None:
    path = tmp_path / "e.jsonl"
    path.write_text('{"task_id": "a"}\n{"task_id\n{"task_id": "b"}\n')
    with pytest.raises(ConfigError, match="line 2"):
        read_episodes(path)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ([1], "JSON object"),
        ({"passed": True}, "task_id"),
        ({"task_id": "", "passed": True}, "task_id"),
        ({"task_id": "a", "passed": "yes"}, "true, false or null"),
        ({"task_id": "a", "passed": 0.5}, "true, false or null"),
        ({"task_id": "a", "verdicts": 3}, "verdicts"),
        ({"task_id": "a", "verdicts": [{"passed": True}]}, "grader's name"),
    ],
)
def test_a_row_that_says_no_outcome_is_refused(row: object, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parse_row(row, where="line 1")


def test_an_attempt_written_twice_counts_once_and_a_decision_beats_an_infra_error(
    tmp_path: Path,
) -> None:
    row = {"task_id": "a", "attempt": 0}
    path = write(tmp_path / "e.jsonl", {**row, "passed": None}, {**row, "passed": True}, row)
    file = read_episodes(path)
    assert [r.passed for r in file.rows] == [True]
    assert file.repeated_rows == 2


def test_two_decisions_on_one_attempt_are_refused(tmp_path: Path) -> None:
    row = {"task_id": "a", "attempt": 0}
    path = write(tmp_path / "e.jsonl", {**row, "passed": False}, {**row, "passed": True})
    with pytest.raises(ConfigError, match="attempt 0 of task a"):
        read_episodes(path)


def test_rows_without_an_attempt_number_are_attempts_of_their_own(tmp_path: Path) -> None:
    path = write(tmp_path / "e.jsonl", *[{"task_id": "a", "passed": True}] * 3)
    assert len(read_episodes(path).rows) == 3


@pytest.mark.parametrize(
    "verdicts",
    [
        [{"grader": "dataset", "passed": True}, {"grader": "hardened", "passed": False}],
        {"dataset": {"passed": True}, "hardened": {"passed": False}},
        {"dataset": True, "hardened": False},
    ],
)
def test_the_hardened_verdict_is_the_default_of_a_record(verdicts: object) -> None:
    row = parse_row({"task_id": "a", "verdicts": verdicts}, where="line 1")
    assert (row.passed, row.outcome("dataset"), row.outcome("hardened")) == (False, True, False)
    assert row.outcome("published") is None


def test_a_folder_means_its_episodes_file(tmp_path: Path) -> None:
    write(tmp_path / "episodes.jsonl", {"task_id": "a", "passed": True})
    assert read_episodes(tmp_path).path == tmp_path / "episodes.jsonl"


def test_missing_and_empty_runs_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no attempts at"):
        read_episodes(tmp_path / "nothing")
    with pytest.raises(ConfigError, match="holds no attempt"):
        read_episodes(write(tmp_path / "e.jsonl"))


def test_one_agent_can_be_chosen(tmp_path: Path) -> None:
    rows = [{"task_id": "a", "agent": name, "passed": name == "x"} for name in ("x", "y")]
    path = write(tmp_path / "e.jsonl", *rows)
    assert read_episodes(path).agents == ("x", "y")
    assert [row.passed for row in read_episodes(path, agent="y").rows] == [False]
    with pytest.raises(ConfigError, match="'z'"):
        read_episodes(path, agent="z")


def test_the_order_of_lines_changes_nothing(tmp_path: Path) -> None:
    rows = [{"task_id": t, "attempt": a, "passed": a == 1} for t in "ba" for a in (10, 1, 2)]
    forward = read_episodes(write(tmp_path / "f.jsonl", *rows)).rows
    backward = read_episodes(write(tmp_path / "b.jsonl", *rows[::-1])).rows
    assert forward == backward
    assert [row.attempt for row in forward if row.task_id == "a"] == ["1", "2", "10"]
    assert isinstance(forward[0], AttemptRow)
