"""Writes attempts as ATIF v1.8 trajectories, the form that Harbor and its viewers read.

One file an attempt. Everything that ATIF has no field for (verdicts and their evidence, digests,
seed) stands in `extra`; no clock and no path is in it, so the same run gives the same files.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from cligym.agents.records import AttemptRecord
from cligym.agents.steps import Step, steps_of

__all__ = ["ATIF_VERSION", "atif_trajectory", "write_atif"]

ATIF_VERSION = "ATIF-v1.8"
_EXTRA = (
    "task_id", "task_digest", "repository", "licence", "split", "attempt", "seed", "env_id",
    "end_reason", "passed", "reward", "grader", "verdicts", "change_set", "infra_error",
    "parse_errors", "refused_calls", "sampling", "model_revision", "adapter_digest",
    "chat_template_sha256", "chat_template_kwargs", "gold_digest", "damaged_digest", "certificate",
    "backend", "id_range", "tokens", "token_turns",
)  # fmt: skip


def atif_trajectory(record: AttemptRecord) -> dict[str, Any] | None:
    """The trajectory of an attempt; None where nothing was said (its box did not start)."""
    steps = steps_of(record.messages)
    if not steps:
        return None
    value = record.model_dump()
    name = f"{_plain(record.task_id)}.{record.attempt}.{_plain(record.agent)}"
    return {
        "schema_version": ATIF_VERSION,
        "session_id": name,
        "trajectory_id": name,
        "agent": {
            "name": record.agent,
            "version": record.cligym_version,
            **({"model_name": record.model} if record.model else {}),
            "tool_definitions": record.tools,
        },
        "steps": [_step(number, step, record) for number, step in enumerate(steps, start=1)],
        "final_metrics": {
            "total_prompt_tokens": record.usage.get("prompt_tokens", 0),
            "total_completion_tokens": record.usage.get("completion_tokens", 0),
            "total_steps": len(steps),
        },
        "extra": {"cligym": {key: value[key] for key in _EXTRA}},
    }


def _step(number: int, step: Step, record: AttemptRecord) -> dict[str, Any]:
    value: dict[str, Any] = {"step_id": number, "source": step.source, "message": step.text}
    if step.source != "agent":
        return value
    value["llm_call_count"] = 1 if record.model else 0  # a script asks no model
    if record.model:
        value["model_name"] = record.model
        if step.thinking:
            value["reasoning_content"] = step.thinking
    names = [f"call_{number}_{index}" for index in range(1, len(step.calls) + 1)]
    if step.calls:
        value["tool_calls"] = [
            {
                "tool_call_id": name,
                "function_name": "bash",
                "arguments": {"command": call.command},
            }
            for name, call in zip(names, step.calls, strict=True)
        ]
    results = [
        {"source_call_id": name, "content": call.output}
        for name, call in zip(names, step.calls, strict=True)
        if call.output is not None
    ]
    if results:
        value["observation"] = {"results": results}
    return value


def write_atif(records: Iterable[AttemptRecord], folder: Path) -> tuple[int, int]:
    """Writes a file an attempt; how many were written, and how many had nothing to write."""
    folder.mkdir(parents=True, exist_ok=True)
    written = empty = 0
    for record in records:
        trajectory = atif_trajectory(record)
        if trajectory is None:
            empty += 1
            continue
        text = json.dumps(trajectory, indent=1, allow_nan=False)
        path = folder / f"{trajectory['trajectory_id']}.json"
        path.write_text(text + "\n", encoding="utf-8")
        written += 1
    return written, empty


def _plain(name: str) -> str:
    """A name that any file system takes."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.")[:200] or "x"
