"""One attempt at one task, from a fresh damaged box to verdicts; no Gymnasium in it.

`envs/hardened.py` is its Gymnasium face. An attempt ends in exactly one `AttemptOutcome`; faults
whose cause lies outside the box end in one with `infra_error` and no verdicts, never in a 0.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from cligym.envs.bench import PreparedTask
from cligym.envs.observation import budget_line, observation_text
from cligym.errors import CLIGymError, EpisodeError, SandboxDestroyedError
from cligym.graders.grade import grade
from cligym.graders.verdict import Verdict
from cligym.sandboxes.base import Capture, Limits, SandboxSpec, ShellState
from cligym.sandboxes.namespace import NamespaceBackend, NamespaceSandbox

__all__ = ["AttemptOutcome", "CommandRecord", "EndReason", "EpisodeSettings", "RepairEpisode"]


class EndReason(StrEnum):
    """Why an attempt ended, as far as the environment sees it."""

    SUBMITTED = "submitted"
    MAX_COMMANDS = "max_commands"
    SANDBOX_DESTROYED = "sandbox_destroyed"
    INFRA_ERROR = "infra_error"


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeSettings:
    """Budgets of an attempt (defaults: the published runs, FACTS.md 3.3)."""

    max_commands: int = 30
    """Commands an attempt may run."""
    command_timeout_s: float = 300.0
    """Wall time of one command."""
    output_characters: int = 6000
    """Characters of one observation's output; the rest is cut from the middle."""
    limits: Limits = field(default_factory=Limits)
    """What the box may use."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandRecord:
    """One command of an attempt, for the records.

    Attributes:
        command: its text.
        observation: what the agent read.
        exit_code: None when it was killed.
        timed_out: whether it ran past its limit.
        seconds: wall time.
    """

    command: str
    observation: str
    exit_code: int | None
    timed_out: bool
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptOutcome:
    """How an attempt came out.

    Attributes:
        end_reason: why it ended.
        verdicts: grader name -> verdict; empty after an infra error.
        infra_error: what failed on our side, "" when nothing did.
        change_set_digest: of what the agent changed; "" when it could not be read.
        seconds: named wall times: `commands`, `capture`, `grade`.
    """

    end_reason: EndReason
    verdicts: dict[str, Verdict] = field(default_factory=dict)
    infra_error: str = ""
    change_set_digest: str = ""
    seconds: dict[str, float] = field(default_factory=dict)


class RepairEpisode:
    """One attempt. Use as a context manager, or call `close`.

    Args:
        prepared: the task.
        backend: where its box runs.
        settings: budgets.
        graders: names of graders, the first one gives the reward.
    """

    def __init__(
        self,
        prepared: PreparedTask,
        backend: NamespaceBackend,
        settings: EpisodeSettings,
        graders: Sequence[str],
    ) -> None:
        self.prepared = prepared
        self.settings = settings
        self.commands: list[CommandRecord] = []
        self.outcome: AttemptOutcome | None = None
        self._backend = backend
        self._graders = tuple(graders)
        self._sandbox: NamespaceSandbox | None = None
        self._capture: Capture | None = None
        self._seconds: dict[str, float] = {}

    def start(self) -> str:
        """Starts the box; the first observation: what is wrong, and what may be spent."""
        spec = SandboxSpec(image=self.prepared.images.damaged, limits=self.settings.limits)
        self._sandbox = self._backend.start(spec)
        return f"{self.prepared.task.instruction}\n\n{budget_line(self.settings.max_commands)}"

    def bash(self, command: str) -> str:
        """Runs one command; the observation. May end the attempt (then `outcome` is set).

        Raises:
            EpisodeError: the attempt has not started, or has ended.
        """
        if self._sandbox is None or self.outcome is not None:
            raise EpisodeError("no attempt is running: call reset first")
        started = time.monotonic()
        try:
            result = self._sandbox.run(command, timeout_s=self.settings.command_timeout_s)
        except SandboxDestroyedError:
            self.finish(EndReason.SANDBOX_DESTROYED)
            return "[the machine is gone]"
        except CLIGymError as error:
            self._fail(error)
            return ""
        self._add_seconds("commands", started)
        observation = observation_text(
            result,
            limit=self.settings.output_characters,
            timeout_s=self.settings.command_timeout_s,
            workdir=self.prepared.images.damaged.config.workdir,
        )
        self.commands.append(
            CommandRecord(
                command=command,
                observation=observation,
                exit_code=result.exit_code,
                timed_out=result.timed_out,
                seconds=result.seconds,
            )
        )
        if result.shell is ShellState.DESTROYED:
            self.finish(EndReason.SANDBOX_DESTROYED)
        elif len(self.commands) >= self.settings.max_commands:
            self.finish(EndReason.MAX_COMMANDS)
        return observation

    def finish(self, reason: EndReason) -> AttemptOutcome:
        """Stops the box, reads it from outside, grades it as it stands; idempotent."""
        if self.outcome is not None:
            return self.outcome
        if self._sandbox is None:
            raise EpisodeError("no attempt is running: call reset first")
        try:
            started = time.monotonic()
            self._capture = self._sandbox.capture()
            self._sandbox = None
            started = self._add_seconds("capture", started)
            verdicts = grade(
                self.prepared.task,
                self.prepared.images,
                self.prepared.certificate,
                self._capture,
                self._backend,
                graders=self._graders,
            )
            self._add_seconds("grade", started)
        except CLIGymError as error:
            return self._fail(error)
        self.outcome = AttemptOutcome(
            end_reason=reason,
            verdicts={verdict.grader: verdict for verdict in verdicts},
            change_set_digest="" if self._capture.oversized else self._capture.changes.digest,
            seconds=self._seconds,
        )
        return self.outcome

    @property
    def capture(self) -> Capture | None:
        """What the agent left, until `close`; None before the end and after an infra error."""
        return self._capture

    def _fail(self, error: CLIGymError) -> AttemptOutcome:
        self.outcome = AttemptOutcome(
            end_reason=EndReason.INFRA_ERROR,
            infra_error=f"{type(error).__name__}: {error}",
            seconds=self._seconds,
        )
        return self.outcome

    def _add_seconds(self, name: str, started: float) -> float:
        now = time.monotonic()
        self._seconds[name] = self._seconds.get(name, 0.0) + now - started
        return now

    def close(self) -> None:
        """Removes the box and what it left; idempotent."""
        sandbox, self._sandbox = self._sandbox, None
        capture, self._capture = self._capture, None
        if sandbox is not None:
            sandbox.close()
        if capture is not None:
            capture.close()

    def __enter__(self) -> RepairEpisode:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
