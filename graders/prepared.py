"""What all grades of one task share: views of its two images, its damage set, its mirror layer.

Made once per process, back end and certificate; a grade afterwards loads no manifest again.
"""

from __future__ import annotations

import os.path
import threading
import weakref
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Protocol

from cligym.errors import GraderError
from cligym.graders.damage import Damage, DamageClass
from cligym.graders.hooks import search_path
from cligym.graders.path_kinds import is_bytecode, is_python_source, is_test_side
from cligym.graders.tree import ImageTree
from cligym.sandboxes.base import Backend, Capture
from cligym.sandboxes.entry import ChangeSet, Entry, Kind, Manifest, decode_path
from cligym.sandboxes.image import Image
from cligym.tasks.certificate import Certificate, DamageRecord

__all__ = [
    "GradingBackend",
    "ImageDiffer",
    "Prepared",
    "damage_from_records",
    "damage_records",
    "forget",
    "image_tree",
    "oracle_entries",
    "prepare",
    "stale_bytecode",
]


class ImageDiffer(Protocol):
    """The part of an image store that graders need."""

    @property
    def root(self) -> Path:
        """Its folder for one id map, below `CLIGYM_HOME`."""

    def diff(self, gold: Image, damaged: Image) -> ChangeSet:
        """What `damaged` has changed or deleted against `gold`."""


class GradingBackend(Backend, Protocol):
    """A back end that also shows images from outside, as graders need it."""

    @property
    def store(self) -> ImageDiffer:
        """Its image store."""

    def manifest(self, image: Image, overlays: tuple[Capture, ...] = ()) -> Manifest:
        """Every path of an image with captures laid over it."""

    def read_file(self, image: Image, path: bytes, *, limit_bytes: int = ...) -> bytes:
        """Bytes of a regular file of an image."""

    def overlay_from_image(
        self, image: Image, paths: Iterable[bytes], *, over: Image, deleted: Iterable[bytes] = ()
    ) -> Capture:
        """A layer for `over` that makes `paths` what they are in `image`."""


class Prepared:
    """One task's images, ready to grade attempts on.

    Attributes:
        gold_image: the healthy image.
        damaged_image: the damaged image.
        gold: its files.
        damaged: its files.
        damages: the classified damage set.
        paths: its paths.
        judged: those of them that `find_residue` judges.
        search: the folders of the tests' `PATH`.
    """

    def __init__(
        self,
        gold_image: Image,
        damaged_image: Image,
        damages: tuple[Damage, ...],
        env_path: str,
        backend: GradingBackend,
    ) -> None:
        self.gold_image = gold_image
        self.damaged_image = damaged_image
        self.damages = damages
        self.backend = backend
        self.gold = image_tree(gold_image, backend)
        self.damaged = image_tree(damaged_image, backend)
        self.paths = frozenset(damage.path for damage in damages)
        free = (DamageClass.CLEANUP, DamageClass.BY_PRODUCT)
        self.judged = frozenset(d.path for d in damages if d.class_ not in free)
        self.search = search_path(env_path)
        self._mirror: Capture | None = None
        self._mirror_made = False
        self._lock = threading.Lock()

    def mirror(self) -> Capture | None:
        """The layer over the damaged image that every state has on top of it, or None.

        Test-side damage becomes gold's again, bytecode that gold does not have goes, and so does
        gold's own bytecode of sources that were damaged: it could hide what is in them now.
        """
        with self._lock:
            if not self._mirror_made:
                self._mirror = self._make_mirror()
                self._mirror_made = True
            return self._mirror

    def _make_mirror(self) -> Capture | None:
        restored: set[bytes] = set()
        deleted: set[bytes] = set()
        for damage in self.damages:
            path = damage.path
            if is_bytecode(path):
                folder = damage.damaged is not None and damage.damaged.kind is Kind.DIRECTORY
                if damage.damaged is not None and not folder:
                    deleted.add(path)
            elif is_test_side(path):
                (deleted if damage.gold is None else restored).add(path)
            elif is_python_source(path):
                deleted |= stale_bytecode(path, self.damaged)
        for path in tuple(restored):
            restored |= {p for p in _folders_above(path) if self.damaged.entry(p) is None}
        deleted -= restored
        if not restored and not deleted:
            return None
        return self.backend.overlay_from_image(
            self.gold_image, sorted(restored), over=self.damaged_image, deleted=sorted(deleted)
        )

    def close(self) -> None:
        """Frees the mirror layer; idempotent."""
        with self._lock:
            mirror, self._mirror, self._mirror_made = self._mirror, None, False
        if mirror is not None:
            mirror.close()


