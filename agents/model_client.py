"""The small protocol that every source of model answers meets.

A client takes a conversation and gives one answer as raw text, tool calls included as the model
wrote them. `openai_client.py`, `transformers_client.py` and `replay_client.py` are the ones we
ship; anything of this form will do. `model_source.py` opens them by a word.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

__all__ = ["Completion", "ModelClient", "Sampling"]

ChatMessage = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """How answers are drawn (defaults: the published runs, FACTS.md 3.3)."""

    temperature: float = 0.7
    """0 takes the most likely token."""
    top_p: float = 0.95
    """Share of probability that is kept."""
    top_k: int = 20
    """Tokens that are kept; 0 keeps all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """One answer.

    Attributes:
        text: what was sampled, without the end-of-turn token.
        finish_reason: `stop` or `length`.
        prompt_tokens: tokens of the prompt.
        completion_tokens: tokens sampled.
        prompt_ids: the prompt's token ids as the engine saw them, or None.
        completion_ids: the sampled ids, end-of-turn token included, or None.
        logprobs: of the sampled ids, or None.
        ids_source: `engine` for ids that the engine gave or that we sampled ourselves, `rerender`
            for ids made from text afterwards, "" when there are none.
    """

    text: str
    finish_reason: str = "stop"
    prompt_tokens: int = 0
    completion_tokens: int = 0
    prompt_ids: tuple[int, ...] | None = None
    completion_ids: tuple[int, ...] | None = None
    logprobs: tuple[float, ...] | None = None
    ids_source: str = ""


class ModelClient(Protocol):
    """Where answers come from; used by many threads at once."""

    @property
    def name(self) -> str:
        """The model's name as records carry it: no address, port or secret."""

    def describe(self) -> dict[str, Any]:
        """Further facts for the records: `model_revision`, `adapter_digest`,
        `chat_template_sha256`, `chat_template_kwargs`, where they are known.
        """

    def count_tokens(
        self, messages: Sequence[ChatMessage], tools: Sequence[dict[str, Any]]
    ) -> int | None:
        """Tokens of the rendered prompt; None where no tokenizer is at hand."""

    def complete(
        self,
        messages: Sequence[ChatMessage],
        tools: Sequence[dict[str, Any]],
        *,
        sampling: Sampling,
        max_tokens: int,
        seed: int,
    ) -> Completion:
        """The next answer.

        Raises:
            ModelCallError: the engine failed or does not answer; an infra error.
        """

    def close(self) -> None:
        """Lets connections and memory go; idempotent."""
