"""The contract between whoever runs commands and whatever runs them: `Backend` and `Sandbox`.

A command that fails is a result; a sandbox that fails is an exception (`cligym.errors`). Output is
bytes: decoding is the reader's business. Every promise here is a test in `tests/sandboxes/`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from cligym.sandboxes.entry import ChangeSet
from cligym.sandboxes.image import Image

__all__ = [
    "GIB",
    "MIB",
    "Backend",
    "Capture",
    "CaptureLimits",
    "ExecResult",
    "Limits",
    "Process",
    "Sandbox",
    "SandboxSpec",
    "ShellState",
]

MIB = 1024 * 1024
GIB = 1024 * MIB


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one sandbox may use (defaults: FACTS.md 3.3 and DESIGN.md, The agent's loop)."""

    memory_bytes: int = 4 * GIB
    """Memory of all its processes together."""
    pids: int = 1024
    """Processes and threads at once."""
    cpus: float = 2.0
    """CPU seconds a second."""
    disk_bytes: int = 8 * GIB
    """Blocks on disk that its writes may take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureLimits:
    """The largest change set that is accepted; a larger one is `oversized`."""

    files: int = 200_000
    bytes_on_disk: int = 4 * GIB
    depth: int = 256
    name_bytes: int = 255
    text_bytes: int = 64 * MIB
    """Paths, link targets and extended attributes together: what records of it hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxSpec:
    """What to start.

    Attributes:
        image: the image whose layers are the lower, read-only part.
        overlays: captures laid over the image as read-only layers, first one lowest.
        limits: what it may use.
        network: True shares the host's network (builds only; episodes never).
        env: added to the image's own environment.
        workdir: working directory, or None for the image's.
    """

    image: Image
    overlays: tuple[Capture, ...] = ()
    limits: Limits = field(default_factory=Limits)
    network: bool = False
    env: Mapping[str, str] = field(default_factory=dict)
    workdir: str | None = None


class ShellState(StrEnum):
    """What became of the persistent shell while a command ran."""

    KEPT = "kept"
    """The same shell takes the next command; `cd` and exports carried over."""
    EXITED = "exited"
    """The command ended its shell (`exit 3`, `exec true`); a fresh one takes the next."""
    KILLED = "killed"
    """The command ran past its limit; its whole tree was killed, a fresh shell takes the next."""
    DESTROYED = "destroyed"
    """The box is gone; the next call raises SandboxDestroyedError."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecResult:
    """What one command did.

    Attributes:
        exit_code: 0..255; 128 + signal for a death by signal; None when it timed out or the box
            went away.
        output: stdout and stderr as they came, at most the head and the tail of what was printed.
        omitted_bytes: bytes left out between head and tail (0: `output` is whole).
        omitted_characters: the same in UTF-8 characters.
        head_bytes: length of the head inside `output` (the rest is the tail).
        timed_out: True when it ran past its limit and was killed.
        shell: what became of the shell.
        seconds: wall time.
        channel: bytes written to the result channel (`Sandbox.execute` only).
    """

    exit_code: int | None
    output: bytes
    omitted_bytes: int = 0
    omitted_characters: int = 0
    head_bytes: int = 0
    timed_out: bool = False
    shell: ShellState = ShellState.KEPT
    seconds: float = 0.0
    channel: bytes = b""


class Capture(Protocol):
    """What a stopped sandbox left, readable from the host and replayable in place."""

    @property
    def changes(self) -> ChangeSet:
        """The canonical change set against the image (and overlays) it was started from."""

    @property
    def oversized(self) -> str:
        """Which limit it is over, in words; "" when within limits. Oversized ones have no
        content and cannot be replayed.
        """

    def read(self, path: bytes, *, limit_bytes: int = 64 * MIB) -> bytes:
        """Bytes of a changed regular file (at most `limit_bytes`).

        Raises:
            SandboxError: no such regular file in the capture, or it is larger.
        """

    def subset(self, paths: Sequence[bytes]) -> Capture:
        """The same, reduced to some of its paths (parents are kept as in the image)."""

    def close(self) -> None:
        """Frees it; idempotent."""


class Process(Protocol):
    """A process started by `Sandbox.spawn`."""

    def wait(self, timeout_s: float | None = None) -> int | None:
        """Exit code (128 + signal when killed), or None when it is still running."""

    def kill(self) -> None:
        """Kills its whole session; idempotent."""


class Sandbox(Protocol):
    """One box: a persistent shell, single processes, and what they leave."""

    def run(self, command: str, *, timeout_s: float = 300.0) -> ExecResult:
        """Runs `command` in the persistent bash, as its root, stdin at end of file.

        `cd`, variables and functions carry over. Background processes do not hold the call.

        Raises:
            SandboxDestroyedError: the box is gone.
            SandboxError: our side failed.
        """

    def execute(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: str = "/",
        user: str = "",
        timeout_s: float = 300.0,
        channel: bool = False,
        output_limit_bytes: int = MIB,
    ) -> ExecResult:
        """Runs one fresh process with exactly `env` and waits for it; no shell is involved.

        With `channel`, the process gets a pipe whose number is in `CLIGYM_CHANNEL`; what it
        writes there is `ExecResult.channel` (at most 64 MiB). On timeout every process that it
        started is killed.
        """

    def spawn(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: str = "/",
        user: str = "",
        fds: Mapping[int, int],
    ) -> Process:
        """Starts one fresh process with these descriptors: {number inside: our descriptor}."""

    def stop(self) -> None:
        """Kills every process of the box and waits; idempotent."""

    def capture(self, limits: CaptureLimits = CaptureLimits()) -> Capture:
        """Stops the box and reads, from outside, what it changed. Nothing in it runs again.

        The capture takes over the box's writable layer: `close` the capture when done.
        """

    def close(self) -> None:
        """Stops it and removes all it used, also after a failed start; idempotent."""


class Backend(Protocol):
    """A way to run sandboxes on this machine."""

    @property
    def name(self) -> str:
        """`namespace` or `docker`."""

    def start(self, spec: SandboxSpec) -> Sandbox:
        """Starts a sandbox.

        Raises:
            SandboxUnavailableError: this machine cannot run this back end.
            SandboxStartError: this one did not start.
            ImageError: the image is not in the store.
        """

    def close(self) -> None:
        """Closes every sandbox that is still open; idempotent."""
