class LRUCache:
    def __init__(self, capacity):
        if capacity <= 0:
            raise ValueError(capacity)
        self._room = capacity
        self._values = {}

    def get(self, key):
        if key in self._values:
            value = self._values.pop(key)
            self._values[key] = value
            return value
        return None

    def put(self, key, value):
        self._values.pop(key, None)
        if len(self._values) >= self._room:
            oldest = next(iter(self._values))
            del self._values[oldest]
        self._values[key] = value

    def keys(self):
        return list(self._values.keys())

    def __len__(self):
        return len(self._values)
