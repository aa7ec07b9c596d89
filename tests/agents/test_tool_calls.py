"""Tool calls come out exactly, or as counted errors (FIELD.md, reproduction 12)."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cligym.agents.tool_calls import BashCall, CallError, parse_answer

AWK = "awk '{print $1}' <<< \"a {b\""


def json_form(command: str) -> str:
    body = json.dumps({"name": "bash", "arguments": {"command": command}}, ensure_ascii=False)
    return f"<tool_call>\n{body}\n</tool_call>"


def xml_form(command: str) -> str:
    return (
        "<tool_call>\n<function=bash>\n<parameter=command>\n"
        f"{command}\n</parameter>\n</function>\n</tool_call>"
    )


Form = Callable[[str], str]
FORMS = pytest.mark.parametrize("form", [json_form, xml_form], ids=["json", "xml"])


@FORMS
@pytest.mark.parametrize(
    "command",
    [
        AWK,
        "echo '</tool_call>'",
        "cat <<'EOF' > f\n{\"a\": [1}\nEOF",
        "echo '</parameter>'",
        "  indented\n\nlines  ",
        "printf '%s' \"\\n\\\\\"",
        "echo é✓漢 \u0085",
    ],
)
def test_commands_come_out_exactly(form: Form, command: str) -> None:
    answer = parse_answer(f"Let me look.\n{form(command)}")
    assert answer.calls == (BashCall(command=command),)
    assert answer.content == "Let me look."


@FORMS
def test_every_call_of_an_answer_is_kept(form: Form) -> None:
    answer = parse_answer(f"{form('ls')}\n{form('pwd')}\n{form(AWK)}")
    assert answer.calls == tuple(BashCall(command=text) for text in ("ls", "pwd", AWK))


def test_arguments_may_be_a_json_text() -> None:
    body = json.dumps({"name": "bash", "arguments": json.dumps({"command": AWK})})
    assert parse_answer(f"<tool_call>{body}</tool_call>").calls == (BashCall(command=AWK),)


def test_a_line_end_may_stand_in_a_json_text_as_it_is() -> None:
    text = '<tool_call>{"name":"bash","arguments":{"command":"echo a\necho b"}}</tool_call>'
    assert parse_answer(text).calls == (BashCall(command="echo a\necho b"),)


@FORMS
@pytest.mark.parametrize("share", [0.3, 0.6, 0.9, 0.99])
def test_a_call_that_was_cut_is_an_error_and_never_run(form: Form, share: float) -> None:
    text = form("rm -rf build && make")
    calls = parse_answer(text[: int(len(text) * share)], cut=True).calls
    assert len(calls) == 1 and isinstance(calls[0], CallError)
    assert "cut off" in calls[0].reason


@pytest.mark.parametrize(
    ("body", "word"),
    [
        ('{"name": "bash", "arguments": {}}', "missing"),
        ('{"name": "bash", "arguments": {"command": ""}}', "empty"),
        ('{"name": "bash", "arguments": {"command": "  \\n"}}', "empty"),
        ('{"name": "bash", "arguments": {"command": 3}}', "no text"),
        ('{"name": "bash", "arguments": {"cmd": "ls"}}', "'cmd'"),
        ('{"name": "python", "arguments": {"command": "ls"}}', "'python'"),
        ('{"name": "bash", "arguments": {"command": "ls"}', "JSON"),
        ('{"name": "bash", "arguments": "ls"}', "JSON"),
        ('["bash", "ls"]', "object"),
        ('{"name": "bash", "arguments": {"command": "ls"}} and more', "text between"),
        ("<function=bash>\n</function>", "parameter"),
        ("<function=bash>\n<parameter=command>\n\n</parameter>\n</function>", "empty"),
        ("<function=sh>\n<parameter=command>\nls\n</parameter>\n</function>", "'sh'"),
        ("<function=bash>\n<parameter=cmd>\nls\n</parameter>\n</function>", "'cmd'"),
        (
            "<function=bash>\n<parameter=command>\nls\n</parameter>\n<parameter=timeout>\n3\n"
            "</parameter>\n</function>",
            "more than one parameter",
        ),
    ],
)
def test_what_is_no_call_is_a_named_error(body: str, word: str) -> None:
    calls = parse_answer(f"<tool_call>\n{body}\n</tool_call>").calls
    assert len(calls) == 1 and isinstance(calls[0], CallError)
    assert word in calls[0].reason


def test_a_bad_call_does_not_hide_the_next_one() -> None:
    text = f'<tool_call>{{"name": "bash"}}</tool_call>{json_form("ls")}'
    bad, good = parse_answer(text).calls
    assert isinstance(bad, CallError)
    assert good == BashCall(command="ls")


def test_a_call_in_a_thought_is_no_call() -> None:
    text = f"<think>I could run {json_form('rm -rf /')}</think>\nDone."
    answer = parse_answer(text)
    assert answer.calls == () and answer.content == "Done."


@FORMS
def test_a_thought_that_the_template_opened_is_split_off(form: Form) -> None:
    answer = parse_answer(f"maybe the path\n</think>\n\n{form('ls')}")
    assert answer.thinking == "maybe the path"
    assert answer.calls == (BashCall(command="ls"),)


def test_an_answer_without_calls_has_none() -> None:
    answer = parse_answer("<think>\n\n</think>\n\nAll tests pass now.")
    assert answer.calls == () and answer.content == "All tests pass now."


def test_a_lone_closing_tag_is_an_error() -> None:
    (error,) = parse_answer('{"name": "bash"}\n</tool_call>').calls
    assert isinstance(error, CallError)


@FORMS
@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(lambda t: t.strip()))
def test_any_command_survives(form: Form, command: str) -> None:
    if form is xml_form and any(tag in command for tag in ("</parameter>", "<parameter=")):
        return  # only a whole run of closing tags would be ambiguous; covered above by name
    assert parse_answer(form(command)).calls == (BashCall(command=command),)
