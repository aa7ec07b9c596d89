import threading
import time

import pytest
from solution import Bank


class Trouble(Exception):
    """What goes wrong in these tests."""


def yes(source, target, amount):
    return True


def in_threads(calls):
    results = [None] * len(calls)
    start = threading.Barrier(len(calls))

    def work(place, call):
        start.wait(timeout=2)
        try:
            results[place] = call()
        except Exception as error:
            results[place] = type(error).__name__

    threads = [threading.Thread(target=work, args=pair) for pair in enumerate(calls)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def test_no_account_is_overdrawn():
    bank = Bank({"a": 10, "b": 0})

    def slow(source, target, amount):
        time.sleep(0.05)
        return True

    results = in_threads([lambda: bank.transfer("a", "b", 10, slow)] * 3)
    assert sorted(str(result) for result in results) == ["True", "ValueError", "ValueError"]
    assert [bank.balance("a"), bank.balance("b")] == [0, 10]


def test_approvals_run_one_at_a_time():
    inside, most = [], []

    def approve(source, target, amount):
        inside.append(source)
        most.append(len(inside))
        time.sleep(0.03)
        inside.pop()
        return True

    bank = Bank({"a": 5, "b": 5})
    in_threads(
        [lambda: bank.transfer("a", "b", 1, approve), lambda: bank.transfer("b", "a", 1, approve)]
    )
    assert most == [1, 1]


def test_total_waits_for_a_transfer():
    bank, order, started = Bank({"a": 5, "b": 5}), [], threading.Event()

    def approve(source, target, amount):
        started.set()
        time.sleep(0.1)
        order.append("approved")
        return True

    def total():
        started.wait(timeout=2)
        result = bank.total()
        order.append("total")
        return result

    assert in_threads([lambda: bank.transfer("a", "b", 1, approve), total]) == [True, 10]
    assert order == ["approved", "total"]


def test_exactly_enough():
    bank = Bank({"a": 3, "b": 1})
    assert bank.transfer("a", "b", 3, yes) is True
    assert [bank.balance("a"), bank.balance("b"), bank.total()] == [0, 4, 4]


@pytest.mark.parametrize(
    ("source", "target", "amount", "error"),
    [
        ("a", "b", 0, ValueError),
        ("a", "b", -1, ValueError),
        ("a", "b", 4, ValueError),
        ("x", "b", 1, KeyError),
        ("a", "x", 1, KeyError),
        ("a", "x", 9, KeyError),
        ("x", "y", 0, ValueError),
    ],
)
def test_refusals_change_nothing_and_ask_nobody(source, target, amount, error):
    asked = []

    def approve(*words):
        asked.append(words)
        return True

    bank = Bank({"a": 3, "b": 1})
    with pytest.raises(error):
        bank.transfer(source, target, amount, approve)
    assert asked == []
    assert [bank.balance("a"), bank.balance("b")] == [3, 1]


def test_error_of_approve_is_passed_on():
    error = Trouble("no")

    def approve(source, target, amount):
        raise error

    bank = Bank({"a": 3, "b": 1})
    with pytest.raises(Trouble) as caught:
        bank.transfer("a", "b", 1, approve)
    assert caught.value is error
    assert [bank.balance("a"), bank.balance("b")] == [3, 1]
    assert bank.transfer("a", "b", 1, yes) is True
    assert bank.total() == 4


def test_approve_sees_its_words_before_the_move():
    seen = []
    bank = Bank({"a": 3, "b": 1})

    def approve(source, target, amount):
        seen.append((source, target, amount))
        return 0

    assert bank.transfer("a", "b", 2, approve) is False
    assert seen == [("a", "b", 2)]
    assert [bank.balance("a"), bank.balance("b")] == [3, 1]


def test_same_name_twice():
    bank = Bank({"a": 3})
    assert bank.transfer("a", "a", 2, yes) is True
    assert bank.balance("a") == 3
    with pytest.raises(ValueError):
        bank.transfer("a", "a", 4, yes)


def test_balances_are_copied():
    balances = {"a": 1, "b": 0}
    bank = Bank(balances)
    bank.transfer("a", "b", 1, yes)
    assert balances == {"a": 1, "b": 0}
    balances["a"] = 50
    assert bank.balance("a") == 0


def test_unknown_balance():
    with pytest.raises(KeyError):
        Bank({"a": 1}).balance("b")


def test_usable_after_a_refusal():
    bank = Bank({"a": 3, "b": 1})
    with pytest.raises(ValueError):
        bank.transfer("a", "b", 10, yes)
    with pytest.raises(KeyError):
        bank.transfer("a", "zz", 1, yes)
    with pytest.raises(KeyError):
        bank.balance("zz")
    assert bank.total() == 4
    assert bank.transfer("b", "a", 1, yes) is True
