"""The three things one does with an arena: run it, judge a run again, check tasks."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from cligym.agents.tamper_prompts import AttackView, DefenceView, Prompt
from cligym.arena.journal import read_lines
from cligym.arena.orchestrator import Arena, RunSummary
from cligym.arena.report import write_report
from cligym.arena.seats import make_attacker, make_defender
from cligym.arena.settings import ArenaSettings, SeatSettings, load_arena_settings
from cligym.errors import AgentError, ConfigError
from cligym.graders.judge import Judge, JudgeSettings
from cligym.graders.judge_certify import certify, write_certificate
from cligym.sandboxes.atomic_file import write_atomically
from cligym.sandboxes.namespace import NamespaceBackend
from cligym.tasks.tampering import TamperingCertificate, TamperingTask, load_tampering_tasks

__all__ = ["ArenaResult", "check_tasks", "rejudge", "run_arena"]

Progress = Callable[[int, int], None]


class ArenaResult(NamedTuple):
    """What a run did, and its metrics."""

    summary: RunSummary
    metrics: dict[str, Any]


def run_arena(
    settings: ArenaSettings, folder: Path, *, plots: bool = True, progress: Progress | None = None
) -> ArenaResult:
    """Runs the arena into `folder`, or goes on there; writes records, metrics, plots and page.

    Raises:
        ConfigError: the folder holds another run, or a seat lacks a setting.
        TaskError: a task is unknown or not certified.
    """
    tasks = _tasks(settings)
    folder.mkdir(parents=True, exist_ok=True)
    backend = NamespaceBackend()
    try:
        judge_settings = JudgeSettings(workers=settings.judge_workers)
        with Judge(tasks, backend=backend, settings=judge_settings) as judge:
            arena = Arena(
                settings,
                folder,
                judge,
                attacker=make_attacker(settings, backend, judge),
                defender=make_defender(settings, backend, tasks),
                progress=progress,
            )
            # Addresses and names of keys stay out of the folder, as they stay out of records.
            write_atomically(folder / "settings.json", _public(settings).encode() + b"\n")
            summary = arena.run()
    finally:
        backend.close()
    return ArenaResult(summary, write_report(folder, plots=plots))


def rejudge(
    run: Path, folder: Path, *, plots: bool = True, progress: Progress | None = None
) -> ArenaResult:
    """Judges the recorded answers of a run again, into another folder; no player is asked.

    Raises:
        ConfigError: there is no run, or the folder is the run itself.
        TaskError: a task of the run is unknown or not certified.
    """
    journal = run / "journal.jsonl"
    if not journal.is_file() or not (run / "settings.json").is_file():
        raise ConfigError(f"no arena run at {run}: it needs journal.jsonl and settings.json")
    if folder.resolve() == run.resolve():
        raise ConfigError("a run is rejudged into another folder; use --out")
    settings = load_arena_settings(run / "settings.json", {})
    names = {line["key"].split("/")[0]: line for line in read_lines(journal) if "player" in line}
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("journal.jsonl", "settings.json"):
        shutil.copyfile(run / name, folder / name)
    judge_settings = JudgeSettings(workers=settings.judge_workers)
    with Judge(_tasks(settings), settings=judge_settings) as judge:
        summary = Arena(
            settings,
            folder,
            judge,
            attacker=_Recorded(names, "attack"),
            defender=_Recorded(names, "defence"),
            recorded=True,
            progress=progress,
        ).run()
    return ArenaResult(summary, write_report(folder, plots=plots))


def check_tasks(
    folder: Path | None = None,
    names: tuple[str, ...] | None = None,
    *,
    progress: Callable[[str, int, int], None] | None = None,
) -> Iterator[tuple[TamperingTask, TamperingCertificate]]:
    """Makes the certificate of each task and puts it into the task's folder, one by one.

    Raises:
        TaskError: a clean solution fails a test.
    """
    tasks = load_tampering_tasks(folder, names)
    # A mutant may well loop for ever, and its verdict does not hang on how long we wait.
    with Judge(tasks, settings=JudgeSettings(test_s=4.0), certifying=True) as judge:
        for name, task in tasks.items():
            step = None if progress is None else _named(progress, name)
            certificate = certify(judge, name, progress=step)
            write_certificate(task, certificate)
            yield task, certificate


class _Recorded:
    """Stands on a seat while a run is judged again; the journal answers in its place."""

    def __init__(self, names: dict[str, dict[str, Any]], kind: str) -> None:
        self.name = str(names[kind]["player"]) if kind in names else "recorded"

    def answer(self, view: AttackView | DefenceView, prompt: Prompt, *, seed: int) -> str:
        raise AgentError("a recorded run asks nobody")


def _tasks(settings: ArenaSettings) -> dict[str, TamperingTask]:
    folder = Path(settings.tasks_folder) if settings.tasks_folder else None
    return load_tampering_tasks(folder, settings.tasks or None)


def _public(settings: ArenaSettings) -> str:
    hidden = {"base_url": "", "api_key_env": "", "env": ()}
    seats = {
        name: SeatSettings.model_validate({**getattr(settings, name).model_dump(), **hidden})
        for name in ("attacker", "defender")
    }
    return settings.model_copy(update=seats).model_dump_json(indent=1)


def _named(progress: Callable[[str, int, int], None], name: str) -> Progress:
    return lambda done, total: progress(name, done, total)
