"""Loads tasks: the starter pack, folders, parquet files, Hugging Face data sets.

All of it is untrusted text. Nothing is run; a bad task stops the load with one line that names it.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path

from cligym.errors import TaskError, boundary
from cligym.extras import needs_extra
from cligym.tasks.task import Task, make_task

__all__ = ["STARTER", "load_folder", "load_rows", "load_tasks", "starter_folder"]

STARTER = "starter"
TEXT_LIMIT_BYTES = 4 * 1024 * 1024
"""A file or a cell larger than this is no task text."""

_DATASET_ID = re.compile(r"(?P<name>[\w.-]+/[\w.-]+)(?:@(?P<revision>[\w./-]+))?")
_FILES = {
    "task_yaml": "task.yaml",
    "dockerfile": "Dockerfile",
    "docker_compose": "docker-compose.yaml",
    "run_tests": "run-tests.sh",
    "oracle": "solution.sh",
}
_REQUIRED = ("task_yaml", "dockerfile", "run_tests")
_COLUMNS = (
    "task_id",
    "task_yaml",
    "instruction",
    "dockerfile",
    "docker_compose",
    "run_tests",
    "solution",
    "wrong",
)


def starter_folder() -> Path:
    """The starter pack's folder: `golds/` and `tasks/`."""
    return Path(__file__).parent / "starter"


def load_tasks(source: str | Path) -> list[Task]:
    """Loads every task of a source, sorted by id.

    Args:
        source: `starter`; a folder of task folders, or one task folder; a `.parquet` file; or a
            data set id `owner/name`, optionally `owner/name@revision`.

    Raises:
        TaskError: there is no such source, it holds no task, two tasks have one id, or a task
            cannot be read.
        DependencyError: the reader that this source needs is not installed.
    """
    tasks = sorted(_load(source), key=lambda task: task.task_id)
    if not tasks:
        raise TaskError(f"{source}: holds no task")
    for one, other in pairwise(tasks):
        if one.task_id == other.task_id:
            raise TaskError(f"{source}: two tasks have the id {one.task_id!r}")
    return tasks


def _load(source: str | Path) -> Iterable[Task]:
    if source == STARTER:
        return load_folder(starter_folder() / "tasks")
    path = Path(source)
    with boundary(TaskError, f"cannot read {source}"):
        if path.is_dir():
            return load_folder(path)
        if path.is_file():
            return load_rows(_parquet_rows(path), str(source))
    dataset = _DATASET_ID.fullmatch(str(source))
    if dataset is None or path.suffix == ".parquet":
        raise TaskError(
            f"no tasks at {str(source)!r}: it is no folder, no parquet file and no data set id"
        )
    return load_rows(_dataset_rows(dataset["name"], dataset["revision"]), str(source))


def load_folder(folder: Path) -> list[Task]:
    """The task in `folder`, or one for each of its folders that holds a task.yaml."""
    if (folder / "task.yaml").exists():
        return [_folder_task(folder)]
    found = sorted(path.parent for path in folder.glob("*/task.yaml"))
    return [_folder_task(path) for path in found]


def _folder_task(folder: Path) -> Task:
    texts = {key: _read(folder / name) for key, name in _FILES.items()}
    for key in _REQUIRED:
        if texts[key] is None:
            raise TaskError(f"task folder {folder}: {_FILES[key]} is missing")
    wrong = {path.stem: _read(path) or "" for path in sorted((folder / "wrong").glob("*.sh"))}
    return make_task(
        task_id=folder.resolve().name,
        task_yaml=texts["task_yaml"] or "",
        dockerfile=texts["dockerfile"] or "",
        docker_compose=texts["docker_compose"] or "",
        run_tests=texts["run_tests"] or "",
        oracle=texts["oracle"],
        wrong=wrong,
    )


def _read(path: Path) -> str | None:
    """A text file, or None when there is none; links and fifos of a foreign folder are refused."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise TaskError(f"{path}: cannot be read: {error.strerror}") from error
    with open(fd, "rb") as stream:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise TaskError(f"{path}: is no regular file")
        data = stream.read(TEXT_LIMIT_BYTES + 1)
    if len(data) > TEXT_LIMIT_BYTES:
        raise TaskError(f"{path}: is larger than {TEXT_LIMIT_BYTES} bytes")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise TaskError(f"{path}: is not UTF-8 text") from error


def load_rows(rows: Iterable[Mapping[str, object]], source: str) -> Iterator[Task]:
    """Tasks out of the data set's rows; also of older ones with an `instruction` column.

    Two columns of our own carry what the data set has not: `solution`, and `wrong` as JSON.
    """
    for number, row in enumerate(rows):
        try:
            yield _row_task(row)
        except TaskError as error:
            raise TaskError(f"{source}, row {number}: {error}") from error


def _row_task(row: Mapping[str, object]) -> Task:
    texts = {name: _cell(row, name) for name in _COLUMNS}
    for name in ("task_id", "dockerfile", "run_tests"):
        if not texts[name]:
            raise TaskError(f"column {name} is missing or empty")
    return make_task(
        task_id=texts["task_id"],
        task_yaml=texts["task_yaml"],
        instruction=texts["instruction"],
        dockerfile=texts["dockerfile"],
        docker_compose=texts["docker_compose"],
        run_tests=texts["run_tests"],
        oracle=texts["solution"] or None,
        wrong=_wrong(texts["wrong"]),
    )


def _cell(row: Mapping[str, object], name: str) -> str:
    value = row.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise TaskError(f"column {name} holds {type(value).__name__}, not text")
    if len(value) > TEXT_LIMIT_BYTES:
        raise TaskError(f"column {name} is longer than {TEXT_LIMIT_BYTES} characters")
    return value


def _wrong(text: str) -> dict[str, str]:
    if not text:
        return {}
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise TaskError(f"column wrong is no JSON: {error}") from error
    if not isinstance(found, dict) or not all(isinstance(value, str) for value in found.values()):
        raise TaskError("column wrong is no JSON object of texts")
    return found


def _parquet_rows(path: Path) -> Iterator[dict[str, object]]:
    with needs_extra("data", f"reading {path}"):
        import pyarrow.parquet as parquet  # heavy, and an extra
    with boundary(TaskError, f"{path}: cannot be read as parquet"):
        file = parquet.ParquetFile(path)
        columns = [name for name in _COLUMNS if name in file.schema_arrow.names]
        if "task_id" not in columns:
            raise TaskError(f"{path}: has no column task_id, so it is no task file")
        for batch in file.iter_batches(batch_size=64, columns=columns):
            yield from batch.to_pylist()


def _dataset_rows(name: str, revision: str | None) -> Iterator[Mapping[str, object]]:
    with needs_extra("hub", f"reading the data set {name}"):
        import datasets  # heavy, and an extra
    with boundary(TaskError, f"data set {name} cannot be loaded"):
        yield from datasets.load_dataset(name, split="train", revision=revision)
