"""Whole runs with scripted players and the real judge: tables, resume, rejudging, faults."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cligym.agents.records import read_records
from cligym.agents.tamper_players import ScriptedAttacker, ScriptedDefender
from cligym.agents.tamper_prompts import AttackView, DefenceView, Prompt
from cligym.arena.journal import read_lines
from cligym.arena.metrics import arena_metrics, read_arena_rows
from cligym.arena.orchestrator import Arena
from cligym.arena.report import write_report
from cligym.arena.runs import rejudge, run_arena
from cligym.arena.settings import ArenaSettings, load_arena_settings
from cligym.errors import ConfigError, ModelCallError
from cligym.graders.judge import Judge
from cligym.sandboxes.namespace import NamespaceBackend
from tests.judge.conftest import judge  # noqa: F401  # the fixture

pytestmark = pytest.mark.userns
TASKS = ("binary_search", "stack", "moving_average", "variance")


def settings(**changes: Any) -> ArenaSettings:
    return ArenaSettings(**{"rounds": 2, "seeds": (1,), "tasks": TASKS, **changes})


def play(folder: Path, judge: Judge, chosen: ArenaSettings, **players: Any) -> list[dict[str, Any]]:  # noqa: F811
    attacker = players.get("attacker") or ScriptedAttacker(judge.tasks)
    defender = players.get("defender") or ScriptedDefender(judge.tasks)
    judge.tasks = {name: judge.tasks[name] for name in TASKS}
    Arena(chosen, folder, judge, attacker=attacker, defender=defender).run()
    return read_arena_rows(folder)


class Saying:
    """A player that gives the same answer to everything, or fails."""

    name = "saying"

    def __init__(self, text: str | None) -> None:
        self.text = text
        self.prompts: list[Prompt] = []

    def answer(self, view: AttackView | DefenceView, prompt: Prompt, *, seed: int) -> str:
        self.prompts.append(prompt)
        if self.text is None:
            raise ModelCallError("the server is down")
        return self.text


class Copying:
    """An attacker that hands back what it got."""

    name = "copying"

    def answer(self, view: AttackView | DefenceView, prompt: Prompt, *, seed: int) -> str:
        assert isinstance(view, AttackView)
        bug = {"class": "off_by_one", "lines": [1, 1]}
        return json.dumps({"code": "# new\n" + view.clean, "bug": bug})


def test_a_run_makes_all_tables_and_pictures(tmp_path: Path, judge: Judge) -> None:  # noqa: F811
    play(tmp_path, judge, settings())
    metrics = write_report(tmp_path)
    assert metrics["attack"]["attacks"] == 8
    assert metrics["defence"]["strata"]["clean"] == 8
    assert sum(metrics["attack"]["strata"].values()) == 8
    figures = sorted(path.stem for path in (tmp_path / "figures").iterdir())
    assert figures == ["arms_race", "calibration", "confusion", "per_class", "per_task"]
    page = (tmp_path / "report.html").read_text()
    assert page.count("data:image/png") == 5
    assert "no GAN" in page


def test_records_are_whole(tmp_path: Path, judge: Judge) -> None:  # noqa: F811
    play(tmp_path, judge, settings(rounds=1))
    records = list(read_records(tmp_path / "episodes.jsonl"))
    assert len({record.key for record in records}) == len(records)
    for record in records:
        roles = [message["role"] for message in record.messages]
        assert roles == ["system", "user", "assistant"]
        assert record.env_id.startswith("CodeTamper")
    hidden = judge.tasks["binary_search"].test_files["hidden"].read_text()
    marker = "test_few_comparisons"
    assert marker in hidden
    assert all(marker not in str(record.messages) for record in records)


def test_a_killed_run_goes_on_exactly(tmp_path: Path, judge: Judge) -> None:  # noqa: F811
    whole, torn = tmp_path / "whole", tmp_path / "torn"
    play(whole, judge, settings())
    torn.mkdir()
    for name in ("run.json", "journal.jsonl"):
        (torn / name).write_bytes((whole / name).read_bytes())
    data = (torn / "journal.jsonl").read_bytes()
    (torn / "journal.jsonl").write_bytes(data[: len(data) * 2 // 3])
    play(torn, judge, settings())
    assert (torn / "episodes.jsonl").read_bytes() == (whole / "episodes.jsonl").read_bytes()
    assert len(read_lines(torn / "journal.jsonl")) == len(read_lines(whole / "journal.jsonl"))


def test_a_finished_run_asks_nobody_again(tmp_path: Path, judge: Judge) -> None:  # noqa: F811
    first = play(tmp_path, judge, settings(rounds=1))
    nobody = Saying(None)
    assert play(tmp_path, judge, settings(rounds=1), attacker=nobody, defender=nobody) == first
    assert nobody.prompts == []


def test_other_settings_are_refused(tmp_path: Path, judge: Judge) -> None:  # noqa: F811
    play(tmp_path, judge, settings(rounds=1))
    with pytest.raises(ConfigError, match="memory"):
        play(tmp_path, judge, settings(rounds=1, memory="none"))


def test_rejudging_recorded_answers_gives_the_same_metrics(tmp_path: Path) -> None:
    chosen = load_arena_settings(None, {"rounds": 2, "seeds": [3], "tasks": list(TASKS)})
    first = run_arena(chosen, tmp_path / "run", plots=False)
    again = rejudge(tmp_path / "run", tmp_path / "again", plots=False)
    assert again.summary.differing_verdicts == 0
    assert again.metrics == first.metrics
    assert arena_metrics(read_arena_rows(tmp_path / "again")) == first.metrics
    with pytest.raises(ConfigError, match="another folder"):
        rejudge(tmp_path / "run", tmp_path / "run")


def test_no_op_attacks_are_no_attacks(tmp_path: Path, judge: Judge) -> None:  # noqa: F811
    rows = play(tmp_path, judge, settings(rounds=1), attacker=Copying())
    found = arena_metrics(rows)["attack"]
    assert found["strata"]["no_op"] == found["attacks"] == 4
    assert found["gate_pass"]["rate"] == 0
    assert {row["stratum"] for row in rows if row["role"] == "defender"} == {"clean"}


def test_parse_errors_are_counted(tmp_path: Path, judge: Judge) -> None:  # noqa: F811
    rows = play(tmp_path, judge, settings(rounds=1), defender=Saying("I would rather not say."))
    found = arena_metrics(rows)
    assert found["defence"]["parse_errors"] == found["defence"]["samples"] > 0
    assert all(row["reward"] == 0 for row in rows if row["role"] == "defender")
    assert found["attack"]["win"]["hits"] == 0


def test_infra_errors_have_no_reward_and_are_tried_again(tmp_path: Path, judge: Judge) -> None:  # noqa: F811
    rows = play(tmp_path, judge, settings(rounds=1), attacker=Saying(None))
    attacks = [row for row in rows if row["role"] == "attacker"]
    assert {row["stratum"] for row in attacks} == {"infra_error"}
    assert {row["reward"] for row in attacks} == {None}
    again = play(tmp_path, judge, settings(rounds=1))
    assert "infra_error" not in {row["stratum"] for row in again}


def test_defender_sees_tests_only_by_choice(tmp_path: Path, judge: Judge) -> None:  # noqa: F811
    for shown in (False, True):
        listener = Saying('{"label": "clean", "confidence": 50}')
        chosen = settings(rounds=1, defender_sees_public_tests=shown)
        play(tmp_path / str(shown), judge, chosen, defender=listener)
        assert any("PUBLIC TESTS" in prompt.user for prompt in listener.prompts) is shown
        assert all("1 | " in prompt.user for prompt in listener.prompts)


def test_clean_samples_come_in_different_styles(tmp_path: Path, judge: Judge) -> None:  # noqa: F811
    rows = play(tmp_path, judge, settings(rounds=4))
    styles = {row["style"] for row in rows if row["stratum"] == "clean" and row["task"] == "stack"}
    assert len(styles) > 1


def test_secrets_and_addresses_are_in_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARENA_TEST_KEY", "top-secret")
    seat = {
        "player": "model",
        "model": "m",
        "base_url": "http://127.0.0.1:9/v1",
        "api_key_env": "ARENA_TEST_KEY",
        "timeout_s": 1,
    }
    changes = {"rounds": 1, "seeds": [1], "tasks": ["stack"], "attacker": seat}
    run_arena(load_arena_settings(None, changes), tmp_path, plots=False)
    for path in tmp_path.iterdir():
        text = path.read_bytes()
        assert b"top-secret" not in text
        assert b"127.0.0.1" not in text
        assert b"ARENA_TEST_KEY" not in text


def test_backend_is_closed_after_a_bad_seat(tmp_path: Path) -> None:
    changes = {"tasks": ["stack"], "attacker": {"player": "model"}}
    with pytest.raises(ConfigError, match="base_url"):
        run_arena(load_arena_settings(None, changes), tmp_path, plots=False)
    NamespaceBackend().close()
