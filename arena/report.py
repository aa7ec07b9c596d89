"""A run's tables and its HTML page: `metrics.json`, `figures/*.png`, `report.html`."""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cligym.arena.metrics import arena_metrics, read_arena_rows
from cligym.arena.plots import draw_plots
from cligym.sandboxes.atomic_file import write_atomically

__all__ = ["Table", "metric_tables", "write_report"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table for people."""

    title: str
    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


def write_report(folder: Path, *, plots: bool = True) -> dict[str, Any]:
    """Reads a run's records and writes metrics, plots and page into its folder.

    Raises:
        ConfigError: the folder holds no arena run.
        DependencyError: plots are wanted and matplotlib is missing.
    """
    metrics = arena_metrics(read_arena_rows(folder))
    text = json.dumps(metrics, indent=1, allow_nan=False)
    write_atomically(folder / "metrics.json", text.encode() + b"\n")
    figures = draw_plots(metrics, folder / "figures") if plots else []
    write_atomically(folder / "report.html", _page(metric_tables(metrics), figures).encode())
    return metrics


def metric_tables(metrics: Mapping[str, Any]) -> list[Table]:
    """The tables that `cligym arena run` prints."""
    attack, defence = metrics["attack"], metrics["defence"]
    calibration, cells = metrics["calibration"], metrics["effectiveness_stealth"]
    return [
        Table(
            title="Attacks",
            headers=("metric", "value"),
            rows=(
                ("attacks", str(attack["attacks"])),
                *((f"  {name}", str(count)) for name, count in attack["strata"].items()),
                ("gate pass rate", _rate(attack["gate_pass"])),
                ("real bugs per attack", _rate(attack["real_bug_per_attack"])),
                ("real bugs per tampered sample", _rate(attack["real_bug_per_tampered"])),
                ("evasion per tampered sample", _rate(attack["evasion_per_tampered"])),
                ("evasion per real bug", _rate(attack["evasion_per_real_bug"])),
                ("evasion per harmless edit", _rate(attack["evasion_per_harmless"])),
                ("attacker's wins", _rate(attack["win"])),
                ("the same if infra errors fail", _rate(attack["win_if_infra_errors_fail"])),
            ),
            note="95 % Wilson intervals; a win is a real bug that the defender calls clean.",
        ),
        Table(
            title="Defence",
            headers=("metric", "value"),
            rows=(
                ("samples", str(defence["samples"])),
                ("parse errors", str(defence["parse_errors"])),
                ("infra errors", str(defence["infra_errors"])),
                ("precision", _rate(defence["precision"])),
                ("recall of real bugs", _rate(defence["recall"])),
                ("the same if parse errors miss", _rate(defence["recall_if_parse_errors_miss"])),
                ("F1", _number(defence["f1"])),
                ("false alarms per clean sample", _rate(defence["false_alarm_per_clean"])),
                ("harmless edits flagged", _rate(defence["flagged_per_harmless"])),
                ("location credit", _mean(defence["location_credit"])),
                ("Brier score", _mean(calibration["brier"])),
                ("expected calibration error", _number(calibration["ece"])),
                ("effectiveness against stealth", _number(cells["pearson"])),
            ),
            note="Truth is tampered iff a hidden test shows a bug; harmless edits stand apart.",
        ),
        *(_group_table(metrics, group, name) for group, name in _GROUPS),
        _published_table(metrics["published"]),
    ]


_GROUPS = (("by_class", "bug_class"), ("by_task", "task"), ("by_round", "round"))


def _group_table(metrics: Mapping[str, Any], group: str, name: str) -> Table:
    rows = []
    for row in metrics[group]:
        attack, defence = row["attack"], row["defence"]
        rows.append(
            (
                str(row[name]),
                str(attack["attacks"]),
                _rate(attack["gate_pass"], short=True),
                _rate(attack["real_bug_per_attack"], short=True),
                _rate(attack["evasion_per_tampered"], short=True),
                _rate(attack["win"], short=True),
                _rate(defence["recall"], short=True),
                _rate(defence["false_alarm_per_clean"], short=True),
            )
        )
    headers = (name, "attacks", "gate", "real", "evaded", "won", "recall", "false alarms")
    return Table(title=f"By {name.replace('_', ' ')}", headers=headers, rows=tuple(rows))


def _published_table(published: Mapping[str, Any]) -> Table:
    rows = tuple(
        (name, _number(value))
        for name, value in published.items()
        if isinstance(value, int | float)
    )
    return Table(
        title="Published formulas",
        headers=("metric", "value"),
        rows=rows,
        note="As published: evasion_rate and attacker_win_rate divide by real bugs.",
    )


def _rate(value: Mapping[str, Any], *, short: bool = False) -> str:
    if value["rate"] is None:
        return "-"
    text = f"{value['hits']}/{value['of']} = {value['rate']:.1%}"
    return text if short else f"{text} [{value['low']:.1%}, {value['high']:.1%}]"


def _mean(value: Mapping[str, Any]) -> str:
    if value["mean"] is None:
        return "-"
    if value["low"] is None:
        return f"{value['mean']:.3f}"
    return f"{value['mean']:.3f} [{value['low']:.3f}, {value['high']:.3f}] (n = {value['n']})"


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return str(value) if isinstance(value, int) else f"{value:.3f}"


def _page(tables: Sequence[Table], figures: Sequence[Path]) -> str:
    parts = [
        "<!doctype html><html lang='en'><meta charset='utf-8'><title>Arena run</title>",
        "<style>body{font:15px/1.4 sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}"
        "table{border-collapse:collapse;margin:.5rem 0}td,th{padding:.2rem .7rem;"
        "border-bottom:1px solid #ddd;text-align:left}img{max-width:100%}</style>",
        "<h1>Arena run</h1><p>Adversarial self-play of two players with a judge that is a program; "
        "no gradient is shared, so this is no GAN.</p>",
    ]
    for figure in figures:
        data = base64.b64encode(figure.read_bytes()).decode()
        parts.append(f"<img alt='{figure.stem}' src='data:image/png;base64,{data}'>")
    for table in tables:
        head = "".join(f"<th>{html.escape(cell)}</th>" for cell in table.headers)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>"
            for row in table.rows
        )
        parts.append(f"<h2>{html.escape(table.title)}</h2><p>{html.escape(table.note)}</p>")
        parts.append(f"<table><tr>{head}</tr>{body}</table>")
    return "\n".join(parts) + "</html>\n"
