"""Models as agents of an evaluation, and the summary of a run: what was passed, at what cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from cligym.agents.attempt import Agent
from cligym.agents.conversation import repair_prompt
from cligym.agents.model_agent import AgentSettings, ModelAgent
from cligym.agents.model_client import Sampling
from cligym.agents.model_source import ModelSource
from cligym.agents.records import AttemptRecord
from cligym.agents.scripted import scripted_agent
from cligym.errors import ConfigError
from cligym.tasks.task import Task
from cligym.training.episode_rows import AttemptRow
from cligym.training.evaluation import Cell, EvaluationPlan, MakeAgent
from cligym.training.group_statistics import summarise
from cligym.training.groups import count_groups

__all__ = ["ModelSettings", "agent_maker", "model_identity", "read_prompt", "summary_row"]

MODEL_PREFIX = "model:"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """How a model plays.

    Attributes:
        sampling: how answers are drawn.
        budgets: tokens and turns.
        system_prompt: its text.
    """

    sampling: Sampling = Sampling()
    budgets: AgentSettings = field(default_factory=AgentSettings)
    system_prompt: str = field(default_factory=repair_prompt)


def read_prompt(path: Path | None) -> str:
    """A system prompt from a file, or the shipped one.

    Raises:
        ConfigError: the file cannot be read.
    """
    if path is None:
        return repair_prompt()
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot read the system prompt {path}: {error}") from error


def model_identity(source: ModelSource, settings: ModelSettings) -> dict[str, Any]:
    """What makes two runs of a model the same: no address, no key, no path."""
    return source.identity | {
        "sampling": asdict(settings.sampling),
        "budgets": asdict(settings.budgets),
        "system_prompt": settings.system_prompt,
    }


def agent_maker(source: ModelSource, settings: ModelSettings) -> MakeAgent:
    """Makes the model's agents, and scripted ones by their names."""

    def make(name: str, task: Task, attempt: int) -> Agent:
        if name != MODEL_PREFIX + source.name:
            return scripted_agent(name, task)
        return ModelAgent(
            name,
            source.client(task.task_id, attempt),
            seed=Cell(agent=name, task_id=task.task_id, attempt=attempt).seed,
            sampling=settings.sampling,
            settings=settings.budgets,
            system_prompt=settings.system_prompt,
        )

    return make


def summary_row(
    agent: str, plan: EvaluationPlan, records: Sequence[AttemptRecord]
) -> dict[str, Any]:
    """One agent's numbers, with stable keys. Infra errors are counted apart, never as fails."""
    own = [record for record in records if record.agent == agent]
    decided = [record for record in own if record.passed is not None]
    passed = sum(record.passed is True for record in own)
    rows = [
        AttemptRow(
            task_id=record.task_id,
            attempt=str(record.attempt),
            agent=record.agent,
            passed=record.passed,
            task_digest=record.task_digest,
        )
        for record in own
    ]
    groups = summarise(count_groups(rows), group_sizes=()) if own else None
    return {
        "agent": agent,
        "attempts": len(own),
        "accepted": {
            name: sum(bool(r.verdicts.get(name, {}).get("passed")) for r in own)
            for name in plan.graders
        },
        "infra_errors": len(own) - len(decided),
        "pass_rate": passed / len(decided) if decided else None,
        "pass_rate_infra_as_fail": passed / len(own) if own else None,
        "pass_rate_by_task": groups.pass_rate if groups else None,
        "pass_rate_interval": _pair(groups.pass_rate_interval) if groups else None,
        "pass_at_k": {str(k): v for k, v in groups.pass_at_k.items()} if groups else {},
        "mixed_groups": groups.mixed_groups if groups else 0,
        "groups": groups.groups if groups else 0,
        "end_reasons": _counts(own, lambda record: record.end_reason),
        "infra_error_kinds": _counts(
            [r for r in own if r.infra_error], lambda r: str(r.infra_error).partition(":")[0]
        ),
        "parse_errors": sum(record.parse_errors for record in own),
        "prompt_tokens": sum(record.usage.get("prompt_tokens", 0) for record in own),
        "completion_tokens": sum(record.usage.get("completion_tokens", 0) for record in own),
        "seconds": {
            name: round(sum(record.seconds.get(name, 0.0) for record in own), 2)
            for name in sorted({name for record in own for name in record.seconds})
        },
    }


def _counts(
    records: Sequence[AttemptRecord], key: Callable[[AttemptRecord], str]
) -> dict[str, int]:
    return dict(sorted(Counter(key(record) for record in records).items()))


def _pair(interval: Any) -> list[float] | None:
    return None if interval is None else [interval.low, interval.high]
