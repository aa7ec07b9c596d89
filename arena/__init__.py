"""The self-play orchestrator, memory and metrics."""

from __future__ import annotations

__all__: list[str] = []
