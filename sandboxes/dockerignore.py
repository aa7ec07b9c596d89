"""The patterns of a `.dockerignore` file: which paths of a context `COPY` never sees."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

__all__ = ["DockerIgnore", "pattern_regex"]


class DockerIgnore:
    """The rules of one file; the last one that matches decides, `!` lets a path back in.

    Args:
        text: the file's content.
    """

    def __init__(self, text: str = "") -> None:
        self._rules: list[tuple[re.Pattern[str], bool]] = []
        for line in text.splitlines():
            rule = line.strip()
            if not rule or line.startswith("#"):
                continue
            ignored = not rule.startswith("!")
            pattern = rule.lstrip("!").strip().strip("/")
            if pattern not in ("", "."):
                self._rules.append((pattern_regex(pattern), ignored))

    def ignores(self, path: str) -> bool:
        """True when the path, or a folder above it, is left out and not let back in."""
        ignored = False
        for pattern, verdict in self._rules:
            if any(pattern.fullmatch(prefix) for prefix in _prefixes(path)):
                ignored = verdict
        return ignored


def _prefixes(path: str) -> Iterable[str]:
    parts = path.split("/")
    return ("/".join(parts[:end]) for end in range(1, len(parts) + 1))


@lru_cache(maxsize=256)
def pattern_regex(pattern: str) -> re.Pattern[str]:
    """A path pattern (`*`, `?`, `[a-z]`, `**`, backslash) as a regular expression."""
    out, at = [], 0
    while at < len(pattern):
        rest = pattern[at:]
        if rest.startswith("**/"):
            out.append("(?:.*/)?")
            at += 3
        elif rest.startswith("**"):
            out.append(".*")
            at += 2
        elif rest[0] == "*":
            out.append("[^/]*")
            at += 1
        elif rest[0] == "?":
            out.append("[^/]")
            at += 1
        elif rest[0] == "[" and (end := rest.find("]", 2)) > 0:
            body = rest[1:end].replace("\\", "\\\\").replace("[", "\\[")
            out.append(f"[{body}]")
            at += end + 1
        else:
            escaped = rest[0] == "\\" and len(rest) > 1
            out.append(re.escape(rest[1] if escaped else rest[0]))
            at += 2 if escaped else 1
    return re.compile("".join(out), re.DOTALL)
