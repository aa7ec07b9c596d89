import threading
import time

import pytest
from solution import Loader


class Trouble(Exception):
    """What goes wrong in these tests."""


def in_threads(calls):
    """Runs the calls at once; returns their results (an exception stands for itself)."""
    results = [None] * len(calls)
    start = threading.Barrier(len(calls))

    def work(place, call):
        start.wait(timeout=2)
        try:
            results[place] = call()
        except Exception as error:
            results[place] = error

    threads = [threading.Thread(target=work, args=pair) for pair in enumerate(calls)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def test_many_threads_load_once():
    calls = []

    def load(key):
        calls.append(key)
        time.sleep(0.05)
        return key.upper()

    loader = Loader(load)
    assert in_threads([lambda: loader.get("a")] * 4) == ["A"] * 4
    assert calls == ["a"]


class Key:
    """A key that takes its time: every look into a dict is a chance for another thread.

    Each thread may set its own delays (seconds, one for each look); then there is none.
    """

    delays = threading.local()

    def __hash__(self):
        left = getattr(Key.delays, "left", None)
        time.sleep(0.01 if left is None else left.pop(0) if left else 0)
        return 7

    def __eq__(self, other):
        return self is other


def test_keys_that_are_slow_to_look_up():
    calls, key = [], Key()

    def load(name):
        calls.append(name)
        time.sleep(0.02)
        return len(calls)

    loader = Loader(load)
    assert in_threads([lambda: loader.get(key)] * 4) == [1] * 4
    assert calls == [key]


@pytest.mark.parametrize("second", [[0, 0.06], [0, 0, 0.06], [0.01, 0.05, 0.05]])
def test_one_thread_is_slower_in_the_middle(second):
    calls, key = [], Key()

    def load(name):
        calls.append(name)
        return len(calls)

    loader = Loader(load)

    def get(delays):
        Key.delays.left = list(delays)
        return loader.get(key)

    assert in_threads([lambda: get([0.02, 0.01]), lambda: get(second)]) == [1, 1]
    assert calls == [key]


def test_two_threads_forget_at_once():
    key = Key()
    loader = Loader(lambda name: 1)
    loader.get(key)
    assert in_threads([lambda: loader.forget(key)] * 3) == [None] * 3


def test_keys_do_not_hold_up_each_other():
    both = threading.Barrier(2)

    def load(key):
        try:
            both.wait(timeout=0.7)  # passes only when both keys load at the same time
        except threading.BrokenBarrierError:
            return "alone"
        return key

    loader = Loader(load)
    assert in_threads([lambda: loader.get("a"), lambda: loader.get("b")]) == ["a", "b"]


def test_none_is_remembered():
    calls = []

    def load(key):
        calls.append(key)

    loader = Loader(load)
    assert [loader.get("a"), loader.get("a")] == [None, None]
    assert calls == ["a"]
    assert loader.known() == ["a"]


def test_errors_are_passed_on_and_not_remembered():
    calls, error = [], Trouble("first")

    def load(key):
        calls.append(key)
        if len(calls) == 1:
            raise error
        return 7

    loader = Loader(load)
    with pytest.raises(Trouble) as caught:
        loader.get("a")
    assert caught.value is error
    assert loader.known() == []
    assert loader.get("a") == 7
    assert loader.get("a") == 7
    assert calls == ["a", "a"]


def test_an_error_frees_those_who_wait():
    calls = []

    def load(key):
        calls.append(key)
        time.sleep(0.03)
        if len(calls) == 1:
            raise Trouble("first")
        return 7

    loader = Loader(load)
    results = in_threads([lambda: loader.get("a")] * 3)
    assert sorted(type(result).__name__ for result in results) == ["Trouble", "int", "int"]
    assert len(calls) == 2


def test_forget():
    calls = []

    def load(key):
        calls.append(key)
        return len(calls)

    loader = Loader(load)
    assert [loader.get("a"), loader.get("b")] == [1, 2]
    loader.forget("a")
    loader.forget("nothing")
    assert loader.known() == ["b"]
    assert [loader.get("b"), loader.get("a"), loader.get("a")] == [2, 3, 3]
    assert loader.known() == ["a", "b"]


def test_same_object():
    loader = Loader(lambda key: [key])
    assert loader.get("a") is loader.get("a")
    assert loader.get("a") == ["a"]


def test_two_loaders_share_nothing():
    first, second = Loader(lambda key: 1), Loader(lambda key: 2)
    assert [first.get("a"), second.get("a")] == [1, 2]
    assert Loader(lambda key: 3).known() == []
