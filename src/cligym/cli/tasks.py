"""`cligym tasks`: what tasks a source holds, and one of them in full."""

from __future__ import annotations

from typing import Annotated

import typer

from cligym.cli.output import JsonFlag, print_json, print_table, print_text

__all__ = ["register"]

_Source = Annotated[
    str,
    typer.Option("--tasks", help="starter, a folder, a parquet file, or a data set id."),
]


def register(app: typer.Typer) -> None:
    """Adds `cligym tasks list` and `cligym tasks show`."""
    group = typer.Typer(no_args_is_help=True)
    group.command("list")(_list)
    group.command("show")(_show)
    app.add_typer(group, name="tasks", help="List and show tasks.")


def _list(
    tasks: _Source = "starter",
    split: Annotated[str, typer.Option(help="Only this split: train or heldout.")] = "",
    as_json: JsonFlag = False,
) -> None:
    """List the tasks of a source."""
    from cligym.tasks.load import load_tasks

    found = [task for task in load_tasks(tasks) if split in ("", task.split)]
    if as_json:
        keys = ("task_id", "repository", "licence", "split")
        print_json(
            [
                {key: getattr(task, key) for key in keys}
                | {"oracle": task.oracle is not None, "wrong": sorted(task.wrong)}
                for task in found
            ]
        )
        return
    print_table(
        ["task", "repository", "split", "licence", "tests", "oracle", "wrong answers"],
        [
            [
                task.task_id,
                task.repository,
                task.split or "-",
                task.licence or "-",
                len(task.test_ids) or "all",
                "yes" if task.oracle else "no",
                ", ".join(sorted(task.wrong)) or "-",
            ]
            for task in found
        ],
        title=f"{len(found)} tasks in {tasks}",
    )


def _show(task_id: str, tasks: _Source = "starter", as_json: JsonFlag = False) -> None:
    """Show one task: its instruction, Dockerfile, tests and scripts."""
    from cligym.envs.bench import unknown_task
    from cligym.errors import ConfigError
    from cligym.tasks.load import load_tasks

    found = {task.task_id: task for task in load_tasks(tasks)}
    if task_id not in found:
        raise ConfigError(unknown_task(task_id, found, tasks))
    task = found[task_id]
    if as_json:
        names = ("task_id", "repository", "licence", "split", "digest", "instruction", "dockerfile")
        print_json(
            {name: getattr(task, name) for name in names}
            | {"test_ids": list(task.test_ids), "oracle": task.oracle, "wrong": dict(task.wrong)}
        )
        return
    parts = [f"# {task.task_id}  ({task.repository}, {task.licence or 'licence unknown'})"]
    parts += ["", task.instruction, "", "## Dockerfile", task.dockerfile.strip(), "", "## Tests"]
    parts += list(task.test_ids) or ["the whole suite"]
    if task.oracle:
        parts += ["", "## Oracle", task.oracle.strip()]
    for name, script in sorted(task.wrong.items()):
        parts += ["", f"## Wrong answer: {name}", script.strip()]
    print_text("\n".join(parts))
