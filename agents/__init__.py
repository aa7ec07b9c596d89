"""Who acts: the bash-tool loop, model clients, scripted agents, attacker, defender."""

from __future__ import annotations

__all__: list[str] = []
