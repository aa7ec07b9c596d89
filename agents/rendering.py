"""Renders conversations with a model's own chat template, and encodes them; no engine in it."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cligym.errors import ConfigError, ModelCallError, boundary
from cligym.extras import needs_extra

__all__ = ["ChatRenderer", "load_tokenizer"]


def load_tokenizer(folder: Path) -> Any:
    """The tokenizer of a folder.

    Raises:
        ConfigError: it cannot be read, or has no chat template.
        DependencyError: transformers is missing.
    """
    with needs_extra("train", "a local tokenizer"):
        from transformers import AutoTokenizer
    with boundary(ConfigError, f"cannot read a tokenizer from {folder}"):
        tokenizer = AutoTokenizer.from_pretrained(str(folder), local_files_only=True)
    if not tokenizer.chat_template:
        raise ConfigError(f"the tokenizer of {folder} has no chat template")
    return tokenizer


class ChatRenderer:
    """A tokenizer with its template.

    Args:
        tokenizer: a transformers tokenizer.
        thinking: `enable_thinking` of the template; None leaves it to the template.
    """

    def __init__(self, tokenizer: Any, *, thinking: bool | None = None) -> None:
        self.tokenizer = tokenizer
        self._lock = threading.Lock()  # fast tokenizers refuse two threads at once ("borrowed")
        self._options: dict[str, Any] = {} if thinking is None else {"enable_thinking": thinking}

    def describe(self) -> dict[str, Any]:
        """Digest and options of the template."""
        template = str(self.tokenizer.chat_template)
        return {
            "chat_template_sha256": hashlib.sha256(template.encode()).hexdigest(),
            "chat_template_kwargs": self._options or None,
        }

    def prompt_ids(
        self, messages: Sequence[dict[str, Any]], tools: Sequence[dict[str, Any]]
    ) -> tuple[int, ...]:
        """The prompt that asks for the next answer.

        Raises:
            ModelCallError: the template refuses the conversation.
        """
        with boundary(ModelCallError, "the chat template refuses the conversation"):
            text = self.tokenizer.apply_chat_template(
                list(messages),
                tools=list(tools) or None,
                tokenize=False,
                add_generation_prompt=True,
                **self._options,
            )
        return self.encode(str(text))

    def encode(self, text: str) -> tuple[int, ...]:
        """Token ids of a text that holds its special tokens already."""
        with self._lock:
            return tuple(self.tokenizer.encode(text, add_special_tokens=False))

    def without_end(self, text: str) -> str:
        """A sampled text without the end-of-turn token."""
        return text.removesuffix(str(self.tokenizer.eos_token or ""))
