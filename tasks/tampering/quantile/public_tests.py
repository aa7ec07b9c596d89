import pytest
from solution import median, quantile, spread


def test_median_of_odd():
    assert median([3, 1, 2]) == 2


def test_ends():
    assert quantile([5, 1, 9], 0) == 1
    assert quantile([5, 1, 9], 1) == 9


def test_quarter():
    assert quantile([0, 10, 20, 30, 40], 0.25) == pytest.approx(10)


def test_spread():
    assert spread([0, 10, 20, 30, 40]) == pytest.approx(20)


def test_empty():
    with pytest.raises(ValueError):
        quantile([], 0.5)
