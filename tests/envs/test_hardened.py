"""`CLIGymHardened-v0` as Gymnasium users meet it."""

from __future__ import annotations

import math
import warnings

import gymnasium as gym
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv
from gymnasium.vector.vector_env import AutoresetMode

import cligym
from cligym.agents.scripted import script_command
from cligym.envs.bench import Bench
from cligym.envs.hardened import CLIGymHardenedEnv
from cligym.errors import ConfigError, EpisodeError, SandboxError, TaskError
from cligym.sandboxes.keeper import Keeper
from cligym.sandboxes.namespace import NamespaceBackend

pytestmark = [pytest.mark.userns, pytest.mark.xdist_group("starter")]


def play(env: CLIGymHardenedEnv, task_id: str, command: str) -> tuple[float, dict[str, object]]:
    env.reset(options={"task_id": task_id})
    env.step(command)
    _, reward, terminated, truncated, info = env.step(cligym.SUBMIT)
    assert terminated and not truncated
    return reward, info


@pytest.fixture
def env(bench: Bench) -> CLIGymHardenedEnv:
    return CLIGymHardenedEnv(tasks=bench)


def test_the_oracle_earns_one_and_an_untouched_box_nothing(
    env: CLIGymHardenedEnv, bench: Bench, task_id: str
) -> None:
    oracle = bench.task(task_id).oracle
    assert oracle is not None
    reward, info = play(env, task_id, script_command(oracle))
    assert (reward, info["success"]) == (1.0, True)
    reward, info = play(env, task_id, "true")
    assert (reward, info["success"]) == (0.0, False)
    env.close()


def test_the_env_checker_has_no_complaint(bench: Bench) -> None:
    made = CLIGymHardenedEnv(tasks=bench)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*render.*")
        check_env(made, skip_render_check=True)
    made.close()


@pytest.mark.parametrize("name", ["CLIGymHardened-v0", "cligym:CLIGymHardened-v0"])
def test_gymnasium_makes_it_by_name(name: str) -> None:
    made = gym.make(name, max_commands=3)
    assert made.spec is not None and made.spec.max_episode_steps is None
    assert isinstance(made.unwrapped, CLIGymHardenedEnv)
    again = gym.make(EnvSpec.from_json(made.spec.to_json()))
    assert again.unwrapped.settings == made.unwrapped.settings  # type: ignore[attr-defined]
    made.close()
    made.close()


def test_the_budget_truncates_and_is_graded(bench: Bench, task_id: str) -> None:
    env = CLIGymHardenedEnv(tasks=bench, max_commands=2)
    env.reset(options={"task_id": task_id})
    assert env.step("true")[2:4] == (False, False)
    _, reward, terminated, truncated, info = env.step("true")
    assert (reward, terminated, truncated) == (0.0, False, True)
    assert info["end_reason"] == "max_commands" and info["success"] is False
    with pytest.raises(EpisodeError, match="reset"):
        env.step("true")
    env.close()


def test_a_box_that_the_agent_destroyed_is_graded_as_it_stands(
    env: CLIGymHardenedEnv, bench: Bench, task_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    env.reset(options={"task_id": task_id})
    assert env.episode is not None and env.episode._sandbox is not None
    env.episode._sandbox.stop()  # what filling the disk past its limit leads to
    _, reward, terminated, _, info = env.step("true")
    assert (reward, terminated) == (0.0, True)
    assert info["end_reason"] == "sandbox_destroyed" and "infra_error" not in info
    env.close()


def test_a_fault_of_ours_is_no_zero(
    env: CLIGymHardenedEnv, task_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    env.reset(options={"task_id": task_id})
    assert env.episode is not None and env.episode._sandbox is not None
    env.episode._sandbox.abandon()  # as when its supervisor was killed by the host
    _, reward, terminated, truncated, info = env.step(cligym.SUBMIT)
    assert math.isnan(reward) and not terminated and truncated
    assert info["end_reason"] == "infra_error" and info["infra_error"]
    assert env.outcome is not None and env.outcome.verdicts == {}
    env.close()


def test_info_holds_no_time_pid_or_host_path(env: CLIGymHardenedEnv, task_id: str) -> None:
    _, first = play(env, task_id, "true")
    _, second = play(env, task_id, "true")
    assert first == second
    assert not {"seconds", "pid", "time"} & set(first)
    env.close()


def test_reset_draws_from_the_seed(env: CLIGymHardenedEnv) -> None:
    first = [env.reset(seed=seed)[1]["task_id"] for seed in (1, 2, 3, 1)]
    assert first[0] == first[3]
    assert len(set(first)) > 1
    env.close()


def test_bad_options_are_one_clear_line(env: CLIGymHardenedEnv) -> None:
    with pytest.raises(ConfigError, match="no task 'nope'"):
        env.reset(options={"task_id": "nope"})
    with pytest.raises(ConfigError, match="unknown reset option 'task'"):
        env.reset(options={"task": "x"})
    with pytest.raises(EpisodeError, match="reset"):
        env.step("true")
    with pytest.raises(ConfigError, match=r"no grader 'hardend'.*hardened"):
        CLIGymHardenedEnv(graders=["hardend"])
    env.close()


def test_a_command_that_holds_the_submit_character_is_a_command(
    env: CLIGymHardenedEnv, task_id: str
) -> None:
    env.reset(options={"task_id": task_id})
    text, _, terminated, _, _ = env.step(f"echo '{cligym.SUBMIT}' done")
    assert not terminated and "done" in text
    env.close()


def test_a_failed_start_is_an_error_and_leaves_nothing(
    bench: Bench, task_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise SandboxError("no box today")

    env = CLIGymHardenedEnv(tasks=bench)
    monkeypatch.setattr(NamespaceBackend, "start", refuse)
    with pytest.raises(SandboxError, match="no box today"):
        env.reset(options={"task_id": task_id})
    assert env.episode is None
    env.close()


@pytest.mark.parametrize("kind", [SyncVectorEnv, AsyncVectorEnv], ids=["sync", "async"])
def test_vector_environments(
    kind: type[SyncVectorEnv] | type[AsyncVectorEnv], bench: Bench, task_id: str
) -> None:
    home = bench.backend.home

    def make() -> gym.Env[str, str]:
        return CLIGymHardenedEnv(backend=NamespaceBackend(home=home))

    vector = kind([make, make], autoreset_mode=AutoresetMode.DISABLED)
    try:
        observations, infos = vector.reset(seed=3, options={"task_id": task_id})
        assert len(observations) == 2 and all(isinstance(text, str) for text in observations)
        assert list(infos["task_id"]) == [task_id, task_id]
        observations, _, terminated, _, _ = vector.step(["echo one", "echo two"])
        assert list(observations) == ["one", "two"] and not terminated.any()
        _, rewards, terminated, _, infos = vector.step([cligym.SUBMIT, cligym.SUBMIT])
        assert terminated.all() and list(rewards) == [0.0, 0.0]
    finally:
        vector.close()


def test_a_task_that_needs_users_is_refused_where_there_is_one(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    needy = [task.task_id for task in bench.tasks.values() if "id-range" in task.needs]
    assert needy
    monkeypatch.setattr(Keeper, "has_id_range", False)
    with pytest.raises(TaskError, match="more than one user"):
        bench.prepare(needy[0])
