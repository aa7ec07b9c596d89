"""Trains a model on repair tasks with group-based reinforcement learning (Dr. GRPO).

Each group is several attempts on one task in `CLIGymHardened-v0`; the hardened grader gives the
reward. Infra errors are masked and never a 0, constant groups have exactly zero advantage, tasks
are chosen where outcomes are mixed, and rules stop a run that cannot succeed. Ask `cligym stats`
first whether the tasks can drive this at all: with too few mixed groups nothing is learned.
Published reference: 64 updates of 16 attempts on a 9B model, at most 18 hours on one A6000.

    python training/grpo.py --model Qwen/Qwen3.5-9B --adapter runs/sft --vllm
    python training/grpo.py --model runs/small --tasks starter --updates 2 --use-cpu
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cligym.envs.bench import Bench
from cligym.envs.hardened import CLIGymHardenedEnv
from cligym.errors import BuildError, CLIGymError, ConfigError, TaskError
from cligym.extras import needs_extra
from cligym.training.grpo_settings import GrpoSettings
from cligym.training.grpo_setup import make_chooser, make_trainer, stop_settings
from cligym.training.model_card import write_card
from cligym.training.settings import add_flags, load_settings
from cligym.training.stop_rules import StopRules
from cligym.training.trl_environment import EpisodeFactory

__all__ = ["main", "make_parser", "train"]

HELD_OUT = ("heldout", "held_out", "test")


def train(settings: GrpoSettings) -> dict[str, Any]:
    """Trains on the tasks of a source; every sandbox is closed whatever happens.

    Returns:
        The numbers of the run.

    Raises:
        ConfigError: the settings do not fit together, or no task can be used.
        DependencyError: the training libraries are not installed.
    """
    with needs_extra("train", "training"):
        import trl  # noqa: F401 - so that a missing part is told before tasks are built
    bench = Bench(settings.tasks, split=settings.split)

    def make_env() -> CLIGymHardenedEnv:
        return CLIGymHardenedEnv(
            tasks=bench,
            max_commands=settings.max_commands,
            command_timeout_s=settings.command_timeout_s,
            output_characters=settings.output_characters,
        )

    with EpisodeFactory(make_env, close_shared=bench.backend.close) as factory:
        return train_on(settings, usable_tasks(bench), factory)


def usable_tasks(bench: Bench) -> list[str]:
    """Builds and certifies the tasks; those that cannot give a reward are told and left out.

    Raises:
        ConfigError: a task is held out, or none is left.
    """
    usable = []
    for task_id, task in bench.tasks.items():
        if task.split in HELD_OUT:
            raise ConfigError(f"task {task_id} is held out; train on --split train")
        try:
            bench.prepare(task_id)
        except (BuildError, TaskError) as error:
            print(f"left out: {error}", flush=True)
        else:
            usable.append(task_id)
    if not usable:
        raise ConfigError(f"none of the {len(bench.tasks)} tasks can give a reward")
    return usable


def train_on(
    settings: GrpoSettings, tasks: Sequence[str], factory: EpisodeFactory
) -> dict[str, Any]:
    """Trains on these tasks and writes adapter, numbers, settings and card.

    Args:
        settings: all options.
        tasks: names of the tasks.
        factory: makes the environments; the caller closes it.

    Raises:
        ConfigError: the output holds another run, or a loss was not finite.
    """
    from cligym.training.grpo_trainer import CHOOSER_FILE, StopCallback

    checkpoints = sorted(settings.output.glob("checkpoint-*"), key=_checkpoint_number)
    if bool(checkpoints) != settings.resume:
        wanted = "holds no checkpoint to resume" if settings.resume else "holds a run already"
        raise ConfigError(f"{settings.output} {wanted}; choose another --output or --resume")
    settings.output.mkdir(parents=True, exist_ok=True)
    (settings.output / "settings.yaml").write_text(settings.to_yaml(), encoding="utf-8")
    chooser = make_chooser(settings, tasks)
    if settings.resume:
        saved = (checkpoints[-1] / CHOOSER_FILE).read_text(encoding="utf-8")
        chooser.restore(json.loads(saved))
    stop = StopCallback(StopRules(stop_settings(settings)), chooser)
    trainer = make_trainer(settings, tasks, factory, chooser, stop)
    outcome = trainer.train(resume_from_checkpoint=settings.resume or None)
    if stop.reason is not None and "not finite" in stop.reason:
        raise ConfigError(f"training stopped: {stop.reason}; lower the learning rate")
    results = _results(trainer, outcome, stop.reason)
    if trainer.is_world_process_zero():
        _save(settings, trainer, results, tasks=tasks)
    return results


def _results(trainer: Any, outcome: Any, stopped: str | None) -> dict[str, Any]:
    """The numbers of a run."""
    rewards = [reward for group in trainer.outcomes for reward in group.rewards]
    return {
        "updates": trainer.state.global_step,
        "stopped": stopped,
        "groups": len(trainer.outcomes),
        "informative_groups": sum(group.informative for group in trainer.outcomes),
        "infra_errors": sum(group.infra_errors for group in trainer.outcomes),
        "mean_reward": sum(rewards) / len(rewards) if rewards else None,
        "dropped_tasks": trainer.chooser.dropped(),
        "seconds": round(outcome.metrics["train_runtime"], 1),
    }


def _save(
    settings: GrpoSettings, trainer: Any, results: dict[str, Any], *, tasks: Sequence[str]
) -> None:
    """Writes the adapter with everything needed to use and to judge it."""
    folder = settings.output
    trainer.save_model(str(folder))
    trainer.processing_class.save_pretrained(str(folder))
    (folder / "results.json").write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    write_card(
        folder,
        title="Trained on repair tasks with Dr. GRPO",
        base_model=settings.model,
        base_revision=settings.model_revision,
        settings=settings.model_dump(mode="json"),
        facts=[f"tasks: {len(tasks)} of {settings.tasks} (split {settings.split!r})"],
        results=results,
    )


def _checkpoint_number(path: Path) -> int:
    """The update of a checkpoint's folder."""
    return int(path.name.rpartition("-")[2])


def make_parser() -> argparse.ArgumentParser:
    """Builds the command line: `--config`, and one flag for each setting."""
    parser = argparse.ArgumentParser(
        prog="grpo.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--config", type=Path, help="YAML file; overrides configs/grpo.yaml")
    add_flags(parser, GrpoSettings)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Trains; 2 and one line on standard error when the input is wrong."""
    flags = vars(make_parser().parse_args(argv))
    config = flags.pop("config")
    try:
        settings = load_settings(GrpoSettings, shipped="grpo.yaml", config=config, flags=flags)
        print(json.dumps(train(settings), indent=2))
    except CLIGymError as error:
        print(f"error: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
