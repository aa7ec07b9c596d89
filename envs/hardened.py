"""`CLIGymHardened-v0`: repair a broken machine with one shell; the hardened grader rewards it."""

from __future__ import annotations

import math
from typing import Any

import gymnasium as gym

from cligym.constants import SUBMIT
from cligym.envs.bench import Bench
from cligym.envs.repair_episode import AttemptOutcome, EndReason, EpisodeSettings, RepairEpisode
from cligym.envs.text_space import UnicodeText
from cligym.errors import ConfigError, EpisodeError
from cligym.graders.registry import grader_names
from cligym.sandboxes.namespace import NamespaceBackend

__all__ = ["CLIGymHardenedEnv"]

_MAX_COMMAND_CHARACTERS = 1 << 20
_MAX_OTHER_CHARACTERS = 1 << 16  # the instruction, or the notes beside a command's output


class CLIGymHardenedEnv(gym.Env[str, str]):
    """Repair of a damaged container image of a real repository.

    **Description.** A healthy image was broken by Dockerfile lines. The agent is root in a box made
    of the damaged image, without network, with one persistent bash. When it is done, the box is
    stopped, read from the host, and its changes are graded on fresh copies.

    **Action space.** `UnicodeText`: a command for bash (`cd`, variables and background processes
    carry over; stdin is at end of file), or `cligym.SUBMIT` to end the episode. A command is never
    taken for a submit.

    **Observation space.** `UnicodeText`: on reset the task's instruction and a line about the
    budget; after a command its stdout and stderr, at most `output_characters` characters (two
    thirds head, one third tail, with a count of what is left out), and notes about the shell.

    **Starting state.** `reset(options={"task_id": ...})` chooses the task; else it is drawn from
    `np_random` over all tasks of the source, in the source's order.

    **Rewards.** 0.0 on every step but the last; then 1.0 if the first grader passes the attempt,
    else 0.0. NaN after an infra error (`info["infra_error"]`): never a 0 for a fault of ours.

    **Episode end.** *Terminated* by submit, and when the agent destroyed its own box. *Truncated*
    when `max_commands` are used up (graded all the same), and by an infra error.

    **Information.** `task_id` str; `commands_used`, `commands_left` int; after a command
    `exit_code` int or None and `timed_out` bool; at the end `end_reason` str, `success` bool,
    `verdicts` {grader: {passed, reasons, touched_tests}}, `certificate` str. No times, process ids
    or host paths: those are in `env.unwrapped.outcome` and `env.unwrapped.episode`. What graders
    say is not for the agent.

    **Threat model.** docs/threat-model.md: the agent controls everything in its box and nothing
    outside; whatever it leaves is data.

    **Arguments.** Keyword only, JSON-able but `backend`:
        tasks: `starter`, a folder, a parquet file or a data set id; or a `Bench`, to share built
            tasks and one back end between environments of one process.
        split: only tasks of this split ("" for all).
        graders: names; the first gives the reward.
        max_commands: commands an episode may run (default 30).
        command_timeout_s: wall time of one command (default 300 s).
        output_characters: characters of output an observation may hold (default 6,000).
        backend: a `NamespaceBackend` to share, or None for one of its own.

    **References.** CLI-Gym, arXiv:2602.10999; budgets of the published runs.

    **Version history.** v0: first version.
    """

    metadata: dict[str, Any] = {"render_modes": ["ansi"]}  # noqa: RUF012  # as Env declares it

    def __init__(
        self,
        *,
        tasks: str | Bench = "starter",
        split: str = "",
        graders: tuple[str, ...] | list[str] = ("hardened",),
        max_commands: int = 30,
        command_timeout_s: float = 300.0,
        output_characters: int = 6000,
        backend: NamespaceBackend | None = None,
        render_mode: str | None = None,
    ) -> None:
        if max_commands < 1:
            raise ConfigError(f"max_commands must be at least 1, not {max_commands}")
        if render_mode not in (None, "ansi"):
            raise ConfigError(f"render_mode {render_mode!r} is unknown; use 'ansi' or None")
        self.graders = grader_names(graders)
        self.render_mode = render_mode
        self.settings = EpisodeSettings(
            max_commands=max_commands,
            command_timeout_s=command_timeout_s,
            output_characters=output_characters,
        )
        shares = isinstance(tasks, Bench)
        self.bench = (
            tasks if isinstance(tasks, Bench) else Bench(tasks, backend=backend, split=split)
        )
        self._owns_backend = backend is None and not shares
        self.action_space = UnicodeText(_MAX_COMMAND_CHARACTERS, min_length=1)
        self.observation_space = UnicodeText(_MAX_OTHER_CHARACTERS + output_characters)
        self.episode: RepairEpisode | None = None
        self._last_observation = ""

    @property
    def outcome(self) -> AttemptOutcome | None:
        """How the last episode came out, with verdicts and times; None while it runs."""
        return self.episode.outcome if self.episode else None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Starts an episode; see the class for `options`.

        Raises:
            ConfigError: no task of that id, or an unknown option.
            BuildError: the task's image does not build.
            TaskError: the task's certificate refuses it.
            SandboxError: the box does not start.
        """
        super().reset(seed=seed)
        unknown = set(options or ()) - {"task_id"}
        if unknown:
            raise ConfigError(f"unknown reset option {sorted(unknown)[0]!r}; known: 'task_id'")
        self._close_episode()
        task_id = (options or {}).get("task_id")
        if task_id is None:
            names = list(self.bench.tasks)
            task_id = names[int(self.np_random.integers(len(names)))]
        prepared = self.bench.prepare(str(task_id))
        episode = RepairEpisode(prepared, self.bench.backend, self.settings, self.graders)
        self._last_observation = episode.start()
        self.episode = episode
        return self._last_observation, self._info()

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Runs a command, or ends the episode with `cligym.SUBMIT`.

        Raises:
            EpisodeError: before `reset`, or after the end.
        """
        episode = self.episode
        if episode is None or episode.outcome is not None:
            raise EpisodeError("step was called without a running episode: call reset first")
        if not isinstance(action, str):
            raise ConfigError(f"an action is a text, not {type(action).__name__}")
        if action == SUBMIT:
            episode.finish(EndReason.SUBMITTED)
            observation = ""
        else:
            observation = episode.bash(action)
        self._last_observation = observation
        outcome = episode.outcome
        if outcome is None:
            return observation, 0.0, False, False, self._info()
        terminated = outcome.end_reason in (EndReason.SUBMITTED, EndReason.SANDBOX_DESTROYED)
        return observation, self._reward(outcome), terminated, not terminated, self._info()

    def _reward(self, outcome: AttemptOutcome) -> float:
        if outcome.end_reason is EndReason.INFRA_ERROR:
            return math.nan
        return outcome.verdicts[self.graders[0]].reward

    def _info(self) -> dict[str, Any]:
        episode = self.episode
        assert episode is not None
        used = len(episode.commands)
        info: dict[str, Any] = {
            "task_id": episode.prepared.task.task_id,
            "commands_used": used,
            "commands_left": self.settings.max_commands - used,
        }
        if episode.commands:
            info["exit_code"] = episode.commands[-1].exit_code
            info["timed_out"] = episode.commands[-1].timed_out
        outcome = episode.outcome
        if outcome is None:
            return info
        info["end_reason"] = outcome.end_reason.value
        if outcome.end_reason is EndReason.INFRA_ERROR:
            return info | {"infra_error": outcome.infra_error}
        return info | {
            "success": outcome.verdicts[self.graders[0]].passed,
            "certificate": episode.prepared.certificate.status,
            "verdicts": {
                name: {
                    "passed": verdict.passed,
                    "reasons": [reason.to_json() for reason in verdict.reasons],
                    "touched_tests": list(verdict.touched_tests),
                }
                for name, verdict in outcome.verdicts.items()
            },
        }

    def render(self) -> str | None:
        """The last command and observation, as text (render mode `ansi`)."""
        if self.render_mode is None:
            return None
        last = self.episode.commands[-1].command if self.episode and self.episode.commands else ""
        return f"$ {last}\n{self._last_observation}" if last else self._last_observation

    def _close_episode(self) -> None:
        episode, self.episode = self.episode, None
        if episode is not None:
            episode.close()

    def close(self) -> None:
        """Ends the box and, when it is this environment's own, the back end; idempotent."""
        try:
            self._close_episode()
        finally:
            if self._owns_backend:
                self.bench.backend.close()
