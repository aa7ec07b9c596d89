"""Imports of optional packages: a missing one becomes a line that says what to install."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from cligym.errors import DependencyError

__all__ = ["extra_of", "missing_package", "needs_extra"]

_EXTRAS = {
    "accelerate": "train",
    "datasets": "hub",
    "matplotlib": "report",
    "openai": "train",
    "oras": "registry",
    "peft": "train",
    "pettingzoo": "arena",
    "pyarrow": "data",
    "ray": "ray",
    "tokenizers": "train",
    "torch": "train",
    "transformers": "train",
    "trl": "train",
}


def extra_of(package: str) -> str | None:
    """The extra of cligym that brings a top-level package, or None when no extra does."""
    return _EXTRAS.get(package)


@contextmanager
def needs_extra(extra: str, what: str) -> Iterator[None]:
    """Guards a lazy import, which stands inside its `with` block.

    Args:
        extra: the extra of cligym that brings the package.
        what: what cannot be done without it, the first words of the message.

    Raises:
        DependencyError: the import inside the block found no such package.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        raise missing_package(error, extra=extra, what=what) from error


def missing_package(
    error: ModuleNotFoundError, *, extra: str | None = None, what: str = "this command"
) -> DependencyError:
    """The error to show for a package that is not installed."""
    package = (error.name or "").partition(".")[0]
    extra = extra or extra_of(package)
    remedy = f"pip install 'cligym[{extra}]'" if extra else f"pip install {package}"
    return DependencyError(f"{what}: the package {package!r} is not installed; run: {remedy}")
