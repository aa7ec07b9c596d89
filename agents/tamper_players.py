"""Players of the tampering game: scripted ones that need no model, and one that asks a model.

A player gets the view and the prompt made of it, and answers with raw text, as a model does. What
a scripted player draws depends on the seed alone, so a run can be repeated exactly.
"""

from __future__ import annotations

import difflib
import json
import random
from typing import Any, Protocol

from cligym.agents.model_client import ModelClient, Sampling
from cligym.agents.tamper_prompts import AttackView, DefenceView, Prompt
from cligym.envs.tamper_answers import Label
from cligym.envs.tamper_rewards import changed_lines, normalised
from cligym.tasks.tamper_mutants import mutants
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
    """Plays real mutations: draws a bug class, then an edit of that class.

    Some of its edits are caught by the gate and some are harmless, as a model's are.
    """

    name = "scripted_attacker"

    def answer(self, view: AttackView | DefenceView, prompt: Prompt, *, seed: int) -> str:
        """A mutation of the clean solution, as the JSON that models are asked for."""
        assert isinstance(view, AttackView)  # the arena gives attackers attack views
        rng = random.Random(f"attack {seed} {view.task}")
        edits = mutants(view.clean)
        classes = sorted({edit.bug_class for edit in edits})
        if not classes:
            return "There is nothing in this code that I could change."
        wanted = rng.choice(classes)
        edit = rng.choice([edit for edit in edits if edit.bug_class is wanted])
        return json.dumps(
            {
                "code": edit.source,
                "bug": {
                    "class": edit.bug_class.value,
                    "lines": [edit.line, edit.line],
                    "rationale": edit.words,
                },
            }
        )


class ScriptedDefender:
    """Compares a sample with the solutions that it knows, and overlooks some differences.

    Args:
        tasks: whose clean solutions it knows.
        attention: how likely it notices a difference to the nearest one, by class of difference,
            in [0, 1]; the rest it overlooks.
    """

    name = "scripted_defender"

    def __init__(self, tasks: dict[str, TamperingTask], *, attention: float = 0.8) -> None:
        self._known = {
            name: [normalised(solution.source) for solution in task.clean]
            for name, task in tasks.items()
        }
        self._attention = attention

    def answer(self, view: AttackView | DefenceView, prompt: Prompt, *, seed: int) -> str:
        """A verdict with a confidence that fits how often it is right."""
        assert isinstance(view, DefenceView)  # the arena gives defenders defence views
        rng = random.Random(f"defend {seed} {view.task} {view.code}")
        code = normalised(view.code)
        nearest = max(
            self._known[view.task],
            key=lambda known: difflib.SequenceMatcher(None, known, code).ratio(),
        )
        lines = changed_lines(nearest, code)
        lines = tuple(line for line in lines if rng.random() < self._attention)
        wary = rng.random() < 0.03  # and now and then it sees what is not there
        if lines or wary:
            return self._say(Label.TAMPERED, rng.randint(75, 95), list(lines) or [1])
        return self._say(Label.CLEAN, rng.randint(70, 95), [])

    def _say(self, label: Label, confidence: int, lines: list[int]) -> str:
        reason = "differs from a solution that I know" if lines else "nothing found"
        return json.dumps(
            {
                "label": label.value,
                "confidence": confidence,
                "suspect_lines": lines,
                "reason": reason,
            }
        )


class ModelPlayer:
    """Asks a model, once; its answer is taken as it comes.

    Args:
        client: where answers come from.
        sampling: how they are drawn.
        max_tokens: longest answer.
    """

    def __init__(
        self, client: ModelClient, *, sampling: Sampling = Sampling(), max_tokens: int = 8_192
    ) -> None:
        self._client = client
        self._sampling = sampling
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
