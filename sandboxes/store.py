"""The image store: images, their layers and their names, shared by many processes.

    <home>/<id map>/layers/<hex>/tree            an unpacked layer, overlayfs form (`layer_form.py`)
    <home>/<id map>/layers/<hex>/manifest.json   its canonical change set: the truth and the name
    <home>/<id map>/images/<hex>.json            layers and configuration of an image
    <home>/<id map>/tags.json                    name -> image digest
    <home>/<id map>/roots/<hex>                  whole roots, a cache (`root_cache.py`)
    <home>/<id map>/builds/<hex>                 which instruction made which layer, a cache

The layers themselves are `layer_store.py`'s; archives are `image_archive.py`'s.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

from cligym.errors import ImageError
from cligym.sandboxes.atomic_file import file_lock, write_atomically
from cligym.sandboxes.entry import ChangeSet, Entry, Kind
from cligym.sandboxes.image import Image, ImageConfig, config_from_json
from cligym.sandboxes.image_archive import read_archive, write_archive
from cligym.sandboxes.image_names import canonical_name
from cligym.sandboxes.layer_store import DIGEST_PREFIX, LayerStore, without_owners
from cligym.sandboxes.manifest_rows import RowManifest
from cligym.sandboxes.root_cache import RootCache

if TYPE_CHECKING:
    from cligym.sandboxes.keeper import Keeper

__all__ = ["ImageStore"]

_MIN_PREFIX = 12


class ImageStore:
    """Images of one id map in one home folder (`CLIGYM_HOME`).

    Args:
        home: the folder for all of cligym's stored data.
        keeper: makes, reads and deletes the trees.
    """

    def __init__(self, home: Path, keeper: Keeper) -> None:
        self.root = home / keeper.map_key
        self.keeper = keeper
        self.layers = LayerStore(self.root, keeper)
        self._roots = RootCache(self.root / "roots", self._visible_changes)
        self._images = self.root / "images"
        self._images.mkdir(mode=0o755, exist_ok=True)

    def get(self, ref: str) -> Image:
        """The image of a tag, a digest, or at least 12 hex digits that one digest begins with.

        Raises:
            ImageError: no such image.
        """
        digest = self.tags().get(canonical_name(ref)) or self._full_digest(ref)
        if digest is None:
            known = ", ".join(sorted(self.tags())) or "none"
            raise ImageError(f"image {ref!r} is not in the store; images there: {known}")
        return self._read(digest)

    def tags(self) -> dict[str, str]:
        """Every tag and the digest of its image."""
        try:
            text = (self.root / "tags.json").read_text(encoding="utf-8")
        except FileNotFoundError:
            return {}
        return {str(name): str(digest) for name, digest in json.loads(text).items()}

    def tag(self, image: Image, name: str) -> None:
        """Stores the image and lets `name` mean it from now on."""
        with self.building():
            self.put(image)
            with self._locked():
                self._write_tags({**self.tags(), canonical_name(name): image.digest})

    def put(self, image: Image) -> Image:
        """Stores an image whose layers are here.

        Raises:
            ImageError: a layer is missing.
        """
        for layer in image.layers:
            self.layers.tree(layer)
        path = self._path(image.digest)
        if not path.exists():
            record = {"layers": image.layers, "config": asdict(image.config)}
            write_atomically(path, json.dumps(record, indent=1).encode())
        return image

    def images(self) -> list[Image]:
        """Every stored image, in the order of their digests."""
        names = sorted(path.stem for path in self._images.glob("[0-9a-f]*.json"))
        return [self._read(DIGEST_PREFIX + name) for name in names]

    def remove(self, ref: str) -> None:
        """Removes an image, its tags, and the layers that no other image uses.

        Waits for builds that run now. Sandboxes that use the image must have been closed.
        """
        image = self.get(ref)
        with file_lock(self.root / "builds.lock"), self._locked():
            self._write_tags({k: v for k, v in self.tags().items() if v != image.digest})
            self._path(image.digest).unlink(missing_ok=True)
            used = {layer for other in self.images() for layer in other.layers}
            for layer in set(image.layers) - used:
                self.layers.drop(layer)
            self._roots.forget()

    def prune(self, *, older_than_s: float = 0.0) -> list[str]:
        """Removes layers that no image uses: of failed builds, and copies of site settings.

        Args:
            older_than_s: younger ones stay.

        Returns:
            the removed layers. Waits for builds that run now.
        """
        with file_lock(self.root / "builds.lock"), self._locked():
            used = {layer for image in self.images() for layer in image.layers}
            unused = [
                layer
                for layer, age_s in self.layers.ages_s().items()
                if layer not in used and age_s >= older_than_s
            ]
            for layer in unused:
                self.layers.drop(layer)
        return unused

    def has_layer(self, digest: str) -> bool:
        """True when the layer is here, whole."""
        return self.layers.has(digest)

    def layer_path(self, digest: str) -> Path:
        """The unpacked tree of a layer.

        Raises:
            ImageError: the layer is not here.
        """
        return self.layers.tree(digest)

    def layer_changes(self, digest: str) -> ChangeSet:
        """What a layer says about its paths (folders above its changes included).

        Raises:
            ImageError: the layer is not here.
        """
        return self.layers.changes(digest)

    def size(self, digest: str) -> int:
        """Bytes in the regular files of a layer."""
        return sum(entry.size for entry in self.layer_changes(digest).changed.values())

    def commit(
        self, parent: Image, tree: Path | str, changes: ChangeSet, config: ImageConfig | None = None
    ) -> Image:
        """Stores the image that `changes` make of `parent`; no changes make no layer.

        Args:
            parent: the image below.
            tree: an upper directory that holds the changed files; it is removed.
            changes: what differs from `parent`, as `Capture.changes` gives it.
            config: the new configuration; None keeps the parent's.
        """
        with self.building():
            image = self.extend(parent, tree, changes)
            return self.put(replace(image, config=config or parent.config))

    def extend(self, parent: Image, tree: Path | str, changes: ChangeSet) -> Image:
        """`commit` without storing the image itself: a step of a build. Removes `tree`."""
        try:
            if not _storable(changes):
                return parent
            layer = self.layers.add(self.manifest(parent), tree, _storable(changes))
            return replace(parent, layers=(*parent.layers, layer))
        finally:
            self.keeper.remove_tree(tree)

    def manifest(self, image: Image) -> RowManifest:
        """Every path of the image's root; frozen, shared and cached."""
        return self._roots.get(image.layers)

    def entry(self, image: Image, path: bytes) -> Entry | None:
        """One path of the image's root, links not followed."""
        return self.manifest(image).get(path)

    def diff(self, gold: Image, damaged: Image) -> ChangeSet:
        """What `damaged` has changed or deleted against `gold`."""
        shared = 0
        for one, two in zip(gold.layers, damaged.layers, strict=False):
            if one != two:
                break
            shared += 1
        candidates: set[bytes] | None = None
        if shared:
            candidates = set()
            for layer in (*gold.layers[shared:], *damaged.layers[shared:]):
                changes = self.layer_changes(layer)
                candidates.update(changes.changed, changes.deleted)
        return self.manifest(gold).difference(self.manifest(damaged), candidates)

    def export_image(self, image: Image, path: Path) -> None:
        """Writes an image to a file that `import_image` reads, also for another id map."""
        names = sorted(name for name, digest in self.tags().items() if digest == image.digest)
        with self.building():
            write_archive(self.layers, self.keeper, image, names, path)

    def import_image(self, path: Path) -> Image:
        """Stores the image of an archive under the names it had.

        Raises:
            ImageError: it cannot be read, or something in it is not what its name says.
        """
        with self.building():
            archived = read_archive(self.layers, path)
            self.put(archived.image)
        for name in archived.names:
            self.tag(archived.image, name)
        return archived.image

    @contextmanager
    def building(self) -> Iterator[None]:
        """While held, `remove` waits: layers that no image names yet stay."""
        with file_lock(self.root / "builds.lock", shared=True):
            yield

    def _visible_changes(self, layer: str) -> ChangeSet:
        """A layer as boxes of this id map see it: without an id range all is root's."""
        changes = self.layers.changes(layer)
        if self.keeper.has_id_range:
            return changes
        return ChangeSet(without_owners(changes.changed), changes.deleted)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with file_lock(self.root / "store.lock"):
            yield

    def _full_digest(self, ref: str) -> str | None:
        text = ref.rpartition("@")[2].removeprefix(DIGEST_PREFIX)
        if len(text) < _MIN_PREFIX or set(text) - set("0123456789abcdef"):
            return None
        found = list(self._images.glob(f"{text}*.json"))
        return DIGEST_PREFIX + found[0].stem if len(found) == 1 else None

    def _path(self, digest: str) -> Path:
        return self._images / f"{digest.removeprefix(DIGEST_PREFIX)}.json"

    def _read(self, digest: str) -> Image:
        try:
            record = json.loads(self._path(digest).read_text(encoding="utf-8"))
        except FileNotFoundError as error:
            raise ImageError(f"image {digest} is not in the store at {self.root}") from error
        return Image(layers=tuple(record["layers"]), config=config_from_json(record["config"]))

    def _write_tags(self, tags: dict[str, str]) -> None:
        text = json.dumps(tags, indent=1, sort_keys=True)
        write_atomically(self.root / "tags.json", text.encode())


def _storable(changes: ChangeSet) -> ChangeSet:
    """Without sockets and devices, which no layer can carry (as in Docker's layers)."""
    kept = {
        path: entry
        for path, entry in changes.changed.items()
        if entry.kind not in (Kind.SOCKET, Kind.CHARACTER, Kind.BLOCK)
    }
    return ChangeSet(kept, changes.deleted)
