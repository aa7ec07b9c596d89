"""Agents that play a script: nothing at all, the oracle, a known wrong answer, or a file."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from pathlib import Path

from cligym.constants import SUBMIT
from cligym.errors import ConfigError
from cligym.tasks.task import Task

__all__ = ["ScriptedAgent", "agent_applies", "check_agent_name", "script_command", "scripted_agent"]

_FORMS = "nop, oracle, wrong:NAME or script:FILE"


@dataclass(slots=True)
class ScriptedAgent:
    """Runs its commands one after the other, then submits.

    Attributes:
        name: as it was asked for.
        commands: what is left to run.
    """

    name: str
    commands: list[str] = field(default_factory=list)

    def act(self, observation: str) -> str:
        """The next command, or `cligym.SUBMIT`; what it observes changes nothing."""
        return self.commands.pop(0) if self.commands else SUBMIT


def script_command(script: str) -> str:
    """A script as one command, in a bash of its own: `exit` and `set -e` end only the script."""
    return f"bash -c {shlex.quote(script)}"


def check_agent_name(name: str) -> None:
    """Raises ConfigError when `name` is no scripted agent, or its file cannot be read."""
    kind, _, rest = name.partition(":")
    if kind == "script" and rest:
        _read_script(rest)
    elif name not in ("nop", "oracle") and not (kind == "wrong" and rest):
        raise ConfigError(f"unknown agent {name!r}; known: {_FORMS}")


def agent_applies(name: str, task: Task) -> bool:
    """Whether the task has what the agent plays (not every task has every wrong answer)."""
    kind, _, rest = name.partition(":")
    if kind == "wrong":
        return rest in task.wrong
    return name != "oracle" or task.oracle is not None


def scripted_agent(name: str, task: Task) -> ScriptedAgent:
    """Makes the agent `name` for one attempt on `task`.

    Raises:
        ConfigError: unknown name, unreadable file, or the task has no such script.
    """
    check_agent_name(name)
    kind, _, rest = name.partition(":")
    if name == "nop":
        return ScriptedAgent(name)
    if not agent_applies(name, task):
        known = ", ".join(sorted(task.wrong)) or "none"
        raise ConfigError(f"task {task.task_id} has no {name}; its wrong answers: {known}")
    if kind == "script":
        script = _read_script(rest)
    else:
        script = task.wrong[rest] if kind == "wrong" else task.oracle or ""
    return ScriptedAgent(name, [script_command(script)])


def _read_script(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise ConfigError(f"cannot read script {path}: {reason}") from error
