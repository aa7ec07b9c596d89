"""Makes untrusted text safe to show: no control character of it reaches a person's terminal.

Task texts, file names, model answers and command output can hold escape sequences that move the
cursor, set the title, or reorder a line so that it reads as something else.
"""

from __future__ import annotations

import unicodedata

__all__ = ["safe_line", "safe_text"]

# Control, format (bidirectional marks, zero width, tags), surrogate, private, unassigned,
# line and paragraph separators.
_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def safe_text(text: str) -> str:
    r"""Text of several lines: newline and tab stay, all else unsafe becomes `\x1b`, `\u202e`."""
    return _escape(text, kept="\n\t")


def safe_line(text: str) -> str:
    r"""Text for one line or one table cell: newline and tab are shown as `\n` and `\t`, too."""
    return _escape(text, kept="")


def _escape(text: str, *, kept: str) -> str:
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        char if char in kept or unicodedata.category(char) not in _UNSAFE else _name(char)
        for char in text
    )


def _name(char: str) -> str:
    return (
        char.encode("ascii", "backslashreplace").decode() if ord(char) > 127 else repr(char)[1:-1]
    )
