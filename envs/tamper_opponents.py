"""Opponents that need no model: an attacker of real mutations, and defenders.

They are what the environments play against by default and what the arena's scripted players are
made of. All they draw comes from the generator that they are given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Protocol

from cligym.envs.tamper_answers import AttackAnswer, DefenceAnswer, Label
from cligym.envs.tamper_rewards import changed_lines, normalised
from cligym.errors import ConfigError
from cligym.tasks.tamper_mutants import mutants
from cligym.tasks.tampering import TamperingTask

__all__ = [
    "AttackerPolicy",
    "ComparingDefender",
    "DefenderPolicy",
    "FixedDefender",
    "MutantAttacker",
    "make_defender_policy",
]


class AttackerPolicy(Protocol):
    """An attacker."""

    def attack(self, task: TamperingTask, clean: str, rng: Random) -> AttackAnswer | None:
        """A tampered source and a claim, or None when it finds nothing to change."""


class DefenderPolicy(Protocol):
    """A defender."""

    def defend(self, task: TamperingTask, code: str, rng: Random) -> DefenceAnswer:
        """A verdict on a sample."""


@dataclass(frozen=True, slots=True)
class MutantAttacker:
    """Draws a bug class, then a mutation of that class; some do nothing, some are too coarse.

    Attributes:
        passes_public: given a task's name and a source, says whether the public tests pass; None
            takes the first edit drawn.
        draws: how many edits it tries before it hands in the last one.
    """

    passes_public: Callable[[str, str], bool] | None = None
    draws: int = 4

    def attack(self, task: TamperingTask, clean: str, rng: Random) -> AttackAnswer | None:
        """A mutation of the clean solution."""
        edits = mutants(clean)
        classes = sorted({edit.bug_class for edit in edits})
        if not classes:
            return None
        for _ in range(1 if self.passes_public is None else self.draws):
            wanted = rng.choice(classes)
            edit = rng.choice([edit for edit in edits if edit.bug_class is wanted])
            if self.passes_public is not None and self.passes_public(task.name, edit.source):
                break
        return AttackAnswer(
            code=edit.source,
            bug_class=edit.bug_class,
            first_line=edit.line,
            last_line=edit.line,
            rationale=edit.words,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparingDefender:
    """Compares a sample with the clean solutions, and overlooks some differences.

    Attributes:
        attention: how likely it notices a line that differs from the nearest one, in [0, 1].
        false_alarm: how likely it sees what is not there, in [0, 1].
    """

    attention: float = 0.8
    false_alarm: float = 0.03

    def defend(self, task: TamperingTask, code: str, rng: Random) -> DefenceAnswer:
        """A verdict with a confidence that fits how often it is right."""
        shown = normalised(code)
        known = [normalised(solution.source) for solution in task.clean]
        nearest = max(known, key=lambda text: _likeness(text, shown))
        lines = [n for n in changed_lines(nearest, shown) if rng.random() < self.attention]
        if lines or rng.random() < self.false_alarm:
            return DefenceAnswer(
                label=Label.TAMPERED,
                confidence=rng.randint(75, 95),
                suspect_lines=tuple(lines or [1]),
                reason="differs from a solution that I know",
            )
        return DefenceAnswer(
            label=Label.CLEAN, confidence=rng.randint(70, 95), reason="nothing found"
        )


def _likeness(first: str, second: str) -> float:
    """Share of lines that two texts have in common; quick for texts of any size."""
    ours, theirs = set(first.splitlines()), set(second.splitlines())
    return len(ours & theirs) / max(1, len(ours | theirs))


@dataclass(frozen=True, slots=True)
class FixedDefender:
    """Says the same of everything."""

    label: Label

    def defend(self, task: TamperingTask, code: str, rng: Random) -> DefenceAnswer:
        """Its label, at confidence 50."""
        return DefenceAnswer(label=self.label, confidence=50)


_DEFENDERS: Mapping[str, DefenderPolicy] = {
    "comparing": ComparingDefender(),
    "clean": FixedDefender(Label.CLEAN),
    "tampered": FixedDefender(Label.TAMPERED),
}


def make_defender_policy(opponent: str | DefenderPolicy) -> DefenderPolicy:
    """A defender by name: comparing, clean (trusts everything) or tampered (nothing).

    Raises:
        ConfigError: no defender has that name.
    """
    if not isinstance(opponent, str):
        return opponent
    if opponent not in _DEFENDERS:
        raise ConfigError(f"unknown defender {opponent!r}; known: {', '.join(_DEFENDERS)}")
    return _DEFENDERS[opponent]
