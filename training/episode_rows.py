"""Reads the outcomes of attempts from `episodes.jsonl` or from plain JSON lines.

A plain row is `{"task_id": "a", "attempt": 0, "passed": true}`. A missing, null or NaN `passed` is
an infra error: it is masked and counted, never a fail. Records of the evaluator carry the same
facts and more: the verdict of each grader, the digest of the task's files and the agent.

The order of the lines never matters. The same attempt written twice (a run killed and resumed)
counts once, a decided row beats an infra error, and two different decisions are refused.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cligym.errors import ConfigError

__all__ = ["AttemptRow", "EpisodeFile", "episode_path", "parse_row", "read_episodes"]

EPISODES_FILE = "episodes.jsonl"
DEFAULT_GRADER = "hardened"


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptRow:
    """One attempt on one task.

    Attributes:
        task_id: name of the task, not empty.
        attempt: number of the attempt as text, or None where the row does not say.
        agent: who acted, "" where the row does not say.
        passed: the row's own verdict; None is an infra error.
        verdicts: verdict of each grader by its name; None is an infra error. Empty in plain rows.
        task_digest: digest of the task's files, or None where the row does not say.
    """

    task_id: str
    attempt: str | None = None
    agent: str = ""
    passed: bool | None = None
    verdicts: Mapping[str, bool | None] = field(default_factory=dict)
    task_digest: str | None = None

    def outcome(self, grader: str | None) -> bool | None:
        """Says how `grader` judged, None being an infra error; the row's own verdict for None."""
        if grader is None:
            return self.passed
        return self.verdicts.get(grader)


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeFile:
    """What a file of attempts held.

    Attributes:
        path: the file that was read.
        rows: one row an attempt, in a canonical order.
        torn_lines: 1 if the last line was cut off and left out, else 0.
        repeated_rows: rows left out because the same attempt stood in the file already.
    """

    path: Path
    rows: tuple[AttemptRow, ...]
    torn_lines: int = 0
    repeated_rows: int = 0

    @property
    def agents(self) -> tuple[str, ...]:
        """Names of the agents in the file, sorted."""
        return tuple(sorted({row.agent for row in self.rows}))

    @property
    def graders(self) -> tuple[str, ...]:
        """Names of the graders in the file, sorted, `hardened` first."""
        names = {name for row in self.rows for name in row.verdicts}
        return tuple(sorted(names, key=lambda name: (name != DEFAULT_GRADER, name)))


def episode_path(run: Path | str) -> Path:
    """Finds the rows of a run: the file itself, or `episodes.jsonl` in the run's folder.

    Raises:
        ConfigError: there is no such file or folder, or the folder holds no episodes.
    """
    path = Path(run)
    if path.is_dir():
        path = path / EPISODES_FILE
    if not path.is_file():
        raise ConfigError(
            f"no attempts at {run}: give an episodes.jsonl, a file of JSON lines, or a run's folder"
        )
    return path


def read_episodes(run: Path | str, *, agent: str | None = None) -> EpisodeFile:
    """Reads all attempts of a run; a torn last line is left out and counted.

    Args:
        run: a file of JSON lines, or a folder that holds `episodes.jsonl`.
        agent: read only this agent's attempts; None takes all.

    Raises:
        ConfigError: the file is missing, has no attempt, or a line other than the last is broken.
    """
    path = episode_path(run)
    lines = [(n, text) for n, text in enumerate(path.read_bytes().split(b"\n"), 1) if text.strip()]
    rows: list[AttemptRow] = []
    torn = 0
    for position, (number, text) in enumerate(lines):
        try:
            loaded = json.loads(text.decode("utf-8-sig"))
        except ValueError as error:
            if position == len(lines) - 1:
                torn = 1
                continue
            raise ConfigError(f"{path}, line {number}: not a JSON line: {error}") from error
        rows.append(parse_row(loaded, where=f"{path}, line {number}"))
    if agent is not None:
        rows = [row for row in rows if row.agent == agent]
    if not rows:
        of_agent = "" if agent is None else f" of agent {agent!r}"
        raise ConfigError(f"{path} holds no attempt{of_agent}")
    unique = _merge(rows, path)
    return EpisodeFile(
        path=path, rows=unique, torn_lines=torn, repeated_rows=len(rows) - len(unique)
    )


