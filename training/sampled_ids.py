"""Uses the token ids that a model sampled, after checking that they say what the messages say."""

from __future__ import annotations

from collections.abc import Sequence

from cligym.training.assistant_text import expected_turn, read_as
from cligym.training.chat_mask import (
    IGNORED,
    ChatTokenizer,
    MaskError,
    TokenExample,
    template_digest,
)
from cligym.training.verified import RepairRow, RepairTokens, TokenTurn

__all__ = ["examples_from_ids"]


def examples_from_ids(row: RepairRow, tokenizer: ChatTokenizer) -> list[TokenExample]:
    """Uses the ids that the model sampled, if they are there and this tokenizer's own.

    Returns:
        One example; one for each turn where a later prompt rewrote the history; none where the row
        has no sampled ids or they come from another chat template.

    Raises:
        MaskError: the ids claim this tokenizer but do not say what the messages say.
    """
    digest = template_digest(tokenizer.chat_template)
    tokens = row.tokens
    if tokens is not None and tokens.source == "engine" and tokens.chat_template_sha256 == digest:
        sequences = [tokens]
    elif row.token_turns and row.chat_template_sha256 == digest:
        if any(turn.source != "engine" for turn in row.token_turns):
            return []
        sequences = _turn_sequences(row.token_turns)
    else:
        return []
    _check_sampled(row, sequences, tokenizer)
    return [_masked(sequence) for sequence in sequences]


def _masked(tokens: RepairTokens) -> TokenExample:
    """The example of one sampled sequence."""
    pairs = zip(tokens.completion_ids, tokens.mask, strict=True)
    labels = [IGNORED] * len(tokens.prompt_ids)
    labels += [token if used else IGNORED for token, used in pairs]
    return TokenExample(
        input_ids=(*tokens.prompt_ids, *tokens.completion_ids), labels=tuple(labels)
    )


def _turn_sequences(turns: Sequence[TokenTurn]) -> list[RepairTokens]:
    """Puts each turn's prompt together again, from what it shares with the turn before."""
    before: list[int] = []
    sequences = []
    for turn in turns:
        if turn.kept > len(before) or not turn.kept + len(turn.prompt_ids):
            raise MaskError(f"a turn keeps {turn.kept} of {len(before)} token ids and adds none")
        prompt = before[: turn.kept] + turn.prompt_ids
        mask = [1] * len(turn.completion_ids)
        sequences.append(
            RepairTokens(prompt_ids=prompt, completion_ids=turn.completion_ids, mask=mask)
        )
        before = prompt + turn.completion_ids
    return sequences


def _check_sampled(
    row: RepairRow, sequences: Sequence[RepairTokens], tokenizer: ChatTokenizer
) -> None:
    """Raises where the sampled ids are not the assistant's turns of this row."""
    where = f"task {row.task_id}, attempt {row.attempt}: the sampled ids"
    for tokens in sequences:
        if len(tokens.mask) != len(tokens.completion_ids) or set(tokens.mask) - {0, 1}:
            raise MaskError(f"{where} need a mask of 0 and 1 for each completion id")
        if not any(tokens.mask):
            raise MaskError(f"{where} have an empty mask, so there is nothing to learn")
    messages = [message for message in row.plain_messages() if message["role"] == "assistant"]
    end = str(tokenizer.eos_token)
    runs = [run for tokens in sequences for run in _sampled_runs(tokens)]
    texts = [tokenizer.decode(run, skip_special_tokens=False) for run in runs]
    if len(texts) != len(messages):
        raise MaskError(f"{where} have {len(texts)} turns, the messages {len(messages)}")
    for number, (text, message) in enumerate(zip(texts, messages, strict=True)):
        expected = expected_turn(message)
        read = read_as(expected, text.removesuffix(end))
        # A message without calls has nothing to compare: its text may be cut or malformed.
        if expected.calls and (read is None or read.calls != expected.calls):
            raise MaskError(
                f"{where}, assistant turn {number}, hold other tool calls than its message"
            )


def _sampled_runs(tokens: RepairTokens) -> list[list[int]]:
    """Splits the sampled ids into the runs between tools' outputs."""
    runs: list[list[int]] = []
    before = 0
    for token, used in zip(tokens.completion_ids, tokens.mask, strict=True):
        if used and not before:
            runs.append([])
        if used:
            runs[-1].append(token)
        before = used
    return runs
