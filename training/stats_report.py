"""Writes group statistics and comparisons for people and for programs."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from cligym.training.comparison import Comparison
from cligym.training.group_statistics import PRIOR, GroupStatistics
from cligym.training.tables import Table, TableFormat, percent, percent_interval, render

__all__ = [
    "comparisons_json",
    "comparison_report",
    "statistics_json",
    "statistics_report",
    "verdict_sentence",
]

# A source with half of its groups mixed wastes at most every other group; below a fifth, the noise
# of an update's few informative groups outweighs what they teach.
GOOD_SHARE = 0.5
LEAST_SHARE = 0.2
FEW_GROUPS = 10
PRIOR_TEXT = (
    f"tasks seen all-0 or all-1 enter with the posterior mean under Beta({PRIOR}, {PRIOR}), "
    "mixed tasks with their own pass rate"
)
_BAR_WIDTH = 40


def verdict_sentence(stats: GroupStatistics) -> str:
    """Says in plain words whether this task source can drive group-based RL, and at which G.

    A yes rests on tasks seen with both outcomes only, never on the prior for the others.
    """
    if stats.groups == 0:
        return "No attempt has a verdict, so nothing can be said about this task source."
    supported, expected = stats.supported_mixed_share, stats.expected_mixed_share
    largest = max(supported, default=2)
    good = [size for size, share in sorted(supported.items()) if share >= GOOD_SHARE]
    hint = f" Only {stats.groups} groups: take this as a hint." if stats.groups < FEW_GROUPS else ""
    if good:
        size = good[0]
        cost = size / supported[size]
        return (
            f"Yes: this task source can drive group-based RL at G = {size} or more; at G = {size}, "
            f"{percent(supported[size])} of its groups are expected to be mixed, one for every "
            f"{cost:.1f} attempts.{hint}"
        )
    share = supported.get(largest, 0.0)
    if share >= LEAST_SHARE:
        return (
            f"Only with task selection: even at G = {largest} no more than {percent(share)} of the "
            f"groups can be counted on to be mixed, so pick the {stats.mixed_groups} tasks seen "
            f"with both outcomes and drop the rest.{hint}"
        )
    guess = expected.get(largest, 0.0)
    doubt = (
        f" A prior alone would allow {percent(guess)}: only more attempts per task can tell."
        if guess >= LEAST_SHARE
        else ""
    )
    return (
        f"No: at no G up to {largest} can more than {percent(share)} of the groups be counted on "
        f"to be mixed; {_constant_cause(stats)}.{doubt}{hint}"
    )


def _constant_cause(stats: GroupStatistics) -> str:
    """Names what most constant groups have in common."""
    rate = stats.pass_rate or 0.0
    if rate <= 1 / 3:
        return "most tasks are too hard for this agent"
    if rate >= 2 / 3:
        return "most tasks are too easy for this agent"
    return "most tasks are either always or never passed"


def statistics_json(stats: GroupStatistics) -> dict[str, Any]:
    """Gives the statistics as JSON values; keys of mappings are text."""
    plain = _plain_mapping(asdict(stats))
    return {**plain, "prior": PRIOR_TEXT, "verdict": verdict_sentence(stats)}


def comparisons_json(comparisons: dict[str, Comparison]) -> dict[str, Any]:
    """Gives comparisons as JSON values: the first at the top, each one under `graders`."""
    first = next(iter(comparisons.values()))
    by_grader = {name: _plain_mapping(asdict(found)) for name, found in comparisons.items() if name}
    return {**_plain_mapping(asdict(first)), "graders": by_grader}


def _plain_mapping(value: dict[Any, Any]) -> dict[str, Any]:
    """Turns tuples into lists and keys into text, so that a JSON round trip changes nothing."""
    return {str(key): _plain(item) for key, item in value.items()}


def _plain(value: Any) -> Any:
    """Turns one value into what a JSON round trip would give back."""
    if isinstance(value, dict):
        return _plain_mapping(value)
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return value


def statistics_report(stats: GroupStatistics, *, title: str, form: TableFormat) -> str:
    """Writes the statistics as tables, a bar chart (text only) and the plain sentence."""
    parts = [render(_overview(stats, title), form), render(_by_size(stats), form)]
    if stats.pass_at_k:
        parts.append(render(_pass_at_k(stats), form))
    if form is TableFormat.TEXT:
        parts.append(_bars(stats))
    elif stats.passes_per_group:
        parts.append(render(_passes(stats), form))
    sentence = verdict_sentence(stats)
    parts.append("% " + sentence if form is TableFormat.LATEX else sentence)
    return "\n\n".join(parts)


def _overview(stats: GroupStatistics, title: str) -> Table:
    """The one-number statistics."""
    cost = stats.attempts_per_informative_group
    rows = [
        ("groups (tasks with a verdict)", str(stats.groups), ""),
        ("attempts with a verdict", str(stats.attempts), ""),
        ("infra errors (masked)", str(stats.infra_errors), ""),
        ("pass rate", percent(stats.pass_rate), percent_interval(stats.pass_rate_interval)),
        ("pass rate, infra errors as fails", percent(stats.pass_rate_infra_as_fail), ""),
        ("mixed groups", str(stats.mixed_groups), ""),
        ("mixed share", percent(stats.mixed_share), percent_interval(stats.mixed_share_interval)),
        ("mean p(1-p)", _number(stats.mean_variance), ""),
        ("mean p(1-p), unbiased", _number(stats.mean_variance_unbiased), ""),
        ("attempts per informative group", "-" if cost is None else f"{cost:.1f}", ""),
    ]
    return Table(title=title, header=("statistic", "value", "95 % interval"), rows=rows)


def _by_size(stats: GroupStatistics) -> Table:
    """What to expect at other group sizes."""
    rows = []
    for size, share in stats.expected_mixed_share.items():
        cost = stats.expected_attempts_per_informative_group[size]
        supported = stats.supported_mixed_share[size]
        cost_text = "-" if cost is None else f"{cost:.1f}"
        rows.append((str(size), percent(share), percent(supported), cost_text))
    header = ("G", "expected mixed", "without prior", "attempts per mixed group")
    return Table(title=f"Expected by group size G ({PRIOR_TEXT})", header=header, rows=rows)


def _pass_at_k(stats: GroupStatistics) -> Table:
    """pass@k at powers of two and at the largest k."""
    shown = [k for k in stats.pass_at_k if k & (k - 1) == 0 or k == max(stats.pass_at_k)]
    rows = [(str(k), percent(stats.pass_at_k[k]), str(stats.pass_at_k_tasks[k])) for k in shown]
    return Table(title="pass@k (unbiased)", header=("k", "pass@k", "tasks"), rows=rows)


def _passes(stats: GroupStatistics) -> Table:
    """How many groups have how many passes."""
    rows = [(str(passes), str(count)) for passes, count in stats.passes_per_group.items()]
    return Table(title="Groups by number of passes", header=("passes", "groups"), rows=rows)


def _bars(stats: GroupStatistics) -> str:
    """The same as a bar chart in text."""
    most = max(stats.passes_per_group.values(), default=1)
    lines = [
        f"{passes:>4}  {'#' * max(1, round(_BAR_WIDTH * count / most))} {count}"
        for passes, count in stats.passes_per_group.items()
    ]
    return "\n".join(["Groups by number of passes", *lines])


def comparison_report(
    comparisons: dict[str, Comparison], *, name_a: str, name_b: str, form: TableFormat
) -> str:
    """Writes comparisons as one table and the tasks that only one side has.

    Args:
        comparisons: the comparison under each grader, by the grader's name.
        name_a: what to call the base.
        name_b: what to call the other side.
        form: text, Markdown or LaTeX.
    """
    header = ("grader", "A", "B", "B - A", "95 % interval", "wins", "losses", "ties", "sign test p")
    rows = [
        (
            grader or "passed",
            percent(found.rate_a),
            percent(found.rate_b),
            percent(found.difference),
            percent_interval(found.interval),
            str(found.wins),
            str(found.losses),
            str(found.ties),
            f"{found.sign_test_p:.4f}",
        )
        for grader, found in comparisons.items()
    ]
    first = next(iter(comparisons.values()))
    title = f"A = {name_a}, B = {name_b}, {first.common_tasks} common tasks"
    notes = [line for name, found in comparisons.items() for line in _notes(name, found)]
    prefix = "% " if form is TableFormat.LATEX else ""
    lines = [prefix + line for line in notes]
    return "\n".join([render(Table(title=title, header=header, rows=rows), form), "", *lines])


def _notes(grader: str, found: Comparison) -> list[str]:
    """What a reader must know beside the numbers."""
    head = f"[{grader}] " if grader else ""
    attempts = f"attempts: {found.attempts_a} and {found.attempts_b}"
    errors = f"infra errors (masked): {found.infra_errors_a} and {found.infra_errors_b}"
    rate_a, rate_b = percent(found.rate_a_infra_as_fail), percent(found.rate_b_infra_as_fail)
    lines = [f"{head}{attempts}; {errors}; pass rates with these as fails: {rate_a} and {rate_b}"]
    for label, tasks in (
        ("only in A", found.only_in_a),
        ("only in B", found.only_in_b),
        ("files differ, not paired", found.changed_tasks),
    ):
        if tasks:
            lines.append(f"{head}{label} ({len(tasks)}): {', '.join(tasks)}")
    return lines


def _number(value: float | None) -> str:
    """Writes a number with four digits, or a dash for None."""
    return "-" if value is None else f"{value:.4f}"
