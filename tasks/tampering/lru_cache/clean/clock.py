class LRUCache:
    def __init__(self, capacity):
        if capacity < 1:
            raise ValueError("no room at all")
        self._limit = capacity
        self._tick = 0
        self._entries = {}

    def _stamp(self, key, value):
        self._tick += 1
        self._entries[key] = (self._tick, value)

    def get(self, key):
        entry = self._entries.get(key)
        if entry is None:
            return None
        self._stamp(key, entry[1])
        return entry[1]

    def put(self, key, value):
        self._stamp(key, value)
        if len(self._entries) > self._limit:
            oldest = min(self._entries, key=lambda name: self._entries[name][0])
            self._entries.pop(oldest)

    def keys(self):
        return sorted(self._entries, key=lambda name: self._entries[name][0])

    def __len__(self):
        return len(self._entries)
