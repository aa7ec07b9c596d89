"""The classes of the damage set: both sides of each line, and the order of the lines."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Mapping

import pytest

from cligym.graders.damage import Damage, DamageClass, classify_damage, demote, inert_candidates
from cligym.graders.hooks import search_path
from cligym.graders.tree import ImageTree
from cligym.sandboxes.entry import ChangeSet, Entry, Kind

MakeTree = Callable[[Mapping[str, bytes | Entry]], ImageTree]
Files = dict[str, bytes | Entry]
SEARCH = search_path("/usr/local/bin:/usr/bin")
SITE = "usr/lib/python3/site-packages"
GOLD: Files = {
    "testbed/pkg/core.py": b"x = 1\n",
    "testbed/pkg/data.json": b"{}",
    "usr/bin/git": Entry(kind=Kind.FILE, mode=0o755, digest="g", size=9),
    "usr/lib/json/__init__.py": b"import real\n",
    "etc/hosts.conf": b"a\n",
}


def damages(make_tree: MakeTree, changed: Files, gold: Files | None = None) -> dict[str, Damage]:
    """The classes after `changed` is laid over gold; None values delete."""
    healthy = make_tree(GOLD | (gold or {}))
    files = GOLD | (gold or {}) | changed
    broken = make_tree({p: v for p, v in files.items() if v != b"<gone>"})
    old, new = healthy.manifest, broken.manifest
    difference = ChangeSet(
        {path: entry for path, entry in new.items() if old.get(path) != entry},
        frozenset(set(old) - set(new)),
    )
    found = classify_damage(difference, healthy, broken, search=SEARCH)
    return {damage.path.decode(): damage for damage in found}


GONE = b"<gone>"


@pytest.mark.parametrize(
    "path",
    [
        "testbed/.git/config",
        "root/.cache/pip/x",
        "root/.conda/envs.txt",
        "opt/miniconda3/pkgs/x.conda",
        "var/cache/apt/x.bin",
        "var/lib/apt/lists/x",
        "var/log/boot.log",
        "usr/share/doc/x/README",
        "usr/share/man/man1/x.1",
    ],
)
def test_cleanup_is_only_what_is_gone(make_tree: MakeTree, path: str) -> None:
    gone = damages(make_tree, {path: GONE}, {path: b"old"})
    assert gone[path].class_ is DamageClass.CLEANUP
    kept = damages(make_tree, {path: b"new"}, {path: b"old"})
    by_product = path.startswith(("var/cache/apt", "var/lib/apt"))
    assert kept[path].class_ is (DamageClass.BY_PRODUCT if by_product else DamageClass.REQUIRED)


@pytest.mark.parametrize("path", ["testbed/pkgs/x", "srv/git/x", "usr/share/docs/x", "var/logs/x"])
def test_near_misses_of_cleanup(make_tree: MakeTree, path: str) -> None:
    assert damages(make_tree, {path: GONE}, {path: b"old"})[path].class_ is DamageClass.REQUIRED


@pytest.mark.parametrize(
    "path",
    [
        "var/lib/dpkg/status",
        "var/lib/apt/extended_states",
        "opt/miniconda3/conda-meta/history",
        "etc/passwd-",
        "etc/.pwd.lock",
        "root/.bash_history",
        "var/log/dpkg.log",
    ],
)
def test_by_products(make_tree: MakeTree, path: str) -> None:
    assert damages(make_tree, {path: b"new"})[path].class_ is DamageClass.BY_PRODUCT


@pytest.mark.parametrize("path", ["etc/passwd", "opt/x/history", "etc/pwd.lock", "var/log/my.log"])
def test_near_misses_of_by_products(make_tree: MakeTree, path: str) -> None:
    found = damages(make_tree, {path: b"new"}, {path: b"old"})
    assert found[path].class_ is DamageClass.REQUIRED


def dpkg(version: str, content: bytes) -> Files:
    md5 = hashlib.md5(content).hexdigest()
    stanza = f"Package: tool\nStatus: install ok installed\nArchitecture: all\nVersion: {version}\n"
    return {
        "var/lib/dpkg/status": stanza.encode(),
        "var/lib/dpkg/info/tool.list": b"/.\n/usr\n/usr/lib/tool.so.1\n/usr/lib/tool.so\n",
        "var/lib/dpkg/info/tool.md5sums": f"{md5}  usr/lib/tool.so.1\n".encode(),
    }


def link(target: bytes) -> Entry:
    return Entry(kind=Kind.SYMLINK, mode=0o777, target=target)


def test_a_new_debian_package_vouches_for_its_own_bytes(make_tree: MakeTree) -> None:
    files = dpkg("1", b"lib") | {"usr/lib/tool.so.1": b"lib", "usr/lib/tool.so": link(b"tool.so.1")}
    found = damages(make_tree, files)
    assert found["usr/lib/tool.so.1"].class_ is DamageClass.PACKAGE
    assert found["usr/lib/tool.so"].class_ is DamageClass.PACKAGE
    poisoned = damages(make_tree, files | {"usr/lib/tool.so.1": b"evil"})
    assert poisoned["usr/lib/tool.so.1"].class_ is DamageClass.REQUIRED
    elsewhere = damages(make_tree, files | {"usr/lib/tool.so": link(b"/tmp/evil.so")})
    assert elsewhere["usr/lib/tool.so"].class_ is DamageClass.REQUIRED


def test_a_package_at_gold_s_version_vouches_for_nothing(make_tree: MakeTree) -> None:
    gold = dpkg("1", b"lib") | {"usr/lib/tool.so.1": b"lib"}
    forged = dpkg("1", b"evil") | {"usr/lib/tool.so.1": b"evil"}
    found = damages(make_tree, forged, gold)
    assert found["usr/lib/tool.so.1"].class_ is DamageClass.REQUIRED


def test_an_upgrade_also_explains_what_it_took_away(make_tree: MakeTree) -> None:
    gold = dpkg("1", b"lib") | {"usr/lib/tool.so.1": b"lib"}
    upgraded = dpkg("2", b"new") | {"usr/lib/tool.so.1": GONE}
    assert damages(make_tree, upgraded, gold)["usr/lib/tool.so.1"].class_ is DamageClass.PACKAGE
    removed: Files = {"var/lib/dpkg/status": b"", "usr/lib/tool.so.1": GONE}
    assert damages(make_tree, removed, gold)["usr/lib/tool.so.1"].class_ is DamageClass.REQUIRED


def record(rows: Mapping[str, bytes]) -> bytes:
    lines = []
    for name, content in rows.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        lines.append(f'"{name}",sha256={digest},{len(content)}')
    return "\n".join([*lines, "tool-1.dist-info/RECORD,,"]).encode()


def test_pip_records_vouch_without_traversal_and_without_hooks(make_tree: MakeTree) -> None:
    rows = {"tool/a.py": b"a", "tool.pth": b"import tool", "../../../bin/tool": b"script"}
    files: Files = {
        f"{SITE}/tool-1.dist-info/RECORD": record(rows),
        f"{SITE}/tool/a.py": b"a",
        f"{SITE}/tool.pth": b"import tool",
        "usr/bin/tool": b"script",
    }
    found = damages(make_tree, files)
    assert found[f"{SITE}/tool/a.py"].class_ is DamageClass.PACKAGE
    assert found[f"{SITE}/tool-1.dist-info/RECORD"].class_ is DamageClass.PACKAGE
    assert found[f"{SITE}/tool.pth"].class_ is DamageClass.REQUIRED
    assert found["usr/bin/tool"].class_ is DamageClass.REQUIRED
    poisoned = damages(make_tree, files | {f"{SITE}/tool/a.py": b"evil"})
    assert poisoned[f"{SITE}/tool/a.py"].class_ is DamageClass.REQUIRED


def test_conda_records_vouch(make_tree: MakeTree) -> None:
    paths = [
        {"_path": "bin/7z", "sha256_in_prefix": hashlib.sha256(b"7z").hexdigest()},
        {"_path": "../etc/x", "sha256": hashlib.sha256(b"x").hexdigest()},
    ]
    meta = {"name": "p7zip", "version": "16", "paths_data": {"paths": paths}}
    files: Files = {
        "opt/miniconda3/conda-meta/p7zip-16-0.json": json.dumps(meta).encode(),
        "opt/miniconda3/bin/7z": b"7z",
        "opt/etc/x": b"x",
    }
    found = damages(make_tree, files)
    assert found["opt/miniconda3/bin/7z"].class_ is DamageClass.PACKAGE
    assert found["opt/miniconda3/conda-meta/p7zip-16-0.json"].class_ is DamageClass.PACKAGE
    assert found["opt/etc/x"].class_ is DamageClass.REQUIRED
    garbage = damages(make_tree, files | {"opt/miniconda3/conda-meta/p7zip-16-0.json": b"[1"})
    assert garbage["opt/miniconda3/bin/7z"].class_ is DamageClass.REQUIRED


@pytest.mark.parametrize(
    ("path", "class_"),
    [
        ("usr/lib/.hidden/core.py", DamageClass.COPY),
        ("usr/lib/core.py.bak", DamageClass.COPY),
        ("usr/lib/core_backup.py", DamageClass.COPY),
        ("etc/core.bak", DamageClass.COPY),
        ("etc/core.conf", DamageClass.REQUIRED),
        ("testbed/pkg/json.py", DamageClass.REQUIRED),
        ("usr/local/lib/evil.pth", DamageClass.REQUIRED),
    ],
)
def test_copies(make_tree: MakeTree, path: str, class_: DamageClass) -> None:
    found = damages(make_tree, {path: GOLD["testbed/pkg/core.py"]}, {"usr/local/lib/x": b"y"})
    assert found[path].class_ is class_


def test_an_empty_file_is_no_copy(make_tree: MakeTree) -> None:
    found = damages(make_tree, {"testbed/empty.py": b""}, {"usr/lib/e.py": b""})
    assert found["testbed/empty.py"].class_ is DamageClass.REQUIRED


def test_a_program_copied_in_front_of_gold_s_is_required(make_tree: MakeTree) -> None:
    wrapper: Files = {"usr/local/bin/git": Entry(kind=Kind.FILE, mode=0o755, digest="g", size=9)}
    found = damages(make_tree, wrapper, {"usr/local/bin/x": b"y"})
    assert found["usr/local/bin/git"].class_ is DamageClass.REQUIRED
    assert "PATH" in found["usr/local/bin/git"].detail


def test_comments_alone_are_no_damage_to_a_source(make_tree: MakeTree) -> None:
    found = damages(make_tree, {"testbed/pkg/core.py": b"x = 1  # hm\n"})
    assert found["testbed/pkg/core.py"].class_ is DamageClass.INERT
    found = damages(make_tree, {"testbed/pkg/core.py": b"x = 2\n"})
    assert found["testbed/pkg/core.py"].class_ is DamageClass.REQUIRED


def test_only_plain_additions_and_deletions_may_become_inert(make_tree: MakeTree) -> None:
    gold: Files = {
        "testbed/notes.txt": b"old",
        "testbed/old.bin": b"\x7fELF",
        "testbed/run": Entry(kind=Kind.FILE, mode=0o755, digest="r"),
        "etc/app.conf": b"x",
    }
    changed: Files = {
        "testbed/notes.txt": GONE,
        "testbed/old.bin": GONE,
        "testbed/run": GONE,
        "etc/app.conf": GONE,
        "testbed/pkg/data.json": b"{changed}",
        "testbed/hint.txt": b"look in /opt",
        "testbed/trap.py": b"x",
    }
    found = damages(make_tree, changed, gold)
    healthy = make_tree(GOLD | gold)
    broken = make_tree({p: v for p, v in (GOLD | gold | changed).items() if v != GONE})
    assert inert_candidates(found.values(), healthy, broken) == [
        b"testbed/hint.txt",
        b"testbed/notes.txt",
    ]
    after = {d.path: d.class_ for d in demote(found.values(), {b"testbed/hint.txt"}, "why")}
    assert after[b"testbed/hint.txt"] is DamageClass.INERT
    assert after[b"testbed/notes.txt"] is DamageClass.REQUIRED


def test_a_folder_that_holds_damage_may_stay_and_an_empty_one_is_judged(
    make_tree: MakeTree,
) -> None:
    found = damages(
        make_tree,
        {"etc/new/x": b"x", "srv/lock": Entry(kind=Kind.DIRECTORY, mode=0o755)},
    )
    assert found["etc/new"].class_ is DamageClass.INERT
    assert found["etc/new/x"].class_ is DamageClass.REQUIRED
    assert found["srv/lock"].class_ is DamageClass.REQUIRED
