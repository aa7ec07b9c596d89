"""Heredocs of Dockerfile instructions: their content, and what a `RUN` with some really runs."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["Heredoc", "heredoc_of_word", "run_text"]

_WORD = re.compile(r"""(?P<fd>\d*)<<(?P<chomp>-?)(?P<quote>['"]?)(?P<name>[^\s<'"]+)(?P=quote)""")


@dataclass(frozen=True, slots=True, kw_only=True)
class Heredoc:
    """One heredoc.

    Attributes:
        name: the word that ends it.
        content: the lines as they stand.
    """

    name: str
    content: str

    def chomped(self) -> str:
        """Without leading tabs, as `<<-` wants it."""
        return re.sub(r"^\t+", "", self.content, flags=re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class HeredocWord:
    """A word `<<NAME`: `expand` is False when the name is quoted, `chomp` True for `<<-`."""

    name: str
    expand: bool
    chomp: bool


def heredoc_of_word(word: str) -> HeredocWord | None:
    """What a word says when it is a heredoc and nothing else, or None."""
    match = _WORD.fullmatch(word.strip())
    if match is None:
        return None
    return HeredocWord(name=match["name"], expand=not match["quote"], chomp=match["chomp"] == "-")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunText:
    """What a `RUN` with heredocs runs: `text` for the shell, or a `script` with its own `#!`."""

    text: str
    script: bool = False


def run_text(line: str, heredocs: tuple[Heredoc, ...]) -> RunText:
    """BuildKit's rule: a heredoc alone is the script, otherwise the shell reads it itself.

    Args:
        line: the instruction's line after `RUN`.
        heredocs: its heredocs, in order.
    """
    alone = heredoc_of_word(line)
    if not heredocs:
        return RunText(text=line)
    if alone is not None:
        content = heredocs[0].chomped() if alone.chomp else heredocs[0].content
        return RunText(text=content, script=content.startswith("#!"))
    whole = "".join(f"\n{heredoc.content}{heredoc.name}" for heredoc in heredocs)
    return RunText(text=line + whole)
