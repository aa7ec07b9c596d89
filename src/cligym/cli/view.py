"""`cligym view` and `cligym export`: a run's attempts for a person to read, and for other tools."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cligym.cli.output import note
from cligym.errors import ConfigError

if TYPE_CHECKING:
    from cligym.agents.records import AttemptRecord

__all__ = ["register"]

RunArgument = Annotated[Path, typer.Argument(metavar="RUN", help="Run folder or episodes.jsonl.")]


def register(app: typer.Typer) -> None:
    """Adds the two commands."""
    app.command("view")(_view)
    app.command("export")(_export)


def _view(
    run: RunArgument,
    out: Annotated[
        Path | None, typer.Option(help="File to write; default: view.html in the run folder.")
    ] = None,
) -> None:
    """Write a run as one HTML page that needs nothing else, also no network."""
    from cligym.agents.episode_page import episode_page

    path, records = _read(run)
    target = out or path.parent / "view.html"
    target.write_text(episode_page(records, title=f"Run {path.parent.name}"), encoding="utf-8")
    note(f"{len(records)} attempts: {target}")


def _export(
    run: RunArgument,
    atif: Annotated[Path, typer.Option(help="Folder for ATIF v1.8 trajectories.")],
) -> None:
    """Write a run's attempts as ATIF trajectories, a file each."""
    from cligym.agents.atif import write_atif

    written, empty = write_atif(_read(run)[1], atif)
    note(f"{written} trajectories in {atif}")
    if empty:
        note(f"{empty} attempts left out: nothing was said in them")


def _read(run: Path) -> tuple[Path, list[AttemptRecord]]:
    from cligym.agents.records import read_records

    path = run / "episodes.jsonl" if run.is_dir() else run
    if not path.is_file():
        raise ConfigError(f"no attempts at {run}: give a run's folder or an episodes.jsonl")
    records = {record.key: record for record in read_records(path)}
    if not records:
        raise ConfigError(f"{path} holds no attempt")
    return path, list(records.values())
