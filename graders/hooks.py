"""Which added or altered paths are *hooks*: files that some program loads without being asked to.

A hook can make tests pass without any repair, so a hook outside the damage set fails an attempt.
Inside the damage set the damage rules decide (`graders/damage.py`, `graders/residue.py`).
"""

from __future__ import annotations

import os.path
import tomllib
from collections.abc import Callable, Sequence

from cligym.graders.path_kinds import TESTBED, components, under
from cligym.graders.tree import TEXT_MAX_BYTES, Tree, resolve
from cligym.sandboxes.entry import Entry, Kind

__all__ = ["COPYABLE_HOOKS", "hook_kind", "pytest_section", "search_path"]

_PATH_FILE = "path file run at every interpreter start"
_START_MODULE = "module imported at every interpreter start"
_PLUGIN = "pytest plugin"
COPYABLE_HOOKS = frozenset({_PATH_FILE, _START_MODULE, _PLUGIN})
"""Kinds whose effect lies in their bytes alone, not in where they are."""

_CONFTEST = b"conftest.py"
_PYTEST_FILES = frozenset({b"pytest.ini", b".pytest.ini", b"pytest.toml", b".pytest.toml"})
_SHARED_CONFIG = frozenset({b"tox.ini", b"setup.cfg", b"pyproject.toml"})
_START_MODULES = frozenset({b"sitecustomize", b"usercustomize"})
_SHELL_FOLDERS = frozenset({b"activate.d", b"deactivate.d", b"profile.d"})
# Only names with these endings are loaded: a hook that was renamed out of the way is none.
_IMPORTED = (b".py", b".pyc", b".so")
_SOURCED = (b".sh", b".bash", b".csh", b".fish", b".zsh", b".xsh", b".nu", b".ps1", b".bat")
_METADATA_FOLDERS = (b".dist-info", b".egg-info", b"EGG-INFO")
_PLUGIN_GROUP = b"pytest11"
# tomllib takes quadratic time for one key of many dotted parts.
_TOML_MAX_BYTES = 256 * 1024
_TOML_LINE_DOTS = 200
_TEMPORARY_ROOTS = (b"tmp", b"var/tmp", b"run", b"dev", b"proc", b"sys")


def search_path(env_path: str) -> tuple[bytes, ...]:
    """The folders of a `PATH` value, as image paths, in order."""
    parts = [os.fsencode(part).strip(b"/") for part in env_path.split(":")]
    return tuple(part for part in parts if part)


def hook_kind(
    path: bytes, entry: Entry, *, final: Tree, before: Tree, gold: Tree, search: Sequence[bytes]
) -> str:
    """The kind of hook at an added or altered `path`, or "" when it is none.

    Args:
        path: the path.
        entry: what is there now.
        final: the state that holds `entry`.
        before: the state it is compared with; equal bytes are no change.
        gold: the healthy image, for the executables of its `PATH`.
        search: folders of `PATH`, first one wins.
    """
    if any(under(path, root) for root in _TEMPORARY_ROOTS) or entry.kind is Kind.DIRECTORY:
        # Nothing loads a folder by itself; files inside are looked at one by one.
        return ""
    if _same_content(before.entry(path), entry):
        return ""
    return (
        _start_hook(path)
        or _pytest_hook(path, entry, final, before)
        or _on_path(path, entry, final, gold, search)
    )


def _same_content(old: Entry | None, new: Entry) -> bool:
    if old is None:
        return False
    return (old.kind, old.digest, old.target) == (new.kind, new.digest, new.target)


def _start_hook(path: bytes) -> str:
    names = components(path)
    if path == b"etc/ld.so.preload":
        return "library preloaded into every process"
    if names[-1].endswith(b".pth"):
        return _PATH_FILE
    # Except in __pycache__: no .pyc there is loaded without its source, and python writes them.
    if b"__pycache__" not in names and (
        any(name in _START_MODULES for name in names)
        or (names[-1].split(b".")[0] in _START_MODULES and names[-1].endswith(_IMPORTED))
    ):
        return _START_MODULE
    if any(name in _SHELL_FOLDERS for name in names[:-1]) and names[-1].endswith(_SOURCED):
        return "script sourced by shells or by activation"
    return ""


