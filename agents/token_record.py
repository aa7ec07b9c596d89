"""Token ids of an attempt: one sequence with a mask where the turns allow it, else turn by turn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cligym.agents.model_client import Completion

__all__ = ["merge_turns", "split_turns", "token_fields"]


def token_fields(turns: Sequence[Completion], facts: dict[str, Any]) -> dict[str, Any]:
    """The fields `tokens` and `token_turns` of a record; none where a turn lacks its ids.

    Args:
        turns: the model's answers, in order.
        facts: what the client says of itself.
    """
    if not turns or any(not t.prompt_ids or not t.completion_ids for t in turns):
        return {}
    sources = {turn.ids_source for turn in turns}
    merged = merge_turns(turns)
    if merged is None:
        return {"token_turns": split_turns(turns)}
    merged["source"] = "engine" if sources == {"engine"} else "rerender"
    merged["chat_template_sha256"] = facts.get("chat_template_sha256")
    return {"tokens": merged}


def merge_turns(turns: Sequence[Completion]) -> dict[str, Any] | None:
    """One sequence: the first prompt, then all that followed; None if a prompt rewrote history.

    What stands between two answers is tool output and the template's marks: mask 0. Log
    probabilities are given only when every turn has them, 0.0 where nothing was sampled.
    """
    first = turns[0].prompt_ids or ()
    sequence: list[int] = list(first)
    mask: list[int] = []
    logprobs: list[float] = []
    for turn in turns:
        prompt, sampled = list(turn.prompt_ids or ()), list(turn.completion_ids or ())
        if prompt[: len(sequence)] != sequence:
            return None
        between = len(prompt) - len(sequence)
        sequence = prompt + sampled
        mask += [0] * between + [1] * len(sampled)
        logprobs += [0.0] * between + list(turn.logprobs or ())
    merged: dict[str, Any] = {
        "prompt_ids": list(first),
        "completion_ids": sequence[len(first) :],
        "mask": mask,
    }
    if len(logprobs) == len(mask):
        merged["logprobs"] = logprobs
    return merged


def split_turns(turns: Sequence[Completion]) -> list[dict[str, Any]]:
    """Each turn by itself; ids that it shares with the turn before it are not written again."""
    rows: list[dict[str, Any]] = []
    before: list[int] = []
    for turn in turns:
        prompt, sampled = list(turn.prompt_ids or ()), list(turn.completion_ids or ())
        kept = 0
        for old, new in zip(before, prompt, strict=False):
            if old != new:
                break
            kept += 1
        row: dict[str, Any] = {
            "kept": kept,
            "prompt_ids": prompt[kept:],
            "completion_ids": sampled,
            "source": turn.ids_source,
        }
        if turn.logprobs is not None:
            row["logprobs"] = list(turn.logprobs)
        rows.append(row)
        before = prompt + sampled
    return rows
