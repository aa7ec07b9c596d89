"""Writes tasks as the data set's own parquet form, with two columns more for what is ours."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable
from pathlib import Path

from cligym.errors import TaskError, boundary
from cligym.extras import needs_extra
from cligym.tasks.task import Task

__all__ = ["task_row", "write_parquet"]


def task_row(task: Task) -> dict[str, str | None]:
    """One row: the data set's five columns, then `solution` and `wrong` (a JSON object)."""
    return {
        "task_id": task.task_id,
        "task_yaml": task.task_yaml,
        "dockerfile": task.dockerfile,
        "docker_compose": task.docker_compose,
        "run_tests": task.run_tests,
        "solution": task.oracle,
        "wrong": json.dumps(dict(task.wrong), sort_keys=True) if task.wrong else None,
    }


def write_parquet(tasks: Iterable[Task], path: Path) -> None:
    """Writes the tasks; `load_tasks(path)` gives equal ones. A reader never sees half a file.

    Raises:
        TaskError: the file cannot be written, or a task came without a task.yaml.
        DependencyError: pyarrow is not installed.
    """
    rows = [task_row(task) for task in tasks]
    for row in rows:
        if not row["task_yaml"]:
            raise TaskError(f"task {row['task_id']} has no task.yaml, which this form needs")
    with needs_extra("data", f"writing {path}"):
        import pyarrow  # heavy, and an extra
        from pyarrow import parquet
    schema = pyarrow.schema([(name, pyarrow.string()) for name in _columns()])
    with (
        boundary(TaskError, f"cannot write {path}"),
        tempfile.TemporaryDirectory(dir=path.parent, prefix=".export-") as folder,
    ):
        temporary = Path(folder) / path.name
        parquet.write_table(pyarrow.Table.from_pylist(rows, schema=schema), temporary)
        temporary.replace(path)


def _columns() -> list[str]:
    empty = Task(task_id="", instruction="", dockerfile="", run_tests="")
    return list(task_row(empty))
