"""How the dataset's log is read: its rules, holes included."""

from __future__ import annotations

import pytest

from cligym.graders.dataset_check import judge_log

SCRIPT = (
    "run('source x; pytest --disable-warnings --color=no --tb=no --verbose a.py::t a.py::u', 1)"
)
WHOLE = "run('pytest --disable-warnings --color=no --tb=no --verbose', 1)"
GOOD = "a.py::t PASSED [ 50%]\na.py::u PASSED [100%]\n=== 2 passed in 0.01s ===\n"


@pytest.mark.parametrize(
    ("script", "log", "passed"),
    [
        (SCRIPT, GOOD, True),
        (SCRIPT, GOOD.replace("u PASSED", "u FAILED"), True),  # the summary says 2 passed
        (SCRIPT, "a.py::t PASSED\na.py::u FAILED\n= 1 failed, 1 passed in 1.0s =\n", False),
        (SCRIPT, "a.py::t FAILED\na.py::u PASSED\na.py::t PASSED\n", True),  # the last line wins
        (SCRIPT, "== 2 passed in 0.1s ==\n", True),
        (SCRIPT, "== 2 passed, 1 skipped in 0.1s ==\n", False),
        (SCRIPT, "== 3 passed in 0.1s ==\n", False),
        (SCRIPT, "", False),
        (WHOLE, "== 5 passed, 3 skipped in 0.1s ==\n", True),
        (WHOLE, "== 5 passed, 1 error in 0.1s ==\n", False),
        (WHOLE, "== no tests ran in 0.1s ==\n", False),
    ],
)
def test_judgement(script: str, log: str, passed: bool) -> None:
    assert judge_log(script, log)[0] is passed


def test_ids_are_compared_without_backslashes() -> None:
    script = r"run('pytest --disable-warnings --verbose a.py::t[x\\\(y\]', 1)"
    assert judge_log(script, "a.py::t[x(y] PASSED [100%]\n")[0]


def test_what_is_missing_is_said() -> None:
    assert judge_log(SCRIPT, "")[1] == "2 of 2 listed tests did not pass; there is no /test.log"
