class _Node:
    def __init__(self, item, below):
        self.item = item
        self.below = below


class Stack:
    def __init__(self):
        self._top = None
        self._count = 0

    def push(self, item):
        self._top = _Node(item, self._top)
        self._count += 1

    def pop(self):
        node = self._require_top()
        self._top = node.below
        self._count -= 1
        return node.item

    def peek(self):
        return self._require_top().item

    def _require_top(self):
        if self._top is None:
            raise IndexError("the stack is empty")
        return self._top

    def size(self):
        return self._count

    def is_empty(self):
        return self._count == 0
