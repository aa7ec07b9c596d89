"""What package managers recorded about the files they put down: dpkg, pip and conda.

A record excuses a difference only if the file's bytes match it, and only for packages that are
new, or at another version, compared with gold. Records are read from the damaged image, which the
task's author controls and the agent does not.
"""

from __future__ import annotations

import base64
import binascii
import csv
import hashlib
import json
import os.path
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from cligym.graders.tree import ImageTree, absolute, resolve
from cligym.sandboxes.entry import Entry, Kind

__all__ = ["PackageRecords", "Recorded", "read_package_records"]

_DPKG_INFO = b"var/lib/dpkg/info/"
_DPKG_STATUS = b"var/lib/dpkg/status"
_CONDA_META = b"/conda-meta/"
_RECORD = b".dist-info/RECORD"


@dataclass(frozen=True, slots=True)
class Recorded:
    """What one package recorded about one path.

    Attributes:
        package: package and version, for the evidence.
        algorithm: `md5` or `sha256`; "" when the record holds no hash (folders, links, bytecode).
        digest: hex digest, or "".
    """

    package: str
    algorithm: str = ""
    digest: str = ""


@dataclass(frozen=True, slots=True)
class PackageRecords:
    """Every path that packages new or changed in the damaged image recorded.

    Attributes:
        paths: what the damaged image's packages recorded, of packages new or changed there.
        replaced: what gold's packages recorded, of packages at another version in damaged.
    """

    paths: Mapping[bytes, Recorded] = field(default_factory=dict)
    replaced: Mapping[bytes, Recorded] = field(default_factory=dict)

    def owner(self, path: bytes, gold: ImageTree, damaged: ImageTree) -> str:
        """The package whose own record vouches for what the damage left at `path`, or ""."""
        entry = damaged.entry(path)
        if entry is not None:
            return _vouched(path, entry, self.paths, damaged)
        old = gold.entry(path)  # a file of the old version that an upgrade took away
        return _vouched(path, old, self.replaced, gold) if old is not None else ""


def _vouched(path: bytes, entry: Entry, paths: Mapping[bytes, Recorded], tree: ImageTree) -> str:
    recorded = paths.get(path)
    if recorded is None:
        return ""
    if entry.kind is Kind.DIRECTORY:
        return recorded.package
    if entry.kind is Kind.SYMLINK:
        target = absolute(path, entry.target)
        real = resolve(tree, target)
        return recorded.package if target in paths or (real or b"") in paths else ""
    if entry.kind is not Kind.FILE or not recorded.digest:
        return ""
    if recorded.algorithm == "sha256":
        return recorded.package if recorded.digest == entry.digest else ""
    actual = hashlib.new(recorded.algorithm, tree.read(path), usedforsecurity=False).hexdigest()
    return recorded.package if actual == recorded.digest else ""


def read_package_records(gold: ImageTree, damaged: ImageTree) -> PackageRecords:
    """The records of all packages that are new or at another version in the damaged image."""
    return PackageRecords(
        paths=_collect(damaged, gold, upgrades_only=False),
        replaced=_collect(gold, damaged, upgrades_only=True),
    )


def _collect(tree: ImageTree, other: ImageTree, *, upgrades_only: bool) -> dict[bytes, Recorded]:
    """Paths of the packages of `tree` that are not the same in `other`.

    With `upgrades_only`, of those that `other` has at another version, but has.
    """
    paths: dict[bytes, Recorded] = {}
    for reader in (_dpkg, _pip, _conda):
        for path, recorded in reader(tree, other, upgrades_only):
            old = paths.get(path)
            if old is None or (recorded.digest and not old.digest):
                paths[path] = recorded
    return paths


# --- dpkg -------------------------------------------------------------------------------------


def _dpkg(
    tree: ImageTree, other: ImageTree, upgrades_only: bool
) -> Iterator[tuple[bytes, Recorded]]:
    there = _dpkg_status(other)
    for name, (version, conffiles) in _dpkg_status(tree).items():
        if there[name][0] == version if name in there else upgrades_only:
            continue
        label = f"{name} {version} (dpkg)"
        info = _DPKG_INFO + os.fsencode(name.split(":")[0])
        arch = os.fsencode(":" + name.split(":")[1])
        for suffix in (b"", arch):
            for line in _text(tree, info + suffix + b".list").split(b"\n"):
                yield from _recorded(tree, line, Recorded(label))
            for line in _text(tree, info + suffix + b".md5sums").split(b"\n"):
                md5, _, path = line.partition(b"  ")
                known = Recorded(label, "md5", md5.decode("ascii", "replace"))
                yield from _recorded(tree, path, known)
        for path, digest in conffiles:
            yield from _recorded(tree, path, Recorded(label, "md5", digest))


def _dpkg_status(tree: ImageTree) -> dict[str, tuple[str, list[tuple[bytes, str]]]]:
    """`name:architecture` -> (version, conffiles with md5) of the installed packages."""
    text = _text(tree, _DPKG_STATUS)
    packages: dict[str, tuple[str, list[tuple[bytes, str]]]] = {}
    for stanza in text.split(b"\n\n"):
        fields: dict[bytes, bytes] = {}
        conffiles: list[tuple[bytes, str]] = []
        key = b""
        for line in stanza.split(b"\n"):
            if line[:1] in (b" ", b"\t"):
                words = line.split()
                if key == b"Conffiles" and len(words) >= 2:
                    conffiles.append((words[0], words[1].decode("ascii", "replace")))
                continue
            key, _, value = line.partition(b":")
            fields[key] = value.strip()
        if fields.get(b"Status", b"").endswith(b" installed"):
            name = fields.get(b"Package", b"") + b":" + fields.get(b"Architecture", b"")
            version = fields.get(b"Version", b"").decode("utf-8", "replace")
            packages[name.decode("utf-8", "replace")] = (version, conffiles)
    return packages


