"""Where the conformance suite runs: every back end, as every kind of user, with one base image.

A test that takes `boxes` or `box` runs once for each. The namespace back end as root is driven in
this process, as other users through `remote.py`.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from cligym.sandboxes.base import Limits, SandboxSpec
from cligym.sandboxes.docker import DockerBackend
from cligym.sandboxes.image import Image
from cligym.sandboxes.namespace import NamespaceBackend
from tests.sandboxes.engine import running_engine
from tests.sandboxes.remote import INTERPRETER, ONE_ID_UID, RemoteDriver, range_account

__all__ = [
    "Boxes",
    "Driven",
    "box",
    "boxes",
    "docker_backend",
    "engine",
    "image_archive",
    "known_boxes",
    "new_driver",
    "output",
]


@dataclass(frozen=True, slots=True)
class Boxes:
    """One back end under test.

    Attributes:
        name: `namespace`, `namespace-user`, `docker`, ...
        backend: the back end, or what stands for it.
        image: the base image in its store.
    """

    name: str
    backend: Any
    image: Image

    def start(self, **spec: Any) -> Any:
        """Starts a box on the base image; a context manager."""
        return self.backend.start(SandboxSpec(image=self.image, **spec))

    def start_small(self, **limits: Any) -> Any:
        """Starts a box with tight limits."""
        return self.start(limits=Limits(**limits))


@dataclass(frozen=True, slots=True)
class Driven:
    """A namespace back end in a driver of its own, which may be killed."""

    driver: RemoteDriver
    boxes: Boxes


@pytest.fixture(scope="session")
def image_archive(backend: NamespaceBackend, base_image: Image) -> Iterator[Path]:
    """The base image as a file that every user may read."""
    with tempfile.TemporaryDirectory(prefix="cligym-image-") as folder:
        Path(folder).chmod(0o755)
        path = Path(folder) / "image"
        backend.store.export_image(base_image, path)
        path.chmod(0o644)
        yield path


def _settled_home(uid: int) -> Path:
    return Path(tempfile.gettempdir()) / f"cligym-test-home-{uid}"


@pytest.fixture(scope="session")
def new_driver(image_archive: Path, base_image: Image) -> Iterator[Callable[[int], Driven]]:
    """Starts a driver as a user; it has the base image in its store."""
    started: list[RemoteDriver] = []

    def start(uid: int) -> Driven:
        if os.geteuid() != 0 and uid != os.geteuid():
            pytest.skip("only root can start a driver as another user")
        if not Path(INTERPRETER).exists():
            pytest.skip(f"another user's driver needs {INTERPRETER}")
        driver = RemoteDriver(uid, _settled_home(uid))
        started.append(driver)
        store = driver.backend.store
        if base_image.digest not in store.tags().values():
            store.import_image(image_archive)
        name = {0: "namespace", ONE_ID_UID: "namespace-one-id"}.get(uid, "namespace-user")
        return Driven(driver, Boxes(name, driver.backend, store.get(base_image.digest)))

    yield start
    for driver in started:
        driver.close()


def _uid(name: str) -> int:
    if name == "namespace":
        return os.geteuid()
    if name == "namespace-one-id":
        return ONE_ID_UID
    if os.geteuid() != 0:
        pytest.skip("making an account with an id range needs root")
    return range_account()


@pytest.fixture(scope="session")
def known_boxes() -> dict[str, Boxes]:
    """What was started already: a session has one of each."""
    return {}


every_user = [
    pytest.param("namespace", marks=pytest.mark.userns),
    pytest.param("namespace-user", marks=pytest.mark.userns),
]


every_back_end = [
    *every_user,
    pytest.param("docker", marks=[pytest.mark.docker, pytest.mark.xdist_group("docker")]),
]


@pytest.fixture(scope="session")
def engine() -> Iterator[str]:
    """The URL of a Docker engine of our own."""
    with running_engine() as url:
        yield url


@pytest.fixture(scope="session")
def docker_backend(engine: str, backend: NamespaceBackend) -> Iterator[DockerBackend]:
    """The Docker back end, with the images of the namespace back end."""
    with DockerBackend(backend, engine) as made:
        yield made


@pytest.fixture(params=every_back_end)
def boxes(request: pytest.FixtureRequest, known_boxes: dict[str, Boxes]) -> Boxes:
    """Each back end in turn."""
    name = str(request.param)
    if name not in known_boxes:
        known_boxes[name] = _start(name, request)
    return known_boxes[name]


def _start(name: str, request: pytest.FixtureRequest) -> Boxes:
    if name == "namespace":
        backend = request.getfixturevalue("backend")
        return Boxes(name, backend, request.getfixturevalue("base_image"))
    if name == "docker":
        docker = request.getfixturevalue("docker_backend")
        return Boxes(name, docker, request.getfixturevalue("base_image"))
    uid = _uid(name)
    driven: Driven = request.getfixturevalue("new_driver")(uid)
    return driven.boxes


@pytest.fixture
def box(boxes: Boxes) -> Iterator[Any]:
    """A fresh box of each back end."""
    with boxes.start() as sandbox:
        yield sandbox


def output(box: Any, command: str, *, timeout_s: float = 20) -> str:
    """What a command prints, whatever its exit code."""
    return str(box.run(command, timeout_s=timeout_s).output.decode())
