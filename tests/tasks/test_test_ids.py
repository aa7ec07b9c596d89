"""Test ids survive the three layers of a `run_tests` script, in both directions."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cligym.errors import TaskError
from cligym.tasks.test_ids import DEFAULT_PYTEST_ARGS, parse_run_tests, render_run_tests

# The shape that the data set's scripts have, in our own words.
SCRIPT = """\
#!/bin/bash
set -uo pipefail
cat > /tmp/driver.py <<%s
# the parser isn't used: pytest --collect-only
def call(command, log): ...
call('source /opt/miniconda3/bin/activate; conda activate testbed; pytest --disable-warnings \
--color=no --tb=no --verbose %s', "/test.log")
EOF
python /tmp/driver.py
"""

WEIRD_IDS = [
    "tests/test_a.py::test_b",
    "tests/__init__.py::TestX::test_y",
    "tests/test_a.py::test_p[a(b)-c&d;e>f|g<h]",
    "tests/test_a.py::test_p['single'-\"double\"]",
    r"tests/test_a.py::test_p[\u3053\u3093-\\x1b-\n]",
    "tests/test_a.py::test_p[100%]",
    "tests/test_a.py::test_p[$HOME-`id`-$(id)-${x}-!x-#y-~-{a,b}-*?]",
    "tests/test_a.py::test_p[a b  c]",
    "tests/test_a.py::test_p[\u3053\u2192\u00e9]",
]


def stored(ids: str, end: str = "EOF") -> str:
    return SCRIPT % (end, ids)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("t.py::a t.py::b", ("t.py::a", "t.py::b")),
        ("", ()),
        (r"t.py::a[\(x\)\&\>\;]", ("t.py::a[(x)&>;]",)),
        ("t.py::a[" + "\\" * 8 + "u3053]", (r"t.py::a[\u3053]",)),
        (r"""t.py::a["x"]""", ("t.py::a[x]",)),
        (r"t.py::a[\'x y\']", ("t.py::a[x y]",)),
        (r"t.py::a[\$HOME]", ("t.py::a[$HOME]",)),
        ("t.py::a t.py::a", ("t.py::a",)),
        ("t.py::a; echo t.py::b", ("t.py::a",)),
    ],
    ids=[
        "plain",
        "whole-suite",
        "brackets",
        "eight",
        "swallowed",
        "quoted",
        "dollar",
        "twice",
        "end",
    ],
)
def test_stored_ids_come_out_as_pytest_sees_them(text: str, expected: tuple[str, ...]) -> None:
    command = parse_run_tests(stored(text))
    assert command.test_ids == expected
    assert command.pytest_args == DEFAULT_PYTEST_ARGS


def test_quoted_heredoc_has_one_layer_less() -> None:
    assert parse_run_tests(stored("t.py::a[" + "\\" * 4 + "n]", "'EOF'")).test_ids == (
        r"t.py::a[\n]",
    )


def test_options_with_values_are_no_ids() -> None:
    command = parse_run_tests(render_run_tests(["t.py::a"], ["-n", "auto", "-q"]))
    assert command == (("-n", "auto", "-q"), ("t.py::a",))


@pytest.mark.parametrize(
    "script", ["", "echo hello", "# pytest --verbose\n", "python3 -m pytest2 x"]
)
def test_script_without_pytest_is_refused(script: str) -> None:
    with pytest.raises(TaskError, match="no pytest command"):
        parse_run_tests(script)


@pytest.mark.parametrize("ids", ["t.py::a[\\'x]", 't.py::a["x]', "t.py::a[\\\\x4]"])
def test_broken_layers_are_refused(ids: str) -> None:
    with pytest.raises(TaskError, match="run_tests: "):
        parse_run_tests(stored(ids))


@pytest.mark.parametrize("bad", ["", "-x", "a\nb", "a\x1bb", "a\ud800b"])
def test_ids_that_no_command_can_carry_are_refused(bad: str) -> None:
    with pytest.raises(TaskError):
        render_run_tests([bad])


_IDS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=40).filter(
    lambda text: not text.startswith("-")
)


@given(st.lists(_IDS, unique=True, max_size=5))
def test_written_ids_are_read_back(ids: list[str]) -> None:
    assert parse_run_tests(render_run_tests(ids)) == (DEFAULT_PYTEST_ARGS, tuple(ids))


def test_bash_and_python_hand_pytest_the_same_ids(tmp_path: Path) -> None:
    """The parser against the real thing: bash, Python and bash; its `pytest` tells what it got."""
    seen = tmp_path / "seen"
    teller = tmp_path / "pytest"
    teller.write_text(f"#!/bin/sh\nprintf '%s\\0' \"$@\" > {seen}\n")
    teller.chmod(0o755)
    script = render_run_tests(WEIRD_IDS)
    for old, new in (
        ("/opt/miniconda3/envs/testbed/bin/python", "python3"),
        ("/test.log", str(tmp_path / "log")),
        ('"/testbed"', f'"{tmp_path}"'),
    ):
        script = script.replace(old, new)
    environment = {"PATH": f"{tmp_path}:/usr/local/bin:/usr/bin:/bin", "PYTHONUTF8": "1"}
    subprocess.run(["bash", "-c", script], env=environment, check=True, timeout=60)
    words = seen.read_bytes().decode().split("\0")[:-1]
    assert tuple(words) == (*DEFAULT_PYTEST_ARGS, *WEIRD_IDS)
    assert parse_run_tests(script).test_ids == tuple(WEIRD_IDS)
