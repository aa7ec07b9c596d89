import pytest
from solution import nearly_equal, unique

INF, NAN = float("inf"), float("nan")


@pytest.mark.parametrize(
    ("a", "b", "options", "close"),
    [
        (1e12, 1e12 + 100, {}, True),
        (1e12, 1e12 + 2000, {}, False),
        (-1e12, -1e12 - 100, {}, True),
        (-1e12, -1e12 - 5000, {}, False),
        (1e-12, 2e-12, {}, False),
        (0.0, 1e-12, {}, False),
        (0.0, 1e-12, {"absolute": 1e-11}, True),
        (0.0, 1e-10, {"absolute": 1e-11}, False),
        (0.0, -0.0, {}, True),
        (0.0, 0.0, {"relative": 0.0}, True),
        (100, 101, {"relative": 0.0, "absolute": 1}, True),
        (100, 101, {"relative": 0.0, "absolute": 0.5}, False),
        (4.0, 5.0, {"relative": 0.2}, True),
        (5.0, 4.0, {"relative": 0.2}, True),
        (4.0, 5.25, {"relative": 0.2}, False),
        (-4.0, -5.0, {"relative": 0.2}, True),
        (-5.0, -4.0, {"relative": 0.2}, True),
        (-1.0, 1.0, {"relative": 0.5}, False),
        (1.0, -1.0, {"absolute": 0.5}, False),
        (-3.0, 3.0, {"absolute": 6.0}, True),
        (INF, INF, {}, True),
        (-INF, -INF, {}, True),
        (INF, -INF, {"absolute": INF}, False),
        (INF, 1e300, {"relative": 1.0}, False),
        (1e300, INF, {"relative": 1.0}, False),
        (-INF, 5.0, {"absolute": 1e300}, False),
        (NAN, NAN, {}, False),
        (NAN, 1.0, {"absolute": 10.0}, False),
        (1.0, NAN, {"relative": 1.0}, False),
    ],
)
def test_pairs(a, b, options, close):
    assert nearly_equal(a, b, **options) is close


@pytest.mark.parametrize("options", [{"relative": -1e-9}, {"absolute": -1.0}])
def test_negative_tolerances(options):
    with pytest.raises(ValueError):
        nearly_equal(1.0, 2.0, **options)
    with pytest.raises(ValueError):
        nearly_equal(1.0, 1.0, **options)


@pytest.mark.parametrize(
    ("values", "options", "kept"),
    [
        ([], {}, []),
        ([1.0, 1.0 + 1e-12, 2.0, 1.0], {}, [1.0, 2.0]),
        ([1.0, 1.5, 2.0], {"absolute": 0.5}, [1.0, 2.0]),
        ([1.0, 1.4, 1.8, 2.2], {"absolute": 0.5, "relative": 0.0}, [1.0, 1.8]),
        ([8.0, 10.0], {"relative": 0.2}, [8.0]),
        ([INF, INF, -INF], {}, [INF, -INF]),
        ([3.0, 2.0, 1.0], {}, [3.0, 2.0, 1.0]),
        ([1.0, 1.0005, 0.0, 0.0005], {}, [1.0, 1.0005, 0.0, 0.0005]),
    ],
)
def test_unique_values(values, options, kept):
    before = list(values)
    assert unique(values, **options) == kept
    assert values == before


def test_unique_keeps_every_nan():
    assert len(unique([NAN, NAN])) == 2
