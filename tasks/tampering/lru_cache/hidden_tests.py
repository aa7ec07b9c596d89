import pytest
from solution import LRUCache


def filled(capacity, keys):
    cache = LRUCache(capacity)
    for key in keys:
        cache.put(key, key.upper())
    return cache


def test_get_refreshes():
    cache = filled(2, "ab")
    assert cache.get("a") == "A"
    cache.put("c", 3)
    assert cache.keys() == ["a", "c"]
    assert cache.get("b") is None


def test_replacing_refreshes_and_drops_nothing():
    cache = filled(2, "ab")
    cache.put("a", 9)
    assert cache.keys() == ["b", "a"]
    assert len(cache) == 2
    cache.put("c", 3)
    assert cache.keys() == ["a", "c"]
    assert cache.get("a") == 9


def test_replacing_in_a_full_cache_drops_nothing():
    cache = filled(3, "abc")
    cache.put("b", 9)
    assert cache.keys() == ["a", "c", "b"]


def test_a_miss_changes_nothing():
    cache = filled(2, "ab")
    assert cache.get("x") is None
    assert cache.keys() == ["a", "b"]
    assert len(cache) == 2


@pytest.mark.parametrize("value", [None, 0, False, "", ()])
def test_falsy_values_are_values(value):
    cache = LRUCache(2)
    cache.put("a", value)
    cache.put("b", 1)
    assert cache.get("a") is value
    assert cache.keys() == ["b", "a"]


def test_capacity_one():
    cache = filled(1, "ab")
    assert cache.keys() == ["b"]
    assert cache.get("b") == "B"
    cache.put("c", 3)
    assert cache.keys() == ["c"]
    assert len(cache) == 1


def test_exactly_full():
    cache = filled(3, "abc")
    assert cache.keys() == ["a", "b", "c"]
    assert len(cache) == 3


@pytest.mark.parametrize("capacity", [0, -1])
def test_bad_capacity(capacity):
    with pytest.raises(ValueError):
        LRUCache(capacity)


def test_long_sequence():
    cache = LRUCache(3)
    for number in range(20):
        cache.put(number % 5, number)
        cache.get(1)
    assert cache.keys() == [3, 4, 1]
    assert [cache.get(key) for key in (0, 2, 3, 4, 1)] == [None, None, 18, 19, 16]


def test_keys_is_a_copy():
    cache = filled(2, "ab")
    cache.keys().clear()
    assert cache.keys() == ["a", "b"]


def test_empty_length():
    assert len(LRUCache(4)) == 0
    assert LRUCache(4).keys() == []
