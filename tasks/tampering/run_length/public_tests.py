import pytest
from solution import decode, encode


def test_encode():
    assert encode("aaab") == [("a", 3), ("b", 1)]


def test_decode():
    assert decode([("a", 3), ("b", 1)]) == "aaab"


def test_empty():
    assert encode("") == []
    assert decode([]) == ""


def test_round_trip():
    assert decode(encode("hello wool")) == "hello wool"


def test_zero_count():
    with pytest.raises(ValueError):
        decode([("a", 0)])
