"""Answers are read strictly but fairly (FACTS 1.11, fault 9)."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cligym.envs.tamper_answers import Label, parse_attack, parse_defence
from cligym.errors import ActionFormatError

CODE = 'def f(x):\n    """Doc with ``` and {braces} and }."""\n    return {"a": x}\n'
ATTACK = {"code": CODE, "bug": {"class": "off_by_one", "lines": [1, 3], "rationale": "r"}}
DEFENCE = {"label": "tampered", "confidence": 80, "suspect_lines": [2, 1, 2], "reason": "r"}


@pytest.mark.parametrize(
    "wrap",
    [
        "{}",
        "```json\n{}\n```",
        "```\n{}\n```\nThat is it.",
        "I thought about {{x}} and {{ y: 1 }} and `{{`.\n{}\nDone }}.",
        'First draft: {{"code": "draft", "bug": {{}}}}\nBetter:\n{}',
        '{{"note": "no answer yet"}} {}',
    ],
    ids=["bare", "fence", "fence and prose", "braces", "draft before", "other object before"],
)
def test_code_survives_any_wrapping(wrap: str) -> None:
    assert parse_attack(wrap.format(json.dumps(ATTACK))).code == CODE


def test_real_line_breaks_inside_strings() -> None:
    text = json.dumps(ATTACK).replace("\\n", "\n")
    assert parse_attack(text).code == CODE


def test_defence() -> None:
    answer = parse_defence(f"Well.\n{json.dumps(DEFENCE)}")
    assert answer.label is Label.TAMPERED
    assert answer.suspect_lines == (1, 2)
    assert answer.probability_tampered == pytest.approx(0.8)


def test_missing_or_null_suspect_lines_are_none() -> None:
    assert parse_defence('{"label": "clean", "confidence": 0}').suspect_lines == ()
    text = '{"label": "clean", "confidence": 1.5, "suspect_lines": null}'
    assert parse_defence(text).suspect_lines == ()


def change(base: Mapping[str, object], **changes: object) -> str:
    return json.dumps({**base, **changes})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no json at all",
        "[1, 2]",
        change(ATTACK, code=""),
        change(ATTACK, code=7),
        change(ATTACK, bug="off_by_one"),
        change(ATTACK, bug=None),
        change(ATTACK, bug={"class": "virus", "lines": [1, 1]}),
        change(ATTACK, bug={"class": ["off_by_one"], "lines": [1, 1]}),
        change(ATTACK, bug={"class": "off_by_one", "lines": [3, 1]}),
        change(ATTACK, bug={"class": "off_by_one", "lines": [1, 99]}),
        change(ATTACK, bug={"class": "off_by_one", "lines": "line 2"}),
        change(ATTACK, bug={"class": "off_by_one", "lines": [True, True]}),
        '{"code": "x", "bug":',
        '{"a":' * 100_000,
        "{" * 500_000,
        "x" * 2_000_000,
    ],
)
def test_bad_attacks_are_format_errors(text: str) -> None:
    with pytest.raises(ActionFormatError):
        parse_attack(text)


@pytest.mark.parametrize(
    "text",
    [
        change(DEFENCE, label="Tampered"),
        change(DEFENCE, label=None),
        change(DEFENCE, label=["clean"]),
        change(DEFENCE, confidence="80"),
        change(DEFENCE, confidence=None),
        change(DEFENCE, confidence=True),
        change(DEFENCE, confidence=101),
        change(DEFENCE, confidence=-1),
        change(DEFENCE, suspect_lines="2"),
        change(DEFENCE, suspect_lines=[0]),
        change(DEFENCE, suspect_lines=[1.5]),
        change(DEFENCE, reason=["x"]),
        '{"label": "clean", "confidence": NaN}',
    ],
)
def test_bad_defences_are_format_errors(text: str) -> None:
    with pytest.raises(ActionFormatError):
        parse_defence(text)


@given(st.text())
def test_no_text_crashes_the_parser(text: str) -> None:
    for parse in (parse_attack, parse_defence):
        try:
            parse(text + '{"code": 1, "label": 2}' + text)
        except ActionFormatError:
            pass
