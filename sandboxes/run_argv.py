"""The process that a `RUN` starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cligym.sandboxes.dockerfile import Instruction
from cligym.sandboxes.heredoc import run_text

__all__ = ["RunProcess", "run_process"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunProcess:
    """What to run.

    Attributes:
        argv: the words.
        script: content of an executable file that `argv` wants at `script_path`, or "".
    """

    argv: tuple[str, ...]
    script: str = ""


def run_process(instruction: Instruction, shell: Sequence[str], script_path: str) -> RunProcess:
    """What a `RUN` starts under the `SHELL` in force.

    Args:
        instruction: the `RUN`.
        shell: words before the command text.
        script_path: where a heredoc with its own `#!` line is put.
    """
    if instruction.is_json:
        return RunProcess(argv=instruction.words)
    what = run_text(instruction.words[0], instruction.heredocs)
    if what.script:
        return RunProcess(argv=(script_path,), script=what.text)
    return RunProcess(argv=(*shell, what.text))
