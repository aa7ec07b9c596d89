"""The Gymnasium and PettingZoo environments."""

from __future__ import annotations

__all__: list[str] = []
