"""One store and one back end for all sandbox tests: making the base image takes a minute."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from cligym.errors import SandboxUnavailableError
from cligym.sandboxes import base_image as base_image_module
from cligym.sandboxes.base_image import base
from cligym.sandboxes.image import Image
from cligym.sandboxes.namespace import NamespaceBackend


@pytest.fixture(scope="session")
def store_home() -> Path:
    """`CLIGYM_TEST_HOME`, or a folder that outlives the run, so that the next one is fast."""
    recipe = hashlib.sha256(Path(base_image_module.__file__).read_bytes()).hexdigest()[:8]
    default = Path(tempfile.gettempdir()) / f"cligym-test-home-{os.geteuid()}-{recipe}"
    home = Path(os.environ.get("CLIGYM_TEST_HOME") or default)
    home.mkdir(parents=True, exist_ok=True)
    return home


@pytest.fixture(scope="session")
def backend(store_home: Path) -> Iterator[NamespaceBackend]:
    """The namespace back end; tests that use it carry the mark `userns`."""
    backend = NamespaceBackend(home=store_home)
    try:
        _ = backend.keeper
    except SandboxUnavailableError as error:
        pytest.skip(f"namespace sandbox: {error}")
    with backend:
        yield backend


@pytest.fixture(scope="session")
def base_image(backend: NamespaceBackend) -> Image:
    """`debian:bookworm-slim`."""
    return base(backend.store)
