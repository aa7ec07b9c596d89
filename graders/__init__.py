"""Who decides: dataset, published, hardened; gate and judge.

Repair tasks, in reading order: `verdict` (what is said), `grader` (what a grader is and gets),
`hardened` (ours, top to bottom), then what it stands on: `damage` and `residue` (what must be
undone, what is left), `equality`, `python_source`, `bytecode`, `accounts`, `linker_cache` (when
something is gold's again), `hooks` and `foreign` (what else was done), `replay`, `pytest_run` and
`pytest_results` (the trusted test run), `certify` (a task's admission). `dataset` and `published`
are kept for comparable numbers. `grade` is the one call from outside.
"""

from __future__ import annotations

__all__: list[str] = []
