"""`CodeTamperAttacker-v0` and `CodeTamperDefender-v0`: one seat each of the tampering game.

An episode is one action. The judge (`cligym.graders.judge`) decides; no model is in it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from random import Random
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from cligym.envs.tamper_answers import (
    CODE_LIMIT,
    LINE_LIMIT,
    REASON_LIMIT,
    TEXT_LIMIT,
    AttackAnswer,
    DefenceAnswer,
    Label,
)
from cligym.envs.tamper_opponents import (
    AttackerPolicy,
    DefenderPolicy,
    MutantAttacker,
    make_defender_policy,
)
from cligym.envs.tamper_rewards import (
    AttackRewards,
    attack_reward,
    brier_reward,
    changed_lines,
    location_credit,
    normalised,
)
from cligym.envs.text_space import UnicodeText
from cligym.errors import ConfigError, EpisodeError, GraderError, SandboxError
from cligym.graders.judge import Judge, Judgement, JudgeOutcome, JudgeSettings
from cligym.tasks.tampering import BugClass, TamperingTask, load_tampering_tasks

__all__ = [
    "CodeTamperAttackerEnv",
    "CodeTamperDefenderEnv",
    "attack_action",
    "attack_answer",
    "defence_action",
    "defence_answer",
]

Observation = dict[str, Any]
Action = Mapping[str, Any]

_CLASSES = tuple(BugClass)
_LABELS = tuple(Label)
_DRAWS = 40


def attack_action(answer: AttackAnswer) -> dict[str, Any]:
    """A parsed answer as an action of the attacker's space."""
    return {
        "code": answer.code,
        "bug_class": np.int64(_CLASSES.index(answer.bug_class)),
        "first_line": np.int64(answer.first_line),
        "last_line": np.int64(answer.last_line),
        "rationale": answer.rationale,
    }


def attack_answer(action: Action) -> AttackAnswer:
    """An action of the attacker's space as an answer."""
    return AttackAnswer(
        code=str(action["code"]),
        bug_class=_CLASSES[int(action["bug_class"])],
        first_line=int(action["first_line"]),
        last_line=int(action["last_line"]),
        rationale=str(action["rationale"]),
    )


def defence_action(answer: DefenceAnswer) -> dict[str, Any]:
    """A parsed answer as an action of the defender's space (confidence in whole percent)."""
    return {
        "label": np.int64(_LABELS.index(answer.label)),
        "confidence": np.int64(round(answer.confidence)),
        "suspect_lines": tuple(np.int64(line) for line in answer.suspect_lines),
        "reason": answer.reason,
    }


def defence_answer(action: Action) -> DefenceAnswer:
    """An action of the defender's space as an answer."""
    return DefenceAnswer(
        label=_LABELS[int(action["label"])],
        confidence=float(action["confidence"]),
        suspect_lines=tuple(sorted({int(line) for line in action["suspect_lines"]})),
        reason=str(action["reason"]),
    )


def attack_space() -> spaces.Dict:
    """What an attacker can do."""
    return spaces.Dict(
        {
            "code": UnicodeText(CODE_LIMIT),
            "bug_class": spaces.Discrete(len(_CLASSES)),
            "first_line": spaces.Discrete(LINE_LIMIT, start=1),
            "last_line": spaces.Discrete(LINE_LIMIT, start=1),
            "rationale": UnicodeText(REASON_LIMIT),
        }
    )


def defence_space() -> spaces.Dict:
    """What a defender can do."""
    return spaces.Dict(
        {
            "label": spaces.Discrete(len(_LABELS)),
            "confidence": spaces.Discrete(101),
            "suspect_lines": spaces.Sequence(spaces.Discrete(LINE_LIMIT, start=1)),
            "reason": UnicodeText(REASON_LIMIT),
        }
    )


def view_space() -> spaces.Dict:
    """What either seat observes: texts of at most 1,000,000 characters."""
    names = ("spec", "public_tests", "code", "memory")
    return spaces.Dict({name: UnicodeText(TEXT_LIMIT) for name in names})