# --- pip --------------------------------------------------------------------------------------


def _pip(
    tree: ImageTree, other: ImageTree, upgrades_only: bool
) -> Iterator[tuple[bytes, Recorded]]:
    projects = {_project(record) for record in _files_ending(other, _RECORD)}
    for record in _files_ending(tree, _RECORD):
        folder = os.path.dirname(record)  # …/site-packages/NAME-VERSION.dist-info
        if other.entry(record) is not None:
            continue  # the folder's name holds name and version: the same package
        if upgrades_only and _project(record) not in projects:
            continue
        label = os.path.basename(folder).removesuffix(b".dist-info").decode("utf-8", "replace")
        yield record, Recorded(f"{label} (pip)", "sha256", tree.manifest[record].digest)
        yield folder, Recorded(f"{label} (pip)")
        yield from _pip_rows(tree, record, os.path.dirname(folder), f"{label} (pip)")


def _project(record: bytes) -> bytes:
    """Site folder and project of a RECORD, without the version."""
    return os.path.dirname(record).rpartition(b"-")[0].lower()


def _pip_rows(
    tree: ImageTree, record: bytes, site: bytes, label: str
) -> Iterator[tuple[bytes, Recorded]]:
    lines = _text(tree, record).decode("utf-8", "surrogateescape").splitlines()
    try:
        rows = list(csv.reader(lines))
    except csv.Error:
        return
    for row in rows:
        name = os.fsencode(row[0]) if row else b""
        if not name or name.startswith(b"/") or b".." in name.split(b"/"):
            # Scripts are recorded as ../../../bin/x; a record that may point outside its own
            # folder could excuse any file (FACTS.md 2.2, hole 25), so scripts stay required.
            continue
        digest = _urlsafe_sha256(row[1]) if len(row) > 1 else ""
        yield site + b"/" + name, Recorded(label, "sha256" if digest else "", digest)
        for parent in _parents(name):
            yield site + b"/" + parent, Recorded(label)


def _urlsafe_sha256(text: str) -> str:
    algorithm, _, value = text.partition("=")
    if algorithm != "sha256":
        return ""
    try:
        return base64.urlsafe_b64decode(value + "=" * (-len(value) % 4)).hex()
    except (binascii.Error, ValueError):
        return ""


# --- conda ------------------------------------------------------------------------------------


def _conda(
    tree: ImageTree, other: ImageTree, upgrades_only: bool
) -> Iterator[tuple[bytes, Recorded]]:
    projects = {_conda_project(record) for record in _files_ending(other, b".json")}
    for record in _files_ending(tree, b".json"):
        prefix, mark, name = record.rpartition(_CONDA_META)
        if not mark or b"/" in name or other.entry(record) is not None:
            continue  # the file's name holds name, version and build: the same package
        if upgrades_only and _conda_project(record) not in projects:
            continue
        try:
            value = json.loads(_text(tree, record))
            rows = value["paths_data"]["paths"]
            label = f"{value['name']} {value['version']} (conda)"
        except (ValueError, KeyError, TypeError, RecursionError):
            continue
        yield record, Recorded(label, "sha256", tree.manifest[record].digest)
        for row in rows if isinstance(rows, list) else []:
            yield from _conda_row(prefix, row, label)


def _conda_project(record: bytes) -> bytes:
    """Prefix and name of a conda-meta file NAME-VERSION-BUILD.json."""
    return b"-".join(record.split(b"-")[:-2]) if _CONDA_META in record else b""


def _conda_row(prefix: bytes, row: object, label: str) -> Iterator[tuple[bytes, Recorded]]:
    if not isinstance(row, dict) or not isinstance(row.get("_path"), str):
        return
    name = os.fsencode(row["_path"])
    if name.startswith(b"/") or b".." in name.split(b"/"):
        return
    # sha256_in_prefix is the hash after conda wrote the prefix into the file.
    digest = row.get("sha256_in_prefix") or row.get("sha256") or ""
    known = isinstance(digest, str) and bool(digest)
    yield prefix + b"/" + name, Recorded(label, "sha256" if known else "", digest if known else "")
    for parent in _parents(name):
        yield prefix + b"/" + parent, Recorded(label)


# --- shared -----------------------------------------------------------------------------------


def _recorded(tree: ImageTree, name: bytes, recorded: Recorded) -> Iterator[tuple[bytes, Recorded]]:
    """The recorded path, also as it is reached through merged /usr (`/lib` -> `usr/lib`)."""
    path = name.strip().lstrip(b"/")
    if not path or path == b"." or b".." in path.split(b"/"):
        return
    yield path, recorded
    folder, base = os.path.split(path)
    top = path.split(b"/")[0]
    top_entry = tree.entry(top)
    if folder and top_entry is not None and top_entry.kind is Kind.SYMLINK:
        real = resolve(tree, folder)
        if real:
            yield real + b"/" + base, recorded


def _parents(name: bytes) -> Iterator[bytes]:
    folder = os.path.dirname(name)
    while folder:
        yield folder
        folder = os.path.dirname(folder)


def _files_ending(tree: ImageTree, suffix: bytes) -> Iterator[bytes]:
    for path, entry in tree.manifest.items():
        if entry.kind is Kind.FILE and path.endswith(suffix):
            yield path


def _text(tree: ImageTree, path: bytes) -> bytes:
    entry = tree.entry(path)
    return tree.read(path) if entry is not None and entry.kind is Kind.FILE else b""
