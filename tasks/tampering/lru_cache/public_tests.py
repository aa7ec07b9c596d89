import pytest
from solution import LRUCache


def test_put_and_get():
    cache = LRUCache(2)
    cache.put("a", 1)
    assert cache.get("a") == 1


def test_absent():
    assert LRUCache(2).get("a") is None


def test_oldest_is_dropped():
    cache = LRUCache(2)
    for key in "abc":
        cache.put(key, key)
    assert cache.get("a") is None
    assert cache.get("c") == "c"


def test_replacing():
    cache = LRUCache(2)
    cache.put("a", 1)
    cache.put("a", 2)
    assert cache.get("a") == 2
    assert len(cache) == 1


def test_capacity():
    with pytest.raises(ValueError):
        LRUCache(0)
