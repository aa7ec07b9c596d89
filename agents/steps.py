"""A record's messages as steps of a conversation: what exports and pages are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Call", "Step", "steps_of"]


@dataclass(slots=True, kw_only=True)
class Call:
    """A command and what it gave; `output` is None when no result was shown."""

    command: str
    output: str | None = None


@dataclass(slots=True, kw_only=True)
class Step:
    """One message, an assistant's with the results of its calls.

    Attributes:
        source: `system`, `user` or `agent`.
        text: what was said.
        thinking: the model's reasoning, "" without.
        calls: commands, in order.
    """

    source: str
    text: str
    thinking: str = ""
    calls: list[Call] = field(default_factory=list)


def steps_of(messages: Sequence[dict[str, Any]]) -> list[Step]:
    """The steps, in order; a tool's message belongs to the first call that still waits."""
    steps: list[Step] = []
    waiting: list[Call] = []
    for message in messages:
        text = str(message.get("content") or "")
        if message["role"] == "tool" and waiting:
            waiting.pop(0).output = text
            continue
        source = "agent" if message["role"] == "assistant" else message["role"]
        if source not in ("agent", "system"):
            source = "user"
        calls = [
            Call(command=str(call["function"]["arguments"]["command"]))
            for call in message.get("tool_calls") or ()
        ]
        waiting = list(calls) or waiting
        steps.append(
            Step(
                source=source,
                text=text,
                thinking=str(message.get("reasoning_content") or ""),
                calls=calls,
            )
        )
    return steps
