"""Tasks ready to be worked on: images built and certificate at hand, once per task and process."""

from __future__ import annotations

import difflib
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from cligym.errors import ConfigError, TaskError
from cligym.graders.certify import certify
from cligym.sandboxes.build import BuildEvent
from cligym.sandboxes.namespace import NamespaceBackend
from cligym.tasks.certificate import Certificate
from cligym.tasks.images import TaskImages, build_task_images
from cligym.tasks.load import load_tasks
from cligym.tasks.split import select_split
from cligym.tasks.task import Task

__all__ = ["Bench", "PreparedTask"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedTask:
    """A task with what its episodes need."""

    task: Task
    images: TaskImages
    certificate: Certificate


class Bench:
    """The tasks of one source on one back end; safe to share between threads.

    Args:
        source: what `load_tasks` takes: `starter`, a folder, a parquet file, a data set id.
        backend: where boxes run; None makes a namespace back end.
        split: keep only tasks of this split (see `tasks/split.py`); "" keeps all.
    """

    def __init__(
        self, source: str = "starter", *, backend: NamespaceBackend | None = None, split: str = ""
    ) -> None:
        tasks = select_split(load_tasks(source), split)
        if not tasks:
            raise ConfigError(f"no task of split {split!r} in {source}")
        self.source = source
        self.tasks: Mapping[str, Task] = {task.task_id: task for task in tasks}
        self.backend = backend or NamespaceBackend()
        self._prepared: dict[str, PreparedTask] = {}
        self._lock = threading.Lock()
        self._locks: dict[str, threading.Lock] = {}

    def task(self, task_id: str) -> Task:
        """The task of an id.

        Raises:
            ConfigError: there is none; the text lists near names.
        """
        if task_id not in self.tasks:
            raise ConfigError(unknown_task(task_id, self.tasks, self.source))
        return self.tasks[task_id]

    def prepare(
        self, task_id: str, *, progress: Callable[[BuildEvent], None] | None = None
    ) -> PreparedTask:
        """Builds and certifies a task, at the first call only.

        Raises:
            BuildError: its Dockerfile does not build.
            TaskError: its certificate refuses it, or it needs what this machine cannot give.
        """
        task = self.task(task_id)
        if "id-range" in task.needs and not self.backend.keeper.has_id_range:
            raise TaskError(
                f"task {task_id} needs boxes with more than one user, and you have no range of "
                "ids here; ask for a line in /etc/subuid and /etc/subgid, see `cligym doctor`"
            )
        with self._lock:
            lock = self._locks.setdefault(task_id, threading.Lock())
        with lock:
            if task_id not in self._prepared:
                images = build_task_images(task, self.backend, progress=progress)
                certificate = certify(task, images, self.backend)
                self._prepared[task_id] = PreparedTask(
                    task=task, images=images, certificate=certificate
                )
        prepared = self._prepared[task_id]
        if not prepared.certificate.usable:
            problems = "; ".join(f"{p.kind}: {p.detail}" for p in prepared.certificate.problems)
            raise TaskError(f"task {task_id} cannot give a reward: {problems}")
        return prepared


def unknown_task(task_id: str, known: Mapping[str, object], source: str) -> str:
    """One line for a task id that is not there."""
    near = difflib.get_close_matches(task_id, known, n=3, cutoff=0.4)
    hint = f"; near: {', '.join(near)}" if near else ""
    return f"no task {task_id!r} in {source} ({len(known)} tasks){hint}; see `cligym tasks list`"
