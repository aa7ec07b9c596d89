"""Who decides: dataset, published, hardened; gate and judge."""

from __future__ import annotations

__all__: list[str] = []
