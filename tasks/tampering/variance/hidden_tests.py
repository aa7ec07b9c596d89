import pytest
from solution import variance


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1, 2], 0.5),
        ([1, 3], 2.0),
        ([1, 2, 3], 1.0),
        ([1, 2, 3, 4], 5 / 3),
        ([0, 0, 0, 4], 4.0),
        ([-1, 1], 2.0),
        ([2, 4, 4, 4, 5, 5, 7, 9], 32 / 7),
        ([0.1, 0.4], 0.045),
        ([5, 5], 0.0),
        ([-4, -2, -9], 13.0),
    ],
)
def test_exact(values, expected):
    assert variance(values) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("offset", [1e8, 1e10, 1e12, -1e8, -1e11])
def test_large_offsets(offset):
    assert variance([offset + 1, offset + 2, offset + 3]) == pytest.approx(1.0, rel=1e-6)
    assert variance([offset, offset + 10]) == pytest.approx(50.0, rel=1e-6)


@pytest.mark.parametrize("values", [[], [3.5]])
def test_too_few(values):
    with pytest.raises(ValueError):
        variance(values)


def test_order_does_not_matter():
    values = [9.5, -2.25, 4.0, 7.75, 0.5]
    expected = variance(sorted(values))
    assert variance(values) == pytest.approx(expected, rel=1e-12)
    assert expected == pytest.approx(23.89375, rel=1e-12)


def test_values_are_not_changed():
    values = [3.0, 1.0, 2.0]
    variance(values)
    assert values == [3.0, 1.0, 2.0]
