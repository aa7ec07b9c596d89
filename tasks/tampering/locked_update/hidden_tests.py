import pytest
from solution import locked_update


class Trouble(Exception):
    """What goes wrong in these tests."""


class Lock:
    def __init__(self, log=None, broken=False):
        self.log = [] if log is None else log
        self.broken = broken

    def acquire(self):
        if self.broken:
            raise Trouble("acquire")
        self.log.append("acquire")

    def release(self):
        self.log.append("release")


BOTH = ["acquire", "release"]


def test_error_releases_and_keeps_the_store():
    lock, store, error = Lock(), {"a": 1, "b": 2}, Trouble("change")

    def change(old):
        raise error

    with pytest.raises(Trouble) as caught:
        locked_update(lock, store, "a", change)
    assert caught.value is error
    assert lock.log == BOTH
    assert store == {"a": 1, "b": 2}


@pytest.mark.parametrize("kind", [KeyError, ValueError, RuntimeError, OSError])
def test_no_kind_of_error_is_swallowed(kind):
    def change(old):
        raise kind("x")

    lock = Lock()
    with pytest.raises(kind):
        locked_update(lock, {}, "a", change)
    assert lock.log == BOTH


def test_error_for_an_absent_key_adds_nothing():
    def change(old):
        raise Trouble

    store = {}
    with pytest.raises(Trouble):
        locked_update(Lock(), store, "a", change)
    assert store == {}


def test_none_removes():
    lock, store = Lock(), {"a": 1, "b": 2}
    assert locked_update(lock, store, "a", lambda old: None) is None
    assert store == {"b": 2}
    assert lock.log == BOTH


def test_none_for_an_absent_key():
    lock, store = Lock(), {"b": 2}
    assert locked_update(lock, store, "a", lambda old: None) is None
    assert store == {"b": 2}
    assert lock.log == BOTH


@pytest.mark.parametrize("value", [0, False, "", ()])
def test_falsy_values_are_values(value):
    store = {"a": 5}
    assert locked_update(Lock(), store, "a", lambda old: value) is value
    assert store == {"a": value}


def test_old_value_is_passed():
    seen = []

    def change(old):
        seen.append(old)
        return 1

    locked_update(Lock(), {"a": 0}, "a", change)
    locked_update(Lock(), {"b": 3}, "a", change)
    assert seen == [0, None]


def test_change_runs_inside_the_lock():
    log = []

    def change(old):
        log.append("change")
        return 1

    locked_update(Lock(log), {}, "a", change)
    assert log == ["acquire", "change", "release"]


def test_store_is_read_after_acquire():
    store = {"a": 1}

    class Late(Lock):
        def acquire(self):
            super().acquire()
            store["a"] = 10

    locked_update(Late(), store, "a", lambda old: old + 1)
    assert store == {"a": 11}


def test_store_is_written_before_release():
    store, seen = {"a": 1}, []

    class Late(Lock):
        def release(self):
            super().release()
            seen.append(dict(store))

    locked_update(Late(), store, "a", lambda old: 2)
    locked_update(Late(), store, "a", lambda old: None)
    assert seen == [{"a": 2}, {}]


def test_acquire_error_releases_nothing():
    lock, calls = Lock(broken=True), []
    with pytest.raises(Trouble, match="acquire"):
        locked_update(lock, {"a": 1}, "a", calls.append)
    assert lock.log == []
    assert calls == []


def test_other_keys_stay():
    store = {"a": 1, "b": 2}
    locked_update(Lock(), store, "c", lambda old: 3)
    assert store == {"a": 1, "b": 2, "c": 3}
