"""One attempt in three views, which must say the same: JSON lines, ATIF, and the HTML page."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from cligym.agents.atif import ATIF_VERSION, atif_trajectory, write_atif
from cligym.agents.episode_page import episode_page
from cligym.agents.records import BASH_TOOL, AttemptRecord, read_records
from cligym.cli import main

EVIL = "</pre><script>alert(1)</script> & \"q\" 'x' \u00fc \u2028 \x1b[31m"


def call(*commands: str) -> list[dict[str, Any]]:
    return [
        {"type": "function", "function": {"name": "bash", "arguments": {"command": command}}}
        for command in commands
    ]


def make_record(**changes: Any) -> AttemptRecord:
    value: dict[str, Any] = {
        "cligym_version": "0",
        "env_id": "CLIGymHardened-v0",
        "task_id": "task-a",
        "task_digest": "sha256:0",
        "agent": "model:qwen",
        "model": "qwen",
        "attempt": 1,
        "seed": 3,
        "messages": [
            {"role": "system", "content": "You repair."},
            {"role": "user", "content": "\nIt fails."},
            {
                "role": "assistant",
                "content": "Look.",
                "reasoning_content": "hm",
                "tool_calls": call("ls", f"echo '{EVIL}'"),
            },
            {"role": "tool", "name": "bash", "content": "a\nb"},
            {"role": "tool", "name": "bash", "content": EVIL},
            {"role": "user", "content": "[this tool call could not be read]"},
            {"role": "assistant", "content": "", "tool_calls": call("cat big")},
        ],
        "tools": [BASH_TOOL],
        "end_reason": "length_budget",
        "passed": False,
        "reward": 0.0,
        "verdicts": {"hardened": {"passed": False, "reasons": [{"kind": "hook", "path": "/x"}]}},
        "usage": {"turns": 2, "prompt_tokens": 50, "completion_tokens": 9},
    }
    return AttemptRecord.model_validate(value | changes)


class Page(HTMLParser):
    """Reads a page back: its steps, and every address in it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.steps: list[dict[str, Any]] = []
        self.tags: list[str] = []
        self.addresses: list[str] = []
        self._kind = self._text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags.append(tag)
        self.addresses += [str(given[k]) for k in ("src", "href", "action") if k in given]
        name = given.get("class") or ""
        if tag == "div" and name.startswith("step "):
            self.steps.append({"source": name.split()[1], "command": [], "output": []})
        self._kind = name if tag == "pre" else ""
        self._text = ""

    def handle_data(self, data: str) -> None:
        self._text += data

    def handle_endtag(self, tag: str) -> None:
        if tag != "pre" or self._kind not in ("text", "thinking", "command", "output"):
            return
        text = self._text.removeprefix("\n")  # as browsers do
        if self._kind in ("command", "output"):
            self.steps[-1][self._kind].append(text)
        else:
            self.steps[-1][self._kind] = text
        self._kind = ""


def shown(text: str) -> str:
    """Control characters as the page shows them: ESC as the sign for it."""
    return re.sub(r"[\x00-\x08\x0b-\x1f]", lambda found: chr(0x2400 + ord(found[0])), text)


def from_messages(record: AttemptRecord) -> list[tuple[str, str, list[str], list[str]]]:
    """The steps straight from the record, by a way of its own."""
    steps: list[tuple[str, str, list[str], list[str]]] = []
    for message in record.messages:
        if message["role"] == "tool":
            steps[-1][3].append(message["content"])
            continue
        calls = [c["function"]["arguments"]["command"] for c in message.get("tool_calls", ())]
        source = {"assistant": "agent"}.get(message["role"], message["role"])
        steps.append((source, message["content"], calls, []))
    return steps


def agree(record: AttemptRecord) -> None:
    expected = from_messages(record)
    trajectory = atif_trajectory(record)
    assert trajectory is not None
    atif = [
        (
            step["source"],
            step["message"],
            [c["arguments"]["command"] for c in step.get("tool_calls", ())],
            [r["content"] for r in step.get("observation", {}).get("results", ())],
        )
        for step in trajectory["steps"]
    ]
    assert atif == expected
    page = Page(episode_page([record], title="t"))
    html = [(s["source"], s.get("text", ""), s["command"], s["output"]) for s in page.steps]
    assert html == [
        (source, shown(text), [shown(c) for c in commands], [shown(o) for o in outputs])
        for source, text, commands, outputs in expected
    ]


