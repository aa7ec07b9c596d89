"""Token ids of an attempt: one masked sequence, or turn by turn, never something in between."""

from __future__ import annotations

from cligym.agents.model_client import Completion
from cligym.agents.token_record import merge_turns, split_turns, token_fields


def turn(prompt: list[int], sampled: list[int], source: str = "engine") -> Completion:
    return Completion(
        text="",
        prompt_ids=tuple(prompt),
        completion_ids=tuple(sampled),
        logprobs=tuple(-0.5 for _ in sampled),
        ids_source=source,
    )


def test_turns_that_continue_each_other_make_one_sequence() -> None:
    merged = merge_turns([turn([1, 2], [3, 4]), turn([1, 2, 3, 4, 9, 9], [5])])
    assert merged == {
        "prompt_ids": [1, 2],
        "completion_ids": [3, 4, 9, 9, 5],
        "mask": [1, 1, 0, 0, 1],
        "logprobs": [-0.5, -0.5, 0.0, 0.0, -0.5],
    }


def test_a_rewritten_history_is_kept_turn_by_turn() -> None:
    turns = [turn([1, 2], [3, 4]), turn([1, 2, 7, 9], [5])]
    assert merge_turns(turns) is None
    fields = token_fields(turns, {})
    assert "tokens" not in fields
    first, second = fields["token_turns"]
    assert first["prompt_ids"] == [1, 2] and second["kept"] == 2
    assert [1, 2, 3, 4][: second["kept"]] + second["prompt_ids"] == [1, 2, 7, 9]
    assert split_turns(turns) == fields["token_turns"]


def test_ids_of_a_rendering_are_called_so() -> None:
    fields = token_fields([turn([1], [2]), turn([1, 2], [3], "rerender")], {})
    assert fields["tokens"]["source"] == "rerender"
    assert token_fields([turn([1], [2])], {})["tokens"]["source"] == "engine"


def test_a_turn_without_ids_gives_none() -> None:
    assert token_fields([turn([1], [2]), Completion(text="x")], {}) == {}
