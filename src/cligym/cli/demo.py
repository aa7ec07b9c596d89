"""`cligym demo`: the starter pack, every scripted agent, every grader, one table."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated

import typer

from cligym.cli.evaluate import run_cells, use_tasks
from cligym.cli.output import JsonFlag, note, print_json, print_table

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Adds `cligym demo`."""
    app.command("demo")(_demo)


def _demo(
    out: Annotated[Path, typer.Option(help="Folder for the records and the report.")] = Path(
        "demo"
    ),
    jobs: Annotated[int, typer.Option(min=1, help="Attempts at once.")] = 2,
    as_json: JsonFlag = False,
) -> None:
    """Run the scripted agents on the starter tasks and compare the graders."""
    import json

    from cligym.envs.bench import Bench
    from cligym.errors import TaskError
    from cligym.sandboxes.namespace import NamespaceBackend
    from cligym.training.demo_table import (
        DEMO_GRADERS,
        FOOTNOTES,
        demo_rows,
        write_html,
        write_png,
    )
    from cligym.training.evaluation import EvaluationPlan, plan_cells

    with NamespaceBackend() as backend:
        bench = Bench("starter", backend=backend)
        usable = use_tasks(bench, list(bench.tasks), jobs=jobs)
        if len(usable) < len(bench.tasks):
            raise TaskError("a starter task was refused, see above; the demo needs all of them")
        families = sorted({name for task in bench.tasks.values() for name in task.wrong})
        agents = ("nop", "oracle", *(f"wrong:{name}" for name in families))
        plan = EvaluationPlan(agents=agents, jobs=jobs, graders=DEMO_GRADERS)
        run = out / "run"
        shutil.rmtree(run, ignore_errors=True)  # a demo shows work, not what was done before
        records = run_cells(plan, bench, plan_cells(plan, bench.tasks.values()), run)
    rows = demo_rows(agents, records)
    value = [row.to_json() for row in rows]
    (out / "demo.json").write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")
    write_png(rows, out / "demo.png")
    write_html(rows, out / "demo.png", out / "demo.html")
    if as_json:
        print_json(value)
    else:
        heads = ["agent", "attempts", "dataset", "published", "hardened", "median s per grade"]
        print_table(
            heads,
            [
                [
                    row.agent,
                    row.attempts,
                    *(row.accepted[n] for n in ("dataset", "published", "hardened")),
                    row.median_grade_s,
                ]
                for row in rows
            ],
            title=f"Accepted attempts, {len(usable)} starter tasks",
            footnotes=FOOTNOTES,
        )
    note(f"report: {out / 'demo.html'}, {out / 'demo.png'}, {out / 'demo.json'}")
    if any(row.infra_errors for row in rows):
        note("some attempts ended in infra errors and are in no count; see episodes.jsonl")
        raise typer.Exit(3)
