"""Finds the commands: every module of this package that has a `register(app)` function.

Such a module imports at its top only the standard library, typer and the light modules of cligym
(`cli`, `errors`, `extras`, `constants`), and all else inside its functions: so `cligym --help` is
quick, and a missing package is told by the one command that needs it. A test holds this rule.
"""

from __future__ import annotations

import importlib
import pkgutil
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

import cligym

__all__ = ["ForeignPipeError", "build_command"]


class ForeignPipeError(Exception):
    """Carries a BrokenPipeError past Typer, which would end the program with a silent 1.

    Attributes:
        pipe_error: what the command raised.
    """

    def __init__(self, pipe_error: BrokenPipeError) -> None:
        super().__init__(str(pipe_error))
        self.pipe_error = pipe_error


class _Root(TyperGroup):
    def invoke(self, ctx: Any) -> Any:  # Typer's context type is private
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise ForeignPipeError(error) from error


def build_command() -> TyperGroup:
    """The whole command line, with every command found in `cligym.cli`."""
    app = typer.Typer(
        cls=_Root,
        add_completion=False,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_root)
    package = importlib.import_module("cligym.cli")
    for module in sorted(pkgutil.iter_modules(package.__path__), key=lambda found: found.name):
        found = importlib.import_module(f"cligym.cli.{module.name}")
        register = getattr(found, "register", None)
        if register is not None:
            register(app)
    command = get_command(app)
    assert isinstance(command, TyperGroup)  # an app with a callback always makes a group
    return command


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"cligym {cligym.__version__}")
        raise typer.Exit


def _root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and stop."
        ),
    ] = False,
) -> None:
    """Honest Gymnasium environments for terminal agents."""
