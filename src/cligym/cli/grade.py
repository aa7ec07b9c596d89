"""`cligym grade`: runs a script as the agent in a fresh damaged box and judges what it left."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cligym.cli.output import JsonFlag, note, print_json, print_table, print_text

if TYPE_CHECKING:
    from cligym.graders.verdict import Verdict

__all__ = ["register"]

_SHOWN = 40


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("grade")(_grade)


def _grade(
    task_id: Annotated[str, typer.Argument(metavar="TASK", help="The task's id.")],
    script: Annotated[Path, typer.Option("--script", help="What the agent would type: bash.")],
    tasks: Annotated[
        str, typer.Option("--tasks", help="starter, a folder, a parquet file, or a data set id.")
    ] = "starter",
    grader: Annotated[
        list[str] | None,
        typer.Option("--grader", help="dataset, published, hardened; may be repeated."),
    ] = None,
    timeout_s: Annotated[float, typer.Option(min=1, help="Limit of the script, seconds.")] = 600.0,
    as_json: JsonFlag = False,
) -> None:
    """Grade a script on a task: exit 0 if it passes (the first grader decides), 1 if not."""
    from cligym.envs.bench import Bench
    from cligym.errors import ConfigError
    from cligym.graders.grade import grade, run_script
    from cligym.graders.registry import grader_names

    names = grader_names(tuple(grader or ["hardened"]))
    try:
        text = script.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise ConfigError(f"cannot read the script {script}: {reason}") from error
    bench = Bench(tasks)
    bench.task(task_id)
    with bench.backend as backend:
        if not as_json:
            note(f"building and certifying {task_id} (at the first time only)")
        prepared = bench.prepare(task_id)
        capture = run_script(prepared.images, backend, text, timeout_s=timeout_s)
        try:
            verdicts = grade(
                prepared.task,
                prepared.images,
                prepared.certificate,
                capture,
                backend,
                graders=names,
                always_run=True,
            )
        finally:
            capture.close()
    if as_json:
        # One grader: its verdict. Several: the first one's, and all of them under `verdicts`.
        first = verdicts[0].to_json()
        several = {"verdicts": [verdict.to_json() for verdict in verdicts]}
        print_json(first if len(verdicts) == 1 else first | several)
    else:
        for verdict in verdicts:
            _print_verdict(verdict)
    raise typer.Exit(0 if verdicts[0].passed else 1)


def _print_verdict(verdict: Verdict) -> None:
    """One grader's verdict for a person: the answer first, then each reason, then the rest."""
    word = "passed" if verdict.passed else "not passed"
    seconds = verdict.seconds.get("total", 0.0)
    print_text(f"{verdict.grader}: {word}, reward {verdict.reward:g} ({seconds:.2f} s)")
    if verdict.reasons:
        print_table(
            ["why", "where", "what"],
            [[r.class_, r.path, r.detail] for r in verdict.reasons[:_SHOWN]],
            footnotes=_more(len(verdict.reasons)),
        )
    if verdict.foreign:
        print_table(
            ["class", "other changes", "what"],
            [[c.class_, c.path, c.detail] for c in verdict.foreign[:_SHOWN]],
            footnotes=_more(len(verdict.foreign)),
        )
    for run in verdict.runs:
        how = "implied" if run.implied else f"ran, {run.seconds:.2f} s" if run.ran else "not run"
        good = sum(outcome in ("passed", "PASSED") for outcome in run.tests.values())
        print_text(f"  {run.state.value}: {how}; {good} of {len(run.tests)} tests passed")


def _more(count: int) -> list[str]:
    return [f"and {count - _SHOWN} more"] if count > _SHOWN else []
