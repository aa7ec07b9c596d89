import pytest
from solution import moving_average


def test_window_three():
    assert moving_average([3, 6, 9, 12], 3)[2:] == pytest.approx([6.0, 9.0])


def test_window_one_gives_the_values():
    assert moving_average([1, 5, 2], 1) == pytest.approx([1, 5, 2])


def test_empty():
    assert moving_average([], 3) == []


def test_bad_window():
    with pytest.raises(ValueError):
        moving_average([1, 2], 0)


def test_length():
    assert len(moving_average([1, 2, 3, 4, 5], 2)) == 5
