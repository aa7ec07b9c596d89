"""Which added or altered paths are hooks, and which look-alikes are not."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from cligym.graders.hooks import hook_kind, pytest_section, search_path
from cligym.graders.tree import ImageTree
from cligym.sandboxes.entry import Entry, Kind

SITE = "opt/miniconda3/envs/testbed/lib/python3.11/site-packages"
SEARCH = search_path("/opt/miniconda3/envs/testbed/bin:/usr/local/bin:/usr/bin:/bin")
GOLD: dict[str, bytes | Entry] = {
    "usr/bin/git": Entry(kind=Kind.FILE, mode=0o755, digest="g"),
    "usr/bin/notes": Entry(kind=Kind.FILE, mode=0o644, digest="n"),
    "bin": Entry(kind=Kind.SYMLINK, mode=0o777, target=b"usr/bin"),
    "usr/local/bin/.keep": b"",
    "opt/miniconda3/envs/testbed/bin/python": Entry(kind=Kind.FILE, mode=0o755, digest="p"),
    f"{SITE}/base.pth": b"/testbed\n",
    f"{SITE}/pkg.dist-info/entry_points.txt": b"[console_scripts]\na = b:c\n",
    "testbed/setup.cfg": b"[metadata]\nname = x\n[tool:pytest]\naddopts = -q\n",
    "testbed/pyproject.toml": b"[project]\nname='x'\n[tool.pytest.ini_options]\naddopts='-q'\n",
    "testbed/tox.ini": b"[tox]\nenvlist = py\n",
    "testbed/conftest.py": b"import os\n",
}
MakeTree = Callable[[Mapping[str, bytes | Entry]], ImageTree]


def kind_of(make_tree: MakeTree, path: str, value: bytes | Entry) -> str:
    gold = make_tree(GOLD)
    final = make_tree({**GOLD, path: value})
    entry = final.entry(path.encode())
    assert entry is not None
    return hook_kind(path.encode(), entry, final=final, before=gold, gold=gold, search=SEARCH)


PROGRAM = Entry(kind=Kind.FILE, mode=0o755, digest="x")


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (f"{SITE}/evil.pth", b"import os"),
        (f"{SITE}/base.pth", b"/testbed\nimport os\n"),
        ("root/.local/lib/python3.11/site-packages/x.pth", b"import os"),
        (f"{SITE}/sitecustomize.py", b"x"),
        (f"{SITE}/sitecustomize.pyc", b"x"),
        (f"{SITE}/usercustomize.cpython-311-x86_64-linux-gnu.so", b"x"),
        (f"{SITE}/sitecustomize/__init__.py", b"x"),
        (f"{SITE}/sitecustomize", Entry(kind=Kind.SYMLINK, mode=0o777, target=b"/tmp/x")),
        ("etc/ld.so.preload", b"/tmp/x.so"),
        ("opt/miniconda3/envs/testbed/etc/conda/activate.d/x.sh", b"x"),
        ("opt/miniconda3/envs/testbed/etc/conda/deactivate.d/x.sh", b"x"),
        ("etc/profile.d/x.sh", b"x"),
        (f"{SITE}/evil.dist-info/entry_points.txt", b"[pytest11]\nevil = evil\n"),
        (f"{SITE}/pkg.dist-info/entry_points.txt", b"[console_scripts]\n[pytest11]\ne = e\n"),
        (f"{SITE}/pkg.egg-info/entry_points.txt", b"\xff\n [[pytest11]]\nevil = evil\n"),
        (f"{SITE}/pkg.egg-info/entry_points.txt", b"  [pytest11]\nevil = evil\n"),
        (f"{SITE}/far.dist-info", Entry(kind=Kind.SYMLINK, mode=0o777, target=b"/tmp/x")),
        ("testbed/conftest.py", b"import sys\n"),
        ("testbed/tests/conftest.py", b""),
        ("conftest.py", b""),
        ("testbed/pytest.ini", b"[pytest]\n"),
        ("testbed/.pytest.ini", b"[pytest]\n"),
        ("testbed/pytest.toml", b""),
        ("pytest.ini", b""),
        ("testbed/pytest.ini", Entry(kind=Kind.SYMLINK, mode=0o777, target=b"/tmp/x")),
        ("testbed/setup.cfg", b"[metadata]\nname = x\n[tool:pytest]\naddopts = -p evil\n"),
        ("testbed/pyproject.toml", b"[tool.pytest.ini_options]\naddopts='-p evil'\n"),
        ("testbed/pyproject.toml", b"not toml ["),
        ("testbed/tox.ini", b"[pytest]\naddopts = -p evil\n"),
        # what the parser itself stumbles over, and what nobody would read
        ("testbed/tox.ini", b"[pytest]\nkey\n   goes on\n"),
        ("testbed/setup.cfg", Entry(kind=Kind.FILE, mode=0o644, digest="z", size=65 << 20)),
        ("setup.cfg", b"[tool:pytest]\naddopts = -p evil\n"),
        ("opt/miniconda3/envs/testbed/bin/git", PROGRAM),
        ("usr/local/bin/git", PROGRAM),
        ("usr/local/bin/git", Entry(kind=Kind.SYMLINK, mode=0o777, target=b"/tmp/git")),
    ],
)
def test_hooks(make_tree: MakeTree, path: str, value: bytes | Entry) -> None:
    assert kind_of(make_tree, path, value)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (f"{SITE}/base.pth", b"/testbed\n"),
        ("testbed/conftest.py", b"import os\n"),
        ("testbed/conftest.py.bak", b"x"),
        (f"{SITE}/sitecustomize.py.bak", b"x"),
        (f"{SITE}/evil.pth.disabled", b"x"),
        ("etc/profile.d/x.sh.disabled", b"x"),
        ("testbed/repro.py", b"x"),
        ("testbed/tests/test_new.py", b"x"),
        ("tmp/x/conftest.py", b"x"),
        ("tmp/evil.pth", b"x"),
        ("root/conftest.py", b"x"),
        ("root/.bashrc", b"conda activate testbed"),
        ("root/.gitconfig", b"[user]"),
        (f"{SITE}/pkg.dist-info/entry_points.txt", b"[console_scripts]\na = b:d\n"),
        (f"{SITE}/pkg.dist-info/INSTALLER", b"pip"),
        (f"{SITE}/__pycache__/sitecustomize.cpython-311.pyc", b"x"),
        ("testbed/setup.cfg", b"[metadata]\nname = y\n[tool:pytest]\naddopts = -q\n"),
        ("testbed/pyproject.toml", b"[tool.pytest.ini_options]\naddopts='-q'\n[build-system]\n"),
        ("testbed/tox.ini", b"[tox]\nenvlist = py311\n"),
        ("testbed/sub/pyproject.toml", b"[project]\nname='y'\n"),
        ("usr/local/bin/newtool", PROGRAM),
        ("usr/local/bin/git", Entry(kind=Kind.FILE, mode=0o644, digest="x")),
        ("usr/bin/git", PROGRAM),
        ("usr/bin/python", PROGRAM),
        ("usr/local/bin/notes", PROGRAM),
        ("root/bin/git", PROGRAM),
    ],
)
def test_no_hooks(make_tree: MakeTree, path: str, value: bytes | Entry) -> None:
    assert kind_of(make_tree, path, value) == ""


def test_the_section_of_a_shared_file_is_canonical() -> None:
    one = pytest_section(b"tox.ini", b"[pytest]\na = 1\nb = 2\n")
    assert one == pytest_section(b"testbed/tox.ini", b"[x]\n[pytest]\nb=2\na=1\n")
    assert pytest_section(b"setup.cfg", b"[metadata]\na = 1\n[tool:mypy]\nb = pytest\n") == ""
    assert pytest_section(b"pyproject.toml", b"") == ""


@pytest.mark.parametrize("name", [b"tox.ini", b"setup.cfg", b"pyproject.toml", b"pytest11"])
@pytest.mark.timeout(20)
def test_no_text_takes_long_to_look_into(name: bytes) -> None:
    for line in (b"a" + b" " * 1_000_000 + b"b", b"a." * 400_000 + b"b = 1", b"[" * 1_000_000):
        pytest_section(name, b"[pytest]\n" + line + b"\n")
