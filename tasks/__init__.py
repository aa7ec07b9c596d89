"""What a task is: formats, loaders, the starter pack, certificates."""

from __future__ import annotations

__all__: list[str] = []
