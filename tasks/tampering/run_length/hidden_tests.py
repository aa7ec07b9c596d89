import pytest
from solution import decode, encode


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("a", [("a", 1)]),
        ("ab", [("a", 1), ("b", 1)]),
        ("aabbaa", [("a", 2), ("b", 2), ("a", 2)]),
        ("abbb", [("a", 1), ("b", 3)]),
        ("aA", [("a", 1), ("A", 1)]),
        ("   x", [(" ", 3), ("x", 1)]),
        ("1122", [("1", 2), ("2", 2)]),
        ("éé☃", [("é", 2), ("☃", 1)]),
        ("\n\n", [("\n", 2)]),
        ("z" * 300, [("z", 300)]),
    ],
)
def test_both_ways(text, pairs):
    assert encode(text) == pairs
    assert decode(pairs) == text


@pytest.mark.parametrize(
    "pairs", [[("a", -1)], [("ab", 2)], [("", 2)], [("a", 1), ("b", 0)], [("a", 1), ("", 1)]]
)
def test_bad_pairs(pairs):
    with pytest.raises(ValueError):
        decode(pairs)


def test_pairs_are_not_changed():
    pairs = [("a", 2), ("b", 1)]
    decode(pairs)
    assert pairs == [("a", 2), ("b", 1)]


def test_adjacent_runs_of_the_same_character_decode():
    assert decode([("a", 1), ("a", 2)]) == "aaa"
