"""What an agent reads: cut in the middle with an honest count, never through a character."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cligym.envs.observation import cut_text, observation_text
from cligym.sandboxes.base import ExecResult, ShellState
from cligym.sandboxes.output_buffer import OutputBuffer


def observe(result: ExecResult, limit: int = 6000) -> str:
    return observation_text(result, limit=limit, timeout_s=300, workdir="/testbed")


def test_the_published_cut() -> None:
    text = cut_text("a" * 6224, limit=6000)
    assert text == "a" * 4000 + "\n[... 224 characters omitted ...]\n" + "a" * 2000


def test_text_within_the_limit_is_whole() -> None:
    assert cut_text("x" * 6000, limit=6000) == "x" * 6000


@given(st.text(max_size=300), st.integers(2, 60), st.integers(3, 40))
def test_every_character_is_kept_or_counted(text: str, buffer_bytes: int, limit: int) -> None:
    data = text.encode("utf-8", "replace")
    buffer = OutputBuffer(buffer_bytes)
    for start in range(0, len(data), 7):
        buffer.add(data[start : start + 7])
    result = ExecResult(exit_code=0, output=buffer.value(), **buffer.describe())
    seen = observe(result, limit)
    assert "�" not in seen or "�" in text or "?" in text
    if "characters omitted" in seen and "omitted" not in text:
        head, _, rest = seen.partition("\n[... ")
        count, _, tail = rest.partition(" characters omitted ...]")
        # in neither part: a character cut by the byte limit at either edge, a last line end
        missing = len(text) - len(head) - len(tail.removeprefix("\n")) - int(count)
        assert 0 <= missing <= 4


def test_bytes_that_are_no_text_show_as_replacement() -> None:
    assert observe(ExecResult(exit_code=0, output=b"a\xffb\n")) == "a�b"


@pytest.mark.parametrize(
    ("shell", "timed_out", "word"),
    [
        (ShellState.KILLED, True, "longer than 300 s"),
        (ShellState.EXITED, False, "a new one begins in /testbed"),
        (ShellState.DESTROYED, False, "the machine is gone"),
    ],
)
def test_the_shell_s_fate_is_told(shell: ShellState, timed_out: bool, word: str) -> None:
    result = ExecResult(exit_code=None, output=b"partial\n", shell=shell, timed_out=timed_out)
    assert observe(result).startswith("partial\n[") and word in observe(result)
