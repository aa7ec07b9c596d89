"""Turns verified repairs into token sequences with proven labels, and reports on them."""

from __future__ import annotations

import hashlib
import json
import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from cligym.errors import ConfigError
from cligym.training.assistant_text import expected_turn
from cligym.training.chat_mask import (
    ChatTokenizer,
    Conversation,
    MaskError,
    TokenExample,
    mask_conversation,
    mask_each_turn,
)
from cligym.training.sampled_ids import examples_from_ids
from cligym.training.verified import RepairRow, Repairs

__all__ = ["DatasetReport", "SftDataset", "Turns", "build_dataset"]

logger = logging.getLogger(__name__)


class Turns(StrEnum):
    """How a conversation becomes examples."""

    WHOLE = "whole"
    SPLIT = "split"


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetReport:
    """What is trained on, and what was left out.

    Attributes:
        repairs: rows in use.
        examples: token sequences.
        tasks: distinct tasks.
        repositories: distinct repositories.
        licences: rows by licence.
        rows_without_split: rows that do not say that they are for training.
        tokens: all tokens.
        trained_tokens: tokens in the loss.
        longest_tokens: tokens of the longest sequence.
        median_tokens: median of the sequences' tokens.
        from_sampled_ids: rows trained on the ids that the model sampled.
        from_rendering: rows rendered again, with a proven mask.
        repeated_repairs: rows with the same task and the same commands as one before.
        repeated_sequences: sequences equal to one before, token by token.
        dropped_over_length: sequences longer than the limit, left out.
        dropped_unproven: rows whose mask could not be proven, left out on request.
        dropped_by_licence: rows left out, by licence.
        torn_lines: cut off last lines, left out.
        file_sha256: digest of the file of repairs.
        dataset_sha256: digest of all tokens and labels, in any order.
    """

    repairs: int
    examples: int
    tasks: int
    repositories: int
    licences: dict[str, int]
    rows_without_split: int
    tokens: int
    trained_tokens: int
    longest_tokens: int
    median_tokens: float
    from_sampled_ids: int
    from_rendering: int
    repeated_repairs: int
    repeated_sequences: int
    dropped_over_length: int
    dropped_unproven: int
    dropped_by_licence: dict[str, int]
    torn_lines: int
    file_sha256: str
    dataset_sha256: str

    def to_json(self) -> dict[str, Any]:
        """Gives the report as JSON values."""
        return asdict(self)

    def lines(self) -> list[str]:
        """Writes the report, one fact a line."""
        return [f"{name.replace('_', ' ')}: {value}" for name, value in asdict(self).items()]


@dataclass(frozen=True, slots=True, kw_only=True)
class SftDataset:
    """Token sequences and what there is to say about them."""

    examples: tuple[TokenExample, ...]
    report: DatasetReport


def build_dataset(
    repairs: Repairs,
    tokenizer: ChatTokenizer,
    *,
    template_name: str,
    turns: Turns = Turns.WHOLE,
    max_tokens: int,
    drop_unproven: bool = False,
) -> SftDataset:
    """Makes the training sequences; those over the limit are dropped and counted, never cut.

    Args:
        repairs: the rows.
        tokenizer: of the model to be trained, with the chat template to use.
        template_name: what to call the template in messages.
        turns: whole conversations, or each turn with its context.
        max_tokens: longest sequence to train on.
        drop_unproven: leave out and count rows whose mask cannot be proven, instead of stopping.

    Raises:
        MaskError: the chat template breaks the mask.
        ConfigError: no sequence is left.
    """
    made: list[TokenExample] = []
    sampled, unproven = 0, 0
    for row in repairs.rows:
        try:
            from_ids = examples_from_ids(row, tokenizer)
            made += from_ids or _from_rendering(row, tokenizer, template_name, turns)
        except MaskError as error:
            if not drop_unproven:
                raise
            logger.warning("left out: %s", error)
            unproven += 1
        else:
            sampled += bool(from_ids)
    if not made:
        raise ConfigError(f"no mask of the {len(repairs.rows)} repairs can be proven")
    kept = tuple(example for example in made if len(example.input_ids) <= max_tokens)
    if not kept:
        shortest = min(len(example.input_ids) for example in made)
        raise ConfigError(
            f"all {len(made)} sequences are longer than {max_tokens} tokens (the shortest has "
            f"{shortest}); raise max_tokens"
        )
    over_length = len(made) - len(kept)
    report = _report(repairs, kept, sampled=sampled, over_length=over_length, unproven=unproven)
    return SftDataset(examples=kept, report=report)


def _from_rendering(
    row: RepairRow, tokenizer: ChatTokenizer, template_name: str, turns: Turns
) -> list[TokenExample]:
    """Renders a row and proves its mask."""
    conversation = Conversation(
        messages=row.plain_messages(),
        tools=row.tool_schemas,
        template_options=row.chat_template_kwargs,
    )
    try:
        if turns is Turns.SPLIT:
            return mask_each_turn(tokenizer, conversation, name=template_name)
        return [mask_conversation(tokenizer, conversation, name=template_name)]
    except MaskError as error:
        raise MaskError(f"task {row.task_id}, attempt {row.attempt}: {error}") from error


def _report(
    repairs: Repairs,
    kept: Sequence[TokenExample],
    *,
    sampled: int,
    over_length: int,
    unproven: int,
) -> DatasetReport:
    """Counts everything."""
    rows = repairs.rows
    lengths = np.array([len(example.input_ids) for example in kept])
    digests = [_sequence_digest(example) for example in kept]
    return DatasetReport(
        repairs=len(rows),
        examples=len(kept),
        tasks=len({row.task_id for row in rows}),
        repositories=len({row.repository for row in rows if row.repository}),
        licences=dict(sorted(Counter(row.licence or "unknown" for row in rows).items())),
        rows_without_split=sum(not row.split for row in rows),
        tokens=int(lengths.sum()),
        trained_tokens=sum(example.trained_tokens for example in kept),
        longest_tokens=int(lengths.max()),
        median_tokens=float(np.median(lengths)),
        from_sampled_ids=sampled,
        from_rendering=len(rows) - sampled - unproven,
        repeated_repairs=len(rows) - len({_commands_key(row) for row in rows}),
        repeated_sequences=len(kept) - len(set(digests)),
        dropped_over_length=over_length,
        dropped_unproven=unproven,
        dropped_by_licence=repairs.dropped_by_licence,
        torn_lines=repairs.torn_lines,
        file_sha256=repairs.digest,
        dataset_sha256=hashlib.sha256("".join(sorted(digests)).encode()).hexdigest(),
    )


def _sequence_digest(example: TokenExample) -> str:
    """Digest of one sequence's tokens and labels."""
    return hashlib.sha256(json.dumps([example.input_ids, example.labels]).encode()).hexdigest()


def _commands_key(row: RepairRow) -> str:
    """The task and all tool calls of a row, as text."""
    calls: list[Any] = [
        expected_turn(message).calls
        for message in row.plain_messages()
        if message["role"] == "assistant"
    ]
    return json.dumps([row.task_id, calls])
