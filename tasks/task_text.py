"""Reads task.yaml, also the few in a hundred that are no valid YAML."""

from __future__ import annotations

import re
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from cligym.errors import TaskError

__all__ = ["TaskText", "read_task_text"]

# A key of ours or of the usual ones starts in small letters: "Hint:" at the margin is text.
_TOP_LEVEL_KEY = re.compile(r"^[a-z][a-z0-9_]*:(?:\s|$)")
_INSTRUCTION = re.compile(r"^instruction:[ \t]*(?P<rest>.*)$", re.MULTILINE)
_BLOCK_MARK = re.compile(r"[|>][+-]?\d?[+-]?[ \t]*(?:#.*)?")


class TaskText(BaseModel):
    """What we read from task.yaml; keys of other programs are let pass."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    instruction: str
    repository: str = ""
    licence: str = ""
    split: Literal["", "train", "heldout"] = ""
    faults: str = ""
    needs: tuple[Literal["id-range"], ...] = ()
    max_test_timeout_sec: float = Field(default=1500.0, gt=0, le=86400)


def read_task_text(task_yaml: str, instruction: str = "") -> TaskText:
    """Reads the text of a task.yaml.

    Args:
        task_yaml: the file's text; may be "" when `instruction` is given.
        instruction: takes the place of the one in the file unless "".

    Raises:
        TaskError: there is no instruction, or a key of ours has a wrong value.
    """
    found = _parse(task_yaml)
    if instruction.strip():
        found["instruction"] = instruction
    if not isinstance(found.get("instruction"), str):
        found["instruction"] = _text_of_instruction(task_yaml)
    found["instruction"] = str(found["instruction"]).strip()
    if not found["instruction"]:
        raise TaskError("task.yaml holds no instruction")
    try:
        return TaskText.model_validate(found)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise TaskError(f"task.yaml, key {where}: {first['msg']}") from error


def _parse(text: str) -> dict[str, object]:
    try:
        found = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError, ValueError):
        return {}  # hostile or broken: the instruction is then cut out of the text
    if not isinstance(found, dict):
        return {}
    return {key: value for key, value in found.items() if isinstance(key, str)}


def _text_of_instruction(text: str) -> str:
    """What stands between `instruction:` and the next top-level key, its margin removed."""
    start = _INSTRUCTION.search(text)
    if start is None:
        return ""
    lines: list[str] = []
    for line in text[start.end() :].split("\n")[1:]:
        if _TOP_LEVEL_KEY.match(line):
            break
        lines.append(line)
    first = next((line for line in lines if line.strip()), "")
    margin = len(first) - len(first.lstrip(" "))
    rest = start["rest"].strip()
    head = [] if _BLOCK_MARK.fullmatch(rest) else [rest]
    return "\n".join([*head, *(_without_margin(line, margin) for line in lines)])


def _without_margin(line: str, margin: int) -> str:
    own = len(line) - len(line.lstrip(" "))
    return line[min(own, margin) :].rstrip()
