import pytest
from solution import moving_average


@pytest.mark.parametrize(
    ("values", "window", "means"),
    [
        ([2, 4], 5, [2, 3]),
        ([7], 1, [7]),
        ([7], 3, [7]),
        ([1, 2, 3, 4], 2, [1, 1.5, 2.5, 3.5]),
        ([1, 2, 3, 4], 4, [1, 1.5, 2, 2.5]),
        ([-2, 2, -4, 4], 3, [-2, 0, -4 / 3, 2 / 3]),
        ([0, 0, 0], 2, [0, 0, 0]),
        ([0.1, 0.2, 0.4], 2, [0.1, 0.15, 0.3]),
        ([5, 5, 5, 5], 3, [5, 5, 5, 5]),
        ([10, 0, 0, 0, 10], 3, [10, 5, 10 / 3, 0, 10 / 3]),
        ([3, 6, 9, 12], 3, [3, 4.5, 6, 9]),
    ],
)
def test_means(values, window, means):
    result = moving_average(values, window)
    assert type(result) is list
    assert len(result) == len(means)
    assert result == pytest.approx(means, abs=1e-9)


def test_results_are_floats():
    assert [type(mean) for mean in moving_average([1, 2, 3], 2)] == [float] * 3


@pytest.mark.parametrize("window", [0, -1, -5])
def test_windows_below_one(window):
    with pytest.raises(ValueError):
        moving_average([1, 2, 3], window)


def test_bad_window_of_an_empty_list():
    with pytest.raises(ValueError):
        moving_average([], 0)


def test_window_one_over_many():
    values = [float(number % 7) for number in range(100)]
    assert moving_average(values, 1) == pytest.approx(values, abs=1e-9)


def test_long_list_against_the_definition():
    values = [((number * 37) % 101) / 10 for number in range(60)]
    for window in (2, 7, 59, 60, 61):
        parts = [values[max(0, end - window) : end] for end in range(1, 61)]
        expected = [sum(part) / len(part) for part in parts]
        result = moving_average(values, window)
        assert len(result) == 60
        assert result == pytest.approx(expected, abs=1e-9)


def test_values_are_not_changed():
    values = [1.0, 2.0, 3.0]
    result = moving_average(values, 2)
    assert values == [1.0, 2.0, 3.0]
    assert result is not values
