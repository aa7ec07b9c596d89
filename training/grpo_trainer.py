"""TRL's GRPO trainer with our groups: chosen tasks, exact advantages, everything counted.

Three of TRL 1.16's own methods are wrapped, each around a call of the original: which task comes
next, what the rewards were, and the advantages made of them. All heavy imports are at the top of
this file; import it only where the training libraries are installed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from accelerate.utils import gather_object
from transformers import TrainerCallback
from trl import GRPOTrainer

from cligym.training.advantages import GroupOutcome, group_advantages, group_outcomes
from cligym.training.stop_rules import INFORMATIVE, INFRA_SHARE, StopRules
from cligym.training.task_chooser import TaskChooser

__all__ = ["CHOOSER_FILE", "RepairGrpoTrainer", "StopCallback"]

CHOOSER_FILE = "task_chooser.json"
ROLLOUTS_FILE = "rollouts.jsonl"


class RepairGrpoTrainer(GRPOTrainer):  # type: ignore[misc, unused-ignore]
    """GRPO on repair tasks; the data set has a column `task_id`."""

    def __init__(self, *args: Any, chooser: TaskChooser, **options: Any) -> None:
        super().__init__(*args, **options)
        self.chooser = chooser
        self.outcomes: list[GroupOutcome] = []
        self._all_tasks: list[str] = []
        self._all_rewards: list[float] = []

    def _get_train_sampler(self, dataset: Any = None) -> GroupSampler:
        """Lets the chooser say which task each group is about."""
        tasks = list((self.train_dataset if dataset is None else dataset)["task_id"])
        return GroupSampler(
            self.chooser,
            {task: index for index, task in enumerate(tasks)},
            groups=self.args.generation_batch_size // self.num_generations,
            group_size=self.num_generations,
            repeats=self.num_iterations * self.args.steps_per_generation,
            rounds=self.args.max_steps,
        )

    def _calculate_rewards(self, inputs: Any, *args: Any) -> Any:
        """Remembers the rewards of all processes and their tasks."""
        rewards = super()._calculate_rewards(inputs, *args)
        self._all_tasks = gather_object([example["task_id"] for example in inputs])
        self._all_rewards = rewards[:, 0].double().tolist()
        return rewards

    def _generate_and_score_completions(self, inputs: Any) -> Any:
        """Replaces the advantages by exact ones, tells the chooser, counts the groups."""
        output = super()._generate_and_score_completions(inputs)
        if not self.model.training:
            return output
        size = self.num_generations
        advantages = group_advantages(self._all_rewards, size)
        start = self.accelerator.process_index * len(inputs)
        mine = torch.tensor(advantages[start : start + len(inputs)])
        output["advantages"] = mine.to(output["advantages"])
        outcomes = group_outcomes(self._all_tasks, self._all_rewards, size)
        for outcome in outcomes:
            self.chooser.update(outcome)
        self.outcomes += outcomes
        self._count(outcomes)
        return output

    def _count(self, outcomes: list[GroupOutcome]) -> None:
        """Logs the groups of an update, and each attempt for `cligym stats`."""
        attempts = len(self._all_rewards)
        errors = sum(outcome.infra_errors for outcome in outcomes)
        smallest = min(len(outcome.rewards) for outcome in outcomes)
        numbers = {
            INFORMATIVE: sum(outcome.informative for outcome in outcomes) / len(outcomes),
            INFRA_SHARE: errors / attempts,
            "groups/smallest_valid_size": float(smallest),
            "groups/dropped_tasks": float(len(self.chooser.dropped())),
        }
        for name, value in numbers.items():
            self._metrics["train"][name].append(value)
        if not self.is_world_process_zero():
            return
        with Path(self.args.output_dir, ROLLOUTS_FILE).open("a", encoding="utf-8") as file:
            for task, reward in zip(self._all_tasks, self._all_rewards, strict=True):
                passed = None if reward != reward else reward > 0.5
                row = {"task_id": task, "update": self.state.global_step, "passed": passed}
                file.write(json.dumps(row) + "\n")


class GroupSampler:
    """Yields the rows of each update as TRL wants them: every task of a round, `group_size` times.

    The choice is made when the round begins, so that it can rest on the rounds before.
    """

    def __init__(
        self,
        chooser: TaskChooser,
        index: dict[str, int],
        *,
        groups: int,
        group_size: int,
        repeats: int,
        rounds: int,
    ) -> None:
        self._chooser = chooser
        self._index = index
        self._groups = groups
        self._group_size = group_size
        self._repeats = repeats
        self._rounds = rounds

    def __len__(self) -> int:
        """Number of rows in all rounds."""
        return self._rounds * self._repeats * self._groups * self._group_size

    def __iter__(self) -> Iterator[int]:
        """Draws round after round."""
        for _ in range(self._rounds):
            chosen = [self._index[task] for task in self._chooser.choose(self._groups)]
            rows = [index for index in chosen for _ in range(self._group_size)]
            for _ in range(self._repeats):
                yield from rows


class StopCallback(TrainerCallback):  # type: ignore[misc, unused-ignore]
    """Asks the stop rules after each update, and saves the chooser with each checkpoint."""

    def __init__(self, rules: StopRules, chooser: TaskChooser) -> None:
        self.rules = rules
        self.chooser = chooser
        self.reason: str | None = None

    def on_log(
        self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **_: Any
    ) -> None:
        """Stops the run when a rule says so."""
        if logs and self.reason is None and "train_runtime" not in logs:
            self.reason = self.rules.update(logs)
        if self.reason is not None:
            control.should_training_stop = True

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Writes the chooser's state beside the checkpoint."""
        if state.is_world_process_zero:
            folder = Path(args.output_dir, f"checkpoint-{state.global_step}")
            text = json.dumps(self.chooser.state())
            (folder / CHOOSER_FILE).write_text(text, encoding="utf-8")
