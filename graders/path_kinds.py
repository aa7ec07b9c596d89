"""Kinds of path that the graders tell apart by name alone: scratch, bytecode, test-side, code.

Paths are bytes relative to the image's root, as everywhere. Hooks have their own file,
`graders/hooks.py`, because some of them need contents.
"""

from __future__ import annotations

import os.path

from cligym.sandboxes.entry import Entry, Kind

__all__ = [
    "TESTBED",
    "components",
    "is_bytecode",
    "is_code_name",
    "is_executable",
    "is_python_source",
    "is_scratch",
    "is_test_side",
    "under",
]

TESTBED = b"testbed"
"""Where the repository lies in every task's image."""

_SCRATCH_ROOTS = (
    b"tmp",
    b"var/tmp",
    b"run",
    b"dev",
    b"proc",
    b"sys",
    b"var/log",
    b"var/cache",
    b"var/lib/apt/lists",
)
_SCRATCH_NAMES = frozenset({b".cache", b".pytest_cache", b".mypy_cache", b".ruff_cache", b".tox"})
_TEST_DIRECTORIES = frozenset({b"tests", b"test"})
_TEST_FILES = frozenset(
    {
        b"conftest.py",
        b"pytest.ini",
        b".pytest.ini",
        b"pytest.toml",
        b".pytest.toml",
        b"tox.ini",
        b"setup.cfg",
        b"pyproject.toml",
        b".coveragerc",
    }
)
_CODE_SUFFIXES = (
    b".py .pyw .pyx .pyc .pyo .pyd .pth .so .a .o .ko .sh .bash .zsh .csh .fish .pl .pm .rb .js "
    b".mjs .lua .tcl .awk .zip .egg .whl .jar .egg-link"
).split()


def components(path: bytes) -> list[bytes]:
    """The names of a path, from the root down."""
    return path.split(b"/") if path else []


def under(path: bytes, root: bytes) -> bool:
    """Whether `path` is `root` or lies below it."""
    return path == root or path.startswith(root + b"/")


def is_bytecode(path: bytes) -> bool:
    """Compiled Python, or a `__pycache__` folder, or anything inside one."""
    return path.endswith((b".pyc", b".pyo")) or b"__pycache__" in components(path)


def is_scratch(path: bytes) -> bool:
    """Where anything may lie without meaning: temporary files, logs and caches.

    For foreign paths only: damage may well live in /tmp (FACTS.md section 4, tasks 9 and 17).
    """
    if any(under(path, root) and path != root for root in _SCRATCH_ROOTS):
        return True
    return any(name in _SCRATCH_NAMES for name in components(path))


def is_test_side(path: bytes) -> bool:
    """A file that belongs to the tests of the repository (FACTS.md 2.1, check 3, widened)."""
    if not path.startswith(TESTBED + b"/"):
        return False
    names = components(path)[1:]
    if any(name in _TEST_DIRECTORIES for name in names):
        return True
    name = names[-1]
    if name in _TEST_FILES:
        return True
    return name.endswith(b".py") and (name.startswith(b"test_") or name.endswith(b"_test.py"))


def is_code_name(path: bytes) -> bool:
    """Whether the name alone says that something may load or run this file."""
    name = os.path.basename(path)
    return name.endswith(tuple(_CODE_SUFFIXES)) or b".so." in name


def is_executable(entry: Entry) -> bool:
    """A regular file that anybody may execute."""
    return entry.kind is Kind.FILE and bool(entry.mode & 0o111)


def is_python_source(path: bytes) -> bool:
    """A `*.py` file by its name."""
    return path.endswith(b".py")
