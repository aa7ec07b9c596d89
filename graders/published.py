"""The published stricter grader, rule for rule (FACTS.md 2.1), but read from the host.

Read from the host it is already safe from trojaned tools and live processes (FACTS.md 2.2, holes
16 to 18) and it hashes what the original skipped when size and time were kept (hole 4). Every other
hole and every false rejection of the original is kept on purpose, for comparable numbers.
"""

from __future__ import annotations

import os.path
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from typing import ClassVar

from cligym.graders.dataset_check import run_script_check
from cligym.graders.grader import Attempt, oversized_verdict
from cligym.graders.path_kinds import components, under
from cligym.graders.prepared import image_tree
from cligym.graders.python_source import same_syntax
from cligym.graders.tree import NO_PROGRAM, TEXT_MAX_BYTES, FinalTree, ImageTree, Tree
from cligym.graders.verdict import Reason, State, StateRun, Verdict, shown
from cligym.sandboxes.base import Capture
from cligym.sandboxes.entry import ChangeSet, Entry, Kind

__all__ = ["PublishedGrader", "published_residue", "published_test_side"]

_ROOTS = (
    b"testbed",
    b"opt/miniconda3",
    b"usr/lib",
    b"usr/local/lib",
    b"lib",
    b"etc/ld.so.preload",
    b"etc/ld.so.conf.d",
)
_PRUNED = (b"testbed/.git", b"opt/miniconda3/pkgs")
_HOOK_ROOTS = (b"opt/miniconda3", b"usr/lib", b"usr/local/lib")
_START_FILES = frozenset({b"sitecustomize.py", b"usercustomize.py"})
_TEST_FILES = frozenset(
    b"conftest.py pytest.ini tox.ini setup.cfg pyproject.toml .coveragerc".split()
)
_PRELOAD = b"etc/ld.so.preload"
_LISTED = (Kind.FILE, Kind.SYMLINK, Kind.DIRECTORY)


class PublishedGrader:
    """No code residue under some roots, no new start-up hook, and the dataset's script passes."""

    name: ClassVar[str] = "published"
    version: ClassVar[str] = "1"
    needs_certificate: ClassVar[bool] = False

    def grade(self, attempt: Attempt) -> Verdict:
        """Checks 1 and 2 on the final state, check 3 in a box of its own.

        Raises:
            SandboxError: the box failed.
        """
        if attempt.capture.oversized:
            return oversized_verdict(self, attempt)
        started = time.monotonic()
        gold = image_tree(attempt.gold, attempt.backend)
        damaged = image_tree(attempt.damaged, attempt.backend)
        difference = attempt.backend.store.diff(attempt.gold, attempt.damaged)
        final = FinalTree(damaged, attempt.capture)
        reasons = published_residue(
            difference, gold=gold, damaged=damaged, final=final, changes=attempt.capture.changes
        )
        with ExitStack() as stack:
            layers: tuple[Capture, ...] = (attempt.capture,)
            restored = _restored_tests(attempt, difference, gold, final)
            if restored is not None:
                stack.callback(restored.close)
                layers = (attempt.capture, restored)
            result = run_script_check(
                attempt.run_tests,
                image=attempt.damaged,
                overlays=layers,
                backend=attempt.backend,
                timeout_s=attempt.test_timeout_s,
            )
        if not result.passed:
            class_ = "timeout" if result.timed_out else "tests"
            reasons.append(Reason(class_=class_, path="", detail=result.detail))
        run = StateRun(
            state=State.AS_LEFT,
            ran=True,
            passed=result.passed,
            tests=result.tests,
            seconds=result.seconds,
        )
        total = time.monotonic() - started
        return Verdict(
            grader=self.name,
            version=self.version,
            passed=not reasons,
            reasons=tuple(reasons),
            runs=(run,),
            seconds={
                "tests": result.seconds,
                "overhead": total - result.seconds,
                "total": total,
            },
        )


def published_residue(
    difference: ChangeSet,
    *,
    gold: ImageTree,
    damaged: ImageTree,
    final: Tree,
    changes: ChangeSet,
) -> list[Reason]:
    """Checks 1 and 2: what the published grader finds in the final state.

    Args:
        difference: damaged against gold.
        gold: the healthy image.
        damaged: the damaged image.
        final: the damaged image with the agent's changes.
        changes: the agent's changes.
    """
    packaged = _new_package_paths(difference, gold, damaged)
    reasons: list[Reason] = []
    edits: list[bytes] = []
    for path in difference.paths():
        old, now, end = gold.entry(path), damaged.entry(path), final.entry(path)
        if not _is_live(path, old or now, damaged):
            continue
        detail = _left(path, old, now, end) if old or path not in packaged else ""
        if detail == _EDITED:
            edits.append(path)
        elif detail:
            reasons.append(_reason(path, detail))
    reasons += _unequal_sources(edits, final, gold)
    return reasons + _new_hooks({*difference.changed, *changes.changed}, gold, final)


_EDITED = "edited source"
"""Not an answer yet: the two syntax trees decide."""


def _left(path: bytes, old: Entry | None, now: Entry | None, end: Entry | None) -> str:
    """What check 1 says of one path: "" when it is undone or never counted."""
    if old is None:
        is_added = now is not None and now.kind is not Kind.DIRECTORY and _is_code(path)
        return "added, still there" if is_added and end is not None else ""
    if old.kind is Kind.DIRECTORY:
        is_mode = now is not None and now.kind is Kind.DIRECTORY
        return "folder mode" if is_mode and (end is None or end.mode != old.mode) else ""
    if not _is_code(path) if now is None else not _counts_as_changed(old, now):
        return ""
    if end is None:
        return "missing"
    if (end.kind, end.digest, end.target) == (old.kind, old.digest, old.target):
        return "mode" if end.mode != old.mode else ""
    return _EDITED if path.endswith(b".py") and end.kind is old.kind is Kind.FILE else "content"


