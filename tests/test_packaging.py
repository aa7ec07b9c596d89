"""setup.cfg names every package and data file; setuptools cannot find renamed folders itself."""

from __future__ import annotations

import configparser
import importlib.metadata
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import cligym
from cligym.extras import extra_of

_ROOT = Path(__file__).resolve().parents[1]
_ROOMS = ["agents", "arena", "configs", "envs", "graders", "sandboxes", "tasks", "training"]
_DATA_FOLDERS = ("tasks/starter", "tasks/tampering")
_NOISE = {"__pycache__", ".git", ".venv", ".mypy_cache", ".ruff_cache", ".pytest_cache", "build"}


def _config() -> configparser.ConfigParser:
    parser = configparser.ConfigParser(delimiters=("=",))
    parser.optionxform = str  # type: ignore[method-assign,assignment]  # keep the case of keys
    parser.read(_ROOT / "setup.cfg")
    return parser


def _lines(section: str, key: str) -> list[str]:
    return [line for line in _config()[section][key].splitlines() if line]


def _is_data(folder: Path) -> bool:
    return any(f"/{data}/" in f"{folder.as_posix()}/" for data in _DATA_FOLDERS)


def _package_folders(root: Path = _ROOT) -> dict[str, Path]:
    """Every package in the checkout: dotted name -> real folder."""
    tops = {"cligym": root / "src/cligym"} | {f"cligym.{room}": root / room for room in _ROOMS}
    found: dict[str, Path] = {}
    for name, top in tops.items():
        for init in top.rglob("__init__.py"):  # does not follow the links in src/cligym
            folder = init.parent
            if folder.parts[-1] in _NOISE or _is_data(folder):
                continue
            if (
                name == "cligym"
                and folder != top
                and (top / folder.relative_to(top).parts[0]).is_symlink()
            ):
                continue
            found[".".join((name, *folder.relative_to(top).parts))] = folder
    return found


def _files(folder: Path) -> Iterator[Path]:
    """Files that belong to the package in `folder`, down to the next package."""
    for path in sorted(folder.iterdir()):
        if path.name in _NOISE or (path.is_symlink() and path.is_dir()):
            continue
        if path.is_dir():
            if _is_data(path) or not (path / "__init__.py").exists():
                yield from _files(path)
        elif path.suffix != ".pyc":
            yield path


def test_every_package_is_listed() -> None:
    listed = set(_lines("options", "packages"))
    missing = sorted(set(_package_folders()) - listed)
    assert not missing, "add to `packages` in setup.cfg, one a line: " + ", ".join(missing)
    stale = sorted(listed - set(_package_folders()))
    assert not stale, "remove from `packages` in setup.cfg: " + ", ".join(stale)


def test_every_folder_with_modules_is_a_package() -> None:
    """A folder without `__init__.py` would be left out of the wheel without a word."""
    for name, folder in _package_folders().items():
        loose = [path for path in _files(folder) if path.suffix == ".py" and path.parent != folder]
        loose = [path for path in loose if not _is_data(path.parent)]
        assert not loose, f"{name}: add an __init__.py beside {loose[0].relative_to(_ROOT)}"


def test_every_data_file_ships() -> None:
    patterns = {
        name: re.split(r"[,\n]\s*", value.strip())
        for name, value in _config()["options.package_data"].items()
    }
    for name, folder in _package_folders().items():
        shipped = {path for pattern in patterns.get(name, []) for path in folder.glob(pattern)}
        shipped |= {
            path
            for pattern in patterns.get(name, [])
            if pattern.endswith("**")  # setuptools' ** also names files, pathlib's only folders
            for path in folder.glob(pattern + "/*")
        }
        for path in _files(folder):
            data = _is_data(path.parent)
            if (path.suffix == ".py" and not data) or path.name == ".gitkeep":
                continue
            assert path in shipped, (
                f"add to [options.package_data] in setup.cfg: {name} = "
                f"{path.relative_to(folder).as_posix()} (or a pattern for it)"
            )


def test_rooms_are_mapped_and_linked() -> None:
    mapping = dict(line.split(" = ") for line in _lines("options", "package_dir"))
    expected = {"cligym": "src/cligym"} | {f"cligym.{room}": room for room in _ROOMS}
    assert mapping == expected
    if not (_ROOT / ".git").exists():
        pytest.skip("no git checkout: a zip download has no links, and the build needs none")
    for room in _ROOMS:
        assert (_ROOT / "src/cligym" / room).resolve() == _ROOT / room


@pytest.mark.parametrize("folder", ["training", "benchmarks"])
def test_no_script_hides_an_installed_package(folder: str) -> None:
    """`python training/x.py` puts training/ first on the path: `datasets.py` would win there."""
    taken = set(importlib.metadata.packages_distributions()) | sys.stdlib_module_names
    taken |= {"accelerate", "datasets", "openai", "peft", "ray", "torch", "transformers", "trl"}
    names = {path.stem for path in (_ROOT / folder).glob("*.py")} - {"__init__"}
    assert names.isdisjoint(taken), f"rename in {folder}/: {sorted(names & taken)}"


def test_changelog_tells_of_this_version() -> None:
    changelog = (_ROOT / "CHANGELOG.md").read_text()
    assert "## [Unreleased]" in changelog
    assert re.search(rf"^## \[{re.escape(cligym.__version__)}\]", changelog, re.MULTILINE)


def test_extras_in_messages_exist() -> None:
    extras = _config()["options.extras_require"]
    for package in (
        "datasets",
        "matplotlib",
        "openai",
        "oras",
        "peft",
        "pettingzoo",
        "pyarrow",
        "ray",
        "torch",
    ):
        extra = extra_of(package)
        assert extra is not None
        assert re.search(rf"^{package}\b", extras[extra], re.MULTILINE), (package, extra)


def test_the_core_is_light() -> None:
    names = {re.split(r"[<>=]", line)[0] for line in _lines("options", "install_requires")}
    assert names <= {
        "docker", "dockerfile", "gymnasium", "numpy", "pydantic", "pyyaml", "rich", "typer",
    }  # fmt: skip


@pytest.mark.network
def test_the_wheel_holds_the_packages_and_nothing_else(tmp_path: Path) -> None:
    source = tmp_path / "source"
    ignored = shutil.ignore_patterns(*_NOISE, "demo", "runs", "*.egg-info", "*.pyc", ".hypothesis")
    shutil.copytree(_ROOT, source, symlinks=True, ignore=ignored)
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", str(tmp_path)]
    build = subprocess.run([*command, str(source)], cwd=tmp_path, capture_output=True, text=True)
    assert build.returncode == 0, build.stderr
    (wheel,) = tmp_path.glob("cligym-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        found = {name for name in archive.namelist() if ".dist-info/" not in name}
    expected = {
        (Path(*name.split(".")) / path.relative_to(folder)).as_posix()
        for name, folder in _package_folders(source).items()
        for path in _files(folder)
        if path.name != ".gitkeep"
    }
    assert found == expected


@pytest.mark.slow
@pytest.mark.network
def test_the_wheel_works_with_core_packages_only() -> None:
    """`make smoke`: a fresh environment, no extra, another folder."""
    if not (_ROOT / ".git").exists():
        pytest.skip("no git checkout: the script takes its file list from git")
    run = subprocess.run([str(_ROOT / "scripts/smoke")], capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "smoke: registered CLIGymHardened-v0" in run.stdout
