"""Which variables a Dockerfile's instruction sees: `ARG` and `ENV`, with Docker's scopes."""

from __future__ import annotations

import platform
from collections.abc import Mapping

from cligym.sandboxes.dockerfile import Dockerfile, Instruction
from cligym.sandboxes.shell_words import expand_text, expand_word

__all__ = ["BuildScope"]

_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
_PROXIES = ("http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "no_proxy")


class BuildScope:
    """Arguments and variables at one point of a build.

    Args:
        dockerfile: its `ARG` lines before `FROM` are known to `FROM`, and to an `ARG` of the same
            name after it.
        given: values from outside; they win over defaults but need an `ARG` to be seen.
    """

    def __init__(self, dockerfile: Dockerfile, given: Mapping[str, str]) -> None:
        self._escape = dockerfile.escape
        self._given = given
        self._used: set[str] = set()
        self._global = _platform_args()
        self._args: dict[str, str] = {}
        self.env: dict[str, str] = {}
        for instruction in dockerfile.global_args:
            for name, default in self._declarations(instruction, self._global):
                value = self._value_of(name, default)
                if value is not None:
                    self._global[name] = value

    @property
    def args(self) -> dict[str, str]:
        """What a `RUN` sees besides `ENV`: declared arguments and given proxies."""
        names = {*_PROXIES, *(name.upper() for name in _PROXIES)}
        return {name: self._given[name] for name in names & self._given.keys()} | self._args

    @property
    def unused(self) -> list[str]:
        """Given arguments that no `ARG` named."""
        proxies = {*_PROXIES, *(name.upper() for name in _PROXIES)}
        return sorted(set(self._given) - self._used - proxies)

    def declare(self, instruction: Instruction) -> None:
        """An `ARG` after `FROM`."""
        for name, default in self._declarations(instruction, self._args | self.env):
            value = self._value_of(name, default)
            if value is None:
                value = self._global.get(name)
            if value is not None:
                self._args[name] = value

    def expand_global(self, instruction: Instruction, word: str) -> str:
        """A word of `FROM`."""
        with instruction.naming():
            return expand_word(word, self._global, escape=self._escape)

    def expand(self, instruction: Instruction, word: str) -> str:
        """A word of any other instruction; `ENV` wins over `ARG`."""
        with instruction.naming():
            return expand_word(word, self._args | self.env, escape=self._escape)

    def expand_text(self, instruction: Instruction, text: str) -> str:
        """The text of a heredoc whose name is not quoted."""
        with instruction.naming():
            return expand_text(text, self._args | self.env)

    def _declarations(
        self, instruction: Instruction, values: Mapping[str, str]
    ) -> list[tuple[str, str | None]]:
        """The (name, default) pairs of an `ARG` line."""
        pairs: list[tuple[str, str | None]] = []
        for word in instruction.words:
            name, equals, default = word.partition("=")
            if not name:
                raise instruction.error(f"{word!r} has no name")
            with instruction.naming():
                text = expand_word(default, values, escape=self._escape) if equals else None
            pairs.append((name, text))
        return pairs

    def _value_of(self, name: str, default: str | None) -> str | None:
        self._used.add(name)
        return self._given.get(name, default)


def _platform_args() -> dict[str, str]:
    architecture = _ARCHITECTURES.get(platform.machine(), platform.machine())
    return {
        f"{where}{what}": value
        for where in ("TARGET", "BUILD")
        for what, value in (
            ("OS", "linux"),
            ("ARCH", architecture),
            ("PLATFORM", f"linux/{architecture}"),
        )
    }
