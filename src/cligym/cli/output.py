"""What commands print: tables for people, JSON for scripts, a progress bar on stderr.

All text given to these functions may be untrusted; they make it safe. Results go to stdout,
everything else to stderr, so that `cligym ... --json | jq` always works.
"""

from __future__ import annotations

import dataclasses
import enum
import errno
import json
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Annotated, Any, Protocol

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from cligym.cli.terminal import safe_line, safe_text

__all__ = ["Advance", "JsonFlag", "note", "print_json", "print_table", "print_text", "progress"]

JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON with stable keys.")]
"""Type of the `--json` option, the same in every command: `as_json: JsonFlag = False`."""

_PIPE_COLUMNS = 160
_PLAIN_LINE_S = 30.0


class _Console(Console):
    def on_broken_pipe(self) -> None:
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))


def print_table(
    headers: Sequence[str],
    rows: Sequence[Sequence[object]],
    *,
    title: str = "",
    footnotes: Sequence[str] = (),
) -> None:
    """Prints a table; numbers stand right, None is a dash.

    Args:
        headers: one per column.
        rows: cells, in the headers' order.
        title: line above; "" for none.
        footnotes: lines below.
    """
    table = Table(title=Text(safe_line(title)) if title else None, title_justify="left")
    for index, header in enumerate(headers):
        cells = [row[index] for row in rows if row[index] is not None]
        numeric = bool(cells) and all(isinstance(cell, (int, float)) for cell in cells)
        table.add_column(Text(safe_line(header)), justify="right" if numeric else "left")
    for row in rows:
        table.add_row(*(_cell(value) for value in row))
    console = _console()
    console.print(table)
    for line in footnotes:
        console.print(Text(safe_line(line)), soft_wrap=True)


def print_json(value: object) -> None:
    """Prints one JSON document, keys in the order given, ASCII only.

    Dataclasses, enums, paths, bytes, sets and pydantic models inside are written in plain form.

    Raises:
        ValueError: a number is NaN or infinite; JSON has none, say None.
    """
    text = json.dumps(value, indent=2, allow_nan=False, default=_plain)
    print(text.replace("\x7f", "\\u007f"))


def print_text(text: str) -> None:
    """Prints untrusted text of one or more lines to stdout."""
    print(safe_text(text))


def note(line: str) -> None:
    """Tells a person something beside the result, on stderr."""
    print(safe_line(line), file=sys.stderr, flush=True)


class Advance(Protocol):
    """Counts one more item; `text` says what else is known by now."""

    def __call__(self, text: str = "") -> None: ...


@contextmanager
def progress(what: str, total: int, *, done: int = 0) -> Iterator[Advance]:
    """A bar on stderr with count, rate and time left; yields a function to call per item.

    Where stderr is no terminal, a line every half minute and one at the end tell the same.

    Args:
        what: what is being counted, for example "attempts".
        total: how many there are.
        done: how many an earlier run did; they do not count for the rate.
    """
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        _RateColumn(done),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        task_id = bar.add_task(safe_line(what), total=total, completed=done)
        task = bar.tasks[0]
        last, said = "", time.monotonic()

        def tell() -> None:
            more = f", {last}" if last else ""
            seconds = f"{task.elapsed or 0:.0f} s{_rate(task, done)}"
            note(f"{what}: {int(task.completed)}/{total}, {seconds}{more}")

        def advance(text: str = "") -> None:
            nonlocal last, said
            last = text
            bar.update(task_id, advance=1, description=safe_line(f"{what} {text}".strip()))
            if bar.disable and time.monotonic() - said > _PLAIN_LINE_S:
                said = time.monotonic()
                tell()

        try:
            yield advance
        finally:
            if bar.disable:
                tell()


class _RateColumn(ProgressColumn):
    def __init__(self, done: int) -> None:
        super().__init__()
        self._done = done

    def render(self, task: Task) -> Text:
        return Text(_rate(task, self._done).removeprefix(", "))


def _rate(task: Task, done: int) -> str:
    """Items a second, or a minute when slow; "" before the first one."""
    count = task.completed - done
    if not count or not task.elapsed:
        return ""
    per_s = count / task.elapsed
    return f", {per_s:.1f}/s" if per_s >= 1 else f", {per_s * 60:.1f}/min"


def _console() -> _Console:
    # A pipe has no width: do not fold a table that some other program reads.
    in_pipe = not sys.stdout.isatty() and "COLUMNS" not in os.environ
    return _Console(width=_PIPE_COLUMNS if in_pipe else None, highlight=False)


def _cell(value: object) -> Text:
    if value is None:
        return Text("-")
    if isinstance(value, float):
        return Text(f"{value:.3g}" if abs(value) < 100 else f"{value:.0f}")
    if isinstance(value, bool):
        return Text("yes" if value else "no")
    return Text(safe_line(str(value)))


def _plain(value: object) -> object:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, os.PathLike):
        return os.fsdecode(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    dump: Any = getattr(value, "model_dump", None)
    if dump is not None:
        return dump(mode="json")
    raise TypeError(f"{type(value).__name__} has no JSON form")
