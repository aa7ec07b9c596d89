import pytest
from solution import binary_search


class Counted:
    """A number that counts how often it is compared."""

    comparisons = 0

    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        Counted.comparisons += 1
        return self.value == other.value

    def __ne__(self, other):
        Counted.comparisons += 1
        return self.value != other.value

    def __lt__(self, other):
        Counted.comparisons += 1
        return self.value < other.value

    def __gt__(self, other):
        Counted.comparisons += 1
        return self.value > other.value

    def __le__(self, other):
        Counted.comparisons += 1
        return self.value <= other.value

    def __ge__(self, other):
        Counted.comparisons += 1
        return self.value >= other.value


@pytest.mark.parametrize(
    ("items", "target", "index"),
    [
        ([2, 2, 2, 2], 2, 0),
        ([1, 2, 2, 2, 3], 2, 1),
        ([1, 1, 2, 3], 1, 0),
        ([0, 1, 3, 3], 3, 2),
        ([1, 2], 1, 0),
        ([1, 2], 2, 1),
        ([1, 2], 3, -1),
        ([1, 2], 0, -1),
        ([4], 5, -1),
        ([4], 3, -1),
    ],
)
def test_small_lists(items, target, index):
    assert binary_search(items, target) == index


def test_every_place_of_a_long_list():
    items = list(range(0, 80, 2))
    assert [binary_search(items, value) for value in items] == list(range(40))


def test_every_gap_of_a_long_list():
    items = list(range(0, 60, 2))
    assert {binary_search(items, value) for value in range(-1, 61, 2)} == {-1}


def test_list_is_not_changed():
    items = [1, 2, 2, 3]
    binary_search(items, 2)
    assert items == [1, 2, 2, 3]


@pytest.mark.parametrize(
    ("values", "target", "index"),
    [(range(150), 131, 131), (range(150), 60, 60), (range(150), 999, -1), ([7] * 150, 7, 0)],
    ids=["upper", "lower", "missing", "equal"],
)
def test_few_comparisons(values, target, index):
    items = [Counted(value) for value in values]
    Counted.comparisons = 0
    assert binary_search(items, Counted(target)) == index
    assert Counted.comparisons <= 24
