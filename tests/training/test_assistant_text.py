"""Reading an assistant's rendered turn back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cligym.training.assistant_text import AssistantTurn, expected_turn, read_turn

JSON_CALL = '<tool_call>\n{"name": "bash", "arguments": {"command": "ls"}}\n</tool_call>'
XML_CALL = (
    "<tool_call>\n<function=bash>\n<parameter=command>\nls\n</parameter>\n</function>\n</tool_call>"
)
CALL = ("bash", '{"command": "ls"}')


@pytest.mark.parametrize("call", [JSON_CALL, XML_CALL], ids=["json", "xml"])
def test_text_and_calls_are_told_apart(call: str) -> None:
    turn = AssistantTurn(reasoning="hm", content="I look.", calls=(CALL, CALL))
    assert read_turn(f"<think>\nhm\n</think>\n\nI look.\n{call}\n{call}") == turn
    assert read_turn(call) == AssistantTurn(reasoning="", content="", calls=(CALL,))


def test_a_think_block_opened_in_the_prompt_is_read() -> None:
    turn = read_turn("hm\n</think>\n\nhello")
    assert turn == AssistantTurn(reasoning="hm", content="hello", calls=())


@pytest.mark.parametrize(
    "text",
    [
        '<tool_call>\n{"name": "bash"}\n</tool_call>',
        '<tool_call>\n{"name": "bash", "arguments": "ls"}\n</tool_call>',
        '<tool_call>\n{"name": "bash", "arguments": {"command": "ls"}}',
        '<tool_call>\n{"name": "bash", "argu</tool_call>',
        '<tool_call>\n{"name": "bash", "arguments": {}} more\n</tool_call>',
        "<tool_call>\n<function=bash>\n</tool_call>",
        f"{JSON_CALL}\nand then I wait",
    ],
)
def test_malformed_calls_are_not_read(text: str) -> None:
    assert read_turn(text) is None


def test_a_message_says_the_same_with_arguments_as_text_or_object() -> None:
    def message(arguments: object) -> AssistantTurn:
        call = {"type": "function", "function": {"name": "bash", "arguments": arguments}}
        return expected_turn({"role": "assistant", "content": None, "tool_calls": [call]})

    assert message('{"command": "ls"}') == message({"command": "ls"})
    assert message({"command": "ls"}).calls == (CALL,)


def test_thoughts_inside_the_content_are_thoughts() -> None:
    turn = expected_turn({"role": "assistant", "content": "<think>\nhm\n</think>\nhello"})
    assert (turn.reasoning, turn.content) == ("hm", "hello")


@given(st.text(st.characters(blacklist_categories=["Cs"])).filter(lambda t: "</" not in t))
def test_any_command_survives_both_forms(command: str) -> None:
    import json

    calls = (("bash", json.dumps({"command": command})),)
    quoted = json.dumps({"name": "bash", "arguments": {"command": command}}, ensure_ascii=False)
    as_json = read_turn(f"<tool_call>\n{quoted}\n</tool_call>")
    as_xml = read_turn(
        f"<tool_call>\n<function=bash>\n<parameter=command>\n{command}\n</parameter>\n"
        "</function>\n</tool_call>"
    )
    assert as_json == as_xml == AssistantTurn(reasoning="", content="", calls=calls)