def test_the_three_views_agree(tmp_path: Path) -> None:
    path = tmp_path / "episodes.jsonl"
    path.write_bytes(make_record().to_line())
    (record,) = read_records(path)
    agree(record)


def test_a_trajectory_keeps_the_rules_of_the_form() -> None:
    trajectory = atif_trajectory(make_record())
    assert trajectory is not None and trajectory["schema_version"] == ATIF_VERSION
    assert set(trajectory) == {
        "schema_version", "session_id", "trajectory_id", "agent", "steps", "final_metrics", "extra",
    }  # fmt: skip
    only_agents = {"tool_calls", "observation", "reasoning_content", "model_name", "llm_call_count"}
    for number, step in enumerate(trajectory["steps"], start=1):
        assert step["step_id"] == number and isinstance(step["message"], str)
        assert step["source"] == "agent" or not only_agents & set(step)
        assert set(step) <= {"step_id", "source", "message"} | only_agents
        calls = [c["tool_call_id"] for c in step.get("tool_calls", ())]
        named = [r["source_call_id"] for r in step.get("observation", {}).get("results", ())]
        assert set(named) <= set(calls) and len(set(calls)) == len(calls)
    assert trajectory["extra"]["cligym"]["verdicts"]["hardened"]["reasons"]
    assert trajectory["final_metrics"]["total_completion_tokens"] == 9


def test_a_script_asks_no_model_and_an_empty_attempt_has_no_trajectory(tmp_path: Path) -> None:
    script = atif_trajectory(make_record(agent="oracle", model=None))
    assert script is not None and "model_name" not in script["agent"]
    assert {s.get("llm_call_count") for s in script["steps"] if s["source"] == "agent"} == {0}
    empty = make_record(messages=[], passed=None, reward=None, infra_error="SandboxError: x")
    assert write_atif([make_record(), empty], tmp_path) == (1, 1)
    (written,) = tmp_path.iterdir()
    assert json.loads(written.read_text())["session_id"] == "task-a.1.model-qwen"


def test_the_page_needs_nothing_else_and_runs_nothing_foreign() -> None:
    text = episode_page([make_record(task_id=EVIL), make_record(passed=True)], title=EVIL)
    page = Page(text)
    assert page.addresses == []
    assert page.tags.count("script") == 1 and "link" not in page.tags and "img" not in page.tags
    assert "alert(1)</script>" not in text
    assert not re.search(r"https?://|url\(|@import", text)
    assert "default-src 'none'" in text
    assert "\x1b" not in text


def test_the_page_tells_outcomes_apart() -> None:
    records = [
        make_record(attempt=0, passed=True, reward=1.0),
        make_record(attempt=1),
        make_record(attempt=2, passed=None, reward=None, infra_error="ModelCallError: 500"),
    ]
    text = episode_page(records, title="t")
    assert re.findall(r'data-outcome="(\w+)"', text) == ["passed", "failed", "infra"]
    assert "ModelCallError: 500" in text and "&quot;/x&quot;" in text


def test_the_commands_write_both(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "episodes.jsonl").write_bytes(make_record().to_line() + b'{"torn')
    assert main(["view", str(tmp_path)]) == 0
    assert "task-a" in (tmp_path / "view.html").read_text()
    assert main(["export", str(tmp_path), "--atif", str(tmp_path / "atif")]) == 0
    assert len(list((tmp_path / "atif").iterdir())) == 1
    assert main(["view", str(tmp_path / "none")]) == 2
    assert "no attempts at" in capsys.readouterr().err


@pytest.mark.slow
def test_a_browser_filters_the_page(tmp_path: Path) -> None:
    browser = shutil.which("chromium")
    if browser is None:
        pytest.skip("needs Debian's chromium")
    records = [make_record(attempt=0, passed=True), make_record(attempt=1)]
    text = episode_page(records, title="t")
    choose = 'document.getElementById("outcome").value = "passed"; filter();'
    page = tmp_path / "view.html"
    page.write_text(text.replace("</script></body>", f"{choose}</script></body>"))
    words = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", page.as_uri()]
    words.append(f"--user-data-dir={tmp_path / 'profile'}")
    found = subprocess.run(words, capture_output=True, text=True, timeout=120, check=True).stdout
    assert "1 shown" in found
    assert len(re.findall(r'data-outcome="failed"[^>]* hidden', found)) == 1
