"""Parts of the small loop: the sampler, the agents, the compact template."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from cligym.agents.attempt import bash_turn
from cligym.agents.records import BASH_TOOL, AttemptRecord
from cligym.constants import SUBMIT
from cligym.tasks.procedural import DamageKind, family
from cligym.training.batch_sampler import BatchSampler, SamplingSettings
from cligym.training.chat_mask import Conversation, mask_conversation
from cligym.training.loop_agents import (
    SYSTEM_PROMPT,
    LocalModelAgent,
    memorised_script,
    narrate,
    narrated_agent,
)
from cligym.training.small_model import COMPACT_TEMPLATE

# Warnings of the training libraries are not ours to fix.
pytestmark = pytest.mark.filterwarnings("ignore")

MOVED = next(v for v in family("train", count=3, seed=0) if v.kind is DamageKind.MOVED)


def played() -> AttemptRecord:
    """A record of the known repair, as `play_attempt` writes it."""
    agent = narrated_agent(MOVED)
    messages: list[dict[str, Any]] = [{"role": "user", "content": MOVED.instruction}]
    while (command := agent.act("")) != SUBMIT:
        messages += bash_turn(command, f"output of {command}")
    return AttemptRecord(
        cligym_version="0",
        env_id="CLIGymHardened-v0",
        task_id=MOVED.task_id,
        task_digest="sha256:0",
        agent=agent.name,
        attempt=0,
        seed=0,
        messages=messages,
        tools=[BASH_TOOL],
        end_reason="submitted",
        passed=True,
        reward=1.0,
    )


def test_narrating_adds_words_and_keeps_what_happened() -> None:
    before, after = played(), narrate(played(), MOVED)
    roles = [message["role"] for message in after.messages]
    assert roles == ["system", "user", "assistant", "tool", "assistant", "tool", "assistant"]
    assert [m for m in after.messages if m["role"] == "tool"] == [
        m for m in before.messages if m["role"] == "tool"
    ]
    calls = [m["tool_calls"] for m in after.messages if "tool_calls" in m]
    assert calls == [m["tool_calls"] for m in before.messages if "tool_calls" in m]
    assert after.messages[2]["content"] == MOVED.steps[0].say
    assert after.messages[-1] == {"role": "assistant", "content": MOVED.closing}


def test_the_compact_template_has_a_proven_mask(base_tokenizer: Any) -> None:
    base_tokenizer.chat_template = COMPACT_TEMPLATE
    record = narrate(played(), MOVED)
    example = mask_conversation(
        base_tokenizer, Conversation(messages=record.messages, tools=record.tools)
    )
    text = base_tokenizer.decode(list(example.input_ids))
    assert text.startswith(f"<|im_start|>system\n{SYSTEM_PROMPT}\nTools: bash(command)<|im_end|>")
    assert text.endswith(f"{MOVED.closing}<|im_end|>")


def test_a_memorised_script_takes_the_commonest_commands() -> None:
    variants = family("train", count=12, seed=0)
    script = memorised_script([*variants, variants[0], variants[0]], length=2)
    assert script[0] in {step.command for step in variants[0].steps}
    assert len(script) == 2


class Scripted:
    """Answers in the place of a model and keeps what it was shown."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.shown: list[list[dict[str, Any]]] = []
        self.seeds: list[int] = []

    def answer(self, messages: Any, tools: Any, *, seed: int) -> str:
        self.shown.append(list(messages))
        self.seeds.append(seed)
        return self.answers.pop(0)


def test_a_model_acts_until_it_makes_no_call() -> None:
    call = 'I look.\n<tool_call>\n{"name": "bash", "arguments": {"command": "ls"}}\n</tool_call>'
    model = Scripted(call, "Done.")
    agent = LocalModelAgent("base", model, seed=1)  # type: ignore[arg-type]
    assert agent.act("repair it") == "ls"
    assert agent.act("a.py") == SUBMIT
    roles = [message["role"] for message in model.shown[-1]]
    assert roles == ["system", "user", "assistant", "tool"]
    assert model.shown[-1][2]["content"] == "I look."
    assert model.seeds[0] != model.seeds[1]


def test_answers_depend_on_their_seed_and_not_on_their_batch(
    tiny_qwen: Path, base_tokenizer: Any
) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(tiny_qwen)
    tokenizer = AutoTokenizer.from_pretrained(tiny_qwen)
    tokenizer.chat_template = COMPACT_TEMPLATE
    settings = SamplingSettings(max_tokens=6, batch=4, wait_s=0.2, temperature=1.0)
    questions = [[{"role": "user", "content": "x" * size}] for size in (1, 9, 30)]
    with BatchSampler(model, tokenizer, settings) as sampler:
        alone = [sampler.answer(q, [], seed=i) for i, q in enumerate(questions)]
        with ThreadPoolExecutor(3) as pool:
            asked = [pool.submit(sampler.answer, q, [], seed=i) for i, q in enumerate(questions)]
        assert [answer.result() for answer in asked] == alone
        assert sampler.answer(questions[0], [], seed=77) != alone[0]


def test_a_failing_model_fails_every_answer_and_not_the_thread(base_tokenizer: Any) -> None:
    class Broken:
        def eval(self) -> Broken:
            return self

        def __call__(self, **_: Any) -> None:
            raise RuntimeError("no memory")

    pytest.importorskip("torch", reason="needs the extra [train]")
    base_tokenizer.chat_template = COMPACT_TEMPLATE
    settings = SamplingSettings(wait_s=0.01)
    with BatchSampler(Broken(), base_tokenizer, settings) as sampler:
        for _ in range(2):
            with pytest.raises(RuntimeError, match="no memory"):
                sampler.answer([{"role": "user", "content": "x"}], [], seed=0)
