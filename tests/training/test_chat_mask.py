"""The mask proof, template by template: the loss is on the assistant's words and nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from cligym.training.chat_mask import (
    IGNORED,
    Conversation,
    MaskError,
    TokenExample,
    mask_conversation,
    mask_each_turn,
)

pytest.importorskip("trl", reason="needs the extra [train]")
# Warnings of the training libraries are not ours to fix.
pytestmark = pytest.mark.filterwarnings("ignore")

END = "<|im_end|>"
COMMANDS = [
    "ls -la /testbed",
    "cat 'a \"b\".py' | head",
    "sed -i 's/x/ä\\n/' m.py",
    "true",
    "pytest",
]
TEXTS = ["I look first.", "", "A quote is wrong:\n\n`x`", "", "Now the tests."]
THOUGHTS = ["What is here?", "Read it.", "Two steps:\n1. fix", "Wait.", "Check."]
ANSWER = "It works again."


def conversation(*, think: bool, options: dict[str, Any] | None = None) -> Conversation:
    """Six assistant turns, five of them with a command and its output."""
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "You repair a broken environment."},
        {"role": "user", "content": "The tests fail. Repair it."},
    ]
    for command, text, thought in zip(COMMANDS, TEXTS, THOUGHTS, strict=True):
        function = {"name": "bash", "arguments": {"command": command}}
        call: dict[str, Any] = {
            "role": "assistant",
            "content": text,
            "tool_calls": [{"type": "function", "function": function}],
        }
        if think:
            call["reasoning_content"] = thought
        messages += [call, {"role": "tool", "name": "bash", "content": f"output of\n{command}"}]
    last: dict[str, Any] = {"role": "assistant", "content": ANSWER}
    messages.append({**last, "reasoning_content": "Done."} if think else last)
    schema = {"type": "object", "properties": {"command": {"type": "string"}}}
    function = {"name": "bash", "description": "Runs a command.", "parameters": schema}
    tool = {"type": "function", "function": function}
    return Conversation(messages=messages, tools=[tool], template_options=options)


def json_call(command: str) -> str:
    arguments = json.dumps({"command": command}, ensure_ascii=False)
    return f'<tool_call>\n{{"name": "bash", "arguments": {arguments}}}\n</tool_call>'


def xml_call(command: str) -> str:
    return (
        f"<tool_call>\n<function=bash>\n<parameter=command>\n{command}\n</parameter>\n"
        "</function>\n</tool_call>"
    )


def spoken(call: Callable[[str], str], *, gap: str, think: str | None = None) -> list[str]:
    """The assistant's turns as text, put together without any template.

    Args:
        call: writes a tool call.
        gap: what stands between text and call.
        think: how a think block is written, `{}` for the thought; None for none.
    """
    thoughts = [think.format(t) if think else "" for t in [*THOUGHTS, "Done."]]
    turns = [
        f"{text}{gap if text else ''}{call(command)}"
        for text, command in zip(TEXTS, COMMANDS, strict=True)
    ]
    return [f"{t}{text}{END}" for t, text in zip(thoughts, [*turns, ANSWER], strict=True)]


def loss_texts(tokenizer: Any, example: TokenExample) -> list[str]:
    """The runs of tokens in the loss, decoded."""
    runs: list[list[int]] = []
    for position, label in enumerate(example.labels):
        if label == IGNORED:
            continue
        assert label == example.input_ids[position]
        if position == 0 or example.labels[position - 1] == IGNORED:
            runs.append([])
        runs[-1].append(label)
    return [tokenizer.decode(run) for run in runs]


BLOCK, OPENED = "<think>\n{}\n</think>\n\n", "{}\n</think>\n\n"
THINK, NO_THINK = {"enable_thinking": True}, {"enable_thinking": False}
JSON = spoken(json_call, gap="\n")
PROVEN = [
    ("qwen2_5", False, None, JSON),
    ("qwen3", True, THINK, spoken(json_call, gap="\n", think=BLOCK)),
    ("qwen3_training", True, THINK, spoken(json_call, gap="\n", think=BLOCK)),
    ("qwen3_training", False, NO_THINK, JSON),
    ("qwen3_instruct_2507", False, None, JSON),
    ("qwen3_coder", False, None, spoken(xml_call, gap="\n")),
    ("qwen3_5_think", True, THINK, spoken(xml_call, gap="\n\n", think=OPENED)),
    ("qwen3_5_think", False, NO_THINK, spoken(xml_call, gap="\n\n")),
    ("qwen3_5_nothink", False, None, spoken(xml_call, gap="\n\n")),
]


@pytest.mark.parametrize(
    ("name", "think", "options", "expected"),
    PROVEN,
    ids=[f"{name}-{'think' if think else 'nothink'}" for name, think, *_ in PROVEN],
)
def test_the_loss_is_exactly_the_assistants_words(
    tokenizer_with: Callable[[str], Any],
    name: str,
    think: bool,
    options: dict[str, Any] | None,
    expected: list[str],
) -> None:
    tokenizer = tokenizer_with(name)
    spoken_in = conversation(think=think, options=options)
    example = mask_conversation(tokenizer, spoken_in, name=name)
    assert loss_texts(tokenizer, example) == expected
    # Every example of one turn is a prefix of the whole: no history changes later.
    for part in mask_each_turn(tokenizer, spoken_in, name=name):
        assert example.input_ids[: len(part.input_ids)] == part.input_ids


@pytest.mark.parametrize(
    ("name", "think", "options", "turn"),
    [("qwen3", False, THINK, 2), ("qwen3", False, NO_THINK, 2)],
    ids=["qwen3-think-without-thoughts", "qwen3-nothink"],
)
def test_a_history_that_changes_is_refused_and_can_be_split(
    tokenizer_with: Callable[[str], Any],
    name: str,
    think: bool,
    options: dict[str, Any],
    turn: int,
) -> None:
    tokenizer = tokenizer_with(name)
    spoken_in = conversation(think=think, options=options)
    with pytest.raises(MaskError, match=f"template {name}, turn {turn}: later turns change"):
        mask_conversation(tokenizer, spoken_in, name=name)
    turns = mask_each_turn(tokenizer, spoken_in, name=name)
    empty = "" if options == NO_THINK else BLOCK.format("")
    assert [loss_texts(tokenizer, part) for part in turns] == [[empty + text] for text in JSON]


@pytest.mark.parametrize("name", ["qwen3", "qwen3_5_think"])
def test_a_template_that_drops_earlier_thoughts_is_refused(
    tokenizer_with: Callable[[str], Any], name: str
) -> None:
    base = conversation(think=True, options=THINK)
    again = {"role": "user", "content": "Once more."}
    answer = {"role": "assistant", "content": "Fine.", "reasoning_content": "Sure."}
    longer = Conversation(
        messages=[*base.messages, again, answer], tools=base.tools, template_options=THINK
    )
    with pytest.raises(MaskError, match=f"template {name}, turn 2: later turns change"):
        mask_conversation(tokenizer_with(name), longer, name=name)


@pytest.mark.parametrize("name", ["qwen2_5", "qwen3_instruct_2507"])
def test_the_mask_agrees_with_trls_own(tokenizer_with: Callable[[str], Any], name: str) -> None:
    spoken_in = conversation(think=False)
    tokenizer = tokenizer_with(name)
    ours = mask_conversation(tokenizer, spoken_in)
    theirs = tokenizer_with(f"{name}_training").apply_chat_template(
        spoken_in.messages,
        tools=spoken_in.tools,
        return_assistant_tokens_mask=True,
        return_dict=True,
    )
    ids, mask = theirs["input_ids"], theirs["assistant_masks"]
    assert list(ours.input_ids) == ids[: len(ours.input_ids)]
    more = [i for i, used in enumerate(mask) if used and (ours.labels + (IGNORED,))[i] == IGNORED]
    # TRL's spans also hold line breaks that no engine samples: after the end of a turn, and, for
    # Qwen2.5, the one before a call, which is a part of the prompt.
    assert {tokenizer.decode([ids[i]]) for i in more} == {"\n"}
    assert all(used for used, label in zip(mask, ours.labels, strict=False) if label != IGNORED)


BROKEN = {
    "says more than the message": ("+ message.content +", "+ message.content + ' Signed.' +"),
    "leaves out the end of turn": ("'<|im_end|>\\n' }}\n    {%- elif", "'\\n' }}\n    {%- elif"),
    "another prompt at inference": ("'<|im_start|>assistant\\n'", "'<|im_start|>bot\\n'"),
    "leaves out the calls": ("for tool_call in message.tool_calls", "for tool_call in []"),
}


@pytest.mark.parametrize("change", BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_template_is_caught(
    tokenizer_with: Callable[[str], Any], change: tuple[str, str]
) -> None:
    tokenizer = tokenizer_with("qwen2_5")
    assert change[0] in tokenizer.chat_template
    tokenizer.chat_template = tokenizer.chat_template.replace(*change)
    with pytest.raises(MaskError, match=r"chat template sha256 .*, turn"):
        mask_conversation(tokenizer, conversation(think=False))


def test_text_that_holds_the_end_of_turn_token_is_refused(
    tokenizer_with: Callable[[str], Any],
) -> None:
    messages = [{"role": "user", "content": "x"}, {"role": "assistant", "content": f"a{END}b"}]
    with pytest.raises(MaskError, match="exactly one end-of-turn"):
        mask_conversation(tokenizer_with("qwen2_5"), Conversation(messages=messages))


def test_a_token_that_merges_with_the_prompt_is_refused(
    tokenizer_with: Callable[[str], Any],
) -> None:
    messages = [{"role": "user", "content": "x"}, {"role": "assistant", "content": "\n\nHello"}]
    with pytest.raises(MaskError, match="merges with the end of the prompt"):
        mask_conversation(tokenizer_with("qwen2_5"), Conversation(messages=messages))


def test_a_conversation_without_an_assistant_teaches_nothing(
    tokenizer_with: Callable[[str], Any],
) -> None:
    with pytest.raises(MaskError, match="nothing to learn"):
        mask_conversation(
            tokenizer_with("qwen2_5"), Conversation(messages=[{"role": "user", "content": "x"}])
        )
