"""One GRPO update of a tiny random model, for real, on an environment whose rewards are known."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

from cligym.errors import ConfigError
from cligym.training.grpo_settings import GrpoSettings
from cligym.training.settings import load_settings
from cligym.training.trl_environment import EpisodeFactory

# Warnings of the training libraries are not ours to fix.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(autouse=True)
def _needs_training_libraries() -> None:
    pytest.importorskip("trl", reason="needs the extra [train]")


class KnownRewards(gym.Env[str, str]):
    """A submit gives the next of the rewards that all environments share."""

    def __init__(self, rewards: Iterator[float]) -> None:
        self.rewards = rewards
        self.closed = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        return f"Repair {(options or {})['task_id']}.", {}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        return "", next(self.rewards), True, False, {}

    def close(self) -> None:
        self.closed = True


def settings(model: Path, out: Path, **changes: Any) -> GrpoSettings:
    base: dict[str, Any] = {
        "model": str(model),
        "output": str(out),
        "updates": 1,
        "groups_per_update": 2,
        "attempts_per_forward": 4,
        "max_completion_tokens": 12,
        "learning_rate": 0.01,
        "warmup_updates": 0,
        "use_cpu": True,
    }
    return load_settings(GrpoSettings, shipped="grpo.yaml", config=None, flags=base | changes)


def run(options: GrpoSettings, rewards: list[float]) -> tuple[dict[str, Any], list[KnownRewards]]:
    from cligym.training.grpo import train_on

    made: list[KnownRewards] = []
    shared = itertools.cycle(rewards)

    def make() -> KnownRewards:
        made.append(KnownRewards(shared))
        return made[-1]

    with EpisodeFactory(make) as factory:
        return train_on(options, ["a", "b", "c"], factory), made


def adapter_moved(out: Path) -> bool:
    """Whether the adapter differs from a fresh one, whose second factor is zero."""
    from peft.utils import load_peft_weights

    weights = load_peft_weights(str(out))
    return any(float(w.abs().sum()) > 0 for name, w in weights.items() if "lora_B" in name)


def rollouts(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / "rollouts.jsonl").read_text().splitlines()]


def test_one_update_learns_from_a_mixed_group_and_masks_infra_errors(
    tiny_qwen: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    options = settings(tiny_qwen, out, mask_truncated=False)
    found, envs = run(options, [1, 0, 1, math.nan, 0, 0, 0, 0])
    assert (found["updates"], found["groups"], found["informative_groups"]) == (1, 2, 1)
    assert (found["infra_errors"], found["mean_reward"]) == (1, pytest.approx(2 / 7))
    assert found["stopped"] is None
    assert all(env.closed for env in envs)
    rows = rollouts(out)
    assert [row["passed"] for row in rows] == [True, False, True, None] + [False] * 4
    assert len({row["task_id"] for row in rows[:4]}) == 1
    assert adapter_moved(out)
    assert "mean reward" in (out / "README.md").read_text()


def test_constant_groups_change_nothing_and_stop_the_run(tiny_qwen: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    options = settings(tiny_qwen, out, updates=9, stop_constant_updates=2)
    found, _ = run(options, [1.0])
    assert found["updates"] == 2
    assert "no group with both outcomes" in found["stopped"]
    assert not adapter_moved(out)


def test_a_stopped_run_resumes_with_what_it_knew(tiny_qwen: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    base: dict[str, Any] = {"save_every_steps": 1, "groups_per_update": 1, "mask_truncated": False}
    first, _ = run(settings(tiny_qwen, out, updates=1, **base), [1, 0, 1, 0])
    second, _ = run(settings(tiny_qwen, out, updates=2, resume=True, **base), [1, 1, 1, 0])
    assert (first["updates"], second["updates"]) == (1, 2)
    assert len(rollouts(out)) == 8
    chooser = json.loads((out / "checkpoint-2" / "task_chooser.json").read_text())
    assert sum(record["attempts"] for record in chooser["records"].values()) == 8


def test_a_folder_is_never_used_for_two_runs(tiny_qwen: Path, tmp_path: Path) -> None:
    (tmp_path / "checkpoint-1").mkdir()
    with pytest.raises(ConfigError, match="holds a run already"):
        run(settings(tiny_qwen, tmp_path), [1.0])
    with pytest.raises(ConfigError, match="holds no checkpoint"):
        run(settings(tiny_qwen, tmp_path / "new", resume=True), [1.0])
