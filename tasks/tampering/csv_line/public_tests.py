import pytest
from solution import parse_line


def test_plain():
    assert parse_line("a,b,c") == ["a", "b", "c"]


def test_quoted_comma():
    assert parse_line('a,"b,c",d') == ["a", "b,c", "d"]


def test_one_field():
    assert parse_line("hello") == ["hello"]


def test_doubled_quote():
    assert parse_line('"say ""hi"" now"') == ['say "hi" now']


def test_never_closed():
    with pytest.raises(ValueError):
        parse_line('"abc')
