"""What a task is: texts that say how to build it, what to ask, how to test it. A value, no more."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from cligym.errors import TaskError
from cligym.tasks.task_text import read_task_text
from cligym.tasks.test_ids import parse_run_tests

__all__ = ["Task", "make_task"]

_TASK_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")
_FROM = re.compile(r"^[ \t]*FROM[ \t]+(?:--\S+[ \t]+)*(\S+)", re.IGNORECASE | re.MULTILINE)
_SWESMITH = re.compile(r"swesmith\.[^.]+\.(?P<owner>.+?)_1776_(?P<name>.+?)\.[0-9a-f]{8}(?::|$)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One repair task. All of it is untrusted text; nothing in it has been run.

    Attributes:
        task_id: its name: letters, digits, `.`, `_` and `-`.
        instruction: what the agent is told, without white space around it.
        dockerfile: builds the damaged image; its first FROM names the gold image.
        run_tests: the data set's own test script.
        docker_compose: kept for exports, unused.
        task_yaml: the raw text of task.yaml.
        repository: `owner/name`, or the project's name; "" when unknown.
        licence: SPDX name of the project's licence; "" when unknown.
        split: `train` or `heldout` where it is frozen; "" otherwise.
        faults: what is broken, in words; for people, never shown to an agent.
        needs: what a sandbox must offer (`id-range`: more than one user id).
        test_ids: pytest's own ids; empty means the whole suite.
        pytest_args: the options of the pytest command.
        test_timeout_s: limit of one run of the tests.
        oracle: script that repairs it, or None.
        wrong: scripts that only seem to, by name.
        context: folder that COPY reads from, or None for an empty one, as the data set's are.
    """

    task_id: str
    instruction: str
    dockerfile: str
    run_tests: str
    docker_compose: str = ""
    task_yaml: str = ""
    repository: str = ""
    licence: str = ""
    split: str = ""
    faults: str = ""
    needs: tuple[str, ...] = ()
    test_ids: tuple[str, ...] = ()
    pytest_args: tuple[str, ...] = ()
    test_timeout_s: float = 1500.0
    oracle: str | None = None
    wrong: Mapping[str, str] = field(default_factory=dict, hash=False)
    context: Path | None = field(default=None, compare=False)

    @property
    def digest(self) -> str:
        """`sha256:…` over the texts that an attempt depends on: what comparisons pair on."""
        texts = [self.task_id, self.instruction, self.dockerfile, self.run_tests]
        return "sha256:" + hashlib.sha256(json.dumps(texts).encode()).hexdigest()

    @property
    def gold_name(self) -> str:
        """The image that the first FROM names."""
        found = _FROM.search(self.dockerfile)
        return found[1] if found else ""


def make_task(
    *,
    task_id: str,
    dockerfile: str,
    run_tests: str,
    task_yaml: str = "",
    instruction: str = "",
    docker_compose: str = "",
    oracle: str | None = None,
    wrong: Mapping[str, str] | None = None,
) -> Task:
    """A task from the texts of a row or a folder.

    Args:
        instruction: used as it is; "" takes the one inside `task_yaml`.

    Raises:
        TaskError: a text is missing or cannot be read; the message starts with the task's id.
    """
    if not _TASK_ID.fullmatch(task_id):
        raise TaskError(
            f"task id {task_id[:80]!r}: only letters, digits, '.', '_', '-', at most 200"
        )
    try:
        text = read_task_text(task_yaml, instruction)
        command = parse_run_tests(run_tests)
        gold = _FROM.search(dockerfile)
        if gold is None:
            raise TaskError("its Dockerfile has no FROM line")
    except TaskError as error:
        raise TaskError(f"task {task_id}: {error}") from error
    return Task(
        task_id=task_id,
        instruction=text.instruction,
        dockerfile=dockerfile,
        run_tests=run_tests,
        docker_compose=docker_compose,
        task_yaml=task_yaml,
        repository=text.repository or _repository_of(gold[1]),
        licence=text.licence,
        split=text.split,
        faults=text.faults,
        needs=text.needs,
        test_ids=command.test_ids,
        pytest_args=command.pytest_args,
        test_timeout_s=text.max_test_timeout_sec,
        oracle=oracle,
        wrong=dict(wrong or {}),
    )


def _repository_of(image: str) -> str:
    """`owner/name` out of the name that the data set's images have, or ""."""
    found = _SWESMITH.search(image)
    return f"{found['owner']}/{found['name']}" if found else ""
