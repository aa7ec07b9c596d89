import pytest
from solution import covered, merge


def test_overlapping():
    assert merge([(1, 4), (3, 6)]) == [(1, 6)]


def test_disjoint():
    assert merge([(1, 2), (5, 6)]) == [(1, 2), (5, 6)]


def test_any_order():
    assert merge([(5, 6), (1, 2)]) == [(1, 2), (5, 6)]


def test_empty():
    assert merge([]) == []
    assert covered([]) == 0


def test_covered():
    assert covered([(0, 3), (10, 12)]) == 5


def test_reversed():
    with pytest.raises(ValueError):
        merge([(3, 1)])
