"""The thin adapter for TRL: what the model can see, what is rewarded, what is closed."""

from __future__ import annotations

import inspect
import math
from typing import Any

import gymnasium as gym
import pytest

from cligym.constants import SUBMIT
from cligym.errors import EpisodeError, SandboxStartError
from cligym.training.trl_environment import EpisodeFactory, RepairEpisodeTools


class ScriptedEnv(gym.Env[str, str]):
    """Ends after two commands or a submit; the reward is what the test says."""

    def __init__(self, reward: float = 1.0, *, starts: bool = True) -> None:
        self.reward = reward
        self.starts = starts
        self.actions: list[str] = []
        self.closed = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        if not self.starts:
            raise SandboxStartError("/secret/path: no space left")
        self.actions = []
        return f"repair {(options or {})['task_id']}", {}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        self.actions.append(action)
        last = action == SUBMIT
        full = len(self.actions) == 2 and not last
        return f"ran {action}", self.reward if last or full else 0.0, last, full, {}

    def close(self) -> None:
        self.closed += 1


def test_the_model_sees_bash_and_submit_only() -> None:
    tools = RepairEpisodeTools(ScriptedEnv())
    public = [
        name
        for name, _ in inspect.getmembers(type(tools), predicate=inspect.isfunction)
        if not name.startswith("_")
    ]
    assert public == ["bash", "get_reward", "reset", "submit"]
    assert not [name for name in vars(tools) if not name.startswith("_")]


def test_an_episode_from_reset_to_reward() -> None:
    env = ScriptedEnv()
    tools = RepairEpisodeTools(env)
    assert tools.reset(task_id="t", prompt=[]) == "repair t"
    assert tools.bash("ls") == "ran ls"
    assert tools.submit() == "Submitted."
    assert tools.get_reward() == 1.0
    assert "over" in tools.bash("ls")
    assert "over" in tools.submit()
    assert env.actions == ["ls", SUBMIT]


def test_an_episode_that_is_not_submitted_is_judged_as_it_stands() -> None:
    env = ScriptedEnv(0.0)
    tools = RepairEpisodeTools(env)
    tools.reset(task_id="t")
    assert tools.get_reward() == 0.0
    assert env.actions == [SUBMIT]
    assert tools.get_reward() == 0.0


def test_a_used_up_budget_keeps_the_reward_of_the_last_command() -> None:
    tools = RepairEpisodeTools(ScriptedEnv())
    tools.reset(task_id="t")
    tools.bash("a")
    tools.bash("b")
    assert tools.get_reward() == 1.0


@pytest.mark.parametrize("command", ["", "  \n", SUBMIT, None])
def test_an_empty_call_is_never_run(command: Any) -> None:
    env = ScriptedEnv()
    tools = RepairEpisodeTools(env)
    tools.reset(task_id="t")
    assert "nothing was run" in tools.bash(command)
    assert env.actions == []


def test_infra_errors_have_no_reward_and_tell_the_model_nothing() -> None:
    broken = RepairEpisodeTools(ScriptedEnv(starts=False))
    assert "/secret" not in broken.reset(task_id="t")
    assert broken.get_reward() is None
    unscored = RepairEpisodeTools(ScriptedEnv(math.nan))
    unscored.reset(task_id="t")
    unscored.submit()
    assert unscored.get_reward() is None


def test_a_new_episode_forgets_the_old_reward() -> None:
    env = ScriptedEnv()
    tools = RepairEpisodeTools(env)
    tools.reset(task_id="t")
    tools.submit()
    env.starts = False
    tools.reset(task_id="t")
    assert tools.get_reward() is None


def test_every_environment_is_closed_whatever_happens() -> None:
    class Stubborn(ScriptedEnv):
        def close(self) -> None:
            super().close()
            raise SandboxStartError("will not go")

    envs: list[ScriptedEnv] = [ScriptedEnv(), Stubborn(), ScriptedEnv()]
    waiting = iter(envs)
    shared: list[str] = []
    with (
        pytest.raises(SandboxStartError, match="will not go"),
        EpisodeFactory(lambda: next(waiting), close_shared=lambda: shared.append("x")) as factory,
    ):
        for _ in envs:
            factory()
    assert [env.closed for env in envs] == [1, 1, 1]
    assert shared == ["x"]
    factory.close()
    assert shared == ["x"]
    with pytest.raises(EpisodeError, match="closed"):
        factory()
