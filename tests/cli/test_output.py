"""Tables, JSON and progress: safe with untrusted text, and good for scripts."""

from __future__ import annotations

import enum
import json
from dataclasses import dataclass
from pathlib import Path

import pytest
from pydantic import BaseModel

from cligym.cli.output import note, print_json, print_table, print_text, progress


class _Color(enum.StrEnum):
    RED = "red"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Point:
    x: int
    where: Path
    color: _Color


class _Model(BaseModel):
    name: str


def test_a_table_shows_markup_and_escapes_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(
        ["task", "n"], [["[bold]x[/bold]\x1b[2J", 3], [None, 10]], footnotes=["see :smile:"]
    )
    out = capsys.readouterr().out
    assert "[bold]x[/bold]\\x1b[2J" in out
    assert "see :smile:" in out
    assert "\x1b" not in out
    row = next(line for line in out.splitlines() if "10" in line)
    assert row.split("│")[1].strip() == "-"


def test_a_table_in_a_pipe_is_not_folded(capsys: pytest.CaptureFixture[str]) -> None:
    long = "x" * 120
    print_table(["a"], [[long]])
    assert long in capsys.readouterr().out


def test_numbers_stand_right_and_short(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(["rate"], [[0.123456], [1234.5], [True]])
    cells = [line.split("│")[1] for line in capsys.readouterr().out.splitlines() if "│" in line]
    assert cells == [" 0.123 ", "  1234 ", "   yes "]


def test_json_takes_our_types_and_keeps_key_order(capsys: pytest.CaptureFixture[str]) -> None:
    point = _Point(x=1, where=Path("/a"), color=_Color.RED)
    print_json({"z": point, "a": {b"\xff".hex()}, "m": _Model(name="n"), "b": b"a\xff"})
    out = capsys.readouterr().out
    assert json.loads(out) == {
        "z": {"x": 1, "where": "/a", "color": "red"},
        "a": ["ff"],
        "m": {"name": "n"},
        "b": "a\\xff",
    }
    assert out.index('"z"') < out.index('"a"')


def test_json_is_safe_on_a_terminal_and_exact(capsys: pytest.CaptureFixture[str]) -> None:
    text = "\x1b[2J\x7f\x9b\u202e\udcff"
    print_json([text])
    out = capsys.readouterr().out
    assert json.loads(out) == [text]
    assert out.isascii()
    assert all(char.isprintable() or char == "\n" for char in out)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_json_refuses_what_json_has_not(value: float) -> None:
    with pytest.raises(ValueError, match="JSON"):
        print_json({"reward": value})


def test_json_refuses_unknown_types() -> None:
    with pytest.raises(TypeError, match="object has no JSON form"):
        print_json(object())


def test_notes_and_text_are_safe(capsys: pytest.CaptureFixture[str]) -> None:
    note("a\x1bb\nc")
    print_text("a\x1bb\nc")
    captured = capsys.readouterr()
    assert captured.err == "a\\x1bb\\nc\n"
    assert captured.out == "a\\x1bb\nc\n"


def test_progress_without_a_terminal_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with progress("attempts", 5, done=2) as advance:
        advance()
        advance()
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("attempts: 4/5, ")
    assert "/s" in captured.err or "/min" in captured.err
    assert captured.err.count("\n") == 1
