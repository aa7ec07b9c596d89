import functools
import threading


def _alone(method):
    @functools.wraps(method)
    def locked(self, *args):
        self.mutex.acquire()
        try:
            return method(self, *args)
        finally:
            self.mutex.release()

    return locked


class Bank:
    def __init__(self, balances):
        self.mutex = threading.RLock()
        self.money = {name: amount for name, amount in balances.items()}

    @_alone
    def balance(self, name):
        return self.money[name]

    @_alone
    def transfer(self, source, target, amount, approve):
        if not amount > 0:
            raise ValueError(amount)
        available = self.money[source]
        if target not in self.money:
            raise KeyError(target)
        if available < amount:
            raise ValueError("not enough money")
        allowed = bool(approve(source, target, amount))
        if allowed:
            self.money[source] -= amount
            self.money[target] += amount
        return allowed

    @_alone
    def total(self):
        return sum(self.money[name] for name in self.money)
