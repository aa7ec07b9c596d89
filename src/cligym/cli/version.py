"""`cligym version`: which cligym this is, and which of its optional parts are installed."""

from __future__ import annotations

import importlib.metadata
import platform

import typer

import cligym
from cligym.cli.output import JsonFlag, print_json, print_table

__all__ = ["register"]

_PACKAGES = (
    "gymnasium",
    "docker",
    "pyarrow",
    "matplotlib",
    "oras",
    "pettingzoo",
    "torch",
    "transformers",
    "trl",
    "ray",
)


def register(app: typer.Typer) -> None:
    """Adds `cligym version`."""
    app.command("version")(_version)


def _version(as_json: JsonFlag = False) -> None:
    """Shows the versions of cligym, Python and the optional packages."""
    packages = {name: _installed(name) for name in _PACKAGES}
    if as_json:
        python = platform.python_version()
        print_json({"cligym": cligym.__version__, "python": python, "packages": packages})
        return
    rows = [("cligym", cligym.__version__), ("python", platform.python_version())]
    rows += [(name, version or "not installed") for name, version in packages.items()]
    print_table(["package", "version"], rows)


def _installed(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
