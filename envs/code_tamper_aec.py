"""The two-player game as a PettingZoo AEC environment: `attacker` acts, then `defender`.

Make it with `env()`, or `raw_env()` without PettingZoo's order checks. Needs `pettingzoo`.
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any, ClassVar

import gymnasium as gym

from cligym.envs.code_tamper import (
    Observation,
    attack_answer,
    attack_space,
    defence_answer,
    defence_space,
    view_space,
)
from cligym.envs.tamper_answers import Label
from cligym.envs.tamper_rewards import AttackRewards, attack_reward, brier_reward, normalised
from cligym.errors import ConfigError, DependencyError
from cligym.graders.judge import Judge, Judgement, JudgeSettings
from cligym.tasks.tampering import TamperingTask, load_tampering_tasks

try:
    from pettingzoo import AECEnv
    from pettingzoo.utils import wrappers
except ImportError as error:
    raise DependencyError(
        "the two-player game needs pettingzoo: pip install 'cligym[arena]'"
    ) from error

__all__ = ["CodeTamperAEC", "env", "raw_env"]

ATTACKER, DEFENDER = "attacker", "defender"
_EMPTY: Observation = {"spec": "", "public_tests": "", "code": "", "memory": ""}


def env(**settings: Any) -> Any:
    """The game with PettingZoo's usual wrapper; settings as for `CodeTamperAEC`."""
    return wrappers.OrderEnforcingWrapper(raw_env(**settings))


def raw_env(**settings: Any) -> CodeTamperAEC:
    """The game itself."""
    return CodeTamperAEC(**settings)


class CodeTamperAEC(AECEnv):  # type: ignore[misc]  # pettingzoo has no types
    """One sample, two players.

    The attacker tampers with a clean solution. The defender is shown the tampered code if it is a
    valid attack, and with the chance `clean_share` (always, if it is none) a clean solution
    instead, so it never knows. The attacker earns `AttackRewards` (nothing when its code was not
    shown), the defender the Brier reward. An infra error of the judge is raised.

    Args:
        tasks: names; None takes all that come with cligym.
        clean_share: how often a clean solution is shown although the attack is valid, in [0, 1].
        rewards: changes to `AttackRewards`, by name.
        judge: a judge to share; None starts one at the first attack.
        render_mode: `ansi` or None.
    """

    metadata: ClassVar[dict[str, Any]] = {
        "name": "code_tamper_v0",
        "render_modes": ["ansi"],
        "is_parallelizable": False,
    }

    def __init__(
        self,
        *,
        tasks: tuple[str, ...] | list[str] | None = None,
        clean_share: float = 0.5,
        rewards: Mapping[str, float] | None = None,
        judge: Judge | None = None,
        render_mode: str | None = None,
    ) -> None:
        super().__init__()
        if not 0 <= clean_share <= 1:
            raise ConfigError(f"clean_share lies in [0, 1], found {clean_share}")
        self.render_mode = render_mode
        self.possible_agents = [ATTACKER, DEFENDER]
        self.agents: list[str] = []
        self.observation_spaces = {name: view_space() for name in self.possible_agents}
        self.action_spaces = {ATTACKER: attack_space(), DEFENDER: defence_space()}
        self.tasks = load_tampering_tasks(names=tasks) if judge is None else dict(judge.tasks)
        self._clean_share = clean_share
        self._table = AttackRewards(**(rewards or {}))
        self._judge = judge
        self._owns_judge = judge is None
        self._rng = Random(0)
        self._views: dict[str, Observation] = {}
        self._judgement: Judgement | None = None
        self._shown_attack = False

    def observation_space(self, agent: str) -> gym.Space[Any]:
        """The same object at every call."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> gym.Space[Any]:
        """The same object at every call."""
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Draws a task and a clean solution; the attacker is next."""
        if seed is not None:
            self._rng = Random(seed)
        chosen = options or {}
        name = chosen.get("task_id") or self._rng.choice(sorted(self.tasks))
        if name not in self.tasks:
            raise ConfigError(f"unknown task {name!r}; known: {', '.join(sorted(self.tasks))}")
        self._task = self.tasks[name]
        self.agents = list(self.possible_agents)
        self.agent_selection = ATTACKER
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in self.agents}
        self._judgement, self._shown_attack = None, False
        clean = normalised(self._rng.choice(self._task.clean).source)
        self._views = {
            ATTACKER: _view(self._task, clean, self._task.public_tests),
            DEFENDER: dict(_EMPTY),
        }

    def observe(self, agent: str) -> Observation:
        """What a player sees; the defender sees nothing before the attack."""
        return dict(self._views[agent])

    def step(self, action: Mapping[str, Any] | None) -> None:
        """Takes the action of `agent_selection`."""
        if self.terminations[self.agent_selection] or self.truncations[self.agent_selection]:
            self._was_dead_step(action)
            return
        assert action is not None, "a living player acts"
        self._cumulative_rewards[self.agent_selection] = 0.0
        self._clear_rewards()
        if self.agent_selection == ATTACKER:
            self._attack(action)
            self.agent_selection = DEFENDER
        else:
            self._defend(action)
            self.terminations = dict.fromkeys(self.agents, True)
            self.agent_selection = ATTACKER
        self._accumulate_rewards()

    def _attack(self, action: Mapping[str, Any]) -> None:
        if self._judge is None:
            self._judge = Judge(self.tasks, settings=JudgeSettings(workers=1))
        code = attack_answer(action).code
        judgement = self._judge.judge(self._task.name, code)
        # Drawn in every case, so that equal seeds go on equally after any verdict.
        other = normalised(self._rng.choice(self._task.clean).source)
        wants_clean = self._rng.random() < self._clean_share
        self._judgement = judgement
        self._shown_attack = judgement.valid_attack and not wants_clean
        self._views[DEFENDER] = _view(
            self._task, normalised(code) if self._shown_attack else other, ""
        )

    def _defend(self, action: Mapping[str, Any]) -> None:
        answer, judgement = defence_answer(action), self._judgement
        assert judgement is not None
        tampered = self._shown_attack and judgement.real_bug
        self.rewards[DEFENDER] = brier_reward(answer, tampered=tampered)
        if self._shown_attack or not judgement.valid_attack:
            self.rewards[ATTACKER] = attack_reward(judgement, answer.label, self._table)
        facts = {"outcome": judgement.outcome.value, "shown": self._shown_attack}
        self.infos[ATTACKER] = {**facts, "label": answer.label.value}
        correct = (answer.label is Label.TAMPERED) == tampered
        self.infos[DEFENDER] = {**facts, "correct": correct}

    def render(self) -> str | None:
        """The next player's view as text."""
        if self.render_mode is None or not self.agents:
            return None
        view = self._views[self.agent_selection]
        return "\n\n".join(f"{name.upper()}\n{text}" for name, text in view.items())

    def close(self) -> None:
        """Ends the judge if it is ours; idempotent."""
        if self._owns_judge and self._judge is not None:
            self._judge.close()
            self._judge = None


def _view(task: TamperingTask, code: str, public_tests: str) -> Observation:
    return {"spec": task.spec, "public_tests": public_tests, "code": code, "memory": ""}
