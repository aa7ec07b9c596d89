"""A model that repairs machines: asks it, runs its calls of bash, keeps what was said.

The system prompt and the task open the conversation. Each answer may hold several calls: they are
one round, run in order, none dropped. A call that cannot be read is told to the model and counted.
An attempt ends for the model in one of these ways:

    stopped         an answer without a call
    truncated       an answer that was cut at its token limit, without a whole call in it
    length_budget   no room for a further answer, or for a command's output (the command has run)
    max_tool_turns  too many answers (calls that cannot be read use no commands)
    attempt_timeout the attempt's wall time is used up; off by default, since it depends on a clock

The environment's own ends are `max_commands`, `sandbox_destroyed` and `infra_error`.
"""

from __future__ import annotations

import hashlib
import time
from collections import deque
from dataclasses import asdict, dataclass
from typing import Any

from cligym.agents.conversation import (
    assistant_message,
    error_text,
    estimate_tokens,
    repair_prompt,
    tool_message,
)
from cligym.agents.model_client import Completion, ModelClient, Sampling
from cligym.agents.records import BASH_TOOL
from cligym.agents.token_record import token_fields
from cligym.agents.tool_calls import BashCall, CallError, ParsedAnswer, parse_answer
from cligym.constants import SUBMIT

__all__ = ["AgentSettings", "ModelAgent", "turn_seed"]

_NOT_RUN = "[not run: the commands are used up]"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSettings:
    """Budgets of a model (defaults: the published runs, FACTS.md 3.3)."""

    window_tokens: int = 32_768
    """Tokens of the context: prompt and answer together."""
    completion_tokens: int = 28_000
    """Tokens of all answers and all tool output of an attempt."""
    turn_tokens: int = 0
    """Longest answer; 0 leaves it to the two budgets above."""
    max_turns: int = 60
    """Answers of an attempt, those without a readable call included."""
    attempt_s: float = 0.0
    """Wall time of an attempt in seconds, looked at before each command and answer; 0: no limit."""


def turn_seed(seed: int, turn: int) -> int:
    """The seed of one answer, from that of its attempt: 31 bits, as servers take them."""
    digest = hashlib.sha256(f"{seed}|{turn}".encode()).hexdigest()
    return int(digest[:8], 16) & 0x7FFF_FFFF


