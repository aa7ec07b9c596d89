"""Who acts in the small loop: a local model, the narrated known repair, a memorised script."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from cligym.agents.records import BASH_TOOL, AttemptRecord
from cligym.agents.scripted import ScriptedAgent
from cligym.agents.tool_calls import BashCall, parse_answer
from cligym.constants import SUBMIT
from cligym.tasks.procedural import Variant
from cligym.training.batch_sampler import BatchSampler

__all__ = ["SYSTEM_PROMPT", "LocalModelAgent", "memorised_script", "narrate", "narrated_agent"]

SYSTEM_PROMPT = "You repair a Python project in /testbed. Run one command at a time."
OBSERVATION_CHARACTERS = 600


class LocalModelAgent:
    """Lets a local model act: one call of bash a turn, done when it makes no call.

    Args:
        name: as records carry it.
        sampler: the model.
        seed: of the attempt; each turn's is derived from it.
    """

    def __init__(self, name: str, sampler: BatchSampler, *, seed: int) -> None:
        self.name = name
        self._sampler = sampler
        self._seed = seed
        self._messages: list[dict[str, Any]] = [{"role": "system", "content": SYSTEM_PROMPT}]

    def act(self, observation: str) -> str:
        """Shows the model what happened and takes its first call."""
        role = "tool" if len(self._messages) > 1 else "user"
        text = observation[-OBSERVATION_CHARACTERS:] if role == "tool" else observation
        self._messages.append({"role": role, "content": text})
        turn = f"{self._seed}|{len(self._messages)}"
        seed = int(hashlib.sha256(turn.encode()).hexdigest()[:8], 16)
        text = self._sampler.answer(self._messages, [BASH_TOOL], seed=seed)
        answer = parse_answer(text)
        call = next((call for call in answer.calls if isinstance(call, BashCall)), None)
        if call is None:
            return SUBMIT
        self._messages.append(_assistant(answer.content, call.command))
        return call.command


def narrated_agent(variant: Variant) -> ScriptedAgent:
    """Plays the known repair of a generated task, turn by turn."""
    return ScriptedAgent("narrated-oracle", [step.command for step in variant.steps])


def narrate(record: AttemptRecord, variant: Variant) -> AttemptRecord:
    """Gives a played repair its words: what a person would say at each turn and at the end.

    The commands and what they printed stay as they happened.
    """
    observations = [message for message in record.messages if message["role"] == "tool"]
    user = next(message for message in record.messages if message["role"] == "user")
    messages: list[dict[str, Any]] = [{"role": "system", "content": SYSTEM_PROMPT}, user]
    for step, seen in zip(variant.steps, observations, strict=True):
        messages.append(_assistant(step.say, step.command))
        messages.append({**seen, "content": seen["content"][-OBSERVATION_CHARACTERS:]})
    messages.append({"role": "assistant", "content": variant.closing})
    return record.model_copy(update={"messages": messages})


def memorised_script(variants: Iterable[Variant], *, length: int) -> Sequence[str]:
    """The commonest commands of the training repairs, the more frequent first.

    A model that only remembers commands can do no better than this on tasks it has never seen.
    """
    counted = Counter(step.command for variant in variants for step in variant.steps)
    return [command for command, _ in sorted(counted.items(), key=lambda c: (-c[1], c[0]))][:length]


def _assistant(content: str, command: str) -> dict[str, Any]:
    """An assistant's message with one call of bash."""
    call = {"type": "function", "function": {"name": "bash", "arguments": {"command": command}}}
    return {"role": "assistant", "content": content, "tool_calls": [call]}
