import pytest
from solution import cumulative, mean, stable_sum


def test_sum():
    assert stable_sum([1.5, 2.5, 3.0]) == pytest.approx(7.0)


def test_empty_sum():
    assert stable_sum([]) == 0.0


def test_mean():
    assert mean([1.0, 2.0, 6.0]) == pytest.approx(3.0)


def test_cumulative():
    assert cumulative([1.0, 2.0, 3.0]) == pytest.approx([1.0, 3.0, 6.0])


def test_empty_mean():
    with pytest.raises(ValueError):
        mean([])
