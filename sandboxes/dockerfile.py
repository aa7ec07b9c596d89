"""Reads a Dockerfile into instructions; what we do not build is refused by name with its line.

BuildKit's own parser does the reading (the package `dockerfile`): continuation lines, comments
inside them, heredocs, JSON forms. This module decides what is acceptable and names it well; what
the instructions do is `build.py`'s.
"""

from __future__ import annotations

import platform
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum

import dockerfile as buildkit

from cligym.errors import BuildError
from cligym.sandboxes.heredoc import Heredoc

__all__ = ["Dockerfile", "Instruction", "Op", "parse_dockerfile"]

_MACHINES = {"x86_64": ("linux/amd64", "amd64"), "aarch64": ("linux/arm64", "arm64")}


class Op(StrEnum):
    """The instructions that can be built."""

    ARG = "ARG"
    CMD = "CMD"
    COPY = "COPY"
    ENTRYPOINT = "ENTRYPOINT"
    ENV = "ENV"
    EXPOSE = "EXPOSE"
    FROM = "FROM"
    LABEL = "LABEL"
    MAINTAINER = "MAINTAINER"
    RUN = "RUN"
    SHELL = "SHELL"
    STOPSIGNAL = "STOPSIGNAL"
    USER = "USER"
    WORKDIR = "WORKDIR"


_REFUSED = {
    "ADD": "use COPY, or RUN with a download",
    "HEALTHCHECK": "nothing here would run it",
    "ONBUILD": "put the instruction where it is needed",
    "VOLUME": "what is written to a volume is not part of an image",
}
_FLAGS = {Op.COPY: ("chmod", "chown"), Op.FROM: ("platform",)}
_ONE_WORD = (Op.USER, Op.WORKDIR, Op.STOPSIGNAL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Instruction:
    """One instruction.

    Attributes:
        op: which.
        line: its first line, from 1.
        words: its arguments as the parser gives them: quotes still there; `ENV` and `LABEL`
            alternate names and values; a `RUN` in shell form has one word.
        flags: `--name=value` without the dashes.
        is_json: the exec form `["a", "b"]`.
        heredocs: heredocs in order.
        text: the instruction with continuation lines joined and comments removed.
    """

    op: Op
    line: int
    words: tuple[str, ...]
    flags: Mapping[str, str] = field(default_factory=dict)
    is_json: bool = False
    heredocs: tuple[Heredoc, ...] = ()
    text: str = ""

    def error(self, problem: str) -> BuildError:
        """An error that names this instruction and its line."""
        return BuildError(f"Dockerfile line {self.line}: {self.op}: {problem}", line=self.line)

    @contextmanager
    def naming(self) -> Iterator[None]:
        """Lets a BuildError that knows no line carry this instruction's."""
        try:
            yield
        except BuildError as error:
            if error.line is not None:
                raise
            raise self.error(str(error)) from error

    @property
    def title(self) -> str:
        """The first line of the instruction, at most 100 characters, for progress and errors."""
        first = self.text.strip().split("\n", 1)[0]
        return first if len(first) <= 100 else first[:97] + "..."


@dataclass(frozen=True, slots=True, kw_only=True)
class Dockerfile:
    """A Dockerfile with one stage.

    Attributes:
        escape: the escape character (`# escape=` directive).
        global_args: `ARG` lines before `FROM`.
        base: the `FROM`.
        body: everything after it.
    """

    escape: str
    global_args: tuple[Instruction, ...]
    base: Instruction
    body: tuple[Instruction, ...]


def parse_dockerfile(text: str) -> Dockerfile:
    """Reads a Dockerfile.

    Raises:
        BuildError: it cannot be parsed, or holds something that cannot be built here.
    """
    try:
        commands = buildkit.parse_string(text)
    except (buildkit.GoParseError, ValueError) as error:
        raise BuildError(f"Dockerfile cannot be parsed: {error}") from error
    instructions = [_instruction(command) for command in commands]
    stages = [each for each in instructions if each.op is Op.FROM]
    if not stages:
        raise BuildError("Dockerfile has no FROM")
    if len(stages) > 1:
        raise stages[1].error("multi-stage builds are not supported; use one FROM")
    start = instructions.index(stages[0])
    for before in instructions[:start]:
        if before.op is not Op.ARG:
            raise before.error("only ARG may stand before FROM")
    return Dockerfile(
        escape=_escape_character(text),
        global_args=tuple(instructions[:start]),
        base=stages[0],
        body=tuple(instructions[start + 1 :]),
    )


def _instruction(command: buildkit.Command) -> Instruction:
    name, line = str(command.cmd).upper(), int(command.start_line)
    if name in _REFUSED:
        raise BuildError(
            f"Dockerfile line {line}: {name} is not supported: {_REFUSED[name]}", line=line
        )
    if name not in Op.__members__:
        raise BuildError(f"Dockerfile line {line}: unknown instruction {name[:40]!r}", line=line)
    bare = Instruction(op=Op(name), line=line, words=tuple(command.value))
    instruction = Instruction(
        op=bare.op,
        line=line,
        words=bare.words,
        flags=_flags(bare, tuple(command.flags)),
        is_json=bool(command.json),
        heredocs=tuple(Heredoc(name=h.name, content=h.content) for h in command.heredocs),
        text=str(command.original),
    )
    _check_words(instruction)
    return instruction


def _flags(instruction: Instruction, flags: tuple[str, ...]) -> dict[str, str]:
    known = _FLAGS.get(instruction.op, ())
    found: dict[str, str] = {}
    for flag in flags:
        name, _, value = flag.removeprefix("--").partition("=")
        if name not in known:
            raise instruction.error(f"--{name} is not supported")
        found[name] = value
    return found


def _check_words(instruction: Instruction) -> None:
    words, op = instruction.words, instruction.op
    if not words or (op is not Op.ENTRYPOINT and op is not Op.CMD and not any(words)):
        raise instruction.error("needs at least one argument")
    if op in _ONE_WORD and len(words) != 1:
        raise instruction.error(f"needs exactly one argument, has {len(words)}")
    if op is Op.SHELL and not instruction.is_json:
        raise instruction.error('needs the JSON form, for example SHELL ["/bin/bash", "-c"]')
    if op is Op.FROM:
        _check_from(instruction)
    if op is Op.COPY and len(words) < 2:
        raise instruction.error("needs at least one source and a destination")


def _check_from(instruction: Instruction) -> None:
    words = instruction.words
    if len(words) not in (1, 3) or (len(words) == 3 and words[1].upper() != "AS"):
        raise instruction.error("needs IMAGE or IMAGE AS NAME")
    wanted = instruction.flags.get("platform", "")
    own = _MACHINES.get(platform.machine(), ())
    if wanted and "$" not in wanted and wanted not in own:
        raise instruction.error(f"platform {wanted} is not this machine's ({' or '.join(own)})")


def _escape_character(text: str) -> str:
    """The `# escape=` parser directive, which must stand before anything else."""
    for line in text.splitlines():
        match = re.fullmatch(r"#\s*([A-Za-z][A-Za-z0-9]*)\s*=\s*(\S+)\s*", line)
        if match is None:
            break
        if match[1].lower() == "escape":
            return match[2]
    return "\\"
