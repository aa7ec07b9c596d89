"""Builds the two images of a task; a gold image of the starter pack is built on demand."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cligym.errors import CLIGymError, TaskError
from cligym.sandboxes.atomic_file import file_lock
from cligym.sandboxes.build import BuildEvent, build
from cligym.sandboxes.image import Image
from cligym.sandboxes.namespace import NamespaceBackend
from cligym.tasks.load import starter_folder
from cligym.tasks.task import Task

__all__ = ["TaskImages", "build_task_images", "starter_gold"]

_STARTER_GOLD = re.compile(r"cligym/(?P<project>[a-z0-9-]+):(?P<version>[a-z0-9.]+)")
_FROM = re.compile(r"^FROM[ \t]+(\S+)", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskImages:
    """The healthy image of a task and the broken one."""

    gold: Image
    damaged: Image


def build_task_images(
    task: Task,
    backend: NamespaceBackend,
    *,
    progress: Callable[[BuildEvent], None] | None = None,
) -> TaskImages:
    """Builds both images, or finds them in the build cache.

    Raises:
        BuildError: an instruction of its Dockerfile, or of its gold image's, failed.
        ImageError: its gold image is not in the store and cannot be made.
        TaskError: FROM names a starter gold that this version does not have.
    """
    try:
        gold = starter_gold(task.gold_name, backend, progress=progress)
        if gold is None:
            gold = backend.store.get(task.gold_name)
        damaged = build(task.dockerfile, backend, context=task.context, progress=progress)
    except CLIGymError as error:
        error.add_note(f"while the images of task {task.task_id} were built")
        raise
    return TaskImages(gold=gold, damaged=damaged)


def starter_gold(
    name: str,
    backend: NamespaceBackend,
    *,
    progress: Callable[[BuildEvent], None] | None = None,
) -> Image | None:
    """The starter pack's image of that name, built if need be; None when the name is no such one.

    Raises:
        TaskError: the name looks like one, but the pack has no such project or version.
        BuildError: an instruction failed.
    """
    if _STARTER_GOLD.fullmatch(name) is None:
        return None
    with file_lock(backend.store.root / "golds.lock"):  # the others wait instead of doing it too
        return _build_gold(name, backend, progress)


def _build_gold(
    name: str, backend: NamespaceBackend, progress: Callable[[BuildEvent], None] | None
) -> Image:
    folder = _gold_folder(name)
    text = (folder / "Dockerfile").read_text()
    below = _FROM.search(text)
    if below is not None and _STARTER_GOLD.fullmatch(below[1]):
        _build_gold(below[1], backend, progress)
    image = build(text, backend, context=folder, progress=progress)
    backend.store.tag(image, name)
    return image


def _gold_folder(name: str) -> Path:
    found = _STARTER_GOLD.fullmatch(name)
    folder = starter_folder() / "golds" / (found["project"] if found else "")
    dockerfile = folder / "Dockerfile"
    if not dockerfile.is_file() or not dockerfile.read_text().startswith(f"# {name}:"):
        raise TaskError(f"the starter pack has no gold image {name}")
    return folder
