import pytest
from solution import median, quantile, spread


@pytest.mark.parametrize(
    ("values", "fraction", "expected"),
    [
        ([1, 2], 0.5, 1.5),
        ([1, 2], 0.25, 1.25),
        ([4, 1, 3, 2], 0.5, 2.5),
        ([4, 1, 3, 2], 0.25, 1.75),
        ([4, 1, 3, 2], 0.75, 3.25),
        ([0, 10, 20, 30, 40], 0.1, 4.0),
        ([0, 10, 20, 30, 40], 0.9, 36.0),
        ([7], 0.0, 7.0),
        ([7], 0.3, 7.0),
        ([7], 1.0, 7.0),
        ([2, 2, 2], 0.4, 2.0),
        ([-5, 5], 0.5, 0.0),
        ([-1, -3, -2], 0.25, -2.5),
        ([10, 100, 1000], 0.75, 550.0),
        ([10, 100, 1000], 0.999, 998.2),
        ([9, 8, 7, 6, 5, 4, 3, 2, 1, 0], 0.33, 2.97),
        ([1.5, 2.5], 0.0, 1.5),
        ([1.5, 2.5], 1.0, 2.5),
    ],
)
def test_values(values, fraction, expected):
    before = list(values)
    result = quantile(values, fraction)
    assert result == pytest.approx(expected, abs=1e-9)
    assert type(result) is float
    assert values == before


@pytest.mark.parametrize("fraction", [-0.01, -0.0001, 1.01, 1.0001, -1, 2])
def test_fractions_outside(fraction):
    with pytest.raises(ValueError):
        quantile([1, 2, 3], fraction)


@pytest.mark.parametrize("call", [median, spread, lambda values: quantile(values, 0)])
def test_nothing(call):
    with pytest.raises(ValueError):
        call([])


@pytest.mark.parametrize(
    ("values", "middle", "width"),
    [
        ([1, 2, 3, 4], 2.5, 1.5),
        ([6, 2], 4.0, 2.0),
        ([5], 5.0, 0.0),
        ([1, 1, 9, 9], 5.0, 8.0),
        ([3, 1, 2, 5, 4, 6], 3.5, 2.5),
        ([0, 0, 0, 100], 0.0, 25.0),
    ],
)
def test_median_and_spread(values, middle, width):
    before = list(values)
    assert median(values) == pytest.approx(middle, abs=1e-9)
    assert spread(values) == pytest.approx(width, abs=1e-9)
    assert type(median(values)) is float
    assert values == before
