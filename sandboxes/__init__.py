"""Where commands run: images, Dockerfile builds, back ends, change sets. Knows nothing above it."""

from __future__ import annotations

__all__: list[str] = []