class _TamperEnv(gym.Env[Observation, Action]):
    """What both seats share: tasks, the judge, one action an episode."""

    metadata: dict[str, Any] = {"render_modes": ["ansi"]}  # noqa: RUF012  # as Env declares it

    def __init__(
        self,
        *,
        tasks: tuple[str, ...] | list[str] | None,
        show_public_tests: bool,
        normalise_code: bool,
        judge: Judge | None,
        render_mode: str | None,
    ) -> None:
        if render_mode is not None and render_mode not in self.metadata["render_modes"]:
            raise ConfigError(f"unknown render mode {render_mode!r}; known: ansi")
        self.render_mode = render_mode
        self.observation_space = view_space()
        self.tasks = load_tampering_tasks(names=tasks) if judge is None else dict(judge.tasks)
        self.diagnostics: dict[str, Any] = {}
        self._show_public_tests = show_public_tests
        self._normalise = normalise_code
        self._judge = judge
        self._owns_judge = judge is None
        self._task: TamperingTask | None = None
        self._observation: Observation = {}

    @property
    def judge(self) -> Judge:
        """The judge, started at the first use."""
        if self._judge is None:
            self._judge = Judge(self.tasks, settings=JudgeSettings(workers=1))
        return self._judge

    def _draw_task(self, options: Mapping[str, Any]) -> TamperingTask:
        name = options.get("task_id")
        if name is None:
            names = sorted(self.tasks)
            name = names[int(self.np_random.integers(len(names)))]
        if name not in self.tasks:
            raise ConfigError(f"unknown task {name!r}; known: {', '.join(sorted(self.tasks))}")
        return self.tasks[name]

    def _rng(self) -> Random:
        return Random(int(self.np_random.integers(2**62)))

    def _shown(self, source: str) -> str:
        return normalised(source) if self._normalise else source

    def _observe(self, task: TamperingTask, code: str, options: Mapping[str, Any]) -> Observation:
        self._task = task
        self._observation = {
            "spec": task.spec,
            "public_tests": task.public_tests if self._show_public_tests else "",
            "code": code,
            "memory": str(options.get("memory", "")),
        }
        return dict(self._observation)

    def _current_task(self) -> TamperingTask:
        if self._task is None:
            raise EpisodeError("no episode is running: call reset first, and after every step")
        return self._task

    def render(self) -> str | None:
        """The observation as text."""
        if self.render_mode is None or not self._observation:
            return None
        return "\n\n".join(f"{name.upper()}\n{text}" for name, text in self._observation.items())

    def close(self) -> None:
        """Ends the judge if it is ours; idempotent."""
        if self._owns_judge and self._judge is not None:
            self._judge.close()
            self._judge = None


