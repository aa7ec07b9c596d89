"""The defender's TRL adapter: its public names, its reward, and what no answer earns."""

from __future__ import annotations

import pytest

from cligym.graders.judge import Judge
from cligym.training.tamper_environment import DefenderEpisodeTools, defender_factory
from tests.judge.conftest import judge  # noqa: F401  # the fixture

pytestmark = pytest.mark.userns


def test_only_these_names_are_tools() -> None:
    public = {name for name in vars(DefenderEpisodeTools) if not name.startswith("_")}
    assert public == {"reset", "answer", "get_reward"}


def test_an_episode(judge: Judge) -> None:  # noqa: F811
    tools = defender_factory(judge, shares={"clean": 1.0})()
    text = tools.reset(task_id="stack", seed=1)
    assert "class Stack" in text
    assert "JSON" not in text
    assert tools.get_reward() == 0.0
    assert "no verdict" in tools.answer("maybe", 50)
    assert tools.answer("clean", 90) == "Noted."
    assert tools.get_reward() == pytest.approx(1 - 0.1**2)
    assert "already" in tools.answer("tampered", 90)
    assert tools.get_reward() == pytest.approx(0.99)


def test_an_unknown_task_is_no_reward(judge: Judge) -> None:  # noqa: F811
    tools = defender_factory(judge)()
    assert "no code" in tools.reset(task_id="nowhere")
    assert tools.get_reward() is None
