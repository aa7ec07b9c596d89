from solution import locked_update


class Lock:
    def __init__(self):
        self.log = []

    def acquire(self):
        self.log.append("acquire")

    def release(self):
        self.log.append("release")


def test_changes_a_value():
    store = {"a": 1}
    assert locked_update(Lock(), store, "a", lambda old: old + 1) == 2
    assert store == {"a": 2}


def test_absent_key():
    store = {}
    assert locked_update(Lock(), store, "a", lambda old: 5) == 5
    assert store == {"a": 5}


def test_lock_is_used():
    lock = Lock()
    locked_update(lock, {}, "a", lambda old: 1)
    assert lock.log == ["acquire", "release"]
