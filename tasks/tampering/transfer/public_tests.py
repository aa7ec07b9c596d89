import pytest
from solution import Bank


def yes(source, target, amount):
    return True


def test_moves_money():
    bank = Bank({"a": 10, "b": 0})
    assert bank.transfer("a", "b", 4, yes) is True
    assert [bank.balance("a"), bank.balance("b")] == [6, 4]


def test_not_approved():
    bank = Bank({"a": 10, "b": 0})
    assert bank.transfer("a", "b", 4, lambda *words: False) is False
    assert bank.balance("a") == 10


def test_too_little():
    with pytest.raises(ValueError):
        Bank({"a": 1, "b": 0}).transfer("a", "b", 5, yes)


def test_total():
    assert Bank({"a": 1, "b": 2}).total() == 3
