"""Reads the JSON answers of attackers and defenders: strict about content, fair about wrapping.

An answer may stand in a fence, between prose, after a draft; its strings may hold fences, braces
and code. The *last* JSON object that has the wanted key counts. Everything else is an
`ActionFormatError`: counted by whoever asked, never a crash.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from cligym.errors import ActionFormatError
from cligym.tasks.tampering import BugClass

__all__ = [
    "AttackAnswer",
    "DefenceAnswer",
    "Label",
    "find_object",
    "parse_attack",
    "parse_defence",
]

TEXT_LIMIT = 1_000_000
CODE_LIMIT = 200_000
REASON_LIMIT = 4_000
LINE_LIMIT = 10_000
_STARTS_LIMIT = 2_000


class Label(StrEnum):
    """What a defender says of a sample."""

    CLEAN = "clean"
    TAMPERED = "tampered"


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackAnswer:
    """An attacker's action.

    Attributes:
        code: the whole tampered source.
        bug_class: the kind of bug that it claims.
        first_line: 1-based first line of the claimed span, in `code`.
        last_line: its last line.
        rationale: why it should go unseen.
    """

    code: str
    bug_class: BugClass
    first_line: int
    last_line: int
    rationale: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DefenceAnswer:
    """A defender's action.

    Attributes:
        label: its verdict.
        confidence: how sure it is of the label, in percent, 0 to 100.
        suspect_lines: 1-based lines of the sample, ascending.
        reason: why.
    """

    label: Label
    confidence: float
    suspect_lines: tuple[int, ...] = ()
    reason: str = ""

    @property
    def probability_tampered(self) -> float:
        """The probability of `tampered` that label and confidence amount to, in [0, 1]."""
        share = self.confidence / 100
        return share if self.label is Label.TAMPERED else 1 - share


def parse_attack(text: str) -> AttackAnswer:
    """Reads `{"code": ..., "bug": {"class": ..., "lines": [first, last], "rationale": ...}}`.

    Raises:
        ActionFormatError: there is no such object, or a part is missing, of a wrong type or range.
    """
    value = find_object(text, "code")
    code = _text(value, "code", CODE_LIMIT)
    bug = value.get("bug")
    if not isinstance(bug, dict):
        raise ActionFormatError("`bug` is an object with `class`, `lines` and `rationale`")
    word = bug.get("class")
    if word not in list(BugClass):
        raise ActionFormatError(
            f"`bug.class` is one of {', '.join(BugClass)}; found {word!r}"[:200]
        )
    lines = bug.get("lines")
    if not isinstance(lines, list) or len(lines) != 2 or not all(map(_is_line, lines)):
        raise ActionFormatError("`bug.lines` is [first, last], 1-based whole numbers")
    if not lines[0] <= lines[1] <= max(1, len(code.splitlines())):
        raise ActionFormatError(f"`bug.lines` {lines} is no span of the code's lines")
    return AttackAnswer(
        code=code,
        bug_class=BugClass(word),
        first_line=lines[0],
        last_line=lines[1],
        rationale=_text(bug, "rationale", REASON_LIMIT, required=False),
    )


def parse_defence(text: str) -> DefenceAnswer:
    """Reads `{"label": ..., "confidence": ..., "suspect_lines": [...], "reason": ...}`.

    Raises:
        ActionFormatError: there is no such object, or a part is missing, of a wrong type or range.
    """
    value = find_object(text, "label")
    label = value["label"]
    if label not in list(Label):
        raise ActionFormatError(f"`label` is clean or tampered; found {label!r}"[:200])
    confidence = value.get("confidence")
    if isinstance(confidence, bool) or not isinstance(confidence, int | float):
        raise ActionFormatError("`confidence` is a number from 0 to 100")
    if not 0 <= confidence <= 100:
        raise ActionFormatError("`confidence` is a number from 0 to 100")
    lines = value.get("suspect_lines")
    lines = [] if lines is None else lines
    if not isinstance(lines, list) or len(lines) > LINE_LIMIT or not all(map(_is_line, lines)):
        raise ActionFormatError("`suspect_lines` is a list of 1-based whole numbers")
    return DefenceAnswer(
        label=Label(label),
        confidence=float(confidence),
        suspect_lines=tuple(sorted(set(lines))),
        reason=_text(value, "reason", REASON_LIMIT, required=False),
    )


def find_object(text: str, key: str) -> dict[str, Any]:
    """The last JSON object of a text, at any place of it, that has `key`.

    Raises:
        ActionFormatError: there is none.
    """
    if len(text) > TEXT_LIMIT:
        raise ActionFormatError(f"an answer of {len(text)} characters; at most {TEXT_LIMIT}")
    found = None
    for value in _objects(text):
        if key in value:
            found = value
    if found is None:
        raise ActionFormatError(f"the answer holds no JSON object with the key {key!r}")
    return found


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """Every outermost JSON object; a brace that opens none is passed over."""
    # strict=False: models write real line breaks into strings, and mean them.
    decoder = json.JSONDecoder(strict=False, parse_constant=_no_constant)
    position = 0
    for _ in range(_STARTS_LIMIT):
        match = re.compile(r"\{\s*\"").search(text, position)
        if match is None:
            return
        try:
            value, end = decoder.raw_decode(text, match.start())
        except (ValueError, RecursionError):
            position = match.start() + 1
            continue
        if isinstance(value, dict):
            yield value
        position = end


def _no_constant(word: str) -> Any:
    raise ValueError(f"{word} is no JSON")


def _text(value: Mapping[str, Any], key: str, limit: int, *, required: bool = True) -> str:
    text = value.get(key, None if required else "")
    if text is None and not required:
        return ""
    if not isinstance(text, str) or (required and not text.strip()):
        raise ActionFormatError(f"`{key}` is a text" + (", not empty" if required else ""))
    if len(text) > limit:
        if required:
            raise ActionFormatError(f"`{key}` has {len(text)} characters; at most {limit}")
        return text[:limit]
    return text


def _is_line(value: object) -> bool:
    return type(value) is int and 1 <= value <= LINE_LIMIT
