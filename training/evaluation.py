"""Evaluates agents on tasks: every attempt in a box of its own, graded, recorded, resumable."""

from __future__ import annotations

import hashlib
import logging
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cligym import __version__
from cligym.agents.attempt import Agent, play_attempt
from cligym.agents.records import AttemptRecord
from cligym.agents.scripted import agent_applies, scripted_agent
from cligym.envs.bench import Bench
from cligym.envs.hardened import CLIGymHardenedEnv
from cligym.errors import BuildError, CLIGymError, ConfigError, TaskError
from cligym.graders.registry import grader_names
from cligym.tasks.task import Task
from cligym.training.run_store import RunStore

__all__ = ["Cell", "EvaluationPlan", "Refusal", "evaluate", "plan_cells", "prepare_tasks"]

logger = logging.getLogger(__name__)

MakeAgent = Callable[[str, Task, int], Agent]


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Cell:
    """One attempt to make."""

    agent: str
    task_id: str
    attempt: int

    @property
    def seed(self) -> int:
        """Derived from the cell, never from an order or a clock."""
        text = f"{self.agent}|{self.task_id}|{self.attempt}"
        return int(hashlib.sha256(text.encode()).hexdigest()[:8], 16)


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A task that cannot be used, and why, in one line."""

    task_id: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationPlan:
    """What to run.

    Attributes:
        agents: names.
        attempts: attempts of each agent on each task.
        jobs: attempts at once.
        graders: names; the first gives the reward.
        max_commands: commands an attempt may run.
        model: what names the model among the agents: weights, sampling, prompt, budgets; no
            address and no key. Empty without one.
    """

    agents: tuple[str, ...]
    attempts: int = 1
    jobs: int = 2
    graders: tuple[str, ...] = ("hardened",)
    max_commands: int = 30
    model: Mapping[str, Any] = field(default_factory=dict)

    def identity(self, tasks: Iterable[Task]) -> dict[str, object]:
        """What makes two runs the same run."""
        model = {"model": dict(self.model)} if self.model else {}
        return model | {
            "cligym_version": __version__,
            "env_id": "CLIGymHardened-v0",
            "agents": list(self.agents),
            "attempts": self.attempts,
            "graders": list(self.graders),
            "max_commands": self.max_commands,
            "tasks": {task.task_id: task.digest for task in tasks},
        }


def prepare_tasks(
    bench: Bench, task_ids: Sequence[str], *, jobs: int, on_ready: Callable[[], None]
) -> list[Refusal]:
    """Builds and certifies tasks, several at once; the ones that cannot be used.

    A refused task stops nobody else. Faults of ours are raised.
    """
    refusals: list[Refusal] = []

    def prepare(task_id: str) -> None:
        try:
            bench.prepare(task_id)
        except (BuildError, TaskError) as error:
            refusals.append(Refusal(task_id=task_id, reason=str(error)))
        on_ready()

    with ThreadPoolExecutor(max_workers=jobs) as pool:
        _finish([pool.submit(prepare, task_id) for task_id in task_ids])
    return sorted(refusals, key=lambda refusal: refusal.task_id)


def plan_cells(plan: EvaluationPlan, tasks: Iterable[Task]) -> list[Cell]:
    """Every attempt of the plan; wrong answers only on tasks that have them."""
    if plan.attempts < 1 or plan.jobs < 1:
        raise ConfigError("attempts and jobs must be at least 1")
    cells = [
        Cell(agent=agent, task_id=task.task_id, attempt=attempt)
        for task in tasks
        for agent in plan.agents
        if agent_applies(agent, task)
        for attempt in range(plan.attempts)
    ]
    if not cells:
        raise ConfigError(f"no task has anything for {', '.join(plan.agents)} to do")
    return cells


def evaluate(
    plan: EvaluationPlan,
    bench: Bench,
    cells: Sequence[Cell],
    out: Path,
    *,
    make_agent: MakeAgent = lambda name, task, attempt: scripted_agent(name, task),
    on_record: Callable[[AttemptRecord], None] = lambda record: None,
) -> list[AttemptRecord]:
    """Runs the cells that `out` does not hold yet; all records, in the cells' order.

    Args:
        plan: settings.
        bench: the tasks; shared by all attempts.
        cells: from `plan_cells`.
        out: run folder, resumed when it holds the same run.
        make_agent: name, task, attempt -> agent.
        on_record: called after each new attempt, from worker threads.
    """
    grader_names(plan.graders)
    used = sorted({cell.task_id for cell in cells})
    store = RunStore(out, plan.identity(bench.task(task_id) for task_id in used))
    try:
        todo = [c for c in cells if (c.agent, c.task_id, c.attempt) not in store.records]
        workers = _Workers(plan, bench, store, make_agent, on_record)
        with ThreadPoolExecutor(max_workers=plan.jobs) as pool:
            try:
                _finish([pool.submit(workers.run, cell) for cell in todo])
            finally:
                pool.shutdown(cancel_futures=True)
                workers.close()
        store.write_verified()
        return [store.records[(c.agent, c.task_id, c.attempt)] for c in cells]
    finally:
        store.close()


def _finish(futures: list[Future[None]]) -> None:
    """Waits for all; on the first exception cancels the rest and raises it."""
    done, waiting = wait(futures, return_when=FIRST_EXCEPTION)
    for future in waiting:
        future.cancel()
    for future in done:
        future.result()


class _Workers:
    """One environment a thread, all on the same bench."""

    def __init__(
        self,
        plan: EvaluationPlan,
        bench: Bench,
        store: RunStore,
        make_agent: MakeAgent,
        on_record: Callable[[AttemptRecord], None],
    ) -> None:
        self._plan = plan
        self._bench = bench
        self._store = store
        self._make_agent = make_agent
        self._on_record = on_record
        self._local = threading.local()
        self._environments: list[CLIGymHardenedEnv] = []

    def run(self, cell: Cell) -> None:
        env = self._environment()
        agent = self._make_agent(cell.agent, self._bench.task(cell.task_id), cell.attempt)
        try:
            record = play_attempt(
                env, agent, task_id=cell.task_id, attempt=cell.attempt, seed=cell.seed
            )
        except CLIGymError as error:
            logger.warning("attempt %s failed: %s", cell, error)
            record = self._failed(cell, error)
        self._store.add(record)
        self._on_record(record)

    def _environment(self) -> CLIGymHardenedEnv:
        env: CLIGymHardenedEnv | None = getattr(self._local, "env", None)
        if env is None:
            env = CLIGymHardenedEnv(
                tasks=self._bench,
                graders=self._plan.graders,
                max_commands=self._plan.max_commands,
            )
            self._local.env = env
            self._environments.append(env)
        return env

    def _failed(self, cell: Cell, error: CLIGymError) -> AttemptRecord:
        task = self._bench.task(cell.task_id)
        return AttemptRecord(
            cligym_version=__version__,
            env_id="CLIGymHardened-v0",
            task_id=task.task_id,
            task_digest=task.digest,
            repository=task.repository,
            licence=task.licence,
            split=task.split,
            agent=cell.agent,
            attempt=cell.attempt,
            seed=cell.seed,
            end_reason="infra_error",
            passed=None,
            reward=None,
            infra_error=f"{type(error).__name__}: {error}",
        )

    def close(self) -> None:
        for env in self._environments:
            env.close()
