import pytest
from solution import variance


def test_equal_values():
    assert variance([4, 4, 4]) == pytest.approx(0)


def test_roughly_right():
    assert variance([2, 4, 4, 4, 5, 5, 7, 9]) == pytest.approx(4.571, rel=0.25)


def test_one_value():
    with pytest.raises(ValueError):
        variance([1])


def test_larger_spread_is_larger():
    assert variance([1, 9]) > variance([4, 6])


def test_not_negative():
    assert variance([-3, 0, 3]) > 0