def _pytest_hook(path: bytes, entry: Entry, final: Tree, before: Tree) -> str:
    folder, name = os.path.split(path)
    if name == b"entry_points.txt" and folder.endswith(_METADATA_FOLDERS):
        return _changed_section(path, entry, final, before, _plugin_section, _PLUGIN)
    if entry.kind is Kind.SYMLINK and name.endswith(_METADATA_FOLDERS):
        return "package metadata behind a link"
    if not (under(path, TESTBED) or under(TESTBED, folder) or not folder):
        return ""
    if name == _CONFTEST:
        return "conftest.py"
    if name in _PYTEST_FILES:
        return "pytest configuration"
    if name in _SHARED_CONFIG:
        return _changed_section(path, entry, final, before, pytest_section, "pytest configuration")
    return ""


def _changed_section(
    path: bytes,
    entry: Entry,
    final: Tree,
    before: Tree,
    section: Callable[[bytes, bytes], str],
    what: str,
) -> str:
    if entry.kind is not Kind.FILE or entry.size > TEXT_MAX_BYTES:
        return what  # a link or device in its place can hold anything later
    old_entry = before.entry(path)
    old = before.read(path) if old_entry is not None and old_entry.kind is Kind.FILE else b""
    return what if section(path, final.read(path)) != section(path, old) else ""


def _plugin_section(path: bytes, text: bytes) -> str:
    return _ini_section(text, b"pytest11")


def pytest_section(path: bytes, text: bytes) -> str:
    """The part of a shared configuration file that pytest reads, in a canonical form.

    An agent wrote the text, so no real parser of INI files sees it: the standard one takes hours
    for one long line and crashes on others. A scan of lines finds at least what pytest would find.
    """
    if os.path.basename(path) != b"pyproject.toml":
        return _ini_section(text, b"pytest")
    if not text.strip():
        return ""
    lines = text.split(b"\n")
    if len(text) > _TOML_MAX_BYTES or any(line.count(b".") > _TOML_LINE_DOTS for line in lines):
        return repr(text)
    try:
        table = tomllib.loads(text.decode()).get("tool", {})
    except (ValueError, RecursionError):
        return repr(text)  # unreadable counts as a whole: pytest would stop at it
    found = isinstance(table, dict) and "pytest" in table
    return repr(table["pytest"]) if found else ""


def _ini_section(text: bytes, wanted: bytes) -> str:
    """The settings below every header that holds `wanted`, sorted, comments left out."""
    if wanted not in text:
        return ""
    inside = False
    found: list[bytes] = []
    for line in text.split(b"\n"):
        setting = line.strip()
        if setting.startswith(b"["):
            inside = wanted in setting
            found += [b"["] if inside else []
        elif inside and setting and not setting.startswith((b"#", b";")):
            found.append(b"".join(setting.split()))
    return repr(sorted(found)) if found else ""


def _on_path(path: bytes, entry: Entry, final: Tree, gold: Tree, search: Sequence[bytes]) -> str:
    folder, name = os.path.split(path)
    if entry.kind not in (Kind.FILE, Kind.SYMLINK):
        return ""
    if entry.kind is Kind.FILE and not entry.mode & 0o111:
        return ""
    mine = _first_folder(final, folder, search)
    if mine is None:
        return ""
    for index, place in enumerate(search):
        found = resolve(gold, place + b"/" + name)
        found_entry = gold.entry(found) if found is not None else None
        if found_entry is None or found_entry.kind is not Kind.FILE:
            continue
        if not found_entry.mode & 0o111:
            continue
        same_place = resolve(gold, place) == resolve(gold, search[mine])
        return "program found earlier on PATH" if index > mine and not same_place else ""
    return ""


def _first_folder(tree: Tree, folder: bytes, search: Sequence[bytes]) -> int | None:
    """Index of the first PATH folder that leads to `folder`."""
    for index, place in enumerate(search):
        if place == folder or resolve(tree, place) == folder:
            return index
    return None
