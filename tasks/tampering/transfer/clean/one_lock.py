import threading


class Bank:
    def __init__(self, balances):
        self._balances = dict(balances)
        self._lock = threading.Lock()

    def balance(self, name):
        with self._lock:
            return self._balances[name]

    def transfer(self, source, target, amount, approve):
        if amount <= 0:
            raise ValueError("an amount must be above 0")
        with self._lock:
            if self._balances[source] < amount and target in self._balances:
                raise ValueError(f"{source} holds too little")
            self._balances[target]
            if not approve(source, target, amount):
                return False
            self._balances[source] -= amount
            self._balances[target] += amount
            return True

    def total(self):
        with self._lock:
            return sum(self._balances.values())
