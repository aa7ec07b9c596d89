"""The starter tasks on the suite's back end: built and certified once, then reused."""

from __future__ import annotations

import pytest

from cligym.envs.bench import Bench
from cligym.sandboxes.namespace import NamespaceBackend


@pytest.fixture(scope="session")
def bench(backend: NamespaceBackend) -> Bench:
    """The starter pack."""
    return Bench("starter", backend=backend)


@pytest.fixture(scope="session")
def task_id(bench: Bench) -> str:
    """One task that every test here may use."""
    return sorted(bench.tasks)[0]