class ModelAgent:
    """Plays one attempt; made anew for each.

    Args:
        name: as records carry it.
        client: where answers come from.
        seed: of the attempt.
        sampling: how answers are drawn.
        settings: budgets.
        system_prompt: None takes the shipped one.
    """

    def __init__(
        self,
        name: str,
        client: ModelClient,
        *,
        seed: int,
        sampling: Sampling = Sampling(),
        settings: AgentSettings | None = None,
        system_prompt: str | None = None,
    ) -> None:
        self.name = name
        self._client = client
        self._seed = seed
        self._sampling = sampling
        self._settings = settings or AgentSettings()
        prompt = repair_prompt() if system_prompt is None else system_prompt
        self.messages: list[dict[str, Any]] = [{"role": "system", "content": prompt}]
        self.turns: list[Completion] = []
        self.parse_errors = 0
        self.refused_calls = 0
        self.end_reason = ""
        self._pending: deque[BashCall | CallError] = deque()
        self._running = False
        self._started_tokens = 0
        self._counted = 0  # messages that the last answer's token counts cover
        self._model_s = 0.0
        self._began = time.monotonic()

    def act(self, observation: str) -> str:
        """The next command, or `cligym.SUBMIT`.

        Raises:
            ModelCallError: the model's engine failed.
        """
        if self._running:
            self._hear(observation)
        else:
            self.messages.append({"role": "user", "content": observation})
        while not self.end_reason and not self._is_late():
            command = self._next_command()
            if command is not None:
                self._running = True
                return command
            self._ask()
        return SUBMIT

    def finish(self, observation: str | None) -> dict[str, Any]:
        """The fields of the attempt's record that the model's side knows.

        Args:
            observation: of the last command, when the environment ended the attempt with it.
        """
        if observation is not None:
            self._hear(observation)
            self._refuse_pending()
        facts = self._client.describe()
        return {
            "messages": self.messages,
            "model": self._client.name,
            "sampling": asdict(self._sampling) | asdict(self._settings),
            "parse_errors": self.parse_errors,
            "refused_calls": self.refused_calls,
            "usage": {
                "turns": len(self.turns),
                "prompt_tokens": sum(turn.prompt_tokens for turn in self.turns),
                "completion_tokens": sum(turn.completion_tokens for turn in self.turns),
            },
            **facts,
            **token_fields(self.turns, facts),
        }

    @property
    def model_seconds(self) -> float:
        """Wall time of the model calls."""
        return self._model_s

    def _is_late(self) -> bool:
        """Ends an attempt that has taken too long."""
        limit = self._settings.attempt_s
        if limit and time.monotonic() - self._began > limit:
            self.end_reason = "attempt_timeout"
            self._refuse_pending()
            return True
        return False

    def _next_command(self) -> str | None:
        """The next call of the round; errors on the way to it are told to the model."""
        while self._pending:
            call = self._pending.popleft()
            if isinstance(call, BashCall):
                return call.command
            self.parse_errors += 1
            # No tool call of the message belongs to it, so it is not a tool's message.
            self.messages.append({"role": "user", "content": error_text(call)})
        return None

    def _hear(self, observation: str) -> None:
        """Adds a command's output, unless no room is left for it."""
        self._running = False
        self.messages.append(tool_message(observation))
        if self._room() < 0:
            self.messages.pop()
            self.end_reason = "length_budget"
            self._refuse_pending()

    def _refuse_pending(self) -> None:
        for call in self._pending:
            if isinstance(call, CallError):
                self.parse_errors += 1
            else:
                self.refused_calls += 1
                if not self.end_reason:
                    self.messages.append(tool_message(_NOT_RUN))
        self._pending.clear()

    def _ask(self) -> None:
        """One answer of the model, or the end of the attempt."""
        room = self._room()
        if len(self.turns) >= self._settings.max_turns:
            self.end_reason = "max_tool_turns"
            return
        if room < 1:
            self.end_reason = "length_budget"
            return
        limit = min(room, self._settings.turn_tokens or room)
        started = time.monotonic()
        completion = self._client.complete(
            self.messages,
            [BASH_TOOL],
            sampling=self._sampling,
            max_tokens=limit,
            seed=turn_seed(self._seed, len(self.turns)),
        )
        self._model_s += time.monotonic() - started
        if not self.turns:
            self._started_tokens = completion.prompt_tokens
        self.turns.append(completion)
        cut = completion.finish_reason == "length"
        answer = parse_answer(completion.text, cut=cut)
        self.messages.append(assistant_message(answer, completion.text))
        self._counted = len(self.messages)
        self._take(answer, cut=cut)

    def _take(self, answer: ParsedAnswer, *, cut: bool) -> None:
        whole = any(isinstance(call, BashCall) for call in answer.calls)
        if cut and not whole:
            self.parse_errors += len(answer.calls)
            self.end_reason = "truncated"
        elif not answer.calls:
            self.end_reason = "stopped"
        else:
            # Results follow their calls directly; what could not be read is told after them.
            self._pending.extend(sorted(answer.calls, key=lambda c: isinstance(c, CallError)))

    def _room(self) -> int:
        """Tokens that the next answer may have; negative when the messages are too many."""
        prompt = self._prompt_tokens()
        budget = self._settings.completion_tokens
        if self.turns:
            budget -= prompt - self._started_tokens
        return min(self._settings.window_tokens - prompt, budget)

    def _prompt_tokens(self) -> int:
        """Tokens of the next prompt, never fewer than there will be."""
        counted = self._client.count_tokens(self.messages, [BASH_TOOL])
        if counted is not None:
            return counted
        if not self.turns or not self.turns[-1].prompt_tokens:
            return estimate_tokens(self.messages, [BASH_TOOL])
        last = self.turns[-1]
        known = last.prompt_tokens + last.completion_tokens
        return known + estimate_tokens(self.messages[self._counted :])
