"""`cligym` on errors: one clear line, the right exit code, never a traceback."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import typer

import cligym.cli
from cligym.cli import discovery, main
from cligym.errors import (
    AgentError,
    BuildError,
    CLIGymError,
    ConfigError,
    DependencyError,
    EpisodeError,
    GraderError,
    SandboxUnavailableError,
    TaskError,
)

Raiser = Callable[[BaseException], None]


@pytest.fixture
def raising(monkeypatch: pytest.MonkeyPatch) -> Raiser:
    """Gives the command line a command `fail` that raises what the test says."""

    def install(error: BaseException) -> None:
        def fail() -> None:
            raise error

        def register(app: typer.Typer) -> None:
            app.command("fail")(fail)

        monkeypatch.setattr("cligym.cli.version.register", register)

    return install


CASES = [
    (ConfigError("no grader 'x'; known: hardened"), 2),
    (TaskError("no task 'x'"), 2),
    (DependencyError("install y"), 2),
    (BuildError("line 3: unknown instruction FOO", line=3), 2),
    (BuildError("line 3: RUN failed", line=3, exit_code=1), 3),
    (SandboxUnavailableError("no user namespaces"), 3),
    (GraderError("no result"), 3),
    (AgentError("no answer"), 3),
    (EpisodeError("step before reset"), 3),
    (OSError(errno.ENOSPC, "No space left on device", "/x"), 3),
    (RuntimeError("a fault of ours"), 3),
]


@pytest.mark.parametrize(("error", "code"), CASES, ids=lambda case: type(case).__name__)
def test_an_error_is_one_line_and_a_code(
    raising: Raiser, capsys: pytest.CaptureFixture[str], error: Exception, code: int
) -> None:
    raising(error)
    assert main(["fail"]) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("cligym: error: ")
    assert captured.err.count("\n") == 1
    told = str(error) if isinstance(error, CLIGymError) else str(error.args[-1])
    assert told in captured.err


def test_a_message_of_several_lines_becomes_one_safe_line(
    raising: Raiser, capsys: pytest.CaptureFixture[str]
) -> None:
    raising(TaskError("bad\n  task \x1b]0;owned\x07 name"))
    assert main(["fail"]) == 2
    assert capsys.readouterr().err == "cligym: error: bad task \\x1b]0;owned\\x07 name\n"


def test_a_failed_run_shows_the_end_of_its_output(
    raising: Raiser, capsys: pytest.CaptureFixture[str]
) -> None:
    raising(BuildError("line 2: RUN make", line=2, exit_code=2, output="first\nlast \x1b[2J\n"))
    assert main(["fail"]) == 3
    lines = capsys.readouterr().err.splitlines()
    assert lines == ["cligym: error: line 2: RUN make", "  | first", "  | last \\x1b[2J"]


def test_debug_shows_the_traceback(
    raising: Raiser, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLIGYM_DEBUG", "1")
    raising(ConfigError("wrong"))
    assert main(["fail"]) == 2
    assert "Traceback (most recent call last)" in capsys.readouterr().err


def test_a_missing_package_names_its_extra(
    raising: Raiser, capsys: pytest.CaptureFixture[str]
) -> None:
    raising(ModuleNotFoundError("No module named 'pyarrow.lib'", name="pyarrow.lib"))
    assert main(["fail"]) == 2
    assert "pip install 'cligym[data]'" in capsys.readouterr().err


@pytest.mark.parametrize("code", [0, 1])
def test_exit_codes_of_commands_pass_through(raising: Raiser, code: int) -> None:
    raising(typer.Exit(code))
    assert main(["fail"]) == code


def test_a_return_value_is_no_exit_code(monkeypatch: pytest.MonkeyPatch) -> None:
    def register(app: typer.Typer) -> None:
        app.command("count")(lambda: True)

    monkeypatch.setattr("cligym.cli.version.register", register)
    assert main(["count"]) == 0


def test_interrupt_is_130(raising: Raiser, capsys: pytest.CaptureFixture[str]) -> None:
    raising(KeyboardInterrupt())
    assert main(["fail"]) == 130
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["nope"], ["version", "--nope"], ["version", "extra"]])
def test_bad_usage_is_one_line(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("cligym: error: ")
    assert captured.err.count("\n") == 1


def test_no_arguments_show_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    captured = capsys.readouterr()
    assert "version" in captured.out
    assert captured.err == ""


def test_a_broken_pipe_of_our_own_is_an_infra_error(
    raising: Raiser, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only a reader of stdout that went away ends a command quietly."""
    raising(BrokenPipeError(errno.EPIPE, "Broken pipe"))
    assert main(["fail"]) == 3
    assert capsys.readouterr().err == "cligym: error: Broken pipe\n"


