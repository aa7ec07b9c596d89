"""`cligym stats` and `cligym compare`: what attempts say of a task source, and of progress."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from cligym.cli.output import JsonFlag, print_json, print_text

__all__ = ["register"]


class Format(StrEnum):
    """How tables are written."""

    TEXT = "text"
    MARKDOWN = "markdown"
    LATEX = "latex"


FormatOption = Annotated[Format, typer.Option("--format", help="How tables are written.")]


def register(app: typer.Typer) -> None:
    """Adds the two commands."""
    app.command("stats")(stats)
    app.command("compare")(compare)


def stats(
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="RUN...", help="episodes.jsonl, JSON lines, or a run's folder."),
    ],
    agent: Annotated[str | None, typer.Option(help="Count only this agent's attempts.")] = None,
    grader: Annotated[
        str | None, typer.Option(help="Whose verdict counts; default: hardened, or the row's own.")
    ] = None,
    group_size: Annotated[
        list[int] | None, typer.Option(help="Group size G of the expectations; may be repeated.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the bootstrap.")] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Save a figure here (.png, .svg or .pdf).")
    ] = None,
    form: FormatOption = Format.TEXT,
    as_json: JsonFlag = False,
) -> None:
    """Show pass rates, pass@k and mixed groups: can these tasks drive group-based RL?"""
    from cligym.training.group_statistics import GROUP_SIZES
    from cligym.training.resampling import SEED
    from cligym.training.tables import TableFormat
    from cligym.training.variance import VarianceArgs, measure

    text = measure(
        VarianceArgs(
            runs=tuple(runs),
            agent=agent,
            grader=grader,
            group_sizes=tuple(group_size or GROUP_SIZES),
            seed=SEED if seed is None else seed,
            form=TableFormat(form.value),
            as_json=as_json,
            plot=plot,
        )
    )
    print_text(text)


def compare(
    a: Annotated[Path, typer.Argument(metavar="A", help="The base run.")],
    b: Annotated[Path, typer.Argument(metavar="B", help="The run compared with it.")],
    agent_a: Annotated[str | None, typer.Option(help="Count only this agent of A.")] = None,
    agent_b: Annotated[str | None, typer.Option(help="Count only this agent of B.")] = None,
    resamples: Annotated[
        int | None, typer.Option(min=1000, help="Bootstrap resamples; default 100,000.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the bootstrap.")] = None,
    form: FormatOption = Format.TEXT,
    as_json: JsonFlag = False,
) -> None:
    """Compare two runs, paired by task: difference, interval, wins, losses, sign test."""
    from cligym.training.resampling import RESAMPLES, SEED
    from cligym.training.stats_report import comparison_report, comparisons_json
    from cligym.training.tables import TableFormat
    from cligym.training.variance import compare_runs

    found = compare_runs(
        a,
        b,
        agent_a=agent_a,
        agent_b=agent_b,
        resamples=RESAMPLES if resamples is None else resamples,
        seed=SEED if seed is None else seed,
    )
    if as_json:
        print_json(comparisons_json(found))
        return
    name_a, name_b = (str(run) for run in (a, b))
    print_text(comparison_report(found, name_a=name_a, name_b=name_b, form=TableFormat(form.value)))
