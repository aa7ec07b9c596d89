"""Builds the SFT trainer from its settings: model, adapter, TRL's arguments."""

from __future__ import annotations

from typing import Any

from cligym.errors import ConfigError, boundary
from cligym.training.lora import make_lora
from cligym.training.sft_data import SftDataset
from cligym.training.sft_settings import Precision, SftSettings

__all__ = ["make_trainer"]


def make_trainer(settings: SftSettings, dataset: SftDataset, tokenizer: Any) -> Any:
    """Builds TRL's trainer on finished labels, with its own preparation switched off."""
    import torch
    from datasets import Dataset
    from transformers import AutoModelForCausalLM, set_seed
    from trl import SFTConfig, SFTTrainer

    on_gpu = torch.cuda.is_available() and not settings.use_cpu
    bf16 = settings.precision is Precision.BF16 or (
        settings.precision is Precision.AUTO and on_gpu and torch.cuda.is_bf16_supported()
    )
    set_seed(settings.seed)
    with boundary(ConfigError, f"cannot load the model {settings.model}"):
        model = AutoModelForCausalLM.from_pretrained(
            settings.model,
            revision=settings.model_revision,
            dtype=torch.bfloat16 if bf16 else torch.float32,
        )
    checkpointing = settings.gradient_checkpointing
    arguments = SFTConfig(
        output_dir=str(settings.output),
        learning_rate=settings.learning_rate,
        lr_scheduler_type="cosine",
        warmup_steps=settings.warmup_fraction,
        weight_decay=settings.weight_decay,
        max_grad_norm=settings.max_grad_norm,
        num_train_epochs=settings.epochs,
        max_steps=settings.max_steps or -1,
        per_device_train_batch_size=settings.examples_per_forward,
        gradient_accumulation_steps=_accumulation(settings),
        gradient_checkpointing=on_gpu if checkpointing is None else checkpointing,
        bf16=bf16,
        fp16=False,
        use_cpu=not on_gpu,
        dataloader_pin_memory=on_gpu,
        max_length=None,
        packing=False,
        dataset_kwargs={"skip_prepare_dataset": True},
        remove_unused_columns=False,
        save_strategy="steps",
        save_steps=settings.save_every_steps,
        save_total_limit=2,
        logging_steps=1,
        logging_nan_inf_filter=False,
        report_to="none",
        seed=settings.seed,
        data_seed=settings.seed,
    )
    rows = [
        {"input_ids": list(example.input_ids), "labels": list(example.labels)}
        for example in dataset.examples
    ]
    return SFTTrainer(
        model=model,
        args=arguments,
        train_dataset=Dataset.from_list(rows),
        processing_class=tokenizer,
        peft_config=make_lora(
            model,
            rank=settings.lora_rank,
            alpha=settings.lora_alpha,
            dropout=settings.lora_dropout,
            targets=settings.lora_targets,
        ),
    )


def _accumulation(settings: SftSettings) -> int:
    """Forward passes per update on each device."""
    from accelerate import PartialState

    at_once = settings.examples_per_forward * PartialState().num_processes
    if settings.examples_per_update % at_once:
        raise ConfigError(
            f"examples_per_update {settings.examples_per_update} is no multiple of "
            f"examples_per_forward times devices ({at_once})"
        )
    return int(settings.examples_per_update // at_once)
