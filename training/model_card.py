"""Writes the model card of a trained adapter: what it is, what it learned from, all numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

__all__ = ["write_card"]


def write_card(
    folder: Path,
    *,
    title: str,
    base_model: str,
    base_revision: str | None,
    settings: Mapping[str, Any],
    facts: Sequence[str],
    results: Mapping[str, Any],
) -> Path:
    """Writes `README.md` in the form that model hubs read.

    Args:
        folder: the adapter's folder.
        title: heading of the card.
        base_model: name of the model that was adapted.
        base_revision: its revision, or None if unknown.
        settings: the resolved settings.
        facts: lines about the data.
        results: numbers of the training run.

    Returns:
        The card's path.
    """
    head = {
        "base_model": base_model,
        "library_name": "peft",
        "pipeline_tag": "text-generation",
        "tags": ["cligym", "lora"],
    }
    lines = [
        "---",
        yaml.safe_dump(head, sort_keys=False).strip(),
        "---",
        "",
        f"# {title}",
        "",
        f"A LoRA adapter of `{base_model}` (revision {base_revision or 'not recorded'}), trained "
        "with cligym. Use it with the tokenizer and the chat template beside it, which it was "
        "trained with.",
        "",
        "## Data",
        "",
        *[f"- {fact}" for fact in facts],
        "",
        "## Result of the training run",
        "",
        *[f"- {name.replace('_', ' ')}: {value}" for name, value in results.items()],
        "",
        "A falling loss is no proof of skill: compare base and adapter on held-out tasks with "
        "`cligym evaluate` and `cligym compare`.",
        "",
        "## Settings",
        "",
        "```yaml",
        yaml.safe_dump(dict(settings), sort_keys=False).strip(),
        "```",
        "",
    ]
    path = folder / "README.md"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path
