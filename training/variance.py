"""Measures outcome variance: can this task source drive group-based RL, and at which group size?

Reads attempts (`episodes.jsonl`, a run's folder, or JSON lines with task_id, attempt and passed)
and prints pass rate, pass@k, mixed groups and what to expect at other group sizes. The same as
`cligym stats`. Needs no GPU and no training libraries; a second for 100,000 attempts.

    python training/variance.py runs/base
    python training/variance.py runs/base --json
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cligym.errors import CLIGymError, ConfigError
from cligym.training.comparison import Comparison, compare_groups
from cligym.training.episode_rows import AttemptRow, EpisodeFile, episode_path, read_episodes
from cligym.training.group_statistics import GROUP_SIZES, GroupStatistics, summarise
from cligym.training.groups import count_groups
from cligym.training.resampling import RESAMPLES, SEED
from cligym.training.stats_plot import save_plot
from cligym.training.stats_report import statistics_json, statistics_report
from cligym.training.tables import TableFormat

__all__ = ["VarianceArgs", "compare_runs", "main", "make_parser", "measure"]


@dataclass(frozen=True, slots=True, kw_only=True)
class VarianceArgs:
    """What to measure.

    Attributes:
        runs: files or folders of attempts; several are pooled and also reported one by one.
        agent: count only this agent's attempts; None when the runs hold one agent.
        grader: whose verdict counts; None takes hardened where present, else the row's own.
        group_sizes: group sizes for the expectations.
        seed: seed of the bootstrap.
        form: how tables are written.
        as_json: print JSON instead of tables.
        plot: file for a figure, or None.
    """

    runs: tuple[Path, ...]
    agent: str | None = None
    grader: str | None = None
    group_sizes: tuple[int, ...] = GROUP_SIZES
    seed: int = SEED
    form: TableFormat = TableFormat.TEXT
    as_json: bool = False
    plot: Path | None = None


def measure(args: VarianceArgs) -> str:
    """Reads the runs and gives the report as text or JSON.

    Raises:
        ConfigError: a run cannot be read, is given twice, or holds several agents and none is
            chosen.
    """
    files = [_read_one_agent(run, args.agent) for run in args.runs]
    if len({file.path.resolve() for file in files}) < len(files):
        raise ConfigError("the same run is given twice; its attempts would count double")
    single = [_summarise(file.rows, file.graders, args) for file in files]
    pooled = single[0]
    if len(files) > 1:
        rows = [_tagged(row, str(file.path)) for file in files for row in file.rows]
        pooled = _summarise(rows, files[0].graders, args)
    if args.plot is not None:
        save_plot(pooled, args.plot)
    if args.as_json:
        return _as_json(pooled, single, files)
    titles = [str(file.path) for file in files]
    reports = [
        statistics_report(stats, title=title, form=args.form)
        for stats, title in zip(single, titles, strict=True)
    ]
    if len(files) > 1:
        title = f"all {len(files)} runs together"
        reports.append(statistics_report(pooled, title=title, form=args.form))
    return "\n\n\n".join([*reports, *_file_notes(files, args.form)])


def compare_runs(
    run_a: Path,
    run_b: Path,
    *,
    agent_a: str | None = None,
    agent_b: str | None = None,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> dict[str, Comparison]:
    """Compares two runs under every grader that judged both.

    Returns:
        The comparison by the grader's name, `hardened` first; "" where the rows name no grader.

    Raises:
        ConfigError: a run cannot be read, holds several agents and none is chosen, or the two have
            no task in common.
    """
    file_a, file_b = _read_one_agent(run_a, agent_a), _read_one_agent(run_b, agent_b)
    graders: list[str | None] = [name for name in file_a.graders if name in file_b.graders]
    return {
        grader or "": compare_groups(
            count_groups(file_a.rows, grader=grader),
            count_groups(file_b.rows, grader=grader),
            resamples=resamples,
            seed=seed,
        )
        for grader in graders or [None]
    }


def _read_one_agent(run: Path, agent: str | None) -> EpisodeFile:
    """Reads a run and makes sure that its attempts are one agent's."""
    file = read_episodes(run, agent=agent)
    if len(file.agents) > 1:
        raise ConfigError(
            f"{episode_path(run)} holds attempts of {len(file.agents)} agents "
            f"({', '.join(file.agents)}); choose one with --agent"
        )
    return file


def _summarise(
    rows: Sequence[AttemptRow], graders: Sequence[str], args: VarianceArgs
) -> GroupStatistics:
    """Summarises rows under the chosen grader."""
    if args.grader is not None and args.grader not in graders:
        raise ConfigError(
            f"no verdict of grader {args.grader!r} in the run; "
            f"found: {', '.join(graders) or 'none'}"
        )
    table = count_groups(rows, grader=args.grader)
    return summarise(table, group_sizes=args.group_sizes, seed=args.seed)


def _tagged(row: AttemptRow, run: str) -> AttemptRow:
    """Keeps attempts of pooled runs apart."""
    return replace(row, attempt=None if row.attempt is None else f"{run}:{row.attempt}")


def _as_json(
    pooled: GroupStatistics, single: Sequence[GroupStatistics], files: Sequence[EpisodeFile]
) -> str:
    """Writes the pooled statistics, and those of each run where there are several."""
    out: dict[str, Any] = statistics_json(pooled)
    out["torn_lines"] = sum(file.torn_lines for file in files)
    out["repeated_rows"] = sum(file.repeated_rows for file in files)
    if len(files) > 1:
        pairs = zip(files, single, strict=True)
        out["runs"] = {str(file.path): statistics_json(stats) for file, stats in pairs}
    return json.dumps(out, indent=2)


def _file_notes(files: Sequence[EpisodeFile], form: TableFormat) -> list[str]:
    """Says which lines were left out."""
    prefix = "% " if form is TableFormat.LATEX else ""
    notes = []
    for file in files:
        if file.torn_lines:
            notes.append(f"{prefix}{file.path}: the last line is cut off and was left out.")
        if file.repeated_rows:
            notes.append(f"{prefix}{file.path}: {file.repeated_rows} repeated rows counted once.")
    return notes


def make_parser() -> argparse.ArgumentParser:
    """Builds the command line."""
    parser = argparse.ArgumentParser(
        prog="variance.py",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN")
    parser.add_argument("--agent", help="count only this agent's attempts")
    parser.add_argument("--grader", help="whose verdict counts (default: the row's own)")
    parser.add_argument("--group-sizes", type=int, nargs="+", default=list(GROUP_SIZES))
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--format", type=TableFormat, choices=list(TableFormat), default="text")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--plot", type=Path, help="save a figure (.png, .svg or .pdf)")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Prints the report; 2 and one line on standard error when the input is wrong."""
    options = make_parser().parse_args(argv)
    args = VarianceArgs(
        runs=tuple(options.runs),
        agent=options.agent,
        grader=options.grader,
        group_sizes=tuple(options.group_sizes),
        seed=options.seed,
        form=TableFormat(options.format),
        as_json=options.json,
        plot=options.plot,
    )
    try:
        print(measure(args))
    except CLIGymError as error:
        print(f"error: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
