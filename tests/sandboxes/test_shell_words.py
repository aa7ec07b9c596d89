"""Docker's word expansion: quotes, escapes, defaults."""

from __future__ import annotations

import pytest

from cligym.errors import BuildError
from cligym.sandboxes.shell_words import expand_text, expand_word

VALUES = {"X": "one", "EMPTY": "", "P": "/a b"}


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("plain", "plain"),
        ("$X", "one"),
        ("${X}y", "oney"),
        ("$Xy", ""),
        ("$UNSET-", "-"),
        ("${UNSET:-dflt}", "dflt"),
        ("${EMPTY:-dflt}", "dflt"),
        ("${EMPTY-dflt}", ""),
        ("${X:+alt}", "alt"),
        ("${EMPTY:+alt}", ""),
        ("${EMPTY+alt}", "alt"),
        ("${UNSET:-${X}/$X}", "one/one"),
        ("${UNSET:-'a}b'}", "a}b"),
        (r"\$X", "$X"),
        (r"a\ b", "a b"),
        ("'$X'", "$X"),
        ("\"$X 'q'\"", "one 'q'"),
        (r'"\$X \n \" \\"', '$X \\n " \\'),
        ('"$P"/c', "/a b/c"),
        ("a$", "a$"),
        ("$$", ""),
        ("$1", ""),
        ("trailing\\", "trailing"),
    ],
)
def test_expand_word(word: str, expected: str) -> None:
    assert expand_word(word, VALUES) == expected


def test_other_escape_character() -> None:
    assert expand_word("`$X \\x", VALUES, escape="`") == "$X \\x"


@pytest.mark.parametrize("word", ["'open", '"open', "${X", "${}", "${X:-a", "${X%a}", "${X:?why}"])
def test_bad_words_are_refused(word: str) -> None:
    with pytest.raises(BuildError):
        expand_word(word, {"X": ""})


def test_heredoc_text_keeps_quotes_and_loses_backslashes() -> None:
    text = "a \"$X\" '$X' \\$X \\n \\\\\n"
    assert expand_text(text, VALUES) == "a \"one\" 'one' $X n \\\n"
