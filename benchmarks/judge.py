"""How many judgements a second: our judge, and one pytest process a test file as published.

    python benchmarks/judge.py [--seconds 10] [--json]

One judgement is one decided real bug of an article task (binary_search, stack, moving_average,
variance). Ours: boxes, a fresh candidate process for each test, every verdict confirmed by a second
failure; two at once. The published way: a folder with the solution, `python -m pytest` on the
public file, then on the hidden file, in plain subprocesses without any box; two at once as well.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from cligym.graders.judge import Judge, JudgeSettings
from cligym.tasks.tampering import TamperingTask, load_tampering_tasks

WORKERS = 2
BUGS = {
    "binary_search": (
        "bisection",
        "    if low < len",
        "    low -= len(items) > 9\n    if low < len",
    ),
    "stack": ("array", "return self._items[-1]", "return self._items[0]"),
    "moving_average": ("slices", "end - window)", "end - window - (window > 4))"),
    "variance": ("two_pass", "(count - 1)", "count"),
}


def real_bugs(tasks: dict[str, TamperingTask]) -> list[tuple[str, str]]:
    """Task and tampered source, one for each article task."""
    pairs = []
    for name, (style, before, after) in BUGS.items():
        source = tasks[name].solution(style).source
        assert before in source, name
        pairs.append((name, source.replace(before, after)))
    return pairs


def per_second(
    judge_one: Callable[[tuple[str, str]], None], jobs: list[tuple[str, str]], seconds: float
) -> float:
    """Rounds over all jobs, two at once, until the time is over; jobs a second."""
    done, started = 0, time.perf_counter()
    with ThreadPoolExecutor(WORKERS) as pool:
        while time.perf_counter() - started < seconds:
            batch = list(itertools.islice(itertools.cycle(jobs), 4 * len(jobs)))
            list(pool.map(judge_one, batch))
            done += len(batch)
    return done / (time.perf_counter() - started)


def ours(tasks: dict[str, TamperingTask], seconds: float) -> float:
    """Judgements a second of `cligym.graders.judge`."""
    jobs = real_bugs(tasks)
    with Judge(tasks, settings=JudgeSettings(workers=WORKERS)) as judge:

        def one(job: tuple[str, str]) -> None:
            verdict = judge.judge(*job)
            assert verdict.real_bug, (job[0], verdict)

        with ThreadPoolExecutor(WORKERS) as pool:  # both workers are warm
            list(pool.map(one, jobs))
        return per_second(one, jobs, seconds)


def published(tasks: dict[str, TamperingTask], seconds: float) -> float:
    """Judgements a second of one pytest process for each file."""

    def one(job: tuple[str, str]) -> None:
        name, source = job
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "solution.py").write_text(source)
            codes = []
            for path in tasks[name].test_files.values():
                shutil.copy(path, folder)
                command = [sys.executable, "-m", "pytest", path.name, "--tb=short", "-q"]
                env = {**os.environ, "PYTHONPATH": folder}
                codes.append(
                    subprocess.run(command, cwd=folder, env=env, capture_output=True).returncode
                )
            assert codes[0] == 0, (name, codes)
            assert codes[1] != 0, (name, codes)

    return per_second(one, real_bugs(tasks), seconds)


def main(argv: list[str] | None = None) -> int:
    """Measures both and prints them."""
    parser = argparse.ArgumentParser(description="Judgements a second, ours and the published way")
    parser.add_argument("--seconds", type=float, default=10.0, help="how long each one runs")
    parser.add_argument("--json", action="store_true", help="print JSON")
    args = parser.parse_args(argv)
    tasks = load_tampering_tasks(names=BUGS)
    result = {
        "judgements_per_second": round(ours(tasks, args.seconds), 2),
        "published_per_second": round(published(tasks, args.seconds), 2),
        "cpus": os.cpu_count(),
        "load_before": round(os.getloadavg()[0], 2),
    }
    if args.json:
        print(json.dumps(result))
    else:
        for name, value in result.items():
            print(f"{name:24} {value}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
