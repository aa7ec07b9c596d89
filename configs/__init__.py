"""YAML that a person edits, shipped as package data."""

from __future__ import annotations

__all__: list[str] = []
