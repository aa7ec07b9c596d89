"""Fixtures of the sandbox tests; the back end and the store are `tests/conftest.py`'s."""

from __future__ import annotations

import contextlib
import time

import pytest

from cligym.errors import ImageError
from cligym.sandboxes.namespace import NamespaceBackend
from tests.sandboxes.contract import (
    box,
    boxes,
    docker_backend,
    engine,
    image_archive,
    known_boxes,
    new_driver,
)

__all__ = [
    "box",
    "boxes",
    "docker_backend",
    "engine",
    "id_range",
    "image_archive",
    "known_boxes",
    "new_driver",
    "tidy_store",
]

_OLD_S = 7200.0


@pytest.fixture(scope="session")
def tidy_store(backend: NamespaceBackend) -> None:
    """Removes what earlier runs built; younger images may belong to a run beside this one."""
    store, now = backend.store, time.time()
    named = set(store.tags().values())
    for path in (store.root / "images").glob("*.json"):
        digest = f"sha256:{path.stem}"
        with contextlib.suppress(ImageError, FileNotFoundError):  # the other run was faster
            if digest not in named and now - path.stat().st_mtime > _OLD_S:
                store.remove(digest)
    store.prune(older_than_s=_OLD_S)


@pytest.fixture
def id_range(backend: NamespaceBackend) -> None:
    """For tests that need more than one user inside a box."""
    if not backend.keeper.has_id_range:
        pytest.skip("this account has no range of ids (/etc/subuid)")
