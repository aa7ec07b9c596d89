"""Settings of `training/grpo.py`; the shipped values stand in `configs/grpo.yaml`."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from cligym.training.settings import Settings
from cligym.training.sft_settings import Precision

__all__ = ["GrpoSettings"]


class GrpoSettings(Settings):
    """What to train, on which tasks, and how."""

    model: str = Field(default="Qwen/Qwen3.5-9B", description="model: a folder or a hub name")
    model_revision: str | None = Field(default=None, description="revision of the model")
    adapter: Path | None = Field(default=None, description="adapter to go on with, such as SFT's")
    output: Path = Field(default=Path("runs/grpo"), description="folder for everything written")
    chat_template: str = Field(default="own", description="own or a Jinja file; TRL must know it")
    tasks: str = Field(default="starter", description="where tasks come from, as in evaluate")
    split: str = Field(default="train", description="train on tasks of this split only")
    system_prompt: str = Field(default="", description="system message; none when empty")
    max_commands: int = Field(default=16, gt=0, description="commands an episode may run")
    command_timeout_s: float = Field(default=300.0, gt=0, description="seconds of one command")
    output_characters: int = Field(default=6000, gt=0, description="output kept of one command")
    generations_per_group: int = Field(default=4, ge=2, description="attempts in a group")
    groups_per_update: int = Field(default=4, gt=0, description="groups in an update")
    updates: int = Field(default=64, gt=0, description="updates of the model")
    max_completion_tokens: int = Field(default=6144, gt=0, description="tokens of an episode")
    mask_truncated: bool = Field(default=True, description="no loss on cut-off attempts")
    attempts_per_forward: int = Field(default=1, gt=0, description="attempts per forward pass")
    temperature: float = Field(default=1.0, gt=0, description="sampling temperature")
    top_p: float = Field(default=1.0, gt=0, le=1, description="nucleus sampling")
    learning_rate: float = Field(default=1e-5, gt=0, description="constant after the warm-up")
    warmup_updates: int = Field(default=2, ge=0, description="updates of linear warm-up")
    max_grad_norm: float = Field(default=1.0, gt=0, description="gradients are clipped to this")
    lora_rank: int = Field(default=16, gt=0, description="rank of a new adapter")
    lora_alpha: int = Field(default=32, gt=0, description="scale of a new adapter")
    lora_targets: list[str] | None = Field(default=None, description="layers; found by name")
    lowest_rate: float = Field(default=0.05, ge=0, le=1, description="drop tasks passed less")
    highest_rate: float = Field(default=0.95, ge=0, le=1, description="drop tasks passed more")
    fair_attempts: int = Field(default=8, gt=0, description="attempts before a task may drop")
    revisit_share: float = Field(default=0.1, ge=0, le=1, description="places for dropped tasks")
    stop_constant_updates: int | None = Field(
        default=3, gt=0, description="stop after this many updates without any mixed group"
    )
    stop_informative_window: int | None = Field(
        default=32, gt=0, description="updates in a window of the next rule"
    )
    stop_least_informative: float = Field(
        default=0.6, ge=0, le=1, description="stop after two windows with fewer mixed groups"
    )
    stop_truncated_window: int | None = Field(
        default=8, gt=0, description="updates in a window of the next rule"
    )
    stop_most_truncated: float = Field(
        default=0.05, ge=0, le=1, description="stop after two windows with more cut-off attempts"
    )
    vllm: bool = Field(default=False, description="generate with vLLM on the training GPU")
    vllm_gpu_memory: float = Field(default=0.4, gt=0, lt=1, description="vLLM's share of memory")
    vllm_max_model_tokens: int = Field(default=8192, gt=0, description="context of vLLM")
    precision: Precision = Field(default=Precision.AUTO, description="bf16 on a GPU, else fp32")
    gradient_checkpointing: bool | None = Field(default=None, description="recompute activations")
    use_cpu: bool = Field(default=False, description="train on the CPU even with a GPU")
    save_every_steps: int = Field(default=32, gt=0, description="updates between checkpoints")
    seed: int = Field(default=0, description="seed of adapter, tasks and sampling")
    resume: bool = Field(default=False, description="go on from the last checkpoint")
