"""The trusted test run: pytest in a fresh box, told what to do and heard from outside its files.

Interpreter by absolute path, environment and configuration frozen on gold, no file of ours in the
box. Known ways to cheat it and what stops each: printed results (never read), a forged or torn
channel (nonce, counts, final record, exit status), configuration above the repository (`-c`,
`--rootdir`, `--confcutdir`), an early exit (no final record), missing tests (exact id set).
"""

from __future__ import annotations

import importlib.resources
import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from cligym.errors import GraderError, SandboxDestroyedError
from cligym.graders.pytest_results import TestResults, read_results
from cligym.sandboxes.base import Backend, Capture, SandboxSpec
from cligym.sandboxes.image import Image, ImageConfig
from cligym.tasks.certificate import CertifiedTests

__all__ = ["GoldEnvironment", "gold_environment", "run_certified", "run_pytest", "time_limit_s"]

TIME_FACTOR = 5.0
"""A test run may take this many times as long as gold's own."""
TIME_FLOOR_S = 60.0
"""But never less than this: a loaded machine is no failure."""

_FIXED = {
    "HOME": "/root",
    "USER": "root",
    "LOGNAME": "root",
    "SHELL": "/bin/bash",
    "TERM": "dumb",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONHASHSEED": "0",
    "PYTHONNOUSERSITE": "1",
}
_DEFAULTS = {"LANG": "C.UTF-8", "TZ": "UTC"}
_VOLATILE = ("_", "PWD", "OLDPWD", "SHLVL", "CLIGYM_CHANNEL", "PS1", "BASH_ENV", "ENV")
_ACTIVATE = """
if [ -f /opt/miniconda3/bin/activate ]; then
    . /opt/miniconda3/bin/activate >/dev/null && conda activate testbed >/dev/null || exit 1
fi
exec 1>&"$CLIGYM_CHANNEL"
printf '%s\\0' "$(command -v python || command -v python3)" "$(command -v pytest)"
env -0
"""
_START_S = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldEnvironment:
    """What tests find around them.

    Attributes:
        interpreter: absolute path of gold's Python.
        program: absolute path of gold's `pytest` script, what `sys.argv[0]` says.
        env: every variable.
        workdir: working directory.
    """

    interpreter: str
    program: str
    env: dict[str, str]
    workdir: str


def gold_environment(gold: Image, backend: Backend) -> GoldEnvironment:
    """Asks gold's own shell and activation scripts, in a box of the gold image.

    Raises:
        GraderError: gold has no shell, its activation fails, or it has no Python.
    """
    sandbox = backend.start(SandboxSpec(image=gold))
    try:
        result = sandbox.execute(
            ["/bin/bash", "-c", _ACTIVATE],
            env=_FIXED | _DEFAULTS | dict(gold.config.env),
            cwd=gold.config.workdir,
            timeout_s=_START_S,
            channel=True,
        )
    finally:
        sandbox.close()
    parts = result.channel.split(b"\0")
    if result.exit_code != 0 or len(parts) < 3 or not parts[0].startswith(b"/"):
        tail = result.output[-300:].decode("utf-8", "replace").strip()
        raise GraderError(f"the gold image has no usable Python environment: {tail or 'no python'}")
    env = _parse_env(parts[2:])
    interpreter = parts[0].decode("utf-8", "surrogateescape")
    program = parts[1].decode("utf-8", "surrogateescape")
    folder = interpreter.rpartition("/")[0]
    return GoldEnvironment(
        interpreter=interpreter,
        program=program or f"{folder}/pytest",
        env=env,
        workdir=_workdir(gold.config),
    )


def _parse_env(rows: Sequence[bytes]) -> dict[str, str]:
    env = dict(_DEFAULTS)
    for row in rows:
        name, mark, value = row.decode("utf-8", "surrogateescape").partition("=")
        if mark and name not in _VOLATILE:
            env[name] = value
    return env | _FIXED


def _workdir(config: ImageConfig) -> str:
    return config.workdir if config.workdir not in ("", "/") else "/testbed"


def run_pytest(
    environment: GoldEnvironment,
    arguments: Sequence[str],
    *,
    image: Image,
    overlays: tuple[Capture, ...] = (),
    backend: Backend,
    timeout_s: float,
) -> TestResults:
    """Runs pytest once in a fresh box of `image` with `overlays` on top.

    Raises:
        SandboxError: the box failed; nothing is known about the tests.
    """
    reporter = importlib.resources.files(__package__).joinpath("reporter.py").read_text()
    nonce = secrets.token_hex(16)
    settings = json.dumps({"nonce": nonce, "program": environment.program})
    sandbox = backend.start(SandboxSpec(image=image, overlays=overlays))
    try:
        result = sandbox.execute(
            [environment.interpreter, "-c", reporter, settings, *arguments],
            env=environment.env,
            cwd=environment.workdir,
            timeout_s=timeout_s,
            channel=True,
        )
    except SandboxDestroyedError as error:
        # What runs in the box ended it: a failure of the state, not of the machine.
        return TestResults(problem=f"the tests ended their box: {error}")
    finally:
        sandbox.close()
    return read_results(
        result.channel,
        nonce=nonce,
        exit_code=result.exit_code,
        timed_out=result.timed_out,
        seconds=result.seconds,
        printed=result.output[-4000:].decode("utf-8", "replace"),
    )


def time_limit_s(gold_seconds: float) -> float:
    """How long a test run may take: a stated multiple of gold's own time, with a floor."""
    return max(TIME_FLOOR_S, TIME_FACTOR * gold_seconds)


def run_certified(
    tests: CertifiedTests,
    *,
    image: Image,
    overlays: tuple[Capture, ...],
    gold: Image,
    backend: Backend,
) -> TestResults:
    """Runs the certified tests in one state, within their time limit.

    A run past the limit is a failure of the state, unless gold itself does not keep the limit on
    this machine now: then nobody knows.

    Raises:
        GraderError: gold exceeded the limit too.
    """
    environment = GoldEnvironment(
        interpreter=tests.interpreter,
        program=tests.program,
        env=dict(tests.env),
        workdir=tests.workdir,
    )
    limit_s = time_limit_s(tests.seconds)
    results = run_pytest(
        environment,
        tests.arguments,
        image=image,
        overlays=overlays,
        backend=backend,
        timeout_s=limit_s,
    )
    if results.timed_out:
        again = run_pytest(
            environment, tests.arguments, image=gold, backend=backend, timeout_s=limit_s
        )
        if again.timed_out:
            raise GraderError(
                f"the tests of the gold image ran past {limit_s:.0f} s too; this machine is "
                "overloaded, or the certificate was made on a much faster one"
            )
    return results
