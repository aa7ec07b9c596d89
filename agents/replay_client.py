"""Plays recorded answers: a model for tests, and for seeing an attempt again.

A recording is a file of JSON lines, `{"task_id": "a", "attempt": 0, "answers": ["...", "..."]}`;
a line without `attempt` serves every attempt of its task, `"task_id": "*"` every task. Records of
attempts (`episodes.jsonl`) are recordings too: their assistant's messages are the answers. Which
answer comes next depends on the conversation alone, so a killed run goes on with the right one.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cligym.agents.conversation import answer_text, estimate_tokens
from cligym.agents.model_client import Completion, Sampling
from cligym.errors import ConfigError, ModelCallError

__all__ = ["Recording", "ReplayClient"]

ANY_TASK = "*"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """Answers by task and attempt.

    Attributes:
        answers: (task, attempt or None for every one) -> answers in order.
        digest: of the file, for the records.
    """

    answers: dict[tuple[str, int | None], tuple[str, ...]]
    digest: str

    @classmethod
    def read(cls, path: Path) -> Recording:
        """Reads a file.

        Raises:
            ConfigError: it cannot be read, or a line is no recording.
        """
        try:
            data = path.read_bytes()
        except OSError as error:
            raise ConfigError(f"cannot read recording {path}: {error.strerror}") from error
        answers: dict[tuple[str, int | None], tuple[str, ...]] = {}
        for number, line in enumerate(data.splitlines(), start=1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
                answers[(str(row["task_id"]), row.get("attempt"))] = _answers(row)
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise ConfigError(
                    f"{path}, line {number}: no recording; it needs task_id, and answers (a list "
                    "of texts) or messages"
                ) from error
        if not answers:
            raise ConfigError(f"recording {path} is empty")
        return cls(answers=answers, digest="sha256:" + hashlib.sha256(data).hexdigest())

    def client(self, task_id: str, attempt: int) -> ReplayClient:
        """The client that plays one attempt; where nothing is recorded, its first call fails."""
        for key in ((task_id, attempt), (task_id, None), (ANY_TASK, attempt), (ANY_TASK, None)):
            if key in self.answers:
                return ReplayClient(self.answers[key])
        return ReplayClient(())


def _answers(row: dict[str, Any]) -> tuple[str, ...]:
    if "answers" in row:
        if not all(isinstance(text, str) for text in row["answers"]):
            raise TypeError
        return tuple(row["answers"])
    return tuple(answer_text(m) for m in row["messages"] if m["role"] == "assistant")


class ReplayClient:
    """Gives the answers of one recording in order.

    Args:
        answers: what the model said.
    """

    name = "replay"

    def __init__(self, answers: Sequence[str]) -> None:
        self._answers = tuple(answers)

    def describe(self) -> dict[str, Any]:
        """Nothing more is known."""
        return {}

    def count_tokens(
        self, messages: Sequence[dict[str, Any]], tools: Sequence[dict[str, Any]]
    ) -> int | None:
        """There is no tokenizer."""
        return None

    def complete(
        self,
        messages: Sequence[dict[str, Any]],
        tools: Sequence[dict[str, Any]],
        *,
        sampling: Sampling,
        max_tokens: int,
        seed: int,
    ) -> Completion:
        """The answer whose number is that of the answers given so far.

        Raises:
            ModelCallError: the recording has no further answer.
        """
        turn = sum(message["role"] == "assistant" for message in messages)
        if turn >= len(self._answers):
            raise ModelCallError(
                f"the recording has {len(self._answers)} answers, and answer {turn + 1} was asked"
            )
        text = self._answers[turn]
        return Completion(
            text=text,
            prompt_tokens=estimate_tokens(messages, tools),
            completion_tokens=len(text.encode()),
        )

    def close(self) -> None:
        """Nothing to let go."""
