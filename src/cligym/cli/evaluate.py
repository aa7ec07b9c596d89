"""`cligym evaluate`: attempts of agents and models on tasks, graded, recorded, resumable."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cligym.cli.output import JsonFlag, note, print_json, print_table, progress
from cligym.errors import ConfigError

if TYPE_CHECKING:
    from cligym.agents.model_source import ModelSource
    from cligym.agents.records import AttemptRecord
    from cligym.envs.bench import Bench
    from cligym.training.evaluation import Cell, EvaluationPlan, MakeAgent
    from cligym.training.model_evaluation import ModelSettings

__all__ = ["register", "run_cells", "use_tasks"]


def register(app: typer.Typer) -> None:
    """Adds `cligym evaluate`."""
    app.command("evaluate")(_evaluate)


def _evaluate(
    out: Annotated[Path, typer.Option(help="Run folder; the same command resumes it.")],
    agent: Annotated[
        list[str] | None,
        typer.Option("--agent", help="nop, oracle, wrong:NAME, script:FILE; may be repeated."),
    ] = None,
    model: Annotated[
        str, typer.Option(help="openai:MODEL@BASE_URL, hf:FOLDER[+ADAPTER] or replay:FILE.")
    ] = "",
    tasks: Annotated[
        str, typer.Option(help="starter, a folder, a parquet file, or a data set id.")
    ] = "starter",
    task: Annotated[
        list[str] | None, typer.Option("--task", help="Only this task; may be repeated.")
    ] = None,
    split: Annotated[
        str, typer.Option(help="train, heldout, heldout-repository or heldout-task.")
    ] = "",
    attempts: Annotated[int, typer.Option(min=1, help="Attempts of each agent on each task.")] = 1,
    jobs: Annotated[int, typer.Option(min=1, help="Attempts at once.")] = 2,
    model_jobs: Annotated[int, typer.Option(min=1, help="Model calls at once.")] = 8,
    grader: Annotated[
        list[str] | None,
        typer.Option("--grader", help="dataset, published, hardened; the first gives the reward."),
    ] = None,
    max_commands: Annotated[int, typer.Option(min=1, help="Commands an attempt may run.")] = 30,
    temperature: Annotated[float, typer.Option(min=0, help="0: the likeliest token.")] = 0.7,
    top_p: Annotated[float, typer.Option(min=0, max=1, help="Probability that is kept.")] = 0.95,
    top_k: Annotated[int, typer.Option(min=0, help="Tokens that are kept; 0: all.")] = 20,
    window_tokens: Annotated[int, typer.Option(min=1, help="Context of the model.")] = 32_768,
    completion_tokens: Annotated[
        int, typer.Option(min=1, help="All answers and tool output of an attempt.")
    ] = 28_000,
    turn_tokens: Annotated[int, typer.Option(min=0, help="Longest answer; 0: no limit.")] = 0,
    attempt_timeout: Annotated[
        float, typer.Option(min=0, help="Seconds of an attempt with a model; 0: no limit.")
    ] = 0.0,
    thinking: Annotated[
        bool | None, typer.Option("--thinking/--no-thinking", help="enable_thinking.")
    ] = None,
    tokenizer: Annotated[
        Path | None, typer.Option(help="Folder: send a server token ids instead of messages.")
    ] = None,
    token_ids: Annotated[
        bool, typer.Option("--token-ids", help="Ask a chat server for token ids (vLLM).")
    ] = False,
    prompt: Annotated[Path | None, typer.Option(help="System prompt; default: ours.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Run agents or a model on tasks and grade what they leave."""
    from cligym.agents.model_agent import AgentSettings
    from cligym.agents.model_client import Sampling
    from cligym.agents.model_source import ModelOptions, open_model
    from cligym.agents.scripted import check_agent_name
    from cligym.graders.registry import grader_names
    from cligym.training.evaluation import EvaluationPlan
    from cligym.training.model_evaluation import ModelSettings, model_identity, read_prompt

    for name in agent or ():
        check_agent_name(name)
    if not agent and not model:
        raise ConfigError("nobody to evaluate: give --agent or --model")
    settings = ModelSettings(
        sampling=Sampling(temperature=temperature, top_p=top_p, top_k=top_k),
        budgets=AgentSettings(
            window_tokens=window_tokens,
            completion_tokens=completion_tokens,
            turn_tokens=turn_tokens,
            attempt_s=attempt_timeout,
        ),
        system_prompt=read_prompt(prompt),
    )
    options = ModelOptions(
        jobs=model_jobs, thinking=thinking, tokenizer=tokenizer, token_ids=token_ids
    )
    source = open_model(model, options) if model else None
    plan = EvaluationPlan(
        agents=(*(agent or ()), *((f"model:{source.name}",) if source else ())),
        attempts=attempts,
        jobs=jobs,
        graders=grader_names(grader or ["hardened"]),
        max_commands=max_commands,
        model=model_identity(source, settings) if source else {},
    )
    try:
        rows = _run(plan, tasks, task, split, out, source, settings)
    finally:
        if source:
            source.close()
    if as_json:
        print_json(rows)
        return
    _print(rows, plan)


