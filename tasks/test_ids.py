"""The test command inside a `run_tests` script: read layer by layer, and written the same way.

The script is bash. An unquoted here-document in it holds Python; that holds one string literal; the
string is a bash command line, whose words after `pytest` are options and test ids. Reading undoes
here-document, literal and shell words, each by its own rules, so ids come out as pytest sees them.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterable
from typing import NamedTuple

from cligym.errors import TaskError

__all__ = ["DEFAULT_PYTEST_ARGS", "TestCommand", "parse_run_tests", "render_run_tests"]

DEFAULT_PYTEST_ARGS = ("--disable-warnings", "--color=no", "--tb=no", "--verbose")

_HEREDOC = re.compile(r"<<-?[ \t]*(?P<quote>['\"\\]?)(?P<word>[A-Za-z_][A-Za-z0-9_]*)")
_LITERAL = {
    "'": re.compile(r"'(?:[^'\\]|\\.)*'"),
    '"': re.compile(r'"(?:[^"\\]|\\.)*"'),
}
_PYTEST = re.compile(r"(?<![\w./-])pytest(?=[ \t'\"]|$)")
_ENDS_COMMAND = ";&|<>()\n"
_TAKES_VALUE = frozenset(
    ("-n", "-k", "-m", "-p", "-c", "-o", "-W", "-r", "--rootdir", "--ignore", "--deselect")
)

_SCRIPT = """\
#!/bin/bash
# Runs the tests of this task in /testbed; what they print is kept in /test.log.
/opt/miniconda3/envs/testbed/bin/python - <<EOF
import subprocess


def run_and_log(command, log_path):
    with open(log_path, "w") as log:
        subprocess.run(["/bin/bash", "-c", command], stdout=log, stderr=log, cwd="/testbed")


run_and_log('@COMMAND@', "/test.log")
EOF
"""


class TestCommand(NamedTuple):
    """What a script runs: pytest's options, and its test ids (none: the whole suite)."""

    pytest_args: tuple[str, ...]
    test_ids: tuple[str, ...]


def parse_run_tests(script: str) -> TestCommand:
    """Reads the pytest command out of a `run_tests` script; runs nothing.

    Quotes that the shell would swallow are swallowed here too: the ids are what pytest is given.

    Raises:
        TaskError: there is no pytest command in it, or one of the three layers cannot be read.
    """
    line, in_heredoc = _line_with_pytest(script)
    command = _literal_around_pytest(_undo_heredoc(line) if in_heredoc else line)
    found = _PYTEST.search(command)
    if found is None:
        raise TaskError("run_tests: no pytest command is left after its layers are undone")
    args: list[str] = []
    ids: list[str] = []
    wants_value = False
    for word in _shell_words(command[found.end() :]):
        if wants_value or word.startswith("-"):
            args.append(word)
            wants_value = not wants_value and word in _TAKES_VALUE
        else:
            ids.append(word)
    return TestCommand(tuple(args), tuple(dict.fromkeys(ids)))


def render_run_tests(
    test_ids: Iterable[str], pytest_args: Iterable[str] = DEFAULT_PYTEST_ARGS
) -> str:
    r"""Writes a `run_tests` script in the data set's form; `parse_run_tests` reads it back.

    A space in an id is carried as `\ `; other readers of the data set split there.

    Raises:
        TaskError: an id is empty or looks like an option, or holds a control character or half a
            surrogate pair (pytest itself prints those as escapes).
    """
    words = ["source /opt/miniconda3/bin/activate; conda activate testbed; pytest"]
    words += [_quote_word(word) for word in pytest_args]
    for test_id in test_ids:
        if not test_id or test_id.startswith("-"):
            raise TaskError(f"test id {test_id!r}: pytest would not take it for an id")
        words.append(_quote_word(test_id))
    # Quotes become \x27: readers that stop at the next quote still read the whole command.
    literal = " ".join(words).replace("\\", "\\\\").replace("'", "\\x27")
    return _SCRIPT.replace("@COMMAND@", re.sub(r"[\\$`]", r"\\\g<0>", literal))


def _quote_word(word: str) -> str:
    if any(ord(char) < 32 or ord(char) == 127 or 0xD800 <= ord(char) < 0xE000 for char in word):
        raise TaskError(f"{word!r} holds a character that a test command cannot carry")
    return re.sub(r"[^\w@%+=:,./-]", r"\\\g<0>", word)


def _line_with_pytest(script: str) -> tuple[str, bool]:
    """The line with the pytest command, and whether it stands in an unquoted here-document."""
    end = ""
    unquoted = False
    for line in script.split("\n"):
        if end and line.strip() == end:
            end, unquoted = "", False
        elif not line.lstrip().startswith("#") and _PYTEST.search(line):
            return line, unquoted
        elif not end and (found := _HEREDOC.search(line)):
            end, unquoted = found["word"], not found["quote"]
    raise TaskError("run_tests holds no pytest command")


def _undo_heredoc(text: str) -> str:
    return re.sub(r"\\([\\$`])", r"\1", text)


def _literal_around_pytest(line: str) -> str:
    """The value of the Python string literal that holds the command, or the line itself."""
    found = _PYTEST.search(line)
    position = found.start() if found else 0
    start = 0
    while start < position:
        literal = _LITERAL[line[start]].match(line, start) if line[start] in _LITERAL else None
        if literal and literal.end() > position:
            return _literal_value(literal[0])
        start = literal.end() if literal else start + 1
    return line


def _literal_value(literal: str) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "\(" means backslash and bracket; Python only grumbles
        try:
            return str(ast.literal_eval(literal))
        except (SyntaxError, ValueError, MemoryError) as error:
            message = f"run_tests: the string that holds the pytest command is broken: {error}"
            raise TaskError(message) from error


def _shell_words(text: str) -> list[str]:
    """Words of one simple command, up to the first unquoted character that ends it."""
    words: list[str] = []
    word: str | None = None
    index = 0
    while index < len(text) and text[index] not in _ENDS_COMMAND:
        char = text[index]
        if char in " \t":
            if word is not None:
                words.append(word)
            word = None
            index += 1
        else:
            part, index = _shell_part(text, index)
            word = (word or "") + part
    if word is not None:
        words.append(word)
    return words


def _shell_part(text: str, index: int) -> tuple[str, int]:
    """One character or one quoted stretch, and where the next begins."""
    char = text[index]
    if char == "\\":
        return text[index + 1 : index + 2].replace("\n", ""), index + 2
    if char == "'":
        end = text.find("'", index + 1)
        if end < 0:
            raise TaskError("run_tests: a quote in the pytest command is never closed")
        return text[index + 1 : end], end + 1
    if char == '"':
        quoted = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL).match(text, index)
        if not quoted:
            raise TaskError("run_tests: a quote in the pytest command is never closed")
        return re.sub(r'\\([\\"$`\n])', r"\1", quoted[1]), quoted.end()
    return char, index + 1
