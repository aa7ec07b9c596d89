"""Whether two versions of a Python file are the same program: equal syntax trees, same cookie.

Parsing hostile text is done in child processes of their own, with limits; whatever goes wrong
there means *not equal*. Sources travel as bytes, so a PEP 263 cookie means to the parser what it
means to the interpreter (`# coding: utf-7` hides code from anybody who decodes first; FACTS.md
2.2, hole 21).
"""

from __future__ import annotations

import re
import struct
import subprocess
import sys
from collections.abc import Sequence

from cligym.sandboxes.base import MIB
from cligym.sandboxes.entry import Entry, Kind

__all__ = ["may_be_ast_equal", "same_programs", "same_syntax"]

_BYTES_MAX = 4 * MIB
_MEMORY_BYTES = 1024 * MIB
_CPU_S = 10
_WALL_S = 30.0
_COOKIE = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")  # the pattern of PEP 263
_BOM = b"\xef\xbb\xbf"

_CHILD = """
import ast, resource, struct, sys
memory, cpu = int(sys.argv[1]), int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu))
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
stdin, stdout = sys.stdin.buffer, sys.stdout.buffer
while len(head := stdin.read(8)) == 8:
    sizes = struct.unpack("!II", head)
    left, right = (stdin.read(size) for size in sizes)
    try:
        equal = ast.dump(ast.parse(left)) == ast.dump(ast.parse(right))
    except BaseException:
        equal = False
    stdout.write(b"\\1" if equal else b"\\0")
    stdout.flush()
"""


def may_be_ast_equal(path: bytes, final: Entry, gold: Entry) -> bool:
    """Whether the rule applies at all: only regular `*.py` files nobody executes directly."""
    return path.endswith(b".py") and all(
        entry.kind is Kind.FILE and not entry.mode & 0o111 and entry.size <= _BYTES_MAX
        for entry in (final, gold)
    )


def same_programs(pairs: Sequence[tuple[bytes, bytes]]) -> list[bool]:
    """For each (one source, other source) whether both are surely the same program.

    One child judges them in order; if a pair kills it, that pair is unequal and a fresh child
    takes the rest.
    """
    answers = [False] * len(pairs)
    todo = [i for i, (one, other) in enumerate(pairs) if _same_frame(one, other)]
    for index, equal in zip(todo, same_syntax([pairs[i] for i in todo]), strict=True):
        answers[index] = equal
    return answers


def same_syntax(pairs: Sequence[tuple[bytes, bytes]]) -> list[bool]:
    """For each pair whether both parse to the same tree; cookies and `#!` lines aside."""
    answers = [False] * len(pairs)
    todo = list(range(len(pairs)))
    while todo:
        verdicts = _judge([pairs[index] for index in todo])
        for index, verdict in zip(todo, verdicts, strict=False):
            answers[index] = verdict
        todo = todo[len(verdicts) + 1 :]  # the one that killed the child stays unequal
    return answers


def _judge(pairs: Sequence[tuple[bytes, bytes]]) -> list[bool]:
    request = b"".join(
        struct.pack("!II", len(one), len(other)) + one + other for one, other in pairs
    )
    argv = [sys.executable, "-I", "-S", "-c", _CHILD, str(_MEMORY_BYTES), str(_CPU_S)]
    try:
        done = subprocess.run(
            argv, input=request, capture_output=True, timeout=_WALL_S, check=False, env={}
        )
        answer = done.stdout
    except subprocess.TimeoutExpired as error:
        answer = error.stdout or b""
    return [byte == 1 for byte in answer[: len(pairs)]]


def _same_frame(one: bytes, other: bytes) -> bool:
    """Same `#!` line, byte-order mark and encoding cookie, and no more than the size limit."""
    if max(len(one), len(other)) > _BYTES_MAX:
        return False
    return _frame(one) == _frame(other)


def _frame(source: bytes) -> tuple[bytes, bool, bytes]:
    has_bom = source.startswith(_BOM)
    lines = re.split(rb"\r\n|\r|\n", source.removeprefix(_BOM), maxsplit=2)[:2]
    cookie = b""
    for line in lines:
        found = _COOKIE.match(line)
        if found:
            cookie = found.group(1).lower()
            break
        if line.strip() and not line.lstrip(b" \t\f").startswith(b"#"):
            break  # a cookie in line 2 counts only below a comment or an empty line
    shebang = lines[0] if lines[0].startswith(b"#!") else b""
    return shebang, has_bom, cookie
