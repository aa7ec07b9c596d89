"""Trees made of dictionaries for the pure rules; one back end and one gold image for the rest."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from cligym.errors import SandboxUnavailableError
from cligym.graders.certify import make_certificate
from cligym.graders.grade import grade, run_script
from cligym.graders.tree import ImageTree
from cligym.graders.verdict import Verdict
from cligym.sandboxes.build import build
from cligym.sandboxes.entry import Entry, Kind
from cligym.sandboxes.namespace import NamespaceBackend
from cligym.tasks.certificate import Certificate
from cligym.tasks.images import TaskImages, build_task_images, starter_gold
from cligym.tasks.task import Task, make_task
from cligym.tasks.test_ids import render_run_tests

collect_ignore = ["workshop"]  # files of an image, not tests of ours

GOLD_NAME = "cligym-test/workshop:1"

TreeMaker = Callable[..., ImageTree]


def file_entry(content: bytes, mode: int = 0o644, **fields: object) -> Entry:
    """The entry of a regular file with this content."""
    digest = hashlib.sha256(content).hexdigest()
    return Entry(kind=Kind.FILE, mode=mode, size=len(content), digest=digest, **fields)  # type: ignore[arg-type]  # free fields of a test double


@pytest.fixture
def make_tree() -> TreeMaker:
    """Makes a tree of `{path: content or Entry}`; folders above are added."""

    def make(files: Mapping[str, bytes | Entry]) -> ImageTree:
        entries: dict[bytes, Entry] = {}
        contents: dict[bytes, bytes] = {}
        for name, value in files.items():
            path = name.encode()
            for end in range(1, path.count(b"/") + 1):
                folder = b"/".join(path.split(b"/")[:end])
                entries.setdefault(folder, Entry(kind=Kind.DIRECTORY, mode=0o755))
            entries[path] = value if isinstance(value, Entry) else file_entry(value)
            contents[path] = b"" if isinstance(value, Entry) else value
        return ImageTree(lambda: entries, lambda path, limit: contents[path][:limit])

    return make


@pytest.fixture
def make_file() -> Callable[..., Entry]:
    """Makes the entry of a regular file."""
    return file_entry


@pytest.fixture(scope="session")
def backend() -> Iterator[NamespaceBackend]:
    """The namespace back end on a store that outlives the run; users carry the mark `userns`."""
    default = Path(tempfile.gettempdir()) / f"cligym-test-home-{os.geteuid()}"
    home = Path(os.environ.get("CLIGYM_TEST_HOME") or default)
    home.mkdir(parents=True, exist_ok=True)
    backend = NamespaceBackend(home=home)
    try:
        _ = backend.keeper
    except SandboxUnavailableError as error:
        pytest.skip(f"namespace sandbox: {error}")
    with backend:
        yield backend


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """A task on the workshop image, built and certified."""

    task: Task
    images: TaskImages
    certificate: Certificate
    backend: NamespaceBackend

    def grade(self, script: str, *graders: str, always_run: bool = False) -> list[Verdict]:
        """The verdicts on what `script` leaves."""
        capture = run_script(self.images, self.backend, script)
        with closing(capture):
            return grade(
                self.task,
                self.images,
                self.certificate,
                capture,
                self.backend,
                graders=graders or ("hardened",),
                always_run=always_run,
            )

    def verdict(self, script: str, *, always_run: bool = False) -> Verdict:
        """The verdict of `hardened`."""
        return self.grade(script, always_run=always_run)[0]


Breaker = Callable[..., Broken]


@pytest.fixture(scope="session")
def workshop(backend: NamespaceBackend) -> str:
    """The name of the gold image: a small project on a machine with something of each kind."""
    starter_gold("cligym/base:1", backend)
    folder = Path(__file__).parent / "workshop"
    image = build((folder / "Dockerfile").read_text(), backend, context=folder)
    backend.store.tag(image, GOLD_NAME)
    return GOLD_NAME


@pytest.fixture(scope="session")
def broken(backend: NamespaceBackend, workshop: str) -> Breaker:
    """Makes a certified task of a damage; the same damage is certified once."""
    made: dict[tuple[str, tuple[str, ...]], Broken] = {}

    def make(damage: str, *test_ids: str) -> Broken:
        ids = test_ids or ("tests",)
        if (damage, ids) not in made:
            task = make_task(
                task_id=f"broken-{len(made)}",
                dockerfile=f"FROM {workshop}\nRUN {damage}\n",
                run_tests=render_run_tests(ids),
                instruction="Something is wrong.",
            )
            images = build_task_images(task, backend)
            certificate = make_certificate(task, images, backend)
            made[damage, ids] = Broken(
                task=task, images=images, certificate=certificate, backend=backend
            )
        return made[damage, ids]

    return make