def parse_row(loaded: object, *, where: str) -> AttemptRow:
    """Turns one decoded JSON line into an attempt.

    Args:
        loaded: the decoded line.
        where: file and line, for messages.

    Raises:
        ConfigError: it is no object, has no task, or a verdict is neither true, false nor null.
    """
    if not isinstance(loaded, dict):
        raise ConfigError(f"{where}: an attempt is a JSON object, found {type(loaded).__name__}")
    task_id = loaded.get("task_id")
    if not isinstance(task_id, str) or not task_id:
        raise ConfigError(
            f"{where}: an attempt needs a non-empty text `task_id`, found {task_id!r}"
        )
    verdicts = _verdicts(loaded.get("verdicts"), where=where)
    passed = _outcome(loaded.get("passed"), where=where)
    if "passed" not in loaded and verdicts:
        passed = verdicts.get(DEFAULT_GRADER, next(iter(verdicts.values())))
    if loaded.get("infra_error"):
        passed, verdicts = None, dict.fromkeys(verdicts)
    attempt = loaded.get("attempt")
    digest = loaded.get("task_digest")
    return AttemptRow(
        task_id=task_id,
        attempt=None if attempt is None else str(attempt),
        agent=_agent_name(loaded),
        passed=passed,
        verdicts=verdicts,
        task_digest=digest if isinstance(digest, str) else None,
    )


def _outcome(value: object, *, where: str) -> bool | None:
    """Reads one verdict; 0 and 1 are taken as false and true."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, bool | int | float) and value in (0, 1):
        return bool(value)
    raise ConfigError(f"{where}: `passed` is true, false or null, found {value!r}")


def _verdicts(value: object, *, where: str) -> dict[str, bool | None]:
    """Reads the graders' verdicts: a list of objects with their name, or a mapping by name."""
    if value is None:
        return {}
    entries: Iterable[tuple[Any, Any]]
    if isinstance(value, dict):
        entries = value.items()
    elif isinstance(value, list) and all(isinstance(item, dict) for item in value):
        entries = [(item.get("grader", item.get("name")), item) for item in value]
    else:
        raise ConfigError(f"{where}: `verdicts` is a list of objects or an object by grader's name")
    found: dict[str, bool | None] = {}
    for name, verdict in entries:
        if not isinstance(name, str):
            raise ConfigError(f"{where}: a verdict has no grader's name")
        outcome = verdict.get("passed") if isinstance(verdict, dict) else verdict
        found[name] = _outcome(outcome, where=where)
    return dict(sorted(found.items()))


def _agent_name(loaded: Mapping[str, Any]) -> str:
    """Names who acted: the agent, and the model or adapter behind it where the row says."""
    agent = loaded.get("agent", "")
    if isinstance(agent, dict):
        agent = agent.get("name", "")
    return str(agent or "")


def _merge(rows: Sequence[AttemptRow], path: Path) -> tuple[AttemptRow, ...]:
    """Keeps one row an attempt and puts all rows in a canonical order."""
    named: dict[tuple[str, str, str], AttemptRow] = {}
    unnamed: list[AttemptRow] = []
    for row in rows:
        if row.attempt is None:
            unnamed.append(row)
            continue
        key = (row.task_id, row.agent, row.attempt)
        named[key] = _better(named[key], row, path) if key in named else row
    return tuple(sorted([*named.values(), *unnamed], key=_order))


def _better(first: AttemptRow, second: AttemptRow, path: Path) -> AttemptRow:
    """Chooses between two rows of one attempt: a decision beats an infra error."""
    if first.passed is not None and second.passed is not None and first.passed != second.passed:
        raise ConfigError(
            f"{path}: attempt {first.attempt} of task {first.task_id} stands there twice, "
            "once passed and once failed; give each attempt its own number"
        )
    return min(first, second, key=lambda row: (row.passed is None, _order(row)))


def _order(row: AttemptRow) -> tuple[str, str, str, str]:
    """A sort key that depends on the row's content only."""
    attempt = row.attempt or ""
    number = attempt.zfill(12) if attempt.isdigit() else attempt
    return (row.task_id, row.agent, number, json.dumps([row.passed, dict(row.verdicts)]))
