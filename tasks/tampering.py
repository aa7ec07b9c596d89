"""Tampering tasks: folders with a spec, equivalent clean solutions, public and hidden tests.

A folder holds `spec.md`, `clean/*.py` (at least three), `public_tests.py`, `hidden_tests.py` and,
once `cligym arena tasks --check` has run, `certificate.json`: the ids of the tests, that every
clean solution passes them, and how many mutants they catch. `equivalent_mutants.txt` may list edits
that a person found to be allowed by the spec (`style: class: words | why`). Tests are data here;
only `cligym.graders.judge` runs them.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from cligym.errors import TaskError
from cligym.tasks.syntax_tree import parse_source

__all__ = [
    "BugClass",
    "CleanSolution",
    "TamperingCertificate",
    "TamperingTask",
    "load_tampering_tasks",
]

_SHIPPED = Path(__file__).parent / "tampering"
_ALWAYS = frozenset({"__iter__", "__next__", "__call__", "__enter__", "__exit__"})
_IF_DEFINED = frozenset(
    {"__len__", "__contains__", "__getitem__", "__setitem__", "__delitem__", "__bool__"}
)


class BugClass(StrEnum):
    """The six kinds of bug that an attacker may claim."""

    OFF_BY_ONE = "off_by_one"
    BOUNDARY_CONDITION = "boundary_condition"
    FLOAT_COMPARISON = "float_comparison"
    EXCEPTION_SUPPRESSION = "exception_suppression"
    RESOURCE_LEAK = "resource_leak"
    RACE_CONDITION = "race_condition"


class TamperingCertificate(BaseModel):
    """What `cligym arena tasks --check` found and froze.

    Attributes:
        digest: of the task's files; a certificate of other files is none.
        tests: ids of the tests, each `public::…` or `hidden::…`.
        clean: names of the clean solutions, all of which passed all tests.
        mutants: how many mutants of the clean solutions were tried.
        killed: how many of them at least one test caught.
        equivalent: how many edits are known to break nothing; they are no part of the score.
        survivors: the others, in words.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    digest: str
    tests: tuple[str, ...]
    clean: tuple[str, ...]
    mutants: int
    killed: int
    equivalent: int
    survivors: tuple[str, ...]

    @property
    def mutation_score(self) -> float:
        """Caught mutants per mutant that is not known to be equivalent, in [0, 1]."""
        counted = self.mutants - self.equivalent
        return self.killed / counted if counted else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanSolution:
    """One clean solution: the name of its style, and its source."""

    name: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TamperingTask:
    """One task, read from its folder.

    Attributes:
        name: the folder's name, the task's id.
        folder: where it lies.
        spec: what the code has to do, Markdown.
        clean: equivalent solutions, sorted by name.
        public_tests: source that attackers may see.
        equivalent: edits, in words, that a person found to be allowed by the spec.
        digest: `sha256:…` of all files except the certificate.
        certificate: of exactly these files, or None.
    """

    name: str
    folder: Path
    spec: str
    clean: tuple[CleanSolution, ...]
    public_tests: str
    equivalent: frozenset[str]
    digest: str
    certificate: TamperingCertificate | None

    @property
    def test_files(self) -> Mapping[str, Path]:
        """Kind of test -> file."""
        return {kind: self.folder / f"{kind}_tests.py" for kind in ("public", "hidden")}

    @property
    def operations(self) -> frozenset[str]:
        """Special methods that tests may use on a candidate's objects.

        Comparison and arithmetic only where the spec names them: an object that is equal to
        everything must not pass for a number.
        """
        named = set(re.findall(r"`?(__\w+__)`?", self.spec))
        defined = {
            node.name
            for solution in self.clean
            for node in ast.walk(parse_source(solution.source))
            if isinstance(node, ast.FunctionDef)
        }
        return _ALWAYS | named | (defined & _IF_DEFINED)

    def solution(self, name: str) -> CleanSolution:
        """The clean solution of this name.

        Raises:
            TaskError: there is none.
        """
        for solution in self.clean:
            if solution.name == name:
                return solution
        known = ", ".join(solution.name for solution in self.clean)
        raise TaskError(f"task {self.name} has no clean solution {name!r}; it has: {known}")


def load_tampering_tasks(
    folder: Path | None = None, names: Iterable[str] | None = None
) -> dict[str, TamperingTask]:
    """Reads the task folders below `folder`, sorted by name.

    Args:
        folder: None takes the tasks that come with cligym.
        names: only these; None takes all.

    Raises:
        TaskError: a folder lacks a file, has fewer than three solutions, or a name is unknown.
    """
    root = folder or _SHIPPED
    if not root.is_dir():
        raise TaskError(f"no folder of tampering tasks at {root}")
    found = sorted(path.name for path in root.iterdir() if (path / "spec.md").is_file())
    wanted = found if names is None else list(names)
    for name in wanted:
        if name not in found:
            raise TaskError(f"unknown tampering task {name!r}; known: {', '.join(found)}")
    return {name: _read(root / name) for name in wanted}


def _read(folder: Path) -> TamperingTask:
    files = sorted(folder.glob("clean/*.py"))
    if len(files) < 3:
        raise TaskError(f"task {folder.name} has {len(files)} clean solutions; it needs 3 or more")
    try:
        texts = {
            name: (folder / name).read_text(encoding="utf-8")
            for name in (
                "spec.md",
                "public_tests.py",
                "hidden_tests.py",
                *(f"clean/{file.name}" for file in files),
            )
        }
        listed = folder / "equivalent_mutants.txt"
        if listed.exists():
            texts[listed.name] = listed.read_text(encoding="utf-8")
        for file in files:
            parse_source(texts[f"clean/{file.name}"])
    except (OSError, UnicodeDecodeError, SyntaxError) as error:
        raise TaskError(f"task {folder.name} cannot be read: {error}") from error
    digest = "sha256:" + hashlib.sha256(json.dumps(sorted(texts.items())).encode()).hexdigest()
    return TamperingTask(
        name=folder.name,
        folder=folder,
        spec=texts["spec.md"],
        clean=tuple(
            CleanSolution(name=file.stem, source=texts[f"clean/{file.name}"]) for file in files
        ),
        public_tests=texts["public_tests.py"],
        equivalent=frozenset(
            line.split(" | ")[0].strip()
            for line in texts.get("equivalent_mutants.txt", "").splitlines()
            if line.strip()
        ),
        digest=digest,
        certificate=_read_certificate(folder / "certificate.json", digest),
    )


def _read_certificate(path: Path, digest: str) -> TamperingCertificate | None:
    """None also for a certificate of other files, or of an older form: both are made again."""
    try:
        certificate = TamperingCertificate.model_validate_json(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, UnicodeDecodeError, ValidationError):
        return None
    return certificate if certificate.digest == digest else None
