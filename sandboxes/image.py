"""What an image is: an ordered list of layers and a configuration, named by a digest.

An image never changes. Its layers live in a store (`sandboxes/store.py`), its truth is the
manifest with in-box ids; unpacked trees are only a cache of it, one for each id map.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["Image", "ImageConfig", "config_from_json"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageConfig:
    """The part of an image that is no file.

    Attributes:
        env: environment variables, in the order they were set.
        workdir: absolute working directory.
        user: `USER` as written ("" means root).
        shell: the words that `RUN text` is appended to.
        entrypoint: `ENTRYPOINT` words; kept for exports, never run by us.
        cmd: `CMD` words; kept for exports, never run by us.
    """

    env: tuple[tuple[str, str], ...] = (
        ("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"),
    )
    workdir: str = "/"
    user: str = ""
    shell: tuple[str, ...] = ("/bin/sh", "-c")
    entrypoint: tuple[str, ...] = ()
    cmd: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """An image: layers from bottom to top, and a configuration.

    Attributes:
        layers: layer digests (`sha256:…` of each layer's canonical change-set JSON).
        config: the configuration.
    """

    layers: tuple[str, ...]
    config: ImageConfig = ImageConfig()

    @property
    def digest(self) -> str:
        """`sha256:…` over the layers and the configuration."""
        text = json.dumps([self.layers, asdict(self.config)], separators=(",", ":"))
        return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def config_from_json(record: Mapping[str, Any]) -> ImageConfig:
    """The inverse of `dataclasses.asdict` on an `ImageConfig` after a trip through JSON."""
    return ImageConfig(
        env=tuple((str(name), str(value)) for name, value in record["env"]),
        workdir=str(record["workdir"]),
        user=str(record["user"]),
        shell=tuple(str(word) for word in record["shell"]),
        entrypoint=tuple(str(word) for word in record["entrypoint"]),
        cmd=tuple(str(word) for word in record["cmd"]),
    )
