"""Trees made of dictionaries for the pure rules; one back end and one gold image for the rest."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from cligym.errors import SandboxUnavailableError
from cligym.graders.tree import ImageTree
from cligym.sandboxes.entry import Entry, Kind
from cligym.sandboxes.namespace import NamespaceBackend

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
