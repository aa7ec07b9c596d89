"""Reads an assistant's rendered turn back: reasoning, text, tool calls.

The mask proof needs a reader that knows nothing of the template it checks. Two forms of tool calls
exist in the Qwen family: JSON inside `<tool_call>` (Qwen2.5, Qwen3), and `<function=…>` with
`<parameter=…>` inside it (Qwen3-Coder, Qwen3.5 and later).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["AssistantTurn", "expected_turn", "read_as", "read_turn"]

_OPEN, _CLOSE = "<tool_call>", "</tool_call>"
_FUNCTION = re.compile(r"\s*<function=([^>\n]+)>\n(.*?)</function>\s*</tool_call>", re.DOTALL)
_PARAMETER = re.compile(r"<parameter=([^>\n]+)>\n(.*?)\n</parameter>\n?", re.DOTALL)
_THINK_END = "</think>"


@dataclass(frozen=True, slots=True, kw_only=True)
class AssistantTurn:
    """What an assistant said in one turn, without the white space that templates add.

    Attributes:
        reasoning: text of its think block, "" without one.
        content: visible text before the tool calls.
        calls: name and arguments of each tool call; arguments are JSON text with sorted keys.
    """

    reasoning: str
    content: str
    calls: tuple[tuple[str, str], ...]


def expected_turn(message: Mapping[str, Any]) -> AssistantTurn:
    """Says what a conversation's assistant message holds."""
    reasoning = str(message.get("reasoning_content") or "")
    content = str(message.get("content") or "")
    if not reasoning and _THINK_END in content:
        reasoning, content = _split_think(content)
    calls = []
    for call in message.get("tool_calls") or ():
        function = call.get("function", call)
        arguments = function["arguments"]
        if isinstance(arguments, str):
            arguments = json.loads(arguments)
        calls.append((str(function["name"]), _canonical(arguments)))
    return AssistantTurn(reasoning=reasoning.strip(), content=content.strip(), calls=tuple(calls))


def read_as(expected: AssistantTurn, text: str) -> AssistantTurn | None:
    """Reads a turn's text that is expected to say this.

    A call that could not be read when it was made stands in the message's content as it was
    written. Such a content is taken off the text as a whole, and the rest is read.
    """
    if _OPEN not in expected.content:
        return read_turn(text)
    reasoning, rest = _split_think(text) if _THINK_END in text else ("", text)
    if not rest.strip().startswith(expected.content):
        return None
    read = read_turn(rest.strip().removeprefix(expected.content))
    if read is None or read.content or read.reasoning:
        return None
    return AssistantTurn(reasoning=reasoning.strip(), content=expected.content, calls=read.calls)


def read_turn(text: str) -> AssistantTurn | None:
    """Reads a turn's text, without its end-of-turn token.

    Returns:
        The turn, or None where a tool call in it is malformed.
    """
    reasoning, rest = _split_think(text) if _THINK_END in text else ("", text)
    content, calls = rest, []
    position = rest.find(_OPEN)
    if position >= 0:
        content = rest[:position]
        while position >= 0:
            read = _read_call(rest, position + len(_OPEN))
            if read is None:
                return None
            name, arguments, end = read
            calls.append((name, arguments))
            following = rest[end:].lstrip()
            if following and not following.startswith(_OPEN):
                return None
            position = rest.find(_OPEN, end)
    return AssistantTurn(reasoning=reasoning.strip(), content=content.strip(), calls=tuple(calls))


def _split_think(text: str) -> tuple[str, str]:
    """Splits at the first end of a think block."""
    reasoning, _, rest = text.partition(_THINK_END)
    return reasoning.replace("<think>", "", 1), rest


def _read_call(text: str, start: int) -> tuple[str, str, int] | None:
    """Reads one call that begins after its opening tag: name, arguments, where it ends."""
    body = text[start:].lstrip()
    offset = len(text) - len(body)
    if body.startswith("{"):
        try:
            call, used = json.JSONDecoder().raw_decode(body)
        except ValueError:
            return None
        closing = text.find(_CLOSE, offset + used)
        if closing < 0 or text[offset + used : closing].strip():
            return None
        if not isinstance(call.get("name"), str) or not isinstance(call.get("arguments"), dict):
            return None
        return call["name"], _canonical(call["arguments"]), closing + len(_CLOSE)
    found = _FUNCTION.match(text, start)
    if found is None:
        return None
    arguments = dict(_PARAMETER.findall(found.group(2)))
    return found.group(1), _canonical(arguments), found.end()


def _canonical(arguments: Mapping[str, Any]) -> str:
    """Writes arguments so that equal ones are equal text; the XML form knows only text values."""
    plain = {
        key: value if isinstance(value, str) else json.dumps(value, sort_keys=True)
        for key, value in arguments.items()
    }
    return json.dumps(plain, sort_keys=True)
