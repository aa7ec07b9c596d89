"""`cligym evaluate`: attempts of agents on tasks, graded, recorded, resumable."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cligym.cli.output import JsonFlag, note, print_json, print_table, progress

if TYPE_CHECKING:
    from cligym.agents.records import AttemptRecord
    from cligym.envs.bench import Bench
    from cligym.training.evaluation import Cell, EvaluationPlan

__all__ = ["register", "run_cells", "use_tasks"]


def register(app: typer.Typer) -> None:
    """Adds `cligym evaluate`."""
    app.command("evaluate")(_evaluate)


def _evaluate(
    agent: Annotated[
        list[str],
        typer.Option("--agent", help="nop, oracle, wrong:NAME, script:FILE; may be repeated."),
    ],
    out: Annotated[Path, typer.Option(help="Run folder; the same command resumes it.")],
    tasks: Annotated[
        str, typer.Option(help="starter, a folder, a parquet file, or a data set id.")
    ] = "starter",
    task: Annotated[
        list[str] | None, typer.Option("--task", help="Only this task; may be repeated.")
    ] = None,
    split: Annotated[str, typer.Option(help="Only this split: train or heldout.")] = "",
    attempts: Annotated[int, typer.Option(min=1, help="Attempts of each agent on each task.")] = 1,
    jobs: Annotated[int, typer.Option(min=1, help="Attempts at once.")] = 2,
    grader: Annotated[
        list[str] | None,
        typer.Option("--grader", help="dataset, published, hardened; the first gives the reward."),
    ] = None,
    max_commands: Annotated[int, typer.Option(min=1, help="Commands an attempt may run.")] = 30,
    as_json: JsonFlag = False,
) -> None:
    """Run agents on tasks and grade what they leave."""
    from cligym.agents.scripted import check_agent_name
    from cligym.envs.bench import Bench
    from cligym.graders.registry import grader_names
    from cligym.sandboxes.namespace import NamespaceBackend
    from cligym.training.evaluation import EvaluationPlan, plan_cells

    for name in agent:
        check_agent_name(name)
    plan = EvaluationPlan(
        agents=tuple(agent),
        attempts=attempts,
        jobs=jobs,
        graders=grader_names(grader or ["hardened"]),
        max_commands=max_commands,
    )
    with NamespaceBackend() as backend:
        bench = Bench(tasks, backend=backend, split=split)
        wanted = [bench.task(name) for name in dict.fromkeys(task or bench.tasks)]
        usable = use_tasks(bench, [each.task_id for each in wanted], jobs=jobs)
        cells = plan_cells(plan, [each for each in wanted if each.task_id in usable])
        records = run_cells(plan, bench, cells, out)
    rows = [_summary(name, plan, records) for name in plan.agents]
    if as_json:
        print_json(rows)
        return
    _print(rows, plan)


def use_tasks(bench: Bench, task_ids: Sequence[str], *, jobs: int) -> set[str]:
    """Builds and certifies tasks with a progress bar; says which are refused; the usable ones."""
    from cligym.training.evaluation import prepare_tasks

    with progress("tasks ready", len(task_ids)) as advance:
        refusals = prepare_tasks(bench, task_ids, jobs=jobs, on_ready=advance)
    for refusal in refusals:
        note(f"refused: {refusal.task_id}: {refusal.reason}")
    return set(task_ids) - {refusal.task_id for refusal in refusals}


def run_cells(
    plan: EvaluationPlan, bench: Bench, cells: Sequence[Cell], out: Path
) -> list[AttemptRecord]:
    """Runs what is not done yet, with a progress bar."""
    from cligym.training.evaluation import evaluate
    from cligym.training.run_store import finished_keys

    done = finished_keys(out)
    skipped = sum((cell.agent, cell.task_id, cell.attempt) in done for cell in cells)
    with progress("attempts", len(cells), done=skipped) as advance:
        return evaluate(plan, bench, cells, out, on_record=lambda _: advance())


def _summary(
    agent: str, plan: EvaluationPlan, records: Sequence[AttemptRecord]
) -> dict[str, object]:
    own = [record for record in records if record.agent == agent]
    decided = [record for record in own if record.passed is not None]
    passed = sum(record.passed is True for record in own)
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
    }


def _print(rows: Sequence[dict[str, object]], plan: EvaluationPlan) -> None:
    print_table(
        ["agent", "attempts", *plan.graders, "infra errors", "pass rate", "if infra = fail"],
        [
            [
                row["agent"],
                row["attempts"],
                *(row["accepted"][name] for name in plan.graders),  # type: ignore[index]
                row["infra_errors"],
                row["pass_rate"],
                row["pass_rate_infra_as_fail"],
            ]
            for row in rows
        ],
        footnotes=[f"pass rate: by {plan.graders[0]}, infra errors left out"],
    )
