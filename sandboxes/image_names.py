"""Names of images: the one spelling under which the store knows `debian` and its longer forms."""

from __future__ import annotations

__all__ = ["canonical_name"]

_DEFAULT_PREFIXES = ("docker.io/", "index.docker.io/", "library/")


def canonical_name(name: str) -> str:
    """`debian` -> `debian:latest`; the default registry and its `library/` are left out."""
    for prefix in _DEFAULT_PREFIXES:
        name = name.removeprefix(prefix)
    if "@" in name or ":" in name.rpartition("/")[2]:
        return name
    return f"{name}:latest"
