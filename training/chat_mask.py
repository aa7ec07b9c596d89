"""Tokens of a conversation with a proven mask: only what the model itself would have written.

A conversation is rendered turn by turn with the tokenizer's chat template. For assistant turn k let
P be the rendering before it, with the generation prompt, and Q the rendering up to and with it.
What the model writes is Q without P, up to its end-of-turn token. The mask is proven if, on every
turn:

1. Q begins with P, and ends in exactly one end-of-turn token;
2. reading the written text back gives the message's reasoning, text and tool calls, nothing else;
3. the whole conversation begins with Q: no earlier turn is rendered differently later on;
4. its tokens are the tokens of its parts, and decoding the masked ones gives the written text.

Anything else raises with the template and the turn: training would see a history, or a loss, that
inference never has. Turn by turn (`split`), each turn is an example of its own and point 3 is void.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from cligym.errors import ConfigError
from cligym.training.assistant_text import expected_turn, read_as

__all__ = [
    "IGNORED",
    "ChatTokenizer",
    "Conversation",
    "MaskError",
    "TokenExample",
    "Written",
    "mask_conversation",
    "mask_each_turn",
    "template_digest",
]

IGNORED = -100
"""Label of a token that is no part of the loss (torch's `ignore_index`)."""

Message = Mapping[str, Any]


class MaskError(ConfigError):
    """A chat template breaks the mask; the text names the template, the turn and the reason."""


class ChatTokenizer(Protocol):
    """What is used of a transformers tokenizer."""

    chat_template: Any
    eos_token: Any

    def apply_chat_template(self, conversation: Any, **options: Any) -> Any:
        """Renders a conversation."""

    def encode(self, text: str, **options: Any) -> Any:
        """Gives token ids."""

    def decode(self, token_ids: Any, **options: Any) -> Any:
        """Gives text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """What is rendered.

    Attributes:
        messages: the messages, arguments of tool calls as objects.
        tools: JSON schemas of the tools, empty without.
        template_options: options of the chat template, such as `enable_thinking`.
    """

    messages: Sequence[Message]
    tools: Sequence[Mapping[str, Any]] = ()
    template_options: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What the model writes in one turn.

    Attributes:
        turn: position of the message.
        prompt: everything rendered before.
        text: what is written, up to and with the end-of-turn token.
    """

    turn: int
    prompt: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenExample:
    """One training sequence.

    Attributes:
        input_ids: the tokens.
        labels: the same where the model wrote them, else `IGNORED`.
    """

    input_ids: tuple[int, ...]
    labels: tuple[int, ...]

    @property
    def trained_tokens(self) -> int:
        """Number of tokens in the loss."""
        return sum(label != IGNORED for label in self.labels)


def template_digest(template: object) -> str:
    """Names a chat template by its content."""
    return hashlib.sha256(str(template).encode()).hexdigest()


def mask_conversation(
    tokenizer: ChatTokenizer, conversation: Conversation, *, name: str = ""
) -> TokenExample:
    """Makes one example of the whole conversation, with all its assistant turns in the loss.

    Args:
        tokenizer: of the model to be trained.
        conversation: what was said.
        name: what to call the chat template in messages.

    Raises:
        MaskError: the template breaks the mask on some turn.
    """
    checker = _Checker(tokenizer, conversation, name)
    turns = [checker.written(turn) for turn in checker.assistant_turns()]
    last = turns[-1]
    whole = last.prompt + last.text
    ids: list[int] = []
    labels: list[int] = []
    position = 0
    for written in turns:
        if not whole.startswith(written.prompt + written.text):
            raise checker.error(
                written.turn,
                "later turns change how it is rendered (earlier reasoning is dropped or added), so "
                "training would see a history that inference never has",
            )
        context = checker.encode(whole[position : len(written.prompt)])
        answer = checker.encode_answer(written)
        ids += context + answer
        labels += [IGNORED] * len(context) + answer
        position = len(written.prompt) + len(written.text)
    checker.check_joined(whole, ids, turns)
    return TokenExample(input_ids=tuple(ids), labels=tuple(labels))


def mask_each_turn(
    tokenizer: ChatTokenizer, conversation: Conversation, *, name: str = ""
) -> list[TokenExample]:
    """Makes one example of each assistant turn, its context rendered as inference renders it.

    Raises:
        MaskError: the template breaks the mask on some turn.
    """
    checker = _Checker(tokenizer, conversation, name)
    examples = []
    for turn in checker.assistant_turns():
        written = checker.written(turn)
        context, answer = checker.encode(written.prompt), checker.encode_answer(written)
        checker.check_joined(written.prompt + written.text, context + answer, [written])
        labels = [IGNORED] * len(context) + answer
        examples.append(TokenExample(input_ids=tuple(context + answer), labels=tuple(labels)))
    return examples


class _Checker:
    """Renders one conversation and checks each turn of it."""

    def __init__(self, tokenizer: ChatTokenizer, conversation: Conversation, name: str) -> None:
        self._tokenizer = tokenizer
        self._conversation = conversation
        self._name = name or f"sha256 {template_digest(tokenizer.chat_template)[:12]}"
        self._messages = [dict(message) for message in conversation.messages]

    def error(self, turn: int, reason: str) -> MaskError:
        """Names the template, the turn and the reason."""
        return MaskError(f"chat template {self._name}, turn {turn}: {reason}")

    def assistant_turns(self) -> list[int]:
        """Positions of the assistant's messages."""
        found = [i for i, message in enumerate(self._messages) if message["role"] == "assistant"]
        if not found:
            raise MaskError("the conversation has no assistant turn, so there is nothing to learn")
        return found

    def written(self, turn: int) -> Written:
        """Renders one assistant turn and checks it (points 1 and 2)."""
        prompt = self._render(turn, generation_prompt=True)
        upto = self._render(turn + 1, generation_prompt=False)
        if not upto.startswith(prompt):
            raise self.error(
                turn, "its rendering does not begin with the prompt that asks for it at inference"
            )
        end = str(self._tokenizer.eos_token)
        text, found, rest = upto[len(prompt) :].partition(end)
        if not found or rest.strip():
            raise self.error(turn, f"it does not end in exactly one end-of-turn token {end}")
        expected = expected_turn(self._messages[turn])
        read = read_as(expected, text)
        if read != expected:
            raise self.error(
                turn,
                f"the text in the loss is not the assistant's: expected {expected}, read {read}",
            )
        return Written(turn=turn, prompt=prompt, text=text + end)

    def encode(self, text: str) -> list[int]:
        """Gives the tokens of a part."""
        return list(self._tokenizer.encode(text, add_special_tokens=False))

    def encode_answer(self, written: Written) -> list[int]:
        """Gives the tokens of what the model writes, and decodes them again (point 4)."""
        ids = self.encode(written.text)
        decoded = self._tokenizer.decode(ids, skip_special_tokens=False)
        if decoded != written.text:
            raise self.error(
                written.turn, f"its tokens decode to {decoded!r} instead of {written.text!r}"
            )
        return ids

    def check_joined(self, whole: str, ids: Sequence[int], turns: Sequence[Written]) -> None:
        """Checks that the parts' tokens are the whole's tokens (point 4)."""
        if self.encode(whole) == list(ids):
            return
        for written in turns:
            joined = self.encode(written.prompt) + self.encode(written.text)
            if self.encode(written.prompt + written.text) != joined:
                raise self.error(
                    written.turn, "its first token merges with the end of the prompt before it"
                )
        raise self.error(
            turns[-1].turn, "the tokens of the conversation are not those of its parts"
        )

    def _render(self, count: int, *, generation_prompt: bool) -> str:
        """Renders the first `count` messages."""
        try:
            rendered = self._tokenizer.apply_chat_template(
                self._messages[:count],
                tools=list(self._conversation.tools) or None,
                tokenize=False,
                add_generation_prompt=generation_prompt,
                **dict(self._conversation.template_options or {}),
            )
        except Exception as error:  # a template may raise anything; its text is the reason
            raise self.error(count - 1, f"it cannot be rendered: {error}") from error
        return str(rendered)
