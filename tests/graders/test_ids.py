"""Test ids of every shape survive, and nothing that is printed becomes a result (FIELD.md, 7)."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import pytest

from cligym.graders.gold_tests import GoldTests, certify_gold_tests
from cligym.sandboxes.build import build
from cligym.sandboxes.namespace import NamespaceBackend
from cligym.tasks.task import make_task
from cligym.tasks.test_ids import render_run_tests

pytestmark = pytest.mark.userns

ODD = """
import pytest

@pytest.mark.parametrize(
    "x", ["a b", "a::b", "[100%]", "é", "a/b", "\\n", "", "PASSED", 'x"y', "'", "\\\\"]
)
def test_odd(x):
    assert isinstance(x, str)

class TestOne:
    def test_same(self):
        pass

class TestTwo:
    def test_same(self):
        pass

def test_prints():
    print("\\ntest_odd.py::test_phantom PASSED")

@pytest.mark.xfail
def test_expected():
    assert 0

@pytest.mark.xfail
def test_unexpected():
    pass

@pytest.mark.skip
def test_skipped():
    assert 0
"""
IMPORTER = "from test_odd import TestOne\n\ndef test_here():\n    pass\n"
BROKEN = "def test_lost():\n    pass\n\nimport nothing_like_it\n"


@pytest.fixture(scope="module")
def freeze(backend: NamespaceBackend, workshop: str) -> Callable[..., GoldTests]:
    """Freezes the tests of a gold image that also has these files in /testbed/odd."""

    def make(files: dict[str, str], *ids: str, options: tuple[str, ...] = ()) -> GoldTests:
        lines = [f"FROM {workshop}", "RUN mkdir /testbed/odd"]
        for name, text in files.items():
            code = base64.b64encode(text.encode()).decode()
            lines.append(f"RUN echo {code} | base64 -d > /testbed/odd/{name}")
        gold = build("\n".join(lines) + "\n", backend)
        arguments = ("--disable-warnings", "--verbose", *options)
        task = make_task(
            task_id="odd",
            dockerfile=f"FROM {workshop}\n",
            run_tests=render_run_tests(ids, arguments),
            instruction="x",
        )
        return certify_gold_tests(task, gold, backend)

    return make


def test_ids_of_every_shape(freeze: Callable[..., GoldTests]) -> None:
    found = freeze({"test_odd.py": ODD, "test_importer.py": IMPORTER}, "odd")
    assert found.problem == "" and found.tests is not None
    outcomes = found.tests.outcomes
    params = [i for i in outcomes if i.startswith("odd/test_odd.py::test_odd[")]
    assert len(params) == 11
    assert "odd/test_odd.py::test_odd[a b]" in outcomes
    assert "odd/test_odd.py::test_odd[[100%]]" in outcomes
    assert not any("phantom" in test for test in outcomes)
    assert outcomes["odd/test_odd.py::TestOne::test_same"] == "passed"
    assert outcomes["odd/test_importer.py::TestOne::test_same"] == "passed"
    assert outcomes["odd/test_odd.py::test_expected"] == "xfailed"
    assert outcomes["odd/test_odd.py::test_unexpected"] == "xpassed"
    assert outcomes["odd/test_odd.py::test_skipped"] == "skipped"


@pytest.mark.parametrize(
    ("ids", "count"),
    [
        (("odd/test_odd.py::test_odd[a b]", 'odd/test_odd.py::test_odd[x"y]'), 2),
        (("odd/test_odd.py::TestOne",), 1),
        (("odd/test_odd.py", "odd/test_importer.py::test_here"), 18),
        (("odd/test_odd.py::test_prints", "odd/test_odd.py::test_prints"), 1),
    ],
    ids=["parameters", "class", "file and test", "twice"],
)
def test_what_ids_may_name(
    freeze: Callable[..., GoldTests], ids: tuple[str, ...], count: int
) -> None:
    found = freeze({"test_odd.py": ODD, "test_importer.py": IMPORTER}, *ids)
    assert found.problem == "" and found.tests is not None
    assert len(found.tests.outcomes) == count


@pytest.mark.parametrize(
    ("files", "ids", "words"),
    [
        ({"test_broken.py": BROKEN}, ("odd",), "cannot be collected"),
        ({"test_odd.py": ODD}, ("odd/test_odd.py::test_gone",), "no test passes"),
        ({"test_odd.py": ODD}, ("odd/test_odd.py::test_skipped",), "no test passes"),
        ({"test_bad.py": "def test_bad():\n    assert 0\n"}, ("odd",), "1 of 1 tests fail"),
        ({"test_exit.py": "import os\ndef test_x():\n    os._exit(0)\n"}, ("odd",), "its end"),
    ],
    ids=["collection error", "no such id", "only skipped", "failing", "exit"],
)
def test_what_gold_may_not_be(
    freeze: Callable[..., GoldTests], files: dict[str, str], ids: tuple[str, ...], words: str
) -> None:
    found = freeze(files, *ids)
    assert words in found.problem


def test_a_test_that_differs_between_runs_is_flaky(freeze: Callable[..., GoldTests]) -> None:
    text = "import sys\ndef test_x():\n    import pytest\n    if '-c' in sys.argv: pytest.skip()\n"
    found = freeze({"test_flaky.py": text}, "odd", "tests/test_core.py")
    assert "differ between two runs" in found.problem
    assert 0 < found.flake_rate < 1


def test_a_required_test_that_is_skipped_is_not_passed(broken: Callable[..., Any]) -> None:
    damage = "sed -i 's/100 - percent/100 + percent/' /testbed/workshop/core.py"
    repair = "cd /testbed && git checkout -q workshop/core.py"
    skip = (
        "printf 'import pytest\\npytest.skip(allow_module_level=True)\\n' >> workshop/__init__.py"
    )
    verdict = broken(damage).verdict(f"{repair}; {skip}")
    assert not verdict.passed
    assert any("as left" in reason.detail for reason in verdict.reasons)
