"""The record of one attempt: a line of `episodes.jsonl`, and how such files are read and written.

A record holds no port, path, process id or secret. `seconds` is the only part that differs
between two runs of the same attempt.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from cligym.errors import ConfigError

__all__ = ["BASH_TOOL", "AttemptRecord", "read_records"]

BASH_TOOL: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "bash",
        "description": "Run a command in the machine's shell and return what it prints. The shell "
        "stays open between calls: the working directory and variables are kept. There is no "
        "keyboard input, and a command that runs too long is stopped.",
        "parameters": {
            "type": "object",
            "properties": {"command": {"type": "string", "description": "The command."}},
            "required": ["command"],
        },
    },
}
"""The one tool of an agent, as chat templates take it."""


class AttemptRecord(BaseModel):
    """One attempt.

    Reward and `passed` are None after an infra error, never 0 and never False.
    """

    model_config = ConfigDict(extra="allow", protected_namespaces=())

    schema_version: Literal[1] = 1
    cligym_version: str
    env_id: str
    task_id: str
    task_digest: str
    repository: str = ""
    licence: str = ""
    split: str = ""
    gold_digest: str = ""
    damaged_digest: str = ""
    certificate: str = ""
    """`usable` or `proven`."""
    backend: str = ""
    id_range: bool = True
    """False: the box had one user only."""
    agent: str
    model: str | None = None
    model_revision: str | None = None
    adapter_digest: str | None = None
    chat_template_sha256: str | None = None
    sampling: dict[str, Any] | None = None
    attempt: int
    seed: int
    messages: list[dict[str, Any]] = []
    tools: list[dict[str, Any]] = []
    chat_template_kwargs: dict[str, Any] | None = None
    commands: list[dict[str, Any]] = []
    """`{command, exit_code, timed_out}` of each command that ran."""
    tokens: dict[str, Any] | None = None
    """`{prompt_ids, completion_ids, mask, source, ...}`: one sequence, mask 1 where the model
    sampled; None without ids, or where later prompts do not continue earlier ones."""
    token_turns: list[dict[str, Any]] = []
    """Turn by turn, where the turns make no single sequence: `kept` ids of the turn before (its
    prompt and its answer) begin this prompt, `prompt_ids` follow, then `completion_ids`."""
    usage: dict[str, int] = {}
    """`{turns, prompt_tokens, completion_tokens}` of the model calls, as the engine counts."""
    parse_errors: int = 0
    refused_calls: int = 0
    """Calls that were read but not run, because the budget was used up."""
    end_reason: str
    passed: bool | None
    reward: float | None
    grader: dict[str, str] | None = None
    """`{name, version}` of the grader that gave the reward."""
    verdicts: dict[str, dict[str, Any]] = {}
    change_set: str = ""
    """Digest of the change set."""
    infra_error: str | None = None
    seconds: dict[str, float] = {}

    @property
    def key(self) -> tuple[str, str, int]:
        """What names an attempt within a run: agent, task, number."""
        return (self.agent, self.task_id, self.attempt)

    def to_line(self) -> bytes:
        """One JSON line; lone surrogates (bytes that are no UTF-8) are escaped."""
        value = self.model_dump()
        return json.dumps(value, separators=(",", ":"), allow_nan=False).encode() + b"\n"


def read_records(path: Path) -> Iterator[AttemptRecord]:
    """The records of a file; a torn last line, left by a kill, is passed over.

    Raises:
        ConfigError: another line is no record.
    """
    lines = path.read_bytes().split(b"\n")
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            yield AttemptRecord.model_validate(json.loads(line))
        except ValueError as error:
            if number == len(lines):
                return
            raise ConfigError(f"{path}, line {number}, is no record of an attempt") from error
