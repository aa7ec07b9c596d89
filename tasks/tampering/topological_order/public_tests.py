import pytest
from solution import order


def test_chain():
    assert order({"c": ["b"], "b": ["a"]}) == ["a", "b", "c"]


def test_empty():
    assert order({}) == []


def test_independent():
    assert order({"b": [], "a": []}) == ["a", "b"]


def test_cycle():
    with pytest.raises(ValueError):
        order({"a": ["b"], "b": ["a"]})
