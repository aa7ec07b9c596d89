"""What COPY may read, and what it writes where."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cligym.errors import BuildError
from cligym.sandboxes.build_context import BuildContext
from cligym.sandboxes.copy_plan import CopyPlan, Ownership, real_path
from cligym.sandboxes.entry import Entry, Kind

FOLDER = Entry(kind=Kind.DIRECTORY, mode=0o755)
FILE = Entry(kind=Kind.FILE, mode=0o644)


def link(target: bytes) -> Entry:
    return Entry(kind=Kind.SYMLINK, mode=0o777, target=target)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "secret").write_text("outside")
    context = tmp_path / "context"
    (context / "src/deep").mkdir(parents=True)
    (context / "src/a.py").write_text("a")
    (context / "src/b.txt").write_text("b")
    (context / "src/deep/c.py").write_text("c")
    (context / "src/a.py").chmod(0o755)
    (context / "out").symlink_to(tmp_path)
    (context / "src/link").symlink_to("a.py")
    return context


def names(context: BuildContext, pattern: str) -> list[str]:
    return [source.name for source in context.find(pattern)]


def test_globs(folder: Path) -> None:
    context = BuildContext(folder)
    assert names(context, "src/*.py") == ["src/a.py"]
    assert names(context, "*/deep/?.py") == ["src/deep/c.py"]
    assert names(context, "./src/") == ["src"]
    assert names(context, "nothing*") == []


@pytest.mark.parametrize("pattern", ["../secret", "src/../../secret", "out/secret"])
def test_nothing_outside_is_read(folder: Path, pattern: str) -> None:
    with pytest.raises(BuildError):
        BuildContext(folder).find(pattern)


def test_patterns_do_not_match_through_links(folder: Path) -> None:
    assert BuildContext(folder).find("*/secret") == []


def test_a_link_is_copied_as_a_link(folder: Path) -> None:
    (source,) = BuildContext(folder).find("out")
    assert source.entry == link(os.fsencode(folder.parent))


def test_fifo_is_refused(folder: Path) -> None:
    os.mkfifo(folder / "fifo")
    with pytest.raises(BuildError, match="neither"):
        BuildContext(folder).find("fifo")


def test_empty_context_has_nothing() -> None:
    assert BuildContext(None).find("*") == []


def test_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="not a folder"):
        BuildContext(tmp_path / "none")


def test_dockerignore_hides_and_lets_back_in(folder: Path) -> None:
    (folder / ".dockerignore").write_text("src/*\n!src/deep\n**/*.txt\n")
    context = BuildContext(folder)
    (source,) = context.find("src")
    assert [found.name for found in context.below(source)] == ["src/deep", "src/deep/c.py"]
    assert names(context, "src/a.py") == []


def test_folder_contents_go_into_the_target(folder: Path) -> None:
    context = BuildContext(folder)
    plan = CopyPlan(root={b"app": FOLDER}, owner=Ownership(uid=5, gid=6))
    plan.add_source(context.find("src")[0], "/app", context)
    assert sorted(plan.entries) == [
        b"app/a.py",
        b"app/b.txt",
        b"app/deep",
        b"app/deep/c.py",
        b"app/link",
    ]
    assert plan.entries[b"app/a.py"] == Entry(kind=Kind.FILE, mode=0o755, uid=5, gid=6)
    assert plan.contents[b"app/a.py"] == folder / "src/a.py"


def test_target_follows_links_of_the_image() -> None:
    plan = CopyPlan(root={b"usr": FOLDER, b"usr/lib": FOLDER, b"lib": link(b"usr/lib")})
    plan.add_text("/lib/new/x", b"1")
    assert list(plan.entries) == [b"usr/lib/new", b"usr/lib/new/x"]


def test_links_cannot_lead_out_of_the_root() -> None:
    root = {b"up": link(b"../../etc"), b"abs": link(b"/etc/x"), b"loop": link(b"loop")}
    assert real_path(root.get, "/up/passwd") == b"etc/passwd"
    assert real_path(root.get, "/abs") == b"etc/x"
    with pytest.raises(BuildError, match="too many links"):
        real_path(root.get, "/loop/x")


def test_a_file_over_a_folder_is_refused(folder: Path) -> None:
    context = BuildContext(folder)
    with pytest.raises(BuildError, match="cannot put a file"):
        CopyPlan(root={b"d": FOLDER}).add_text("/d", b"")
    with pytest.raises(BuildError, match="not a folder"):
        CopyPlan(root={b"d": FILE}).add_source(context.find("src")[0], "/d", context)


def test_mode_applies_to_files_not_to_folders_above(folder: Path) -> None:
    context = BuildContext(folder)
    plan = CopyPlan(root={}, owner=Ownership(mode=0o600))
    plan.add_source(context.find("src/a.py")[0], "/new/a", context)
    assert plan.entries[b"new"].mode == 0o755
    assert plan.entries[b"new/a"].mode == 0o600


def test_digest_changes_with_bytes_modes_and_names(folder: Path) -> None:
    def digest() -> str:
        context = BuildContext(folder)
        plan = CopyPlan(root={})
        plan.add_source(context.find("src")[0], "/x", context)
        return plan.digest()

    seen = {digest()}
    (folder / "src/a.py").write_text("changed")
    seen.add(digest())
    (folder / "src/a.py").chmod(0o600)
    seen.add(digest())
    (folder / "src/a.py").rename(folder / "src/z.py")
    seen.add(digest())
    assert len(seen) == 4