def _counts_as_changed(old: Entry, now: Entry) -> bool:
    return (old.kind, old.digest, old.target, old.mode) != (
        now.kind,
        now.digest,
        now.target,
        now.mode,
    )


def _unequal_sources(paths: list[bytes], final: Tree, gold: Tree) -> list[Reason]:
    pairs = [(_as_text(_source(final, path)), _as_text(gold.read(path))) for path in paths]
    return [
        _reason(path, "content")
        for path, equal in zip(paths, same_syntax(pairs), strict=True)
        if not equal
    ]


def _source(final: Tree, path: bytes) -> bytes:
    entry = final.entry(path)
    return final.read(path) if entry is not None and entry.size <= TEXT_MAX_BYTES else NO_PROGRAM


def _as_text(source: bytes) -> bytes:
    """The file as the original reads it: UTF-8, bad bytes replaced, cookies without effect."""
    text = source.decode("utf-8", "replace").removeprefix("\ufeff")
    lines = text.split("\n")
    for index in range(min(2, len(lines))):
        if lines[index].lstrip().startswith("#"):
            lines[index] = "#"
    return "\n".join(lines).encode()


def _new_hooks(paths: Iterable[bytes], gold: Tree, final: Tree) -> list[Reason]:
    """Check 2: start-up hooks by path against gold, and the preload file's bytes."""
    reasons = [
        Reason(class_="hook", path=shown(path), detail="new start-up hook")
        for path in sorted(paths)
        if _is_hook(path) and gold.entry(path) is None and final.entry(path) is not None
    ]
    old, end = gold.entry(_PRELOAD), final.entry(_PRELOAD)
    if (old and old.digest) != (end and end.digest):
        reasons.append(Reason(class_="hook", path=shown(_PRELOAD), detail="not gold's"))
    return reasons


def _is_hook(path: bytes) -> bool:
    if not any(under(path, root) for root in _HOOK_ROOTS) or under(path, b"opt/miniconda3/pkgs"):
        return False
    name = os.path.basename(path)
    return (name.endswith(b".pth") and b"-packages" in path) or name in _START_FILES


def _is_live(path: bytes, entry: Entry | None, damaged: ImageTree) -> bool:
    names = components(path)
    if entry is None or entry.kind not in _LISTED or path.endswith(b".pyc"):
        return False
    if any(under(path, root) for root in _PRUNED):
        return False
    if b"__pycache__" in names or b".pytest_cache" in names:
        return False
    lib = damaged.entry(b"lib")
    if under(path, b"lib") and lib is not None and lib.kind is Kind.SYMLINK:
        return False
    return any(under(path, root) for root in _ROOTS)


def _is_code(path: bytes) -> bool:
    absolute = b"/" + path
    return (
        path.endswith((b".py", b".pth", b".so"))
        or b".so." in path
        or b"/bin/" in absolute
        or b"/sbin/" in absolute
        or path.startswith(b"etc/ld.so")
    )


def _new_package_paths(difference: ChangeSet, gold: Tree, damaged: Tree) -> set[bytes]:
    """Paths named by package records that are new in the damaged image; hashes do not matter."""
    paths: set[bytes] = set()
    for record in difference.changed:
        if gold.entry(record) is not None:
            continue
        if record.startswith(b"var/lib/dpkg/info/") and record.endswith(b".list"):
            for line in damaged.read(record).split(b"\n"):
                name = line.strip().lstrip(b"/")
                paths |= {name, b"usr/" + name}
        elif record.endswith(b".dist-info/RECORD"):
            site = os.path.dirname(os.path.dirname(record))
            for line in damaged.read(record).split(b"\n"):
                name = line.rsplit(b",", 2)[0].strip(b'"')
                paths.add(os.path.normpath(site + b"/" + name))
    return paths


def published_test_side(path: bytes) -> bool:
    """A file that check 3 puts back: the original's list, which is narrower than ours."""
    if not path.startswith(b"testbed/") or path.endswith(b".pyc"):
        return False
    names = components(path)[1:]
    if b"__pycache__" in names:
        return False
    if any(name in (b"tests", b"test") for name in names[:-1]) or names[-1] in _TEST_FILES:
        return True
    name = names[-1]
    return name.endswith(b".py") and (name.startswith(b"test_") or name.endswith(b"_test.py"))


def _restored_tests(
    attempt: Attempt, difference: ChangeSet, gold: ImageTree, final: Tree
) -> Capture | None:
    """The layer that makes regular test-side files gold's again; links stay (hole 13)."""
    restored: list[bytes] = []
    deleted: list[bytes] = []
    for path in sorted({*difference.paths(), *attempt.capture.changes.paths()}):
        old, end = gold.entry(path), final.entry(path)
        if under(path, b"testbed/.pytest_cache") and end is not None:
            deleted.append(path)
        elif not published_test_side(path) or old == end:
            continue
        elif old is not None and old.kind is Kind.FILE:
            restored += [p for p in _missing_folders(path, final) if p not in restored]
            restored.append(path)
        elif old is None and end is not None and end.kind is Kind.FILE:
            deleted.append(path)
    if not restored and not deleted:
        return None
    return attempt.backend.overlay_from_image(
        attempt.gold, restored, over=attempt.damaged, deleted=deleted
    )


def _missing_folders(path: bytes, final: Tree) -> Iterator[bytes]:
    while path := os.path.dirname(path):
        if final.entry(path) is None:
            yield path


def _reason(path: bytes, detail: str) -> Reason:
    return Reason(class_="residue", path=shown(path), detail=detail)
