import pytest
from solution import covered, merge


@pytest.mark.parametrize(
    ("intervals", "merged", "length"),
    [
        ([(1, 2), (2, 3)], [(1, 3)], 2),
        ([(1, 2), (3, 4)], [(1, 2), (3, 4)], 2),
        ([(1, 10), (2, 3)], [(1, 10)], 9),
        ([(1, 10), (2, 3), (9, 12)], [(1, 12)], 11),
        ([(2, 3), (1, 10)], [(1, 10)], 9),
        ([(5, 5)], [(5, 5)], 0),
        ([(5, 5), (5, 7)], [(5, 7)], 2),
        ([(5, 5), (1, 2)], [(1, 2), (5, 5)], 1),
        ([(-5, -2), (-3, 0)], [(-5, 0)], 5),
        ([(1, 3), (1, 3)], [(1, 3)], 2),
        ([(1, 3), (1, 5), (0, 1)], [(0, 5)], 5),
        ([(0.5, 1.5), (1.25, 2.0)], [(0.5, 2.0)], 1.5),
        ([(7, 9), (1, 2), (4, 5), (2, 4)], [(1, 5), (7, 9)], 6),
        ([(1, 4), (6, 8), (3, 7)], [(1, 8)], 7),
        ([(0, 1), (5, 6), (10, 12), (11, 15)], [(0, 1), (5, 6), (10, 15)], 7),
        ([(0, 9), (20, 21), (30, 31), (40, 41)], [(0, 9), (20, 21), (30, 31), (40, 41)], 12),
    ],
)
def test_cases(intervals, merged, length):
    before = list(intervals)
    assert merge(intervals) == merged
    assert covered(intervals) == length
    assert intervals == before


def test_result_is_a_new_list_of_tuples():
    intervals = [(1, 2)]
    result = merge(intervals)
    assert type(result) is list
    assert type(result[0]) is tuple
    assert result is not intervals


@pytest.mark.parametrize("call", [merge, covered], ids=["merge", "covered"])
def test_reversed_anywhere(call):
    with pytest.raises(ValueError):
        call([(1, 5), (4, 3)])
    with pytest.raises(ValueError):
        call([(0, -1)])