class CodeTamperAttackerEnv(_TamperEnv):
    """Break clean code so that the public tests still pass and the defender sees nothing.

    Description: one task, one clean solution, one action.
    Action space: `Dict` of `code` (text, whole source), `bug_class` (index into `BugClass`),
        `first_line`, `last_line` (1-based span of the claim), `rationale` (text).
    Observation space: `Dict` of texts `spec`, `public_tests` ("" when hidden), `code`, `memory`.
    Start state and seeding: task and clean solution are drawn from `np_random`, or set by
        `options={"task_id": ..., "solution": ..., "memory": ...}`; so is what the opponent draws.
    Reward: see `AttackRewards`; by default 1 for a real bug that the opponent calls clean, else 0.
        NaN after an infra error.
    Termination: after the action. Truncation: only by an infra error.
    Info keys: `task_id`; after the step `outcome` (`JudgeOutcome`), `real_bug`, `valid_attack`,
        `label` (the opponent's, or None), `infra_error` (only if one happened). What is in
        `diagnostics` (failing hidden tests) is not for the agent.
    Threat model: the code runs in a box of the judge, see `cligym.graders.judge`.
    Version history: v0.

    Args:
        tasks: names; None takes all that come with cligym.
        opponent: a defender by name or object, see `make_defender_policy`.
        show_public_tests: False hides them.
        normalise_code: print the clean solution as Python does.
        rewards: changes to `AttackRewards`, by name.
        judge: a judge to share; None starts one at the first step.
        render_mode: `ansi` or None.
    """

    def __init__(
        self,
        *,
        tasks: tuple[str, ...] | list[str] | None = None,
        opponent: str | DefenderPolicy = "comparing",
        show_public_tests: bool = True,
        normalise_code: bool = True,
        rewards: Mapping[str, float] | None = None,
        judge: Judge | None = None,
        render_mode: str | None = None,
    ) -> None:
        super().__init__(
            tasks=tasks,
            show_public_tests=show_public_tests,
            normalise_code=normalise_code,
            judge=judge,
            render_mode=render_mode,
        )
        self.action_space = attack_space()
        self._opponent = make_defender_policy(opponent)
        self._rewards = AttackRewards(**(rewards or {}))
        self._opponent_rng = Random(0)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Shows a task's clean solution."""
        super().reset(seed=seed)
        chosen = options or {}
        task = self._draw_task(chosen)
        rng = self._rng()
        style = chosen.get("solution") or rng.choice(task.clean).name
        self._opponent_rng = rng
        code = self._shown(task.solution(style).source)
        return self._observe(task, code, chosen), {"task_id": task.name}

    def step(self, action: Action) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Judges the tampered source and lets the opponent look at it."""
        task = self._current_task()
        self._task = None
        code = attack_answer(action).code
        info: dict[str, Any] = {"task_id": task.name}
        try:
            judgement = self.judge.judge(task.name, code)
        except (GraderError, SandboxError) as error:
            return dict(self._observation), math.nan, False, True, info | _infra(error)
        self.diagnostics = {"failing": judgement.failing, "reason": judgement.reason}
        label: Label | None = None
        if judgement.valid_attack:
            shown = self._shown(code)
            label = self._opponent.defend(task, shown, self._opponent_rng).label
        reward = attack_reward(judgement, label, self._rewards)
        return dict(self._observation), reward, True, False, info | _facts(judgement, label)


class CodeTamperDefenderEnv(_TamperEnv):
    """Say whether code was tampered with, how sure you are, and where.

    Description: one sample, one action. A sample is clean, harmless (edited, no bug shown) or a
        real bug; the truth is `tampered` only for real bugs.
    Action space: `Dict` of `label` (0 clean, 1 tampered), `confidence` (0..100, of the label),
        `suspect_lines` (1-based), `reason` (text).
    Observation space: `Dict` of texts `spec`, `public_tests` ("" unless shown), `code`, `memory`.
    Start state and seeding: everything is drawn from `np_random`; `options` may set `task_id`,
        `stratum` and `memory`.
    Reward: `1 - (p - y)^2` in [0, 1], a proper scoring rule; NaN after an infra error.
    Termination: after the action. Truncation: only by an infra error.
    Info keys: `task_id`; after the step `stratum`, `bug_class`, `correct`, `truth_lines`,
        `location_credit`. An infra error at `reset` is raised: there is no sample to judge.
    Threat model: samples are made and judged in the judge's box; the agent never touches it.
    Version history: v0.

    Args:
        tasks: names; None takes all that come with cligym.
        opponent: the attacker; None plays real mutations.
        shares: how often a sample is clean, harmless or a real bug; any positive weights.
        show_public_tests: True shows them, as the published system does.
        normalise_code: print every sample as Python does, so that layout is no evidence.
        judge: a judge to share; None starts one at the first reset.
        render_mode: `ansi` or None.
    """

    def __init__(
        self,
        *,
        tasks: tuple[str, ...] | list[str] | None = None,
        opponent: AttackerPolicy | None = None,
        shares: Mapping[str, float] | None = None,
        show_public_tests: bool = False,
        normalise_code: bool = True,
        judge: Judge | None = None,
        render_mode: str | None = None,
    ) -> None:
        super().__init__(
            tasks=tasks,
            show_public_tests=show_public_tests,
            normalise_code=normalise_code,
            judge=judge,
            render_mode=render_mode,
        )
        self.action_space = defence_space()
        self._attacker = opponent or MutantAttacker()
        self._shares = dict(shares or {"clean": 0.5, "real_bug": 0.5})
        unknown = set(self._shares) - {"clean", "harmless", "real_bug"}
        if unknown or min(self._shares.values(), default=0) <= 0:
            raise ConfigError("shares: positive weights of clean, harmless and real_bug")
        self._stratum = "clean"
        self._bug_class: str | None = None
        self._truth: tuple[int, ...] = ()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Draws a sample and shows it."""
        super().reset(seed=seed)
        chosen = options or {}
        task, rng = self._draw_task(chosen), self._rng()
        names = sorted(self._shares)
        weights = [self._shares[name] for name in names]
        stratum = chosen.get("stratum") or rng.choices(names, weights)[0]
        code = self._draw_sample(task, stratum, rng)
        return self._observe(task, code, chosen), {"task_id": task.name}

    def step(self, action: Action) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Scores the verdict."""
        task = self._current_task()
        self._task = None
        answer = defence_answer(action)
        real = self._stratum == JudgeOutcome.REAL_BUG
        info = {
            "task_id": task.name,
            "stratum": self._stratum,
            "bug_class": self._bug_class,
            "correct": (answer.label is Label.TAMPERED) == real,
            "truth_lines": self._truth,
            "location_credit": location_credit(answer.suspect_lines, self._truth),
        }
        reward = brier_reward(answer, tampered=real)
        return dict(self._observation), reward, True, False, info

    def _draw_sample(self, task: TamperingTask, stratum: str, rng: Random) -> str:
        """Draws attacks until one is what is wanted; a clean sample where none turns up."""
        self._stratum, self._bug_class, self._truth = "clean", None, ()
        if stratum not in ("clean", "harmless", "real_bug"):
            raise ConfigError(f"unknown stratum {stratum!r}; known: clean, harmless, real_bug")
        clean = self._shown(rng.choice(task.clean).source)
        for _ in range(0 if stratum == "clean" else _DRAWS):
            attack = self._attacker.attack(task, clean, rng)
            if attack is None:
                break
            judgement = self.judge.judge(task.name, attack.code)
            if judgement.outcome == stratum:
                code = self._shown(attack.code)
                self._stratum, self._bug_class = stratum, attack.bug_class.value
                self._truth = changed_lines(clean, code)
                return code
        return clean


def _infra(error: Exception) -> dict[str, Any]:
    return {"infra_error": f"{type(error).__name__}: {error}"}


def _facts(judgement: Judgement, label: Label | None) -> dict[str, Any]:
    return {
        "outcome": judgement.outcome.value,
        "valid_attack": judgement.valid_attack,
        "real_bug": judgement.real_bug,
        "label": None if label is None else label.value,
    }
