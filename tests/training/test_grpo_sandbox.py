"""GRPO on the real environment: sandboxes start, are judged, and are gone afterwards."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cligym.tasks.procedural import family, write_family

# Warnings of the training libraries are not ours to fix.
pytestmark = [
    pytest.mark.slow,  # builds a gold image of the starter pack
    pytest.mark.userns,
    pytest.mark.network,
    pytest.mark.filterwarnings("ignore"),
]


def test_one_update_on_a_generated_task(
    tiny_qwen: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("trl", reason="needs the extra [train]")
    from cligym.training import grpo

    write_family(tmp_path / "tasks", family("train", count=1, seed=0))
    out = tmp_path / "out"
    words = ["--model", tiny_qwen, "--tasks", tmp_path / "tasks", "--output", out, "--use-cpu"]
    words += ["--updates", 1, "--groups-per-update", 1, "--generations-per-group", 2]
    words += ["--attempts-per-forward", 2, "--max-completion-tokens", 16]
    assert grpo.main([str(word) for word in words]) == 0
    rows = [json.loads(line) for line in (out / "rollouts.jsonl").read_text().splitlines()]
    assert [row["passed"] for row in rows] == [False, False]
    results = json.loads((out / "results.json").read_text())
    assert (results["groups"], results["infra_errors"]) == (1, 0)
