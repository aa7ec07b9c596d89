"""Docker's own word expansion: quotes, escapes, `$X`, `${X:-y}`, `${X:+y}`; no shell is involved.

Follows the description in the Dockerfile reference ("Environment replacement").
"""

from __future__ import annotations

from collections.abc import Mapping

from cligym.errors import BuildError

__all__ = ["expand_text", "expand_word"]

_SPECIAL = "@*#?-$!0123456789"


def expand_word(word: str, values: Mapping[str, str], *, escape: str = "\\") -> str:
    """The word with variables replaced and quotes removed.

    Args:
        word: as it stands in the Dockerfile.
        values: variables; an unknown one is "".
        escape: the Dockerfile's escape character.

    Raises:
        BuildError: a quote or brace is not closed, or the modifier is unknown or `:?` objects.
    """
    return _Expander(word, values, escape).text()


def expand_text(text: str, values: Mapping[str, str]) -> str:
    """A heredoc's text with variables replaced; quotes are ordinary characters there.

    A backslash is taken away before any character, which a shell would do only before a few, and
    the `# escape=` directive does not count: both are BuildKit's ways.
    """
    return _Expander(text, values, "\\").heredoc()


class _Expander:
    def __init__(self, word: str, values: Mapping[str, str], escape: str) -> None:
        self._word = word
        self._values = values
        self._escape = escape
        self._at = 0

    def text(self, stop: str = "") -> str:
        """Expands up to an unquoted `stop` (or to the end when it is "")."""
        out: list[str] = []
        while (char := self._peek()) and char != stop:
            if char == "'":
                out.append(self._single())
            elif char == '"':
                out.append(self._double())
            elif char == "$":
                out.append(self._variable())
            elif char == self._escape:
                self._at += 1
                out.append(self._take())
            else:
                out.append(self._take())
        return "".join(out)

    def heredoc(self) -> str:
        """Expands variables only."""
        out: list[str] = []
        while char := self._peek():
            if char == "$":
                out.append(self._variable())
            elif char == self._escape:
                self._at += 1
                out.append(self._take())
            else:
                out.append(self._take())
        return "".join(out)

    def _peek(self) -> str:
        return self._word[self._at : self._at + 1]

    def _take(self) -> str:
        char = self._peek()
        self._at += 1
        return char

    def _single(self) -> str:
        end = self._word.find("'", self._at + 1)
        if end < 0:
            raise BuildError(f"no closing single quote in {self._word!r}")
        text = self._word[self._at + 1 : end]
        self._at = end + 1
        return text

    def _double(self) -> str:
        self._at += 1
        out: list[str] = []
        while char := self._peek():
            if char == '"':
                self._at += 1
                return "".join(out)
            if char == "$":
                out.append(self._variable())
            elif char == self._escape:
                self._at += 1
                after = self._take()
                out.append(after if after in ('"', "$", self._escape) else char + after)
            else:
                out.append(self._take())
        raise BuildError(f"no closing double quote in {self._word!r}")

    def _variable(self) -> str:
        self._at += 1
        if self._peek() != "{":
            name = self._name()
            return self._values.get(name, "") if name else "$"
        self._at += 1
        name = self._name()
        if not name:
            raise BuildError(f"bad substitution in {self._word!r}")
        return self._braced(name)

    def _name(self) -> str:
        start = self._at
        if self._peek() and self._peek() in _SPECIAL:
            return self._take()
        while (char := self._peek()) and char.isascii() and (char.isalnum() or char == "_"):
            self._at += 1
        return self._word[start : self._at]

    def _braced(self, name: str) -> str:
        colon = self._peek() == ":"
        if colon:
            self._at += 1
        operator = self._take()
        value = self._values.get(name)
        if operator == "}" and not colon:
            return value or ""
        if not operator:
            raise BuildError(f"no closing brace in {self._word!r}")
        if operator not in "-+?":
            raise BuildError(f"modifier {operator!r} of ${{{name}}} in {self._word!r} is not known")
        other = self.text(stop="}")
        if self._take() != "}":
            raise BuildError(f"no closing brace in {self._word!r}")
        is_set = bool(value) if colon else value is not None
        if operator == "+":
            return other if is_set else ""
        if operator == "?" and not is_set:
            raise BuildError(f"variable {name}: {other or 'not set'}")
        return (value or "") if is_set else other
