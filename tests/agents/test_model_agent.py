"""The model's side of an attempt: rounds, errors, budgets, seeds. No sandbox is needed for it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

import cligym
from cligym.agents.conversation import estimate_tokens, repair_prompt
from cligym.agents.model_agent import AgentSettings, ModelAgent, turn_seed
from cligym.agents.model_client import Completion, Sampling
from cligym.agents.replay_client import ReplayClient
from cligym.errors import ModelCallError


def call(command: str) -> str:
    value = {"name": "bash", "arguments": {"command": command}}
    return f"<tool_call>\n{json.dumps(value)}\n</tool_call>"


def agent(*answers: str, **settings: int) -> ModelAgent:
    return ModelAgent("m", ReplayClient(answers), seed=1, settings=AgentSettings(**settings))


def roles(played: ModelAgent) -> list[str]:
    return [message["role"] for message in played.messages]


def test_it_works_until_the_model_stops() -> None:
    played = agent("Let me look.\n" + call("ls"), "Done.")
    assert played.act("repair it") == "ls"
    assert played.act("a.py") == cligym.SUBMIT
    assert played.end_reason == "stopped"
    assert played.messages[0] == {"role": "system", "content": repair_prompt()}
    assert roles(played) == ["system", "user", "assistant", "tool", "assistant"]
    assert played.messages[2]["content"] == "Let me look."
    assert played.messages[3]["content"] == "a.py"


def test_every_call_of_a_round_runs_in_order_before_the_model_speaks_again() -> None:
    played = agent(call("one") + call("two"), "Done.")
    assert played.act("repair it") == "one"
    assert played.act("1") == "two"
    assert len(played.turns) == 1
    assert played.act("2") == cligym.SUBMIT
    assert [m["content"] for m in played.messages if m["role"] == "tool"] == ["1", "2"]


def test_a_call_that_cannot_be_read_is_told_and_counted_and_the_good_one_runs() -> None:
    bad = '<tool_call>{"name": "bash", "arguments": {}}</tool_call>'
    played = agent(bad + call("ls"), "Done.")
    assert played.act("repair it") == "ls"
    assert played.act("out") == cligym.SUBMIT
    assert roles(played) == ["system", "user", "assistant", "tool", "user", "assistant"]
    assert "could not be read" in played.messages[4]["content"]
    assert played.finish(None)["parse_errors"] == 1


def test_an_answer_with_bad_calls_only_is_shown_back_as_it_was() -> None:
    bad = '<tool_call>{"name": "bsh", "arguments": {"command": "ls"}}</tool_call>'
    played = agent("I try. " + bad, call("ls"), "Done.")
    assert played.act("repair it") == "ls"
    assert played.messages[2] == {"role": "assistant", "content": "I try. " + bad}
    assert "no tool 'bsh'" in played.messages[3]["content"]


def test_calls_beyond_the_budget_are_refused_and_counted() -> None:
    played = agent(call("one") + call("two") + call("three"))
    played.act("repair it")
    said = played.finish("1")  # the environment ended the attempt with the first
    assert said["refused_calls"] == 2
    assert [m["content"][:8] for m in said["messages"][3:]] == ["1", "[not run", "[not run"]


def test_too_many_answers_without_a_call_end_it() -> None:
    bad = "<tool_call>{</tool_call>"
    played = agent(*[bad] * 9, max_turns=4)
    assert played.act("repair it") == cligym.SUBMIT
    assert (played.end_reason, played.parse_errors) == ("max_tool_turns", 4)


def test_an_attempt_that_takes_too_long_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr("cligym.agents.model_agent.time.monotonic", lambda: now)
    played = agent(call("one") + call("two"), "Done.", attempt_s=60)
    assert played.act("repair it") == "one"
    now = 61.0
    assert played.act("1") == cligym.SUBMIT
    assert (played.end_reason, played.refused_calls) == ("attempt_timeout", 1)


def test_output_without_room_is_dropped_though_the_command_ran() -> None:
    played = agent(call("cat big"), "Done.")
    assert played.act("repair it") == "cat big"
    assert played.act("x" * 40_000) == cligym.SUBMIT
    assert played.end_reason == "length_budget"
    assert roles(played) == ["system", "user", "assistant"]


class Counting:
    """A client with a tokenizer of one token a character; it cuts what is too long."""

    name = "counting"

    def __init__(self, answers: Sequence[str]) -> None:
        self.answers = list(answers)
        self.seen: list[tuple[int, int, int]] = []

    def describe(self) -> dict[str, Any]:
        return {"model_revision": "r1"}

    def count_tokens(
        self, messages: Sequence[dict[str, Any]], tools: Sequence[dict[str, Any]]
    ) -> int | None:
        return len(json.dumps(messages))

    def complete(
        self,
        messages: Sequence[dict[str, Any]],
        tools: Sequence[dict[str, Any]],
        *,
        sampling: Sampling,
        max_tokens: int,
        seed: int,
    ) -> Completion:
        prompt = len(json.dumps(messages))
        text = self.answers.pop(0)
        self.seen.append((prompt, max_tokens, seed))
        cut = len(text) > max_tokens
        return Completion(
            text=text[:max_tokens],
            finish_reason="length" if cut else "stop",
            prompt_tokens=prompt,
            completion_tokens=min(len(text), max_tokens),
        )

    def close(self) -> None:
        pass


def counting_agent(client: Counting, **settings: int) -> ModelAgent:
    return ModelAgent(
        "m", client, seed=1, settings=AgentSettings(**settings), system_prompt="repair"
    )


def test_the_window_and_the_completion_budget_are_never_overrun() -> None:
    client = Counting([call(f"echo {n}") for n in range(50)])
    played = counting_agent(client, window_tokens=4000, completion_tokens=2500)
    action = played.act("task")
    while action != cligym.SUBMIT:
        action = played.act("y" * 100)
    assert played.end_reason == "length_budget"
    first = client.seen[0][0]
    for prompt, limit, _ in client.seen:
        assert limit >= 1
        assert prompt + limit <= 4000
        assert prompt - first + limit <= 2500
    assert len(client.seen) > 5


def test_an_answer_that_was_cut_without_a_whole_call_ends_it() -> None:
    client = Counting([call("echo " + "z" * 500)])
    played = counting_agent(client, turn_tokens=100)
    assert played.act("task") == cligym.SUBMIT
    assert (played.end_reason, played.parse_errors) == ("truncated", 1)


def test_an_answer_that_was_cut_after_a_whole_call_goes_on() -> None:
    client = Counting([call("ls") + call("z" * 500), "Done."])
    played = counting_agent(client, turn_tokens=120)
    assert played.act("task") == "ls"
    assert played.act("out") == cligym.SUBMIT
    assert (played.end_reason, played.parse_errors) == ("stopped", 1)
    assert "cut off" in played.messages[4]["content"]


def test_seeds_come_from_attempt_and_turn() -> None:
    client = Counting([call("ls"), "Done."])
    played = counting_agent(client)
    played.act("task")
    played.act("out")
    assert [seed for _, _, seed in client.seen] == [turn_seed(1, 0), turn_seed(1, 1)]
    assert len({turn_seed(s, t) for s in range(20) for t in range(20)}) == 400
    assert all(0 <= turn_seed(s, 0) < 2**31 for s in range(100))


def test_thoughts_are_kept_apart_and_are_no_calls() -> None:
    played = agent(f"<think>\nI could {call('rm -rf /')}\n</think>\n\nHm.", "unused")
    assert played.act("task") == cligym.SUBMIT
    assert played.messages[2]["content"] == "Hm."
    assert "rm -rf" in played.messages[2]["reasoning_content"]


def test_a_failed_engine_is_an_error_of_its_own() -> None:
    with pytest.raises(ModelCallError, match="answer 1"):
        agent().act("task")


def test_the_estimate_is_an_upper_one() -> None:
    messages = [{"role": "user", "content": "\u00fc" * 100}]
    assert estimate_tokens(messages) >= 200


def test_the_record_says_who_spoke() -> None:
    client = Counting(["Done."])
    played = counting_agent(client)
    played.act("task")
    said = played.finish(None)
    assert (said["model"], said["model_revision"]) == ("counting", "r1")
    assert said["sampling"]["temperature"] == 0.7 and said["sampling"]["window_tokens"] == 32_768
    assert said["usage"]["turns"] == 1 and said["usage"]["completion_tokens"] == 5
