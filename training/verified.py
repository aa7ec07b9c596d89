"""Reads verified repairs and refuses what must not be trained on.

Only attempts that passed the hardened grader, on tasks and repositories outside the held-out split,
are repairs to learn from. Anything else in the file is a mistake of whoever made it and stops the
training; it is never skipped in silence. A licence filter, in contrast, drops rows and counts them.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from cligym.errors import ConfigError
from cligym.training.settings import read_yaml

__all__ = [
    "HeldOut",
    "RepairRow",
    "RepairTokens",
    "Repairs",
    "TokenTurn",
    "read_held_out",
    "read_repairs",
]

GRADER = "hardened"
TRAIN_SPLIT = "train"


class _Row(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, protected_namespaces=())


class Grader(_Row):
    """Who judged the attempt."""

    name: str
    version: str | int | None = None


class RepairTokens(_Row):
    """The token ids of an attempt.

    Attributes:
        prompt_ids: what the model was given first.
        completion_ids: everything after it, the model's words and the tools' output.
        mask: 1 for each completion id that the model sampled.
        source: `engine` for sampled ids; anything else is a re-rendering and not trusted.
        chat_template_sha256: digest of the chat template in use, or None if unknown.
    """

    prompt_ids: list[int] = Field(min_length=1)
    completion_ids: list[int] = Field(min_length=1)
    mask: list[int]
    source: str = "engine"
    model: str | None = None
    chat_template_sha256: str | None = None


class TokenTurn(_Row):
    """One answer's token ids, where a later prompt rewrote the history.

    Attributes:
        kept: ids taken over from the turn before, prompt and answer.
        prompt_ids: the rest of the prompt.
        completion_ids: what was sampled.
        source: `engine` for sampled ids; anything else is not trusted.
    """

    kept: int = Field(ge=0)
    prompt_ids: list[int]
    completion_ids: list[int] = Field(min_length=1)
    source: str = "engine"


class RepairRow(_Row):
    """One verified repair."""

    task_id: str = Field(min_length=1)
    task_digest: str | None = None
    repository: str | None = None
    licence: str | None = None
    split: str | None = None
    attempt: int | str | None = None
    grader: Grader | str
    passed: bool
    messages: list[dict[str, Any]] = Field(min_length=1)
    tools: list[dict[str, Any]] | str | None = None
    chat_template_kwargs: dict[str, Any] | None = None
    tokens: RepairTokens | None = None
    token_turns: list[TokenTurn] = []
    chat_template_sha256: str | None = None

    @property
    def grader_name(self) -> str:
        """Name of the grader."""
        return self.grader if isinstance(self.grader, str) else self.grader.name

    @property
    def tool_schemas(self) -> list[dict[str, Any]]:
        """The tools as objects, also where the row holds them as JSON text."""
        tools = json.loads(self.tools) if isinstance(self.tools, str) else self.tools
        return list(tools or [])

    def plain_messages(self) -> list[dict[str, Any]]:
        """Gives the messages as chat templates want them: text contents, arguments as objects."""
        return [_plain_message(message) for message in self.messages]


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldOut:
    """What must never be trained on, beside rows that name another split than `train`.

    Attributes:
        tasks: task ids.
        repositories: repositories.
    """

    tasks: Collection[str] = frozenset()
    repositories: Collection[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Repairs:
    """The rows to train on.

    Attributes:
        rows: the rows, sorted by task and attempt.
        digest: SHA-256 of the file.
        dropped_by_licence: rows left out, by their licence.
        torn_lines: 1 if the last line was cut off, else 0.
    """

    rows: tuple[RepairRow, ...]
    digest: str
    dropped_by_licence: dict[str, int]
    torn_lines: int = 0


def read_held_out(path: Path | None) -> HeldOut:
    """Reads a YAML file with lists `tasks` and `repositories`; nothing for None.

    Raises:
        ConfigError: the file cannot be read or holds another key.
    """
    if path is None:
        return HeldOut()
    loaded = read_yaml(path)
    unknown = loaded.keys() - {"tasks", "repositories"}
    if unknown:
        raise ConfigError(f"{path}: unknown key {sorted(unknown)[0]!r}; use tasks, repositories")
    return HeldOut(
        tasks=frozenset(map(str, loaded.get("tasks") or ())),
        repositories=frozenset(map(str, loaded.get("repositories") or ())),
    )


def read_repairs(
    path: Path, *, held_out: HeldOut | None = None, licences: Sequence[str] | None = None
) -> Repairs:
    """Reads verified repairs; a torn last line is left out and counted.

    Args:
        path: a file of JSON lines.
        held_out: what must not be trained on.
        licences: keep only rows with one of these licences; None keeps all.

    Raises:
        ConfigError: the file cannot be read, a line is broken, or a row must not be trained on.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"cannot read repairs {path}: {error.strerror}") from error
    lines = [(n, text) for n, text in enumerate(content.split(b"\n"), 1) if text.strip()]
    kept: list[RepairRow] = []
    dropped: Counter[str] = Counter()
    torn = 0
    for position, (number, text) in enumerate(lines):
        where = f"{path}, line {number}"
        try:
            loaded = json.loads(text.decode())
        except ValueError as error:
            if position == len(lines) - 1:
                torn = 1
                continue
            raise ConfigError(f"{where}: not a JSON line: {error}") from error
        row = _read_row(loaded, where=where)
        _refuse(row, held_out or HeldOut(), where=where)
        if licences is not None and row.licence not in licences:
            dropped[row.licence or "unknown"] += 1
        else:
            kept.append(row)
    if not kept:
        raise ConfigError(
            f"{path} holds no repair to train on ({sum(dropped.values())} by licence)"
        )
    kept.sort(key=lambda row: (row.task_id, str(row.attempt), json.dumps(row.model_dump())))
    return Repairs(
        rows=tuple(kept),
        digest=hashlib.sha256(content).hexdigest(),
        dropped_by_licence=dict(sorted(dropped.items())),
        torn_lines=torn,
    )


