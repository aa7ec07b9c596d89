"""Chat messages of an attempt, and how many tokens they can take where nobody can count them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib import resources
from typing import Any

from cligym.agents.tool_calls import BashCall, CallError, ParsedAnswer

__all__ = [
    "answer_text",
    "assistant_message",
    "error_text",
    "estimate_tokens",
    "repair_prompt",
    "tool_message",
]

_MESSAGE_TOKENS = 16
_TOOLS_TOKENS = 256


def repair_prompt() -> str:
    """The system prompt that is shipped: `configs/prompts/repair.md`."""
    file = resources.files("cligym.configs") / "prompts" / "repair.md"
    return file.read_text(encoding="utf-8").strip()


def assistant_message(answer: ParsedAnswer, text: str) -> dict[str, Any]:
    """What the model said, as a chat message.

    An answer whose calls cannot all be read is kept as it was written, so that the model sees its
    own mistake; its good calls, if any, stand in `tool_calls` too and are left out of the text.
    """
    calls = [call for call in answer.calls if isinstance(call, BashCall)]
    message: dict[str, Any] = {"role": "assistant", "content": answer.content}
    if answer.thinking:
        message["reasoning_content"] = answer.thinking
    if calls:
        message["tool_calls"] = [
            {"type": "function", "function": {"name": "bash", "arguments": {"command": c.command}}}
            for c in calls
        ]
    elif answer.calls:
        message["content"] = _without_thinking(text)
    return message


def tool_message(content: str) -> dict[str, Any]:
    """What a call of bash gave."""
    return {"role": "tool", "name": "bash", "content": content}


def error_text(error: CallError) -> str:
    """How the model is told that a call cannot be read."""
    return (
        f"[this tool call could not be read and nothing was run: {error.reason}. It began: "
        f"{error.text}]"
    )


def answer_text(message: dict[str, Any]) -> str:
    """An assistant's message as a model would have written it, its calls in the JSON form."""
    parts = []
    if message.get("reasoning_content"):
        parts.append(f"<think>\n{message['reasoning_content']}\n</think>\n")
    if message.get("content"):
        parts.append(str(message["content"]))
    for call in message.get("tool_calls") or ():
        function = call["function"]
        value = {"name": function["name"], "arguments": function["arguments"]}
        parts.append(f"<tool_call>\n{json.dumps(value)}\n</tool_call>")
    return "\n".join(parts)


def estimate_tokens(
    messages: Sequence[dict[str, Any]], tools: Sequence[dict[str, Any]] = ()
) -> int:
    """An upper estimate: a token of a byte-level vocabulary holds at least one byte of text."""
    texts = [json.dumps(value, ensure_ascii=False) for value in (*messages, *tools)]
    size = sum(len(text.encode("utf-8", "surrogatepass")) for text in texts)
    return size + _MESSAGE_TOKENS * len(messages) + (_TOOLS_TOKENS if tools else 0)


def _without_thinking(text: str) -> str:
    _, closed, answer = text.partition("</think>")
    return (answer if closed else text).strip()
