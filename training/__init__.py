"""What is learned and measured: evaluate, stats, sft, grpo."""

from __future__ import annotations

__all__: list[str] = []
