import pytest
from solution import cumulative, mean, stable_sum


@pytest.mark.parametrize(
    ("values", "total"),
    [
        ([1e16, 1.0, -1e16], 1.0),
        ([1.0, 1e16, -1e16], 1.0),
        ([1e16, -1e16, 1.0], 1.0),
        ([1e16, 1.0, 1.0, -1e16], 2.0),
        ([-1e16, 1.0, 1e16], 1.0),
        ([1.0, -1e16, 1e16], 1.0),
        ([1e17, 3.0, -1e17, 4.0], 7.0),
        ([3.0, 1e17, 4.0, -1e17], 7.0),
        ([0.1] * 10, 1.0),
        ([0.1] * 1000, 100.0),
        ([5.0], 5.0),
        ([-2.5, -2.5], -5.0),
        ([0.0, -7.0], -7.0),
        ([1e-20, 1.0, -1.0], 1e-20),
    ],
)
def test_sums(values, total):
    before = list(values)
    assert stable_sum(values) == pytest.approx(total, rel=1e-13, abs=1e-25)
    assert mean(values) == pytest.approx(total / len(values), rel=1e-13, abs=1e-25)
    assert values == before


def test_cumulative_keeps_small_values():
    assert cumulative([1e16, 1.0, -1e16, 2.0]) == [1e16, 1e16, 1.0, 3.0]
    assert cumulative([1.0, 1e16, -1e16]) == [1.0, 1e16, 1.0]


def test_cumulative_of_ordinary_values():
    sums = cumulative([0.5, 0.25, -1.0, 4.0])
    assert sums == [0.5, 0.75, -0.25, 3.75]
    assert type(sums) is list


def test_empty():
    assert cumulative([]) == []
    assert type(stable_sum([])) is float
    with pytest.raises(ValueError):
        mean([])


def test_results_are_floats():
    assert type(stable_sum([1, 2])) is float
    assert type(mean([1, 2])) is float
    assert [type(item) for item in cumulative([1, 2])] == [float, float]


def test_single_values():
    assert mean([3.25]) == 3.25
    assert cumulative([3.25]) == [3.25]
