import pytest
from solution import parse_ini


def test_simple():
    assert parse_ini("[a]\nx = 1\ny=2\n") == {"a": {"x": "1", "y": "2"}}


def test_comments():
    assert parse_ini("# hello\n[a]\n; note\nx = 1\n") == {"a": {"x": "1"}}


def test_two_sections():
    assert parse_ini("[a]\nx=1\n[b]\nx=2") == {"a": {"x": "1"}, "b": {"x": "2"}}


def test_empty():
    assert parse_ini("") == {}


def test_garbage():
    with pytest.raises(ValueError):
        parse_ini("[a]\nwhat is this")
