"""Layers on disk: unpacked trees with their change sets, named by what they hold.

A layer comes to be by one rename of a finished folder, so a kill at any moment leaves a layer or
nothing. An unfinished folder is locked while its maker lives and swept away afterwards. Images from
elsewhere (archives now, registries later) enter through `take_tar`.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import secrets
import shutil
import tempfile
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import IO, TYPE_CHECKING

from cligym.errors import ImageError
from cligym.sandboxes.atomic_file import file_lock, sync_folder, try_file_lock, write_atomically
from cligym.sandboxes.entry import ChangeSet, Entry, Manifest
from cligym.sandboxes.layer_form import layer_changes, layer_pieces
from cligym.sandboxes.tar_writer import give_all_to_root

if TYPE_CHECKING:
    from cligym.sandboxes.keeper import Keeper

__all__ = ["DIGEST_PREFIX", "LayerStore", "without_owners"]

DIGEST_PREFIX = "sha256:"
_UNFINISHED = ".new-"
_RECENT = 16  # parsed change sets kept: reading single files of an image asks for them often


class LayerStore:
    """The layers of one id map.

    Args:
        root: the store's folder for this id map.
        keeper: makes, reads and deletes the trees.
    """

    def __init__(self, root: Path, keeper: Keeper) -> None:
        self._folder = root / "layers"
        self._lock_path = root / "layers.lock"
        self._keeper = keeper
        self._recent: OrderedDict[str, ChangeSet] = OrderedDict()
        self._recent_lock = Lock()
        self._folder.mkdir(mode=0o755, parents=True, exist_ok=True)

    def has(self, digest: str) -> bool:
        """True when the layer is here, whole."""
        return (self._of(digest) / "manifest.json").exists()

    def tree(self, digest: str) -> Path:
        """The unpacked tree of a layer.

        Raises:
            ImageError: the layer is not here.
        """
        if not self.has(digest):
            raise self._missing(digest)
        return self._of(digest) / "tree"

    def manifest_text(self, digest: str) -> bytes:
        """The canonical JSON of a layer's change set.

        Raises:
            ImageError: the layer is not here.
        """
        try:
            return (self._of(digest) / "manifest.json").read_bytes()
        except FileNotFoundError as error:
            raise self._missing(digest) from error

    def changes(self, digest: str) -> ChangeSet:
        """What a layer says about its paths (folders above its changes included).

        Raises:
            ImageError: the layer is not here.
        """
        with self._recent_lock:
            known = self._recent.get(digest)
        if known is None:
            known = ChangeSet.from_json(json.loads(self.manifest_text(digest)))
            with self._recent_lock:
                self._recent[digest] = known
                while len(self._recent) > _RECENT:
                    self._recent.popitem(last=False)
        return known

    def add(self, parent: Manifest, tree: Path | str, changes: ChangeSet) -> str:
        """Takes in the changes of an upper directory in their normal form; the layer's digest.

        Args:
            parent: the root below.
            tree: holds the bytes of the changed files; stays as it is.
            changes: what differs from `parent`.
        """
        full = layer_changes(parent, changes)
        digest = full.digest
        if not self.has(digest):
            with self._workplace() as work:
                pieces = layer_pieces(full, self._keeper.inside(tree))
                self._keeper.compose(work / "tree", pieces)
                self._finish(work, full, digest)
        return digest

    def take_tar(self, stream: IO[bytes], changes: ChangeSet, digest: str) -> None:
        """Unpacks a foreign layer and takes it in if it is exactly what `changes` says.

        Args:
            stream: a real file with a tar archive, whiteouts as in OCI layers.
            changes: its change set.
            digest: the name it must have.

        Raises:
            ImageError: the bytes do not fit the change set, or that not the name.
        """
        if changes.digest != digest:
            raise ImageError(f"layer {digest}: its manifest belongs to {changes.digest}")
        if not self.has(digest):
            with self._workplace() as work:
                self._unpack(stream, work)
                self._verify(work / "tree", changes, digest)
                self._finish(work, changes, digest)

    def take_root(self, stream: IO[bytes], key: str = "") -> str:
        """Unpacks an archive of a whole root, or of a root's own part, as a bottom layer.

        Args:
            stream: a real file with a tar archive without whiteouts.
            key: a name of our own instead of the layer's digest (`build_site.py`).

        Returns:
            the layer's name.
        """
        with self._workplace() as work:
            self._unpack(stream, work)
            scan = self._keeper.walk(work / "tree")
            changes = ChangeSet(scan.changed)
            name = key or changes.digest
            self._finish(work, changes, name)
        return name

    @contextmanager
    def unpacked(self, stream: IO[bytes]) -> Iterator[Path]:
        """A tree with the contents of an archive, for as long as it is needed."""
        with self._workplace() as work:
            self._unpack(stream, work)
            yield work / "tree"

    def ages_s(self) -> dict[str, float]:
        """Every finished layer and how long ago it was made, in seconds."""
        now = time.time()
        found: dict[str, float] = {}
        for path in self._folder.glob("[!.]*/manifest.json"):
            name = path.parent.name
            digest = name if "-" in name else DIGEST_PREFIX + name
            with contextlib.suppress(FileNotFoundError):
                found[digest] = now - path.stat().st_mtime
        return found

    def drop(self, digest: str) -> None:
        """Removes a layer; missing is fine. The caller knows that nobody uses it."""
        with self._recent_lock:
            self._recent.pop(digest, None)
        doomed = self._folder / f"{_UNFINISHED}{secrets.token_hex(8)}"
        with file_lock(self._lock_path):
            try:
                self._of(digest).rename(doomed)  # no layer any more, also if we are killed now
            except FileNotFoundError:
                return
            self._discard(doomed)

    @contextmanager
    def _workplace(self) -> Iterator[Path]:
        """A folder for one unfinished layer, locked while this process lives."""
        with file_lock(self._lock_path):
            self._sweep()
            work = self._folder / f"{_UNFINISHED}{secrets.token_hex(8)}"
            work.mkdir(mode=0o755)
            ids = self._keeper.id_map
            if ids.by_root:  # host root does not exist in the keeper's namespace
                os.chown(work, ids.uid_base, ids.gid_base)
            lock = try_file_lock(work / "lock")
        try:
            yield work
        finally:
            if work.exists():
                with file_lock(self._lock_path):  # or a sweep would see it half gone
                    self._discard(work)
            if lock is not None:
                os.close(lock)

    def _sweep(self) -> None:
        """Removes what killed processes left; the caller holds the store's lock."""
        for work in self._folder.glob(f"{_UNFINISHED}*"):
            try:
                lock = try_file_lock(work / "lock", make=False)
            except FileNotFoundError:
                # It has just become a layer, or whoever made it was killed before it had a lock.
                if work.exists():
                    self._discard(work)
                continue
            if lock is not None:
                self._discard(work)
                os.close(lock)

    def _unpack(self, stream: IO[bytes], work: Path) -> None:
        self._keeper.make_tree(work / "tree")
        stream.flush()
        stream.seek(0)
        if self._keeper.has_id_range:
            self._keeper.unpack_tar(stream.fileno(), work / "tree")
            return
        with tempfile.TemporaryFile() as squashed:  # no other owner can exist there
            give_all_to_root(stream, squashed)
            self._keeper.unpack_tar(squashed.fileno(), work / "tree")

    def _discard(self, folder: Path) -> None:
        self._keeper.remove_tree(folder / "tree")
        shutil.rmtree(folder, ignore_errors=True)

    def _finish(self, work: Path, changes: ChangeSet, digest: str) -> None:
        text = json.dumps(changes.to_json(), separators=(",", ":"), sort_keys=True)
        write_atomically(work / "manifest.json", text.encode())
        try:
            work.rename(self._of(digest))
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
            return  # another process was faster; `_workplace` removes ours
        (self._of(digest) / "lock").unlink(missing_ok=True)
        sync_folder(self._folder)

    def _verify(self, tree: Path | str, changes: ChangeSet, digest: str) -> None:
        scan = self._keeper.walk(tree)
        found, wanted = dict(scan.changed), dict(changes.changed)
        if not self._keeper.has_id_range:  # every owner is root there; the manifest knows better
            found, wanted = without_owners(found), without_owners(wanted)
        marks = {piece.path for piece in layer_pieces(changes, "") if piece.entry is None}
        odd = {path for path in {*found, *wanted} if found.get(path) != wanted.get(path)}
        odd |= marks ^ set(scan.whiteouts)
        odd |= set(scan.opaque)
        if odd:
            raise ImageError(f"layer {digest}: its files differ from its manifest at {min(odd)!r}")

    def _of(self, digest: str) -> Path:
        return self._folder / digest.removeprefix(DIGEST_PREFIX)

    def _missing(self, digest: str) -> ImageError:
        return ImageError(f"layer {digest} is not in the store at {self._folder}")


def without_owners(entries: Manifest) -> dict[bytes, Entry]:
    """The same with root as every owner: what a box with one user sees."""
    return {path: replace(entry, uid=0, gid=0) for path, entry in entries.items()}
