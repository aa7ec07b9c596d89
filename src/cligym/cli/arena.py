"""`cligym arena`: attacker against defender, with a judge that is a program."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cligym.cli.output import JsonFlag, note, print_json, print_table, progress

if TYPE_CHECKING:
    from cligym.tasks.tampering import TamperingCertificate, TamperingTask

__all__ = ["register"]

Plots = Annotated[bool, typer.Option("--plots/--no-plots", help="Draw the figures.")]
Tasks = Annotated[list[str] | None, typer.Option("--task", help="Only this task; may be repeated.")]


def register(app: typer.Typer) -> None:
    """Adds the group of commands."""
    group = typer.Typer(no_args_is_help=True, help="Play, judge and check the tampering game.")
    group.command("run")(run)
    group.command("rejudge")(rejudge)
    group.command("tasks")(tasks)
    group.command("report")(report)
    app.add_typer(group, name="arena")


def run(
    config: Annotated[Path | None, typer.Option(help="YAML on top of configs/arena.yaml.")] = None,
    out: Annotated[
        Path, typer.Option(help="Folder of the run; one that exists is resumed.")
    ] = Path("runs/arena"),
    scripted: Annotated[
        bool, typer.Option("--scripted", help="Scripted players on both seats: no model at all.")
    ] = False,
    rounds: Annotated[int | None, typer.Option(help="Rounds for each seed.")] = None,
    seed: Annotated[list[int] | None, typer.Option(help="Seed; may be repeated.")] = None,
    task: Tasks = None,
    memory: Annotated[str | None, typer.Option(help="none, per_task or published.")] = None,
    plots: Plots = True,
    as_json: JsonFlag = False,
) -> None:
    """Play rounds of attack and defence; print the tables, write records, plots and a page."""
    from cligym.arena.runs import run_arena
    from cligym.arena.settings import load_arena_settings

    seats = {"player": "scripted"} if scripted else None
    changes = {
        "rounds": rounds,
        "seeds": seed or None,
        "tasks": task or None,
        "memory": memory,
        "attacker": seats,
        "defender": seats,
    }
    settings = load_arena_settings(config, changes)
    with _rounds(settings.rounds * len(settings.seeds)) as step:
        result = run_arena(settings, out, plots=plots, progress=lambda done, total: step())
    _show(result.metrics, out, as_json=as_json)


def rejudge(
    run_folder: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of an arena run.")],
    out: Annotated[Path, typer.Option(help="Folder for the new verdicts and metrics.")],
    plots: Plots = True,
    as_json: JsonFlag = False,
) -> None:
    """Judge the recorded answers of a run again; no player is asked."""
    from cligym.arena.runs import rejudge as judge_again

    result = judge_again(run_folder, out, plots=plots)
    note(f"judgements that came out otherwise than before: {result.summary.differing_verdicts}")
    _show(result.metrics, out, as_json=as_json)


def report(
    run_folder: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of an arena run.")],
    plots: Plots = True,
    as_json: JsonFlag = False,
) -> None:
    """Compute the tables, plots and page of a run again from its records."""
    from cligym.arena.report import write_report

    _show(write_report(run_folder, plots=plots), run_folder, as_json=as_json)


def tasks(
    check: Annotated[
        bool, typer.Option("--check", help="Run all solutions and mutants; write certificates.")
    ] = False,
    folder: Annotated[Path | None, typer.Option(help="Folder of tasks; default: ours.")] = None,
    task: Tasks = None,
    minimum: Annotated[float, typer.Option(help="Lowest mutation score that is enough.")] = 0.9,
    as_json: JsonFlag = False,
) -> None:
    """List tampering tasks, or check them; exit code 1 when a mutation score is too low."""
    from cligym.arena.runs import check_tasks
    from cligym.tasks.tampering import load_tampering_tasks

    if check:
        found: list[tuple[TamperingTask, TamperingCertificate | None]] = []
        for one, certificate in check_tasks(folder, tuple(task) if task else None):
            note(f"{one.name}: mutation score {certificate.mutation_score:.3f}")
            found.append((one, certificate))
    else:
        loaded = load_tampering_tasks(folder, task)
        found = [(one, one.certificate) for one in loaded.values()]
    rows: list[dict[str, Any]] = [
        {
            "task": one.name,
            "clean": len(one.clean),
            "certified": certificate is not None,
            "tests": None if certificate is None else len(certificate.tests),
            "mutants": None if certificate is None else certificate.mutants,
            "equivalent": None if certificate is None else certificate.equivalent,
            "score": None if certificate is None else round(certificate.mutation_score, 3),
        }
        for one, certificate in found
    ]
    if as_json:
        print_json(rows)
    else:
        print_table(list(rows[0]), [list(row.values()) for row in rows], title="Tampering tasks")
    if any(row["score"] is None or row["score"] < minimum for row in rows):
        raise typer.Exit(1)


def _rounds(total: int) -> AbstractContextManager[Callable[[], None]]:
    return progress("rounds", total)


def _show(metrics: dict[str, Any], folder: Path, *, as_json: bool) -> None:
    from cligym.arena.report import metric_tables

    if as_json:
        print_json(metrics)
        return
    for table in metric_tables(metrics):
        footnotes = [table.note] if table.note else []
        print_table(table.headers, table.rows, title=table.title, footnotes=footnotes)
    note(f"records, figures and report.html: {folder}")
