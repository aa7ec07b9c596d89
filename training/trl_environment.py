"""Hands `CLIGymHardened-v0` to TRL: `reset`, `bash`, `submit` and the reward, and nothing else.

TRL offers every public method of an environment to the model as a tool, keeps instances in a pool,
resets them again and again, and never closes one. A Gymnasium environment can therefore not be
passed as it is: the model could call `step` or `close`. `EpisodeFactory` makes thin adapters and
remembers them; leaving its `with` block, or the end of the process, closes every sandbox.
"""

from __future__ import annotations

import atexit
import math
from collections.abc import Callable
from types import TracebackType
from typing import Any

import gymnasium as gym

from cligym.constants import SUBMIT
from cligym.errors import CLIGymError, EpisodeError

__all__ = ["EpisodeFactory", "RepairEpisodeTools"]

OVER = "The episode is over; no command is run any more."
NO_COMMAND = "No command was given, so nothing was run."
NOT_STARTED = "The machine could not be started. Answer with a short message to end the episode."


class RepairEpisodeTools:
    """One episode at a time, as TRL wants it: all state is private, all public names are tools.

    An infra error ends the episode without a reward (None): TRL masks the attempt, and it is never
    a 0. Whatever fails on our side is no text for the model.
    """

    def __init__(self, env: gym.Env[str, str]) -> None:
        self._env = env
        self._running = False
        self._reward: float | None = None

    def reset(self, task_id: str = "", **row: Any) -> str:
        """Starts an episode on a task; ends the one before.

        Args:
            task_id: the task.
            row: other columns of the data set, unused.

        Returns:
            What the user says: the task's instruction.
        """
        self._running, self._reward = False, None
        try:
            observation, _ = self._env.reset(options={"task_id": task_id})
        except CLIGymError:
            return NOT_STARTED
        self._running = True
        return observation

    def bash(self, command: str) -> str:
        """Run a command in the machine's shell and return what it prints.

        Args:
            command: The command.

        Returns:
            What the command printed.
        """
        if not self._running:
            return OVER
        if not isinstance(command, str) or not command.replace(SUBMIT, "").strip():
            return NO_COMMAND
        return self._step(command)

    def submit(self) -> str:
        """Say that the machine is repaired. It is judged as it stands and nothing runs any more.

        Returns:
            A confirmation.
        """
        if not self._running:
            return OVER
        self._step(SUBMIT)
        return "Submitted."

    def get_reward(self) -> float | None:
        """Judges the episode as it stands, if that has not happened yet.

        Returns:
            The reward in [0, 1]; None after an infra error.
        """
        if self._running:
            self._step(SUBMIT)
        return self._reward

    def _step(self, action: str) -> str:
        """Takes one step and keeps the reward of the last one."""
        try:
            observation, reward, terminated, truncated, _ = self._env.step(action)
        except EpisodeError:
            raise  # a wrong order of calls is a fault of this class, never an outcome
        except CLIGymError:
            self._running = False
            return OVER
        if terminated or truncated:
            self._running = False
            value = float(reward)
            self._reward = None if math.isnan(value) else value
        return observation

    def _close(self) -> None:
        """Closes the environment and its sandbox; idempotent."""
        self._running = False
        self._env.close()


class EpisodeFactory:
    """Makes adapters for TRL and closes all of their sandboxes at the end, whatever happens.

    Args:
        make_env: makes one environment; each adapter has its own.
        close_shared: closes what the environments share, such as their back end.
    """

    def __init__(
        self,
        make_env: Callable[[], gym.Env[str, str]],
        close_shared: Callable[[], None] = lambda: None,
    ) -> None:
        self._make_env = make_env
        self._close_shared = close_shared
        self._made: list[RepairEpisodeTools] = []
        self._closed = False
        atexit.register(self.close)

    def __call__(self) -> RepairEpisodeTools:
        """Makes one adapter.

        Raises:
            EpisodeError: the factory is closed.
        """
        if self._closed:
            raise EpisodeError("this factory is closed; make a new one for another training run")
        tools = RepairEpisodeTools(self._make_env())
        self._made.append(tools)
        return tools

    def close(self) -> None:
        """Closes every environment, also after one of them fails to close; idempotent.

        Raises:
            CLIGymError: the first error of an environment, after all others are closed.
        """
        self._closed = True
        atexit.unregister(self.close)
        first: Exception | None = None
        while self._made:
            try:
                self._made.pop()._close()
            except Exception as error:  # cleanup: the other sandboxes must still be closed
                first = first or error
        close_shared, self._close_shared = self._close_shared, lambda: None
        close_shared()
        if first is not None:
            raise first

    def __enter__(self) -> EpisodeFactory:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
