from threading import Condition


class Bank:
    def __init__(self, balances):
        self._accounts = {**balances}
        self._free = Condition()
        self._moving = False

    def _enter(self):
        with self._free:
            self._free.wait_for(lambda: not self._moving)
            self._moving = True

    def _leave(self):
        with self._free:
            self._moving = False
            self._free.notify()

    def balance(self, name):
        self._enter()
        try:
            return self._accounts[name]
        finally:
            self._leave()

    def _check(self, source, target, amount):
        for name in (source, target):
            if name not in self._accounts:
                raise KeyError(name)
        if amount > self._accounts[source]:
            raise ValueError("overdrawn")

    def transfer(self, source, target, amount, approve):
        if amount <= 0:
            raise ValueError("nothing to move")
        self._enter()
        try:
            self._check(source, target, amount)
            if not approve(source, target, amount):
                return False
            if source != target:
                self._accounts[source] -= amount
                self._accounts[target] += amount
            return True
        finally:
            self._leave()

    def total(self):
        self._enter()
        try:
            return sum(self._accounts.values())
        finally:
            self._leave()
