"""Reads the tool calls out of a model's raw text: the exact command, or a parse error.

Two forms exist among Qwen models, both between `<tool_call>` and `</tool_call>`:

    {"name": "bash", "arguments": {"command": "..."}}                     Qwen2.5, Qwen3
    <function=bash> <parameter=command> ... </parameter> </function>      Qwen3-Coder, Qwen3.5

A call is never guessed: cut text, damaged JSON, an unknown tool, a missing or empty command each
become a `CallError` that the model is told and that is counted. No second call is dropped, no
empty command is run, and calls inside a `<think>` block are thoughts, not calls.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

__all__ = ["BashCall", "CallError", "ParsedAnswer", "parse_answer"]

_OPEN = "<tool_call>"
_CLOSE = "</tool_call>"
_FUNCTION = re.compile(r"\s*<function=(?P<name>[^>\n]+)>\s*")
_PARAMETER = re.compile(r"<parameter=(?P<name>[^>\n]+)>")
_XML_END = re.compile(r"</parameter>\s*</function>\s*</tool_call>")
_THINK_END = "</think>"
_DECODER = json.JSONDecoder(strict=False)  # models write line ends into JSON strings as they are


@dataclass(frozen=True, slots=True, kw_only=True)
class BashCall:
    """A command, byte for byte as the model wrote it."""

    command: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CallError:
    """Something that was meant as a call but is none.

    Attributes:
        reason: one sentence, in words that help a model to do better.
        text: the piece of the answer it is about, at most 200 characters.
    """

    reason: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedAnswer:
    """An answer taken apart.

    Attributes:
        thinking: text of the think block, "" without one.
        content: text before the first call.
        calls: calls and errors, in order; empty when the model just talks.
    """

    thinking: str
    content: str
    calls: tuple[BashCall | CallError, ...]


class _BadCallError(Exception):
    """Why a call cannot be read."""


def parse_answer(text: str, *, cut: bool = False) -> ParsedAnswer:
    """Takes a model's answer apart.

    Args:
        text: what was sampled, special tokens left out, with or without an opening `<think>`.
        cut: whether it ended at a token limit.
    """
    thinking, answer = _split_thinking(text, cut=cut)
    content, opened, _ = answer.partition(_OPEN)
    calls = tuple(_calls(answer[len(content) :])) if opened else ()
    if not calls and _CLOSE in answer:
        calls = (_error("a tool call was closed that was never opened", answer),)
    return ParsedAnswer(thinking=thinking, content=content.strip(), calls=calls)


def _split_thinking(text: str, *, cut: bool) -> tuple[str, str]:
    """Thought and answer; an open thought that was cut has no answer."""
    stripped = text.lstrip()
    if stripped.startswith("<think>"):
        thought, closed, answer = stripped.removeprefix("<think>").partition(_THINK_END)
        if closed:
            return thought.strip(), answer
        return thought.strip(), ""
    thought, closed, answer = text.partition(_THINK_END)
    if closed and _OPEN not in thought:
        return thought.strip(), answer  # the template itself had opened the block
    return "", text


def _calls(text: str) -> Iterator[BashCall | CallError]:
    """Calls of a text that begins with an opening tag."""
    position = 0
    while (start := text.find(_OPEN, position)) >= 0:
        begin = start + len(_OPEN)
        try:
            command, position = _one_call(text, begin)
            yield BashCall(command=command)
        except _BadCallError as problem:
            yield _error(str(problem), text[start:])
            position = _after_bad_call(text, begin)


def _after_bad_call(text: str, begin: int) -> int:
    end = text.find(_CLOSE, begin)
    return end + len(_CLOSE) if end >= 0 else len(text)


def _error(reason: str, text: str) -> CallError:
    return CallError(reason=reason, text=text[:200])


def _one_call(text: str, begin: int) -> tuple[str, int]:
    """Command of the call whose body starts at `begin`, and where the text goes on."""
    if _FUNCTION.match(text, begin):
        return _xml_call(text, begin)
    return _json_call(text, begin)


def _xml_call(text: str, begin: int) -> tuple[str, int]:
    function = _FUNCTION.match(text, begin)
    assert function is not None  # the caller looked
    _check_tool(function["name"].strip())
    parameter = _PARAMETER.match(text, function.end())
    if parameter is None:
        if _CLOSE not in text[begin:]:
            raise _BadCallError("the call was cut off before it was closed")
        raise _BadCallError("the call has no parameter `command`")
    if parameter["name"].strip() != "command":
        raise _BadCallError(
            f"`bash` has no parameter {parameter['name'].strip()!r}, only `command`"
        )
    # The first whole run of closing tags ends the call: a lone </parameter> is part of a command.
    end = _XML_END.search(text, parameter.end())
    if end is None:
        raise _BadCallError("the call was cut off before it was closed")
    command = text[parameter.end() : end.start()].removeprefix("\n").removesuffix("\n")
    if "<parameter=" in command and "</parameter>" in command:
        raise _BadCallError("the call has more than one parameter; `bash` takes only `command`")
    return _check_command(command), end.end()


def _json_call(text: str, begin: int) -> tuple[str, int]:
    start = begin + len(text[begin:]) - len(text[begin:].lstrip())
    try:
        value, end = _DECODER.raw_decode(text, start)
    except ValueError as error:
        if _CLOSE not in text[start:]:
            raise _BadCallError("the call was cut off before it was closed") from error
        raise _BadCallError("the call is not valid JSON") from error
    rest = text[end:].lstrip()
    if not rest.startswith(_CLOSE):
        if _CLOSE.startswith(rest.rstrip()):
            raise _BadCallError("the call was cut off before it was closed")
        raise _BadCallError("there is text between the call's JSON and its closing tag")
    after = text.index(_CLOSE, end) + len(_CLOSE)
    return _check_command(_json_command(value)), after


def _json_command(value: Any) -> Any:
    if not isinstance(value, dict) or "name" not in value:
        raise _BadCallError('the call is no object with "name" and "arguments"')
    _check_tool(value["name"])
    arguments = value.get("arguments")
    if isinstance(arguments, str):
        try:
            arguments = _DECODER.decode(arguments)
        except ValueError as error:
            raise _BadCallError("the arguments are a text that is not valid JSON") from error
    if not isinstance(arguments, dict):
        raise _BadCallError("the arguments are no object")
    unknown = sorted(set(arguments) - {"command"})
    if unknown:
        raise _BadCallError(f"`bash` has no parameter {unknown[0]!r}, only `command`")
    return arguments.get("command")


def _check_tool(name: object) -> None:
    if name != "bash":
        raise _BadCallError(f"there is no tool {name!r}, only `bash`")


def _check_command(command: object) -> str:
    if not isinstance(command, str):
        raise _BadCallError("`command` is missing or is no text")
    if not command.strip():
        raise _BadCallError("`command` is empty")
    return command
