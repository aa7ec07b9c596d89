"""No control character of an untrusted text reaches a terminal."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cligym.cli.terminal import safe_line, safe_text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("grüße 漢字 ✓", "grüße 漢字 ✓"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("\x9b31m", "\\x9b31m"),
        ("a\rb", "a\\rb"),
        ("\x7f\x00", "\\x7f\\x00"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("a\u2066b\u2069", "a\\u2066b\\u2069"),
        ("a\u200bb\u2028c", "a\\u200bb\\u2028c"),
        ("\U000e0041", "\\U000e0041"),
        ("bad\udcffbyte", "bad\\udcffbyte"),
    ],
    ids=lambda text: ascii(text),
)
def test_unsafe_characters_are_shown_by_number(text: str, shown: str) -> None:
    assert safe_line(text) == shown
    assert safe_text(text) == shown


def test_newline_and_tab_stay_only_in_text() -> None:
    assert safe_text("a\n\tb") == "a\n\tb"
    assert safe_line("a\n\tb") == "a\\n\\tb"


@given(st.text())
def test_whatever_comes_the_line_is_harmless(text: str) -> None:
    shown = safe_line(text)
    assert not any(unicodedata.category(char).startswith(("C", "Zl", "Zp")) for char in shown)
    shown.encode()  # no lone surrogates: printing cannot fail
