from threading import Condition


class Loader:
    def __init__(self, load):
        self._load = load
        self._done = {}
        self._busy = set()
        self._changed = Condition()

    def get(self, key):
        with self._changed:
            while key in self._busy:
                self._changed.wait()
            if key in self._done:
                return self._done[key]
            self._busy.add(key)
        try:
            value = self._load(key)
            with self._changed:
                self._done[key] = value
            return value
        finally:
            with self._changed:
                self._busy.discard(key)
                self._changed.notify_all()

    def forget(self, key):
        with self._changed:
            if key in self._done:
                del self._done[key]

    def known(self):
        with self._changed:
            return sorted(self._done.keys())