def _run(
    plan: EvaluationPlan,
    tasks: str,
    task: list[str] | None,
    split: str,
    out: Path,
    source: ModelSource | None,
    settings: ModelSettings,
) -> list[dict[str, Any]]:
    """Plays the plan; the summary, a row for each agent."""
    from cligym.envs.bench import Bench
    from cligym.sandboxes.namespace import NamespaceBackend
    from cligym.training.evaluation import plan_cells
    from cligym.training.model_evaluation import agent_maker, summary_row

    maker = agent_maker(source, settings) if source else None
    with NamespaceBackend() as backend:
        bench = Bench(tasks, backend=backend, split=split)
        wanted = [bench.task(name) for name in dict.fromkeys(task or bench.tasks)]
        usable = use_tasks(bench, [each.task_id for each in wanted], jobs=min(plan.jobs, 8))
        cells = plan_cells(plan, [each for each in wanted if each.task_id in usable])
        records = run_cells(plan, bench, cells, out, make_agent=maker, source=source)
    return [summary_row(name, plan, records) for name in plan.agents]


def use_tasks(bench: Bench, task_ids: Sequence[str], *, jobs: int) -> set[str]:
    """Builds and certifies tasks with a progress bar; says which are refused; the usable ones."""
    from cligym.training.evaluation import prepare_tasks

    with progress("tasks ready", len(task_ids)) as advance:
        refusals = prepare_tasks(bench, task_ids, jobs=jobs, on_ready=advance)
    for refusal in refusals:
        note(f"refused: {refusal.task_id}: {refusal.reason}")
    return set(task_ids) - {refusal.task_id for refusal in refusals}


def run_cells(
    plan: EvaluationPlan,
    bench: Bench,
    cells: Sequence[Cell],
    out: Path,
    *,
    make_agent: MakeAgent | None = None,
    source: ModelSource | None = None,
) -> list[AttemptRecord]:
    """Runs what is not done yet, with a progress bar."""
    from cligym.training.evaluation import evaluate
    from cligym.training.run_store import finished_keys

    done = finished_keys(out)
    skipped = sum((cell.agent, cell.task_id, cell.attempt) in done for cell in cells)
    more: dict[str, Any] = {} if make_agent is None else {"make_agent": make_agent}
    with progress("attempts", len(cells), done=skipped) as advance:
        live = _Live(advance, source)
        return evaluate(plan, bench, cells, out, on_record=live.add, **more)


class _Live:
    """What is known while attempts still run: passed so far, infra errors, tokens a second."""

    def __init__(self, advance: Callable[[str], None], source: ModelSource | None) -> None:
        self._advance, self._source = advance, source
        self._started = time.monotonic()
        self._passed = self._decided = self._infra = 0

    def add(self, record: AttemptRecord) -> None:
        """Counts a record; called from many threads, and a lost count does no harm here."""
        self._passed += record.passed is True
        self._decided += record.passed is not None
        self._infra += record.passed is None
        words = [f"{self._passed}/{self._decided} passed"]
        if self._infra:
            words.append(f"{self._infra} infra errors")
        if self._source is not None:
            seconds = max(time.monotonic() - self._started, 1e-6)
            words.append(f"{self._source.completion_tokens / seconds:.0f} tokens/s")
        self._advance(", ".join(words))


def _print(rows: Sequence[dict[str, Any]], plan: EvaluationPlan) -> None:
    print_table(
        ["agent", "attempts", *plan.graders, "infra errors", "pass rate", "if infra = fail"],
        [
            [
                row["agent"],
                row["attempts"],
                *(row["accepted"][name] for name in plan.graders),
                row["infra_errors"],
                row["pass_rate"],
                row["pass_rate_infra_as_fail"],
            ]
            for row in rows
        ],
        footnotes=[f"pass rate: by {plan.graders[0]}, infra errors left out"],
    )
    if not plan.model:
        return
    row = rows[-1]
    low, high = row["pass_rate_interval"] or (None, None)
    print_table(
        [str(row["agent"]), ""],
        [
            ["pass rate by task", row["pass_rate_by_task"]],
            ["95 % from", low],
            ["95 % to", high],
            *([f"pass@{k}", value] for k, value in row["pass_at_k"].items()),
            ["mixed groups", f"{row['mixed_groups']} of {row['groups']}"],
            *([f"ended: {name}", count] for name, count in row["end_reasons"].items()),
            *([f"infra: {name}", count] for name, count in row["infra_error_kinds"].items()),
            ["calls that could not be read", row["parse_errors"]],
            ["tokens sampled", row["completion_tokens"]],
            *([f"seconds: {name}", value] for name, value in row["seconds"].items()),
        ],
    )
