"""The command `cligym`: one clear line on every error, and exit codes that scripts can trust.

    0    done; for commands that judge: passed
    1    done; for commands that judge: did not pass (`raise typer.Exit(1)`)
    2    bad input: usage, a setting, a task, a Dockerfile, a missing package
    3    infra error: sandbox, grader, model server, full disk, or a fault of ours
    130  interrupted by Ctrl-C      141  whoever read our output went away

Never a traceback, except with CLIGYM_DEBUG=1. Commands live in the modules of this package, see
`cligym.cli.discovery`; how to add one is in CONTRIBUTING.md.
"""

from __future__ import annotations

import contextlib
import io
import os
import select
import sys
import traceback
from collections.abc import Sequence

from typer.exceptions import Abort, TyperException

from cligym.cli.discovery import ForeignPipeError, build_command
from cligym.cli.terminal import safe_line, safe_text
from cligym.errors import BuildError, CLIGymError, ConfigError, DependencyError, TaskError
from cligym.extras import missing_package

__all__ = ["main"]

_BAD_INPUT = 2
_INFRA = 3
_INTERRUPTED = 130
_READER_GONE = 141
_STDOUT = 1


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line and returns its exit code.

    Args:
        argv: arguments after the program's name; None takes those of this process.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A terminal that knows no UTF-8 gets escapes, not an error after minutes of work.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        arguments = sys.argv[1:] if argv is None else list(argv)
        result = build_command().main(args=arguments, prog_name="cligym", standalone_mode=False)
        sys.stdout.flush()
    except (KeyboardInterrupt, Abort):
        _say("cligym: interrupted")
        return _INTERRUPTED
    except Exception as error:  # the outermost boundary: a person gets a line, not a traceback
        return _report(error)
    # Typer hands back the code of `typer.Exit`; a command's own return value is no exit code.
    return result if isinstance(result, int) and not isinstance(result, bool) else 0


def _report(error: Exception) -> int:
    """Says in one line what went wrong; the exit code."""
    if isinstance(error, ForeignPipeError):
        error = error.pipe_error
    if isinstance(error, BrokenPipeError) and _reader_is_gone():
        return _READER_GONE
    if os.environ.get("CLIGYM_DEBUG") == "1":
        _say(safe_text("".join(traceback.format_exception(error))).rstrip())
    if isinstance(error, TyperException):
        message = error.format_message().strip()
        if message:  # empty: the help was printed instead
            _say(f"cligym: error: {_one_line(message)} (see: cligym --help)")
        return _BAD_INPUT
    if isinstance(error, ModuleNotFoundError) and not isinstance(error, CLIGymError):
        error = missing_package(error)
    _say(f"cligym: error: {_one_line(_text_of(error))}")
    if isinstance(error, BuildError) and error.output:
        for line in safe_text(error.output).splitlines():
            _say(f"  | {line}")
    return _exit_code(error)


def _text_of(error: Exception) -> str:
    if isinstance(error, CLIGymError):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        about = "" if error.filename is None else f": {os.fsdecode(error.filename)}"
        return f"{error.strerror}{about}"
    kind = type(error).__name__
    return f"internal error, please report it (CLIGYM_DEBUG=1 shows where): {kind}: {error}"


def _exit_code(error: Exception) -> int:
    if isinstance(error, BuildError):
        # A Dockerfile that cannot be parsed is bad input; a RUN that failed may be the network.
        return _BAD_INPUT if error.exit_code is None and error.line is not None else _INFRA
    if isinstance(error, (ConfigError, TaskError, DependencyError)):
        return _BAD_INPUT
    return _INFRA


def _one_line(message: str) -> str:
    return safe_line(" ".join(message.split()))


def _say(line: str) -> None:
    with contextlib.suppress(OSError):  # nobody reads our errors: the exit code still tells
        print(line, file=sys.stderr, flush=True)


def _reader_is_gone() -> bool:
    """True when stdout is a pipe without a reader; then nothing more can be said on it.

    Asked of the descriptor, because a broken pipe to a model server or to one of our own helpers
    is an infra error and must not be taken for `cligym ... | head`.
    """
    poll = select.poll()
    poll.register(_STDOUT, 0)
    if not any(events & select.POLLERR for _, events in poll.poll(0)):
        return False
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, _STDOUT)  # the interpreter's last flush must not fail again
    os.close(null)
    return True
