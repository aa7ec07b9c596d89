"""Trains a LoRA adapter on verified repairs: supervised, on the model's own tokens only.

The recipe is the published one (rank 16, alpha 32, learning rate 1e-4, cosine, 5 % warm-up, clip
1.0, loss on the assistant's tokens). The labels are made and proven here, see `chat_mask.py`; TRL
gets token ids and changes nothing. Published reference: 371 repairs of median 9,806 tokens on a 9B
model, one epoch, 24 updates, 3.6 hours on one A6000 with 43 GiB.

    python training/sft.py --repairs verified.jsonl
    accelerate launch training/sft.py --repairs verified.jsonl --model Qwen/Qwen3-8B --epochs 2
"""

from __future__ import annotations

import argparse
import json
import logging
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cligym.errors import CLIGymError, ConfigError, boundary
from cligym.extras import needs_extra
from cligym.training.chat_template import choose_template
from cligym.training.model_card import write_card
from cligym.training.settings import add_flags, load_settings
from cligym.training.sft_data import SftDataset, build_dataset
from cligym.training.sft_settings import SftSettings
from cligym.training.sft_setup import make_trainer
from cligym.training.verified import read_held_out, read_repairs

__all__ = ["main", "make_parser", "train"]

logger = logging.getLogger(__name__)

REPORT_FILE = "dataset.json"


def train(settings: SftSettings) -> dict[str, Any]:
    """Trains and writes adapter, tokenizer, settings, dataset report, numbers and model card.

    Returns:
        The numbers of the run; without training (`report_only`) those of the dataset.

    Raises:
        ConfigError: the repairs must not be trained on, or the settings do not fit together.
        MaskError: the chat template breaks the loss mask; the text says which and where.
        DependencyError: the training libraries are not installed.
    """
    with needs_extra("train", "training"):
        import trl  # noqa: F401 - so that a missing part is told before the data are read
        from accelerate import PartialState
        from transformers import AutoTokenizer
    repairs = read_repairs(
        settings.repairs,
        held_out=read_held_out(settings.held_out),
        licences=settings.licences,
    )
    with boundary(ConfigError, f"cannot load the tokenizer of {settings.model}"):
        tokenizer = AutoTokenizer.from_pretrained(settings.model, revision=settings.model_revision)
    template_name = choose_template(tokenizer, settings.chat_template)
    dataset = build_dataset(
        repairs,
        tokenizer,
        template_name=template_name,
        turns=settings.turns,
        max_tokens=settings.max_tokens,
        drop_unproven=settings.drop_unproven,
    )
    facts = [*dataset.report.lines(), f"chat template: {template_name}"]
    if PartialState().is_main_process:
        print("\n".join(facts), flush=True)
    if settings.report_only:
        return dataset.report.to_json()
    _check_output(settings, dataset)
    trainer = make_trainer(settings, dataset, tokenizer)
    outcome = trainer.train(resume_from_checkpoint=settings.resume or None)
    if not math.isfinite(outcome.training_loss):
        raise ConfigError("the loss is not finite: lower the learning rate; nothing was written")
    results = {
        "updates": trainer.state.global_step,
        "mean_loss": round(outcome.training_loss, 4),
        "losses": [round(log["loss"], 4) for log in trainer.state.log_history if "loss" in log],
        "seconds": round(outcome.metrics["train_runtime"], 1),
        "trained_parameters": sum(p.numel() for p in trainer.model.parameters() if p.requires_grad),
    }
    if trainer.is_world_process_zero():
        _save(settings, trainer, tokenizer, dataset=dataset, facts=facts, results=results)
    return results


def _check_output(settings: SftSettings, dataset: SftDataset) -> None:
    """Refuses to mix runs: a new one needs a new folder, a resumed one the same dataset.

    Every process of a distributed run comes here; the report is the same in all of them.
    """
    report = settings.output / REPORT_FILE
    checkpoints = sorted(settings.output.glob("checkpoint-*"))
    if settings.resume and not checkpoints:
        raise ConfigError(f"no checkpoint to resume from in {settings.output}")
    if checkpoints and not settings.resume:
        raise ConfigError(
            f"{settings.output} holds checkpoints of a run: resume it with --resume, or choose "
            "another --output"
        )
    if settings.resume and report.is_file():
        before = json.loads(report.read_text(encoding="utf-8"))["dataset_sha256"]
        if before != dataset.report.dataset_sha256:
            raise ConfigError(
                f"the checkpoints in {settings.output} were made on another dataset "
                f"({before[:12]}); resume with the same repairs, model and settings"
            )
    settings.output.mkdir(parents=True, exist_ok=True)
    report.write_text(json.dumps(dataset.report.to_json(), indent=2) + "\n", encoding="utf-8")
    (settings.output / "settings.yaml").write_text(settings.to_yaml(), encoding="utf-8")


def _save(
    settings: SftSettings,
    trainer: Any,
    tokenizer: Any,
    *,
    dataset: SftDataset,
    facts: Sequence[str],
    results: dict[str, Any],
) -> None:
    """Writes the adapter with everything needed to use and to judge it."""
    folder = settings.output
    trainer.save_model(str(folder))
    tokenizer.save_pretrained(str(folder))
    (folder / "results.json").write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    write_card(
        folder,
        title="Fine-tuned on verified repairs",
        base_model=settings.model,
        base_revision=getattr(trainer.model.config, "_commit_hash", None)
        or settings.model_revision,
        settings=settings.model_dump(mode="json"),
        facts=facts,
        results={name: value for name, value in results.items() if name != "losses"},
    )
    logger.info("adapter, dataset report and card are in %s", folder)


def make_parser() -> argparse.ArgumentParser:
    """Builds the command line: `--config`, and one flag for each setting."""
    parser = argparse.ArgumentParser(
        prog="sft.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--config", type=Path, help="YAML file; overrides configs/sft.yaml")
    add_flags(parser, SftSettings)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Trains; 2 and one line on standard error when the input is wrong."""
    flags = vars(make_parser().parse_args(argv))
    config = flags.pop("config")
    try:
        settings = load_settings(SftSettings, shipped="sft.yaml", config=config, flags=flags)
        print(json.dumps(train(settings), indent=2))
    except CLIGymError as error:
        print(f"error: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
