"""Patterns of .dockerignore files."""

from __future__ import annotations

import pytest

from cligym.sandboxes.dockerignore import DockerIgnore


@pytest.mark.parametrize(
    ("rules", "path", "ignored"),
    [
        ("*.pyc", "a.pyc", True),
        ("*.pyc", "d/a.pyc", False),
        ("**/*.pyc", "d/e/a.pyc", True),
        ("**/*.pyc", "a.pyc", True),
        ("/build/", "build/x/y", True),
        ("build", "rebuild", False),
        ("d/*/z", "d/y/z", True),
        ("d/*/z", "d/x/y/z", False),
        ("d/**", "d/x/y", True),
        ("a?c", "abc", True),
        ("[ab].txt", "b.txt", True),
        ("[^a].txt", "a.txt", False),
        ("*\n!keep", "keep", False),
        ("*\n!keep", "other", True),
        ("!keep\n*", "keep", True),
        ("# comment\n\n x ", "x", True),
        (r"a\*", "a*", True),
        (r"a\*", "ab", False),
    ],
)
def test_rules(rules: str, path: str, ignored: bool) -> None:
    assert DockerIgnore(rules).ignores(path) is ignored
