"""Players of the tampering game: scripted ones that need no model, and one that asks a model.

A player gets the view and the prompt made of it, and answers with raw text, as a model does. What
a scripted player draws depends on the seed alone, so a run can be repeated exactly.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from cligym.agents.model_client import ModelClient, Sampling
from cligym.agents.tamper_prompts import AttackView, DefenceView, Prompt
from cligym.envs.tamper_opponents import ComparingDefender, DefenderPolicy, MutantAttacker
from cligym.tasks.tampering import TamperingTask

__all__ = ["ModelPlayer", "Player", "ScriptedAttacker", "ScriptedDefender"]


class Player(Protocol):
    """Whoever sits on a seat; called from several threads."""

    @property
    def name(self) -> str:
        """Name for the records."""

    def answer(self, view: AttackView | DefenceView, prompt: Prompt, *, seed: int) -> str:
        """The raw answer.

        Raises:
            ModelCallError: no answer came; an infra error.
        """


class ScriptedAttacker:
    """Plays real mutations, see `MutantAttacker`; answers with the JSON that models are asked for.

    Args:
        tasks: by name.
        passes_public: runs the public tests for it, see `MutantAttacker`.
    """

    name = "scripted_attacker"

    def __init__(
        self,
        tasks: Mapping[str, TamperingTask],
        passes_public: Callable[[str, str], bool] | None = None,
    ) -> None:
        self._tasks = tasks
        self._policy = MutantAttacker(passes_public)

    def answer(self, view: AttackView | DefenceView, prompt: Prompt, *, seed: int) -> str:
        """A mutation of the clean solution."""
        assert isinstance(view, AttackView)  # the arena gives attackers attack views
        rng = random.Random(f"attack {seed} {view.task}")
        answer = self._policy.attack(self._tasks[view.task], view.clean, rng)
        if answer is None:
            return "There is nothing in this code that I could change."
        lines = [answer.first_line, answer.last_line]
        claim = {
            "class": answer.bug_class.value,
            "lines": lines,
            "rationale": answer.rationale,
        }
        return json.dumps({"code": answer.code, "bug": claim})


class ScriptedDefender:
    """Compares with the solutions that it knows, see `ComparingDefender`.

    Args:
        tasks: by name.
        policy: how it looks.
    """

    name = "scripted_defender"

    def __init__(
        self, tasks: Mapping[str, TamperingTask], policy: DefenderPolicy | None = None
    ) -> None:
        self._tasks = tasks
        self._policy = policy or ComparingDefender()

    def answer(self, view: AttackView | DefenceView, prompt: Prompt, *, seed: int) -> str:
        """A verdict."""
        assert isinstance(view, DefenceView)  # the arena gives defenders defence views
        rng = random.Random(f"defend {seed} {view.task}")
        answer = self._policy.defend(self._tasks[view.task], view.code, rng)
        return json.dumps(
            {
                "label": answer.label.value,
                "confidence": answer.confidence,
                "suspect_lines": list(answer.suspect_lines),
                "reason": answer.reason,
            }
        )


class ModelPlayer:
    """Asks a model, once; its answer is taken as it comes.

    Args:
        client: where answers come from.
        sampling: how they are drawn; None takes the defaults.
        max_tokens: longest answer.
    """

    def __init__(
        self, client: ModelClient, *, sampling: Sampling | None = None, max_tokens: int = 8_192
    ) -> None:
        self._client = client
        self._sampling = sampling or Sampling()
        self._max_tokens = max_tokens

    @property
    def name(self) -> str:
        """The model's name."""
        return self._client.name

    def answer(self, view: AttackView | DefenceView, prompt: Prompt, *, seed: int) -> str:
        """The model's text."""
        messages: list[dict[str, Any]] = [dict(message) for message in prompt.messages()]
        return self._client.complete(
            messages, [], sampling=self._sampling, max_tokens=self._max_tokens, seed=seed
        ).text