def image_tree(image: Image, backend: GradingBackend) -> ImageTree:
    """The files of an image, seen from outside."""
    return ImageTree(
        partial(backend.manifest, image),
        lambda path, limit: backend.read_file(image, path, limit_bytes=limit),
    )


def stale_bytecode(source: bytes, tree: ImageTree) -> set[bytes]:
    """The .pyc files in `tree` that an interpreter may take for the source at `source`."""
    folder, name = os.path.split(source)
    cache = folder + b"/__pycache__" if folder else b"__pycache__"
    stem = name.removesuffix(b".py") + b"."
    return {path for path in tree.bytecode(cache) if os.path.basename(path).startswith(stem)}


def _folders_above(path: bytes) -> Iterable[bytes]:
    while path := os.path.dirname(path):
        yield path


def damage_records(damages: Iterable[Damage]) -> list[DamageRecord]:
    """The damage set as a certificate holds it."""
    return [
        DamageRecord(
            path=damage.path.decode("utf-8", "surrogateescape"),
            damage_class=damage.class_.value,
            gold=None if damage.gold is None else damage.gold.to_json(),
            damaged=None if damage.damaged is None else damage.damaged.to_json(),
            detail=damage.detail,
        )
        for damage in damages
    ]


def damage_from_records(records: Iterable[DamageRecord]) -> tuple[Damage, ...]:
    """The inverse of `damage_records`."""
    return tuple(
        Damage(
            path=decode_path(record.path),
            class_=DamageClass(record.damage_class),
            gold=None if record.gold is None else Entry.from_json(record.gold),
            damaged=None if record.damaged is None else Entry.from_json(record.damaged),
            detail=record.detail,
        )
        for record in records
    )


_Key = tuple[str, str, str]
# By store, not by back end: a back end that was closed, or forked, comes back with a new store,
# and the layers of the old one are gone.
_CACHE: weakref.WeakKeyDictionary[ImageDiffer, dict[_Key, Prepared]] = weakref.WeakKeyDictionary()
_CACHE_LOCK = threading.Lock()
_CACHE_MAX = 64
"""Tasks kept per back end."""


def prepare(
    gold_image: Image, damaged_image: Image, certificate: Certificate, backend: GradingBackend
) -> Prepared:
    """The shared part of all grades of one certified task in this process.

    Raises:
        GraderError: the certificate is for other images.
    """
    if (certificate.gold_digest, certificate.damaged_digest) != (
        gold_image.digest,
        damaged_image.digest,
    ):
        raise GraderError(f"the certificate of {certificate.task_id} is for other images")
    if certificate.tests is None:
        raise GraderError(f"the certificate of {certificate.task_id} knows no tests")
    key = (certificate.task_digest, gold_image.digest, damaged_image.digest)
    store = backend.store
    with _CACHE_LOCK:
        mine = _CACHE.setdefault(store, {})
        found = mine.get(key)
        if found is None:
            damages = damage_from_records(certificate.damage)
            env_path = certificate.tests.env.get("PATH", "")
            found = Prepared(gold_image, damaged_image, damages, env_path, backend)
            if len(mine) >= _CACHE_MAX:
                mine.pop(next(iter(mine)))
            mine[key] = found
        return found


def forget(
    task_digest: str, gold_image: Image, damaged_image: Image, backend: GradingBackend
) -> None:
    """Drops what `prepare` keeps for a task: its damage is judged anew."""
    with _CACHE_LOCK:
        key = (task_digest, gold_image.digest, damaged_image.digest)
        found = _CACHE.get(backend.store, {}).pop(key, None)
    if found is not None:
        found.close()


def oracle_entries(certificate: Certificate) -> Mapping[bytes, Entry | None]:
    """What a certified oracle left where it did not leave gold's state."""
    return {
        decode_path(path): None if row is None else Entry.from_json(row)
        for path, row in certificate.oracle_left.items()
    }
