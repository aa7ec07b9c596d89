import pytest
from solution import retry


def nothing(number):
    return None


def test_first_time():
    assert retry(lambda: 5, 3, (ValueError,), nothing) == 5


def test_second_time():
    calls = []

    def call():
        calls.append(1)
        if len(calls) < 2:
            raise ValueError("again")
        return "done"

    assert retry(call, 3, (ValueError,), nothing) == "done"
    assert len(calls) == 2


def test_gives_up():
    def call():
        raise ValueError("always")

    with pytest.raises(ValueError, match="always"):
        retry(call, 3, (ValueError,), nothing)
