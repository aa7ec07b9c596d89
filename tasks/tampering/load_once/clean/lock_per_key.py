import threading


class Loader:
    def __init__(self, load):
        self._load = load
        self._values = {}
        self._locks = {}
        self._guard = threading.Lock()

    def get(self, key):
        with self._guard:
            lock = self._locks.setdefault(key, threading.Lock())
        with lock:
            if key not in self._values:
                self._values[key] = self._load(key)
            return self._values[key]

    def forget(self, key):
        self._values.pop(key, None)

    def known(self):
        return sorted(self._values)
