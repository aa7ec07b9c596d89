import pytest
from solution import order


@pytest.mark.parametrize(
    ("needs", "expected"),
    [
        ({"a": ["z"]}, ["z", "a"]),
        ({"b": ["z"], "a": []}, ["a", "z", "b"]),
        ({"d": ["b", "c"], "b": ["a"], "c": ["a"]}, ["a", "b", "c", "d"]),
        ({"a": ["d"], "b": [], "c": [], "d": []}, ["b", "c", "d", "a"]),
        ({"a": ["c"], "b": [], "c": []}, ["b", "c", "a"]),
        ({"a": ["b", "b"]}, ["b", "a"]),
        ({"x": ["y", "y", "z"], "y": ["z", "z"]}, ["z", "y", "x"]),
        ({"e": ["a"], "d": ["a"], "c": ["e"], "b": ["c"]}, ["a", "d", "e", "c", "b"]),
        ({"one": []}, ["one"]),
        ({"b": ["a"], "c": ["a"], "a": [], "d": ["c", "b"]}, ["a", "b", "c", "d"]),
        ({"q": ["p"], "s": ["r"]}, ["p", "q", "r", "s"]),
    ],
)
def test_orders(needs, expected):
    assert order(needs) == expected


@pytest.mark.parametrize(
    "needs",
    [
        {"a": ["a"]},
        {"a": ["b"], "b": ["c"], "c": ["a"]},
        {"x": [], "a": ["b"], "b": ["a"]},
        {"a": ["b", "x"], "b": ["a"], "x": []},
        {"c": ["a"], "a": ["b"], "b": ["a"]},
    ],
)
def test_cycles(needs):
    with pytest.raises(ValueError):
        order(needs)


def test_needs_are_not_changed():
    needs = {"b": ["a", "a"], "c": ["b"]}
    order(needs)
    assert needs == {"b": ["a", "a"], "c": ["b"]}


def test_wide():
    needs = {"end": [f"n{number:02}" for number in range(30)]}
    assert order(needs) == [*needs["end"], "end"]
