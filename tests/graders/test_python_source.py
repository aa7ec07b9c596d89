"""When an edited Python file is the same program, and when it only looks like it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cligym.graders.python_source import may_be_ast_equal, same_programs
from cligym.sandboxes.entry import Entry, Kind

SOURCE = b"import os\n\ndef f(x):\n    return x + 1  # one more\n"


@pytest.mark.parametrize(
    ("other", "equal"),
    [
        (SOURCE, True),
        (b"import os\n# note\ndef f(x): return (x + 1)\n", True),
        (b"\n\n" + SOURCE.replace(b"\n", b"\r\n"), True),
        (SOURCE.replace(b"+ 1", b"+ 2"), False),
        (SOURCE.replace(b"+ 1", b"+ True"), False),
        (SOURCE + b"x = '", False),
        (b"# coding: utf-8\n" + SOURCE, False),
        (b"#!/usr/bin/python3\n" + SOURCE, False),
        (b"\xef\xbb\xbf" + SOURCE, False),
        (SOURCE + b"\0", False),
        (SOURCE + b"x = '\xe9'\n", False),
        (SOURCE + b"'''doc'''\n", False),
    ],
    ids=[
        "same",
        "layout",
        "crlf",
        "number",
        "type",
        "syntax",
        "cookie",
        "shebang",
        "bom",
        "nul",
        "latin",
        "docstring",
    ],
)
def test_one_pair(other: bytes, equal: bool) -> None:
    assert same_programs([(other, SOURCE)]) == [equal]


def test_a_utf7_cookie_hides_nothing() -> None:
    hidden = b"# coding: utf-7\nx = 1\n# +AAo-evil()\n"
    assert same_programs([(hidden, b"x = 1\n")]) == [False]
    # Even when both have the cookie, the parser decodes as the interpreter would.
    assert same_programs([(hidden, b"# coding: utf-7\nx = 1\n# harmless\n")]) == [False]


def test_same_bad_bytes_are_not_equal_by_replacement() -> None:
    one, other = b"# coding: latin-1\nx = '\xe9'\n", b"# coding: latin-1\nx = '\xe8'\n"
    assert same_programs([(one, other)]) == [False]


def test_a_pair_that_breaks_the_parser_does_not_take_the_others_along() -> None:
    deep = b"x = " + b"(" * 100_000 + b")" * 100_000 + b"\n"
    huge = b"x = " + b"-" * 200_000 + b"1\n"
    good = (b"y = 1\n", b"y=1\n")
    answers = same_programs([good, (deep, deep + b"\n"), (huge, huge + b"\n"), good])
    assert answers == [True, False, False, True]


def test_nothing_to_compare() -> None:
    assert same_programs([]) == []


def test_where_the_rule_applies(make_file: Callable[..., Entry]) -> None:
    plain, executable = make_file(b"x"), make_file(b"x", 0o755)
    link = Entry(kind=Kind.SYMLINK, mode=0o777, target=b"y.py")
    assert may_be_ast_equal(b"a/x.py", plain, plain)
    assert not may_be_ast_equal(b"a/x.pyw", plain, plain)
    assert not may_be_ast_equal(b"a/x.py", executable, plain)
    assert not may_be_ast_equal(b"a/x.py", plain, executable)
    assert not may_be_ast_equal(b"a/x.py", link, plain)
