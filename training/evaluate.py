r"""Evaluates a base model and its checkpoints on the same tasks, one after the other.

Each model gets a run folder below `--out`, resumable after a kill; `cligym compare` sets any two
against each other, paired by task. The same as `cligym evaluate --model` for each.

    python training/evaluate.py --out runs/eval --tasks starter --split heldout \
        --model hf:models/qwen --model hf:models/qwen+runs/sft --attempts 4
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cligym.agents.model_agent import AgentSettings
from cligym.agents.model_client import Sampling
from cligym.agents.model_source import ModelOptions, ModelSource, open_model
from cligym.envs.bench import Bench
from cligym.errors import CLIGymError, ConfigError
from cligym.sandboxes.namespace import NamespaceBackend
from cligym.training.evaluation import EvaluationPlan, evaluate, plan_cells, prepare_tasks
from cligym.training.model_evaluation import (
    MODEL_PREFIX,
    ModelSettings,
    agent_maker,
    model_identity,
    summary_row,
)

__all__ = ["EvaluateArgs", "evaluate_models", "main", "make_parser"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluateArgs:
    """What to evaluate.

    Attributes:
        models: words as `cligym evaluate --model` takes them.
        out: folder of the run folders.
        tasks: source of the tasks.
        split: split of the tasks, "" for all.
        attempts: attempts of each model on each task.
        jobs: attempts at once.
        model_jobs: model calls at once.
        max_commands: commands an attempt may run.
        temperature: sampling temperature.
        turn_tokens: longest answer; 0 leaves it to the budgets.
        thinking: `enable_thinking` of the chat template; None leaves it to the template.
    """

    models: tuple[str, ...]
    out: Path
    tasks: str = "starter"
    split: str = ""
    attempts: int = 4
    jobs: int = 8
    model_jobs: int = 8
    max_commands: int = 30
    temperature: float = 0.7
    turn_tokens: int = 0
    thinking: bool | None = None


def evaluate_models(args: EvaluateArgs) -> list[dict[str, Any]]:
    """Plays all models; a summary for each.

    Raises:
        ConfigError: two models have one name, or a model cannot be opened.
    """
    settings = ModelSettings(
        sampling=Sampling(temperature=args.temperature),
        budgets=AgentSettings(turn_tokens=args.turn_tokens),
    )
    rows: list[dict[str, Any]] = []
    with NamespaceBackend() as backend:
        bench = Bench(args.tasks, backend=backend, split=args.split)
        refusals = prepare_tasks(
            bench, list(bench.tasks), jobs=min(args.jobs, 8), on_ready=lambda: None
        )
        for refusal in refusals:
            print(f"refused: {refusal.task_id}: {refusal.reason}", file=sys.stderr)
        refused = {refusal.task_id for refusal in refusals}
        usable = [task_id for task_id in bench.tasks if task_id not in refused]
        for word in args.models:
            # One model at a time is in memory.
            source = open_model(word, ModelOptions(jobs=args.model_jobs, thinking=args.thinking))
            try:
                if any(row["agent"] == MODEL_PREFIX + source.name for row in rows):
                    raise ConfigError(f"two models are called {source.name}; rename a folder")
                rows.append(_evaluate_one(args, source, settings, bench, usable))
            finally:
                source.close()
    return rows


def _evaluate_one(
    args: EvaluateArgs,
    source: ModelSource,
    settings: ModelSettings,
    bench: Bench,
    usable: Sequence[str],
) -> dict[str, Any]:
    name = MODEL_PREFIX + source.name
    plan = EvaluationPlan(
        agents=(name,),
        attempts=args.attempts,
        jobs=args.jobs,
        max_commands=args.max_commands,
        model=model_identity(source, settings),
    )
    cells = plan_cells(plan, [bench.task(task_id) for task_id in usable])
    folder = args.out / re.sub(r"[^A-Za-z0-9._+-]+", "-", source.name)
    records = evaluate(plan, bench, cells, folder, make_agent=agent_maker(source, settings))
    return summary_row(name, plan, records)


def make_parser() -> argparse.ArgumentParser:
    """The options."""
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").partition("\n")[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    add("--model", action="append", required=True, help="hf:, openai: or replay:, may be repeated")
    add("--out", type=Path, required=True, help="folder of the run folders")
    add("--tasks", default="starter", help="starter, a folder, a parquet file or a data set id")
    add("--split", default="", help="train, heldout, heldout-repository or heldout-task")
    add("--attempts", type=int, default=4, help="attempts of each model on each task")
    add("--jobs", type=int, default=8, help="attempts at once")
    add("--model-jobs", type=int, default=8, help="model calls at once")
    add("--max-commands", type=int, default=30, help="commands an attempt may run")
    add("--temperature", type=float, default=0.7, help="0 takes the likeliest token")
    add("--turn-tokens", type=int, default=0, help="longest answer; 0: no limit of its own")
    add("--thinking", action=argparse.BooleanOptionalAction, help="enable_thinking")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the script; the exit code."""
    given = vars(make_parser().parse_args(argv))
    try:
        rows = evaluate_models(EvaluateArgs(models=tuple(given.pop("model")), **given))
    except CLIGymError as error:
        print(f"evaluate.py: error: {error}", file=sys.stderr)
        return 2 if isinstance(error, ConfigError) else 3
    print(json.dumps(rows, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
