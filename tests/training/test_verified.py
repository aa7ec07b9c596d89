"""Verified repairs: what is refused, what is filtered, what is counted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cligym.errors import ConfigError
from cligym.training.verified import HeldOut, read_held_out, read_repairs

Write = Callable[..., Path]
Make = Callable[..., dict[str, Any]]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"grader": {"name": "dataset"}}, "judged by 'dataset'"),
        ({"grader": "published"}, "judged by 'published'"),
        ({"passed": False}, "did not pass"),
        ({"split": "held_out"}, "split 'held_out'"),
        ({"split": "test"}, "split 'test'"),
        ({"task_id": "task-9"}, "task task-9 is held out"),
        ({"repository": "repo-9"}, "repository repo-9"),
    ],
)
def test_rows_that_must_not_be_trained_on_stop_everything(
    write_repairs: Write, make_row: Make, changes: dict[str, Any], message: str
) -> None:
    path = write_repairs(make_row(0), make_row(1, **changes))
    held_out = HeldOut(tasks={"task-9"}, repositories={"repo-9"})
    with pytest.raises(ConfigError, match=f"line 2: .*{message}"):
        read_repairs(path, held_out=held_out)


@pytest.mark.parametrize("missing", ["task_id", "grader", "passed", "messages"])
def test_a_row_without_what_is_needed_is_refused(
    write_repairs: Write, make_row: Make, missing: str
) -> None:
    row = make_row()
    del row[missing]
    with pytest.raises(ConfigError, match=f"line 1: {missing}"):
        read_repairs(write_repairs(row))


def test_licences_filter_and_are_counted(write_repairs: Write, make_row: Make) -> None:
    rows = [make_row(i, licence=name) for i, name in enumerate(["MIT", "GPL-3.0", None])]
    found = read_repairs(write_repairs(*rows), licences=["MIT"])
    assert [row.licence for row in found.rows] == ["MIT"]
    assert found.dropped_by_licence == {"GPL-3.0": 1, "unknown": 1}
    with pytest.raises(ConfigError, match="no repair to train on"):
        read_repairs(write_repairs(*rows), licences=["BSD"])


def test_a_torn_last_line_is_left_out(write_repairs: Write, make_row: Make) -> None:
    found = read_repairs(write_repairs(make_row(), tail='{"task_id": "x", "mess'))
    assert (len(found.rows), found.torn_lines) == (1, 1)


def test_rows_come_in_one_order(write_repairs: Write, make_row: Make) -> None:
    rows = [make_row(i) for i in (2, 0, 1)]
    forward = read_repairs(write_repairs(*rows)).rows
    assert forward == read_repairs(write_repairs(*rows[::-1])).rows
    assert [row.task_id for row in forward] == ["task-0", "task-1", "task-2"]


def test_messages_come_as_templates_want_them(write_repairs: Write, make_row: Make) -> None:
    function = {"name": "bash", "arguments": '{"command": "ls"}'}
    call = {"role": "assistant", "content": None, "tool_calls": [{"function": function}]}
    row = make_row(messages=[{"role": "user", "content": "x", "tool_calls": None}, call])
    messages = read_repairs(write_repairs(row)).rows[0].plain_messages()
    assert messages[0] == {"role": "user", "content": "x"}
    assert messages[1]["content"] == ""
    assert messages[1]["tool_calls"][0]["function"]["arguments"] == {"command": "ls"}


def test_held_out_lists_come_from_yaml(tmp_path: Path) -> None:
    path = tmp_path / "held.yaml"
    path.write_text("tasks: [a]\nrepositories: [r]\n")
    assert read_held_out(path) == HeldOut(tasks=frozenset("a"), repositories=frozenset("r"))
    assert read_held_out(None) == HeldOut()
    path.write_text("task: [a]\n")
    with pytest.raises(ConfigError, match="unknown key 'task'"):
        read_held_out(path)


def test_bytes_that_are_no_text_become_replacement_characters(
    write_repairs: Write, make_row: Make, make_call: Callable[..., dict[str, Any]]
) -> None:
    messages = [make_call("cat \udcff"), {"role": "tool", "name": "bash", "content": "a\udc80b"}]
    row = read_repairs(write_repairs(make_row(messages=messages))).rows[0]
    call, seen = row.plain_messages()
    assert seen["content"] == "a\ufffdb"
    assert call["tool_calls"][0]["function"]["arguments"]["command"] == "cat \ufffd"


def test_a_row_of_no_split_is_taken(write_repairs: Write, make_row: Make) -> None:
    assert len(read_repairs(write_repairs(make_row(split=""), make_row(1, split=None))).rows) == 2
