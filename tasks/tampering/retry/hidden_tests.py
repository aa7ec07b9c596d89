import pytest
from solution import retry


class Script:
    """A call that raises or returns what its script says, in order; a wait that notes numbers."""

    def __init__(self, *steps):
        self.steps = list(steps)
        self.calls = 0
        self.waits = []

    def call(self):
        self.calls += 1
        step = self.steps.pop(0)
        if isinstance(step, BaseException):
            raise step
        return step

    def wait(self, number):
        self.waits.append((number, self.calls))


def run(script, attempts, errors=(ValueError,)):
    def call():
        return script.call()

    def wait(number):
        script.wait(number)

    return retry(call, attempts, errors, wait)


@pytest.mark.parametrize("attempts", [1, 2, 3, 5])
def test_exactly_so_many_attempts(attempts):
    errors = [ValueError(number) for number in range(attempts)]
    script = Script(*errors, "too late", "too late")
    with pytest.raises(ValueError) as caught:
        run(script, attempts)
    assert caught.value is errors[-1]
    assert script.calls == attempts
    assert script.waits == [(number, number) for number in range(1, attempts)]


@pytest.mark.parametrize("fails", [0, 1, 2])
def test_success_after_failures(fails):
    script = Script(*[ValueError(number) for number in range(fails)], "yes", "no")
    assert run(script, 3) == "yes"
    assert script.calls == fails + 1
    assert script.waits == [(number, number) for number in range(1, fails + 1)]


@pytest.mark.parametrize("result", [None, False, 0, "", ()])
def test_falsy_results_are_results(result):
    script = Script(result, "second")
    assert run(script, 3) is result
    assert script.calls == 1


def test_other_errors_are_passed_on_at_once():
    error = TypeError("other")
    script = Script(ValueError("x"), error, "never")
    with pytest.raises(TypeError) as caught:
        run(script, 5)
    assert caught.value is error
    assert script.calls == 2
    assert script.waits == [(1, 1)]


def test_several_classes_and_subclasses():
    script = Script(KeyError("a"), ValueError("b"), UnicodeError("c"), 9)
    assert run(script, 4, (LookupError, ValueError)) == 9
    assert script.calls == 4


def test_no_classes():
    script = Script(ValueError("x"), 1)
    with pytest.raises(ValueError):
        run(script, 3, ())
    assert script.calls == 1


@pytest.mark.parametrize("attempts", [0, -1])
def test_no_attempts(attempts):
    script = Script(1)
    with pytest.raises(ValueError):
        run(script, attempts)
    assert script.calls == 0


def test_error_of_wait_is_passed_on():
    script, error = Script(ValueError("x"), 1), ValueError("from wait")

    def call():
        return script.call()

    def wait(number):
        raise error

    with pytest.raises(ValueError) as caught:
        retry(call, 3, (ValueError,), wait)
    assert caught.value is error
    assert script.calls == 1
