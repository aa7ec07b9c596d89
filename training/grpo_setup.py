"""Builds the GRPO trainer from its settings: model, adapter, TRL's arguments, rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cligym.errors import ConfigError, boundary
from cligym.training.chat_template import TRAINING, choose_template
from cligym.training.grpo_settings import GrpoSettings
from cligym.training.lora import make_lora
from cligym.training.sft_settings import Precision
from cligym.training.stop_rules import StopSettings
from cligym.training.task_chooser import ChooserSettings, TaskChooser
from cligym.training.trl_environment import EpisodeFactory

__all__ = ["make_chooser", "make_trainer", "stop_settings"]


def make_trainer(
    settings: GrpoSettings,
    tasks: Sequence[str],
    factory: EpisodeFactory,
    chooser: TaskChooser,
    stop: Any,
) -> Any:
    """Builds the trainer with the published recipe."""
    import torch
    from datasets import Dataset
    from peft import PeftModel
    from transformers import AutoModelForCausalLM, AutoTokenizer, set_seed

    from cligym.training.grpo_trainer import RepairGrpoTrainer

    if settings.chat_template == TRAINING:
        raise ConfigError("chat_template of GRPO is own or a file; TRL takes its twin by itself")
    set_seed(settings.seed)
    on_gpu = torch.cuda.is_available() and not settings.use_cpu
    bf16 = settings.precision is Precision.BF16 or (
        settings.precision is Precision.AUTO and on_gpu and torch.cuda.is_bf16_supported()
    )
    with boundary(ConfigError, f"cannot load the model {settings.model}"):
        tokenizer = AutoTokenizer.from_pretrained(settings.model, revision=settings.model_revision)
        model = AutoModelForCausalLM.from_pretrained(
            settings.model,
            revision=settings.model_revision,
            dtype=torch.bfloat16 if bf16 else torch.float32,
        )
    choose_template(tokenizer, settings.chat_template)
    new_adapter = None
    if settings.adapter is not None:
        model = PeftModel.from_pretrained(model, settings.adapter, is_trainable=True)
    else:
        new_adapter = make_lora(
            model,
            rank=settings.lora_rank,
            alpha=settings.lora_alpha,
            dropout=0.0,
            targets=settings.lora_targets,
        )
    return RepairGrpoTrainer(
        model=model,
        args=_trainer_arguments(settings, on_gpu=on_gpu, bf16=bf16),
        train_dataset=Dataset.from_list([_row(settings, task) for task in tasks]),
        processing_class=tokenizer,
        peft_config=new_adapter,
        environment_factory=factory,
        callbacks=[stop],
        chooser=chooser,
    )


def _row(settings: GrpoSettings, task: str) -> dict[str, Any]:
    """A task as a row; the environment adds the instruction to the user's message."""
    user = {"role": "user", "content": ""}
    system = {"role": "system", "content": settings.system_prompt}
    return {"prompt": [system, user] if settings.system_prompt else [user], "task_id": task}


def _trainer_arguments(settings: GrpoSettings, *, on_gpu: bool, bf16: bool) -> Any:
    """TRL's arguments: Dr. GRPO, rewards centred only, no KL term."""
    from accelerate import PartialState
    from trl import GRPOConfig

    attempts = settings.generations_per_group * settings.groups_per_update
    at_once = settings.attempts_per_forward * PartialState().num_processes
    if attempts % at_once:
        raise ConfigError(
            f"{attempts} attempts per update do not divide over {at_once} at once "
            "(attempts_per_forward times devices)"
        )
    checkpointing = settings.gradient_checkpointing
    return GRPOConfig(
        output_dir=str(settings.output),
        loss_type="dr_grpo",
        scale_rewards="none",
        beta=0.0,
        num_generations=settings.generations_per_group,
        per_device_train_batch_size=settings.attempts_per_forward,
        gradient_accumulation_steps=attempts // at_once,
        max_steps=settings.updates,
        max_completion_length=settings.max_completion_tokens,
        max_tool_calling_iterations=settings.max_commands + 1,
        mask_truncated_completions=settings.mask_truncated,
        temperature=settings.temperature,
        top_p=settings.top_p,
        learning_rate=settings.learning_rate,
        lr_scheduler_type="constant_with_warmup",
        warmup_steps=settings.warmup_updates,
        max_grad_norm=settings.max_grad_norm,
        use_vllm=settings.vllm,
        vllm_mode="colocate",
        vllm_enable_sleep_mode=settings.vllm,
        vllm_gpu_memory_utilization=settings.vllm_gpu_memory,
        vllm_max_model_length=settings.vllm_max_model_tokens if settings.vllm else None,
        bf16=bf16,
        fp16=False,
        use_cpu=not on_gpu,
        dataloader_pin_memory=on_gpu,
        gradient_checkpointing=on_gpu if checkpointing is None else checkpointing,
        save_strategy="steps",
        save_steps=settings.save_every_steps,
        save_total_limit=2,
        logging_steps=1,
        logging_nan_inf_filter=False,
        ignore_data_skip=True,  # a resumed chooser goes on by itself; skipping would draw again
        report_to="none",
        seed=settings.seed,
    )


def make_chooser(settings: GrpoSettings, tasks: Sequence[str]) -> TaskChooser:
    """The task chooser of a run."""
    return TaskChooser(
        tasks,
        group_size=settings.generations_per_group,
        settings=ChooserSettings(
            lowest_rate=settings.lowest_rate,
            highest_rate=settings.highest_rate,
            fair_attempts=settings.fair_attempts,
            revisit_share=settings.revisit_share,
        ),
        seed=settings.seed,
    )


def stop_settings(settings: GrpoSettings) -> StopSettings:
    """The stop rules of a run."""
    return StopSettings(
        constant_updates=settings.stop_constant_updates,
        informative_window=settings.stop_informative_window,
        least_informative=settings.stop_least_informative,
        truncated_window=settings.stop_truncated_window,
        most_truncated=settings.stop_most_truncated,
    )
