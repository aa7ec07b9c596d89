"""Remembers which instruction made which layer on which image, so that nothing runs twice."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import NamedTuple

from cligym.sandboxes.atomic_file import file_lock, write_atomically
from cligym.sandboxes.image import Image
from cligym.sandboxes.store import ImageStore

__all__ = ["BuildCache", "CachedStep", "cache_key"]

_FORMAT = 1


def cache_key(image: Image, *parts: object) -> str:
    """The name of a step: the image below (its configuration included) and what is done to it."""
    text = json.dumps([_FORMAT, image.digest, *parts], separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class CachedStep(NamedTuple):
    """What a step made, and whether it was remembered."""

    image: Image
    cached: bool


class BuildCache:
    """The steps of one store.

    Args:
        store: where the layers are.
        enabled: False makes every step anew (and remembers it).
    """

    def __init__(self, store: ImageStore, *, enabled: bool = True) -> None:
        self._store = store
        self._enabled = enabled
        self._folder = store.root / "builds"
        self._folder.mkdir(mode=0o755, exist_ok=True)

    def step(self, image: Image, key: str, make: Callable[[], Image]) -> CachedStep:
        """The image after a step: remembered, or made now while equal builds wait.

        Args:
            image: the image below.
            key: from `cache_key`.
            make: does the step; its result has at most one layer more than `image`.
        """
        if not self._enabled:
            return CachedStep(self._remember(image, key, make()), cached=False)
        with file_lock(self._folder / f"{key[:2]}.lock"):
            known = self._known(image, key)
            if known is not None:
                return CachedStep(known, cached=True)
            return CachedStep(self._remember(image, key, make()), cached=False)

    def _known(self, image: Image, key: str) -> Image | None:
        try:
            record = json.loads((self._folder / key).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        added = tuple(str(layer) for layer in record["layers"])
        if not all(self._store.has_layer(layer) for layer in added):
            return None  # removed since
        return Image(layers=(*image.layers, *added), config=image.config)

    def _remember(self, image: Image, key: str, after: Image) -> Image:
        added = after.layers[len(image.layers) :]
        write_atomically(self._folder / key, json.dumps({"layers": added}).encode())
        return after
