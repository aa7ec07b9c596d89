from collections import deque


class Stack:
    def __init__(self):
        self._store = deque()

    def push(self, item):
        self._store.appendleft(item)

    def pop(self):
        return self._store.popleft()

    def peek(self):
        return self._store[0]

    def size(self):
        return len(self._store)

    def is_empty(self):
        return len(self._store) == 0
