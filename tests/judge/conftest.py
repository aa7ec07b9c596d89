"""One judge for all tests of this folder: workers start once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cligym.errors import BuildError, ImageError, SandboxUnavailableError
from cligym.graders.judge import Judge, JudgeSettings
from cligym.graders.judge_box import judge_image
from cligym.sandboxes.namespace import NamespaceBackend
from cligym.tasks.tampering import load_tampering_tasks

TASKS = (
    "binary_search",
    "stack",
    "moving_average",
    "variance",
    "copy_lines",
    "locked_update",
    "transfer",
    "nearly_equal",
)


@pytest.fixture(scope="session")
def judge(backend: NamespaceBackend) -> Iterator[Judge]:
    try:
        judge_image(backend)
    except (SandboxUnavailableError, BuildError, ImageError) as error:
        pytest.skip(f"no box for candidates on this machine: {error}")
    settings = JudgeSettings(test_s=5.0, workers=1)
    with Judge(load_tampering_tasks(names=TASKS), backend=backend, settings=settings) as judge:
        yield judge