def _program(*arguments: str) -> list[str]:
    return [sys.executable, "-c", "import sys; from cligym.cli import main; sys.exit(main())",
            *arguments]  # fmt: skip


def _environment(**extra: str) -> dict[str, str]:
    source = str(Path(cligym.__file__).parents[1])
    return os.environ | {"PYTHONPATH": source} | extra


@pytest.mark.parametrize("arguments", [["version"], ["version", "--json"], ["--help"]])
def test_a_reader_that_left_is_no_error(arguments: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    run = subprocess.run(
        _program(*arguments), stdout=writer, stderr=subprocess.PIPE, env=_environment(), text=True
    )
    os.close(writer)
    assert run.stderr == ""
    assert run.returncode in (1, 141)  # 1: Typer's own help


def test_no_color_is_respected() -> None:
    """Also where colour is forced, as many CI systems do."""
    colored = subprocess.run(
        _program("version"), env=_environment(FORCE_COLOR="1"), capture_output=True
    )
    plain = subprocess.run(
        _program("version"), env=_environment(FORCE_COLOR="1", NO_COLOR="1"), capture_output=True
    )
    assert b"\x1b[3" not in plain.stdout
    assert colored.returncode == plain.returncode == 0


def test_a_terminal_without_utf8_gets_escapes() -> None:
    speak = (
        "import sys, cligym.cli.version as v\n"
        "from cligym.cli.output import print_table, print_text\n"
        "def speak():\n print_text('gr\u00fc\u00dfe'); print_table(['\u00e4'], [['\u6f22']])\n"
        "v.register = lambda app: app.command('speak')(speak)\n"
        "from cligym.cli import main\nsys.exit(main(['speak']))"
    )
    run = subprocess.run(
        [sys.executable, "-c", speak],
        env=_environment(PYTHONIOENCODING="ascii"),
        capture_output=True,
        text=True,
    )
    assert (run.returncode, run.stderr) == (0, "")
    assert "gr\\xfc\\xdfe" in run.stdout
    assert "\\u6f22" in run.stdout


def test_ctrl_c_leaves_no_traceback() -> None:
    wait = (
        "import sys, time, typer, cligym.cli.version as v\n"
        "def wait():\n print('ready', flush=True); time.sleep(60)\n"
        "v.register = lambda app: app.command('wait')(wait)\n"
        "from cligym.cli import main\nsys.exit(main(['wait']))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", wait],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=_environment(),
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "Traceback" not in stderr


def test_help_imports_no_room_and_no_heavy_package() -> None:
    """`cligym --help` stays quick, and a missing package hurts only the command that needs it."""
    listing = (
        "import sys\nfrom cligym.cli.discovery import build_command\nbuild_command()\n"
        "print(*sorted(sys.modules))"
    )
    run = subprocess.run(
        [sys.executable, "-c", listing],
        env=_environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = set(run.stdout.split())
    light = {"cligym.cli", "cligym.constants", "cligym.errors", "cligym.extras"}
    rooms = {
        name
        for name in loaded
        if name.startswith("cligym.") and ".".join(name.split(".")[:2]) not in light
    }
    assert not rooms, "import these inside the command's function"
    heavy = {"docker", "dockerfile", "matplotlib", "pyarrow", "pydantic", "torch", "yaml"}
    assert heavy.isdisjoint(loaded)


def test_every_command_explains_itself() -> None:
    command = discovery.build_command()
    assert command.commands
    for name, sub in command.commands.items():
        assert sub.get_short_help_str(), f"cligym {name} has no help line"
