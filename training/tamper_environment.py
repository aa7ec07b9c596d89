"""Hands `CodeTamperDefender-v0` to TRL: `reset`, one tool `answer`, and the reward.

As in `trl_environment`: every public method of an environment is a tool for the model, so the
Gymnasium environment itself cannot be passed. TRL never closes one, so all share a judge that the
caller closes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from typing import Any

from cligym.agents.tamper_prompts import DefenceView, defence_prompt
from cligym.envs.code_tamper import CodeTamperDefenderEnv, defence_action
from cligym.envs.tamper_answers import parse_defence
from cligym.errors import ActionFormatError, CLIGymError
from cligym.graders.judge import Judge

__all__ = ["DefenderEpisodeTools", "defender_factory"]

_JSON = "Answer with one JSON object:"


class DefenderEpisodeTools:
    """One sample at a time; the episode ends with the first answer.

    An infra error ends the episode without a reward (None), never with a 0.
    """

    def __init__(self, env: CodeTamperDefenderEnv) -> None:
        self._env = env
        self._running = False
        self._reward: float | None = None

    def reset(self, task_id: str = "", seed: int | None = None, **row: Any) -> str:
        """Draws a sample.

        Args:
            task_id: the task; "" draws one.
            seed: of the draw; None goes on with the generator.
            row: other columns of the data set, unused.

        Returns:
            What the user says: rules, specification and code.
        """
        self._running, self._reward = False, None
        options = {"task_id": task_id} if task_id else {}
        try:
            observation, info = self._env.reset(seed=seed, options=options)
        except CLIGymError:
            return "There is no code to review. Answer with a short message to end the episode."
        self._running = True
        self._reward = 0.0  # no answer at all earns what the worst answer does
        view = DefenceView(
            task=info["task_id"],
            spec=observation["spec"],
            code=observation["code"],
            public_tests=observation["public_tests"],
        )
        prompt = defence_prompt(view)
        rules = prompt.system.split(_JSON)[0]
        return f"{rules}Give your verdict with the tool `answer`.\n\n{prompt.user}"

    def answer(
        self, label: str, confidence: float, suspect_lines: Sequence[int] = (), reason: str = ""
    ) -> str:
        """Give your verdict on the code; the first one counts.

        Args:
            label: "clean" or "tampered".
            confidence: how sure you are of the label, 0 to 100.
            suspect_lines: numbers of the lines with the bug.
            reason: the input that fails, or why there is none.

        Returns:
            A short confirmation.
        """
        if not self._running:
            return "The verdict was given already."
        fields = {
            "label": label,
            "confidence": confidence,
            "suspect_lines": list(suspect_lines),
            "reason": reason,
        }
        try:
            action = defence_action(parse_defence(json.dumps(fields)))
        except (ActionFormatError, TypeError, ValueError) as error:
            return f"That is no verdict: {error}"
        self._running = False
        reward = self._env.step(action)[1]
        self._reward = None if math.isnan(reward) else reward
        return "Noted."

    def get_reward(self) -> float | None:
        """The Brier reward in [0, 1], 0 without an answer, None after an infra error."""
        return self._reward


def defender_factory(judge: Judge, **settings: Any) -> Callable[[], DefenderEpisodeTools]:
    """A factory without arguments, as TRL wants it; all environments share one judge.

    Args:
        judge: who judges; whoever made it closes it, the environments hold nothing else.
        settings: for `CodeTamperDefenderEnv`.
    """
    return lambda: DefenderEpisodeTools(CodeTamperDefenderEnv(judge=judge, **settings))
