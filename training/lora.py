"""Finds the layers of a language model that get a low-rank adapter.

The published recipe adapts attention, MLP and linear-attention projections. Model families name
them differently, so they are found by name in the model at hand. Vision and audio towers are left
alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from cligym.errors import ConfigError

if TYPE_CHECKING:
    from peft import LoraConfig

__all__ = ["PROJECTIONS", "find_targets", "make_lora"]

PROJECTIONS = frozenset(
    {
        # attention
        "q_proj", "k_proj", "v_proj", "o_proj", "qkv_proj",
        # MLP
        "gate_proj", "up_proj", "down_proj", "gate_up_proj",
        # linear attention (Qwen3-Next, Qwen3.5); its small gates in_proj_a, in_proj_b stay frozen
        "in_proj_qkv", "in_proj_qkvz", "in_proj_z", "out_proj",
    }
)  # fmt: skip
_OTHER_TOWERS = re.compile(r"(^|\.)(visual|vision\w*|audio\w*)(\.|$)")


def find_targets(modules: Iterable[tuple[str, bool]]) -> list[str]:
    """Names the layers to adapt, each by its full path in the model.

    Args:
        modules: path of each module, and whether it is a linear layer.

    Raises:
        ConfigError: the model has none of the known projections.
    """
    names = [name for name, linear in modules if linear]
    found = sorted(
        name
        for name in names
        if name.rpartition(".")[2] in PROJECTIONS and not _OTHER_TOWERS.search(name)
    )
    if not found:
        kinds = sorted({name.rpartition(".")[2] for name in names})
        raise ConfigError(
            f"no known projection in this model; its linear layers: {', '.join(kinds) or 'none'}; "
            "name some with lora_targets"
        )
    return found


def make_lora(
    model: Any, *, rank: int, alpha: int, dropout: float, targets: list[str] | None
) -> LoraConfig:
    """Builds the adapter's configuration for this model.

    Args:
        model: a transformers model.
        rank: rank of the adapter.
        alpha: its scale; the update is multiplied by alpha / rank.
        dropout: dropout before the adapter, in [0, 1).
        targets: layers to adapt; None finds them by name.
    """
    import torch
    from peft import LoraConfig

    found = targets or find_targets(
        (name, isinstance(module, torch.nn.Linear)) for name, module in model.named_modules()
    )
    return LoraConfig(
        r=rank, lora_alpha=alpha, lora_dropout=dropout, target_modules=found, task_type="CAUSAL_LM"
    )
