"""Settings of `training/sft.py`; the shipped values stand in `configs/sft.yaml`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

from pydantic import Field

from cligym.training.settings import Settings
from cligym.training.sft_data import Turns

__all__ = ["Precision", "SftSettings"]


class Precision(StrEnum):
    """Number format of the model's weights and of the training."""

    AUTO = "auto"
    BF16 = "bf16"
    FP32 = "fp32"


class SftSettings(Settings):
    """What to train, on what, and how."""

    repairs: Path = Field(description="verified.jsonl: repairs that passed the hardened grader")
    model: str = Field(
        default="Qwen/Qwen3.5-9B", description="model to adapt: a folder or a hub name"
    )
    model_revision: str | None = Field(default=None, description="revision of the model on its hub")
    output: Path = Field(
        default=Path("runs/sft"), description="folder for adapter, checkpoints and card"
    )
    chat_template: str = Field(
        default="own", description="own, training (TRL's twin) or a Jinja file"
    )
    turns: Turns = Field(
        default=Turns.WHOLE, description="whole conversations, or split into turns"
    )
    drop_unproven: bool = Field(
        default=False, description="leave out repairs whose mask cannot be proven; else stop"
    )
    licences: list[str] | None = Field(
        default=None, description="keep only repairs under these licences"
    )
    held_out: Path | None = Field(
        default=None, description="YAML file of held-out tasks and repositories"
    )
    max_tokens: int = Field(
        default=32768, gt=0, description="longer examples are dropped and counted"
    )
    lora_rank: int = Field(default=16, gt=0, description="rank of the adapter")
    lora_alpha: int = Field(default=32, gt=0, description="scale of the adapter")
    lora_dropout: float = Field(default=0.0, ge=0, lt=1, description="dropout before the adapter")
    lora_targets: list[str] | None = Field(
        default=None, description="layers to adapt; found by name"
    )
    learning_rate: float = Field(default=1e-4, gt=0, description="peak learning rate, cosine to 0")
    warmup_fraction: float = Field(
        default=0.05, ge=0, lt=1, description="share of the steps to warm up"
    )
    weight_decay: float = Field(default=0.0, ge=0, description="AdamW weight decay")
    max_grad_norm: float = Field(
        default=1.0, gt=0, description="gradients are clipped to this norm"
    )
    epochs: float = Field(default=1.0, gt=0, description="passes over the examples")
    max_steps: int | None = Field(default=None, gt=0, description="stop after this many updates")
    examples_per_update: int = Field(
        default=16, gt=0, description="examples per update, over all devices"
    )
    examples_per_forward: int = Field(
        default=1, gt=0, description="examples per device and forward pass"
    )
    precision: Precision = Field(default=Precision.AUTO, description="bf16 on a GPU, fp32 on a CPU")
    gradient_checkpointing: bool | None = Field(
        default=None, description="recompute to save memory"
    )
    use_cpu: bool = Field(default=False, description="train on the CPU even where there is a GPU")
    save_every_steps: int = Field(default=50, gt=0, description="updates between checkpoints")
    seed: int = Field(default=0, description="seed of adapter, shuffling and dropout")
    resume: bool = Field(default=False, description="go on from the last checkpoint in the output")
    report_only: bool = Field(default=False, description="report on the dataset and stop")