def _read_row(loaded: object, *, where: str) -> RepairRow:
    """Validates one row."""
    try:
        return RepairRow.model_validate(loaded)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        raise ConfigError(f"{where}: {name or 'row'}: {first['msg']}") from error


def _refuse(row: RepairRow, held_out: HeldOut, *, where: str) -> None:
    """Raises for a row that must not be trained on."""
    if row.grader_name != GRADER:
        raise ConfigError(
            f"{where}: task {row.task_id} was judged by {row.grader_name!r}; only repairs that "
            f"passed {GRADER!r} are trained on"
        )
    if not row.passed:
        raise ConfigError(f"{where}: task {row.task_id} did not pass; it is no repair")
    if row.split and row.split != TRAIN_SPLIT:
        raise ConfigError(
            f"{where}: task {row.task_id} is in the split {row.split!r}; training on it would "
            "spoil every later evaluation"
        )
    if row.task_id in held_out.tasks:
        raise ConfigError(f"{where}: task {row.task_id} is held out")
    if row.repository and row.repository in held_out.repositories:
        raise ConfigError(f"{where}: repository {row.repository} of {row.task_id} is held out")


def _plain_message(message: dict[str, Any]) -> dict[str, Any]:
    """Drops nulls, which templates would print, and decodes arguments given as JSON text.

    Bytes that were no UTF-8 stand in records as lone surrogates; no tokenizer takes them.
    """
    plain = {key: _valid_text(value) for key, value in message.items() if value is not None}
    plain.setdefault("content", "")
    if "tool_calls" in plain:
        plain["tool_calls"] = [_plain_call(call) for call in plain["tool_calls"]]
    return plain


def _plain_call(call: dict[str, Any]) -> dict[str, Any]:
    """Gives one tool call with its arguments as an object."""
    function = dict(call.get("function", call))
    if isinstance(function.get("arguments"), str):
        function["arguments"] = json.loads(function["arguments"])
    if isinstance(function.get("arguments"), dict):
        arguments = function["arguments"].items()
        function["arguments"] = {name: _valid_text(value) for name, value in arguments}
    return {"type": "function", "function": function}


def _valid_text(value: Any) -> Any:
    """Replaces lone surrogates in a text by U+FFFD; other values pass."""
    if not isinstance(value, str):
        return value
    return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
