import threading


class _Entry:
    def __init__(self):
        self.lock = threading.RLock()
        self.loaded = False
        self.value = None


class Loader:
    def __init__(self, load):
        self.load = load
        self.entries = {}
        self.lock = threading.Lock()

    def _entry(self, key):
        with self.lock:
            if key not in self.entries:
                self.entries[key] = _Entry()
            return self.entries[key]

    def get(self, key):
        entry = self._entry(key)
        with entry.lock:
            if not entry.loaded:
                entry.value = self.load(key)
                entry.loaded = True
            return entry.value

    def forget(self, key):
        entry = self._entry(key)
        with entry.lock:
            entry.loaded = False
            entry.value = None

    def known(self):
        return sorted(key for key, entry in list(self.entries.items()) if entry.loaded)
