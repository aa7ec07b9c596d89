"""The demo's table: how many attempts of each scripted agent each grader accepts."""

from __future__ import annotations

import html
import statistics
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cligym.agents.records import AttemptRecord
from cligym.errors import CLIGymError, boundary
from cligym.extras import needs_extra

__all__ = ["DEMO_GRADERS", "FOOTNOTES", "DemoRow", "demo_rows", "write_html", "write_png"]

DEMO_GRADERS = ("hardened", "published", "dataset")
_COLUMNS = ("dataset", "published", "hardened")
FOOTNOTES = (
    "dataset: the data set's own check. published: the published three rules, read from the host "
    "as ours are, which already closes holes 16-18 of the original (docs/graders.md).",
    "Wanted: every oracle accepted by hardened; no wrong answer and no untouched box.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoRow:
    """One agent's line.

    Attributes:
        agent: its name.
        attempts: attempts made.
        accepted: grader -> attempts it accepted.
        infra_errors: attempts that could not be graded; in no grader's count.
        median_grade_s: median seconds of one grade by `hardened`; None without any.
    """

    agent: str
    attempts: int
    accepted: dict[str, int]
    infra_errors: int
    median_grade_s: float | None

    def to_json(self) -> dict[str, object]:
        """The keys of `demo.json`: `agent`, `attempts`, each grader, `infra_errors`, seconds."""
        return {
            "agent": self.agent,
            "attempts": self.attempts,
            **{name: self.accepted[name] for name in _COLUMNS},
            "infra_errors": self.infra_errors,
            "median_grade_seconds": self.median_grade_s,
        }


def demo_rows(agents: Sequence[str], records: Sequence[AttemptRecord]) -> list[DemoRow]:
    """One row an agent, in the order given."""
    rows = []
    for agent in agents:
        own = [record for record in records if record.agent == agent]
        seconds = [
            record.verdicts["hardened"]["seconds"]["total"]
            for record in own
            if "hardened" in record.verdicts
        ]
        rows.append(
            DemoRow(
                agent=agent,
                attempts=len(own),
                accepted={
                    name: sum(bool(r.verdicts.get(name, {}).get("passed")) for r in own)
                    for name in _COLUMNS
                },
                infra_errors=sum(record.infra_error is not None for record in own),
                median_grade_s=round(statistics.median(seconds), 3) if seconds else None,
            )
        )
    return rows


def write_png(rows: Sequence[DemoRow], path: Path) -> None:
    """A bar chart: share of each agent's attempts that each grader accepts."""
    with needs_extra("report", "drawing the demo's picture"):
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot
    with boundary(CLIGymError, f"writing {path}"):
        figure, axes = pyplot.subplots(figsize=(9, 0.5 * len(rows) + 1.6))
        height = 0.26
        colours = ("#c44e52", "#dd8452", "#4c72b0")
        for index, (name, colour) in enumerate(zip(_COLUMNS, colours, strict=True)):
            shares = [row.accepted[name] / row.attempts if row.attempts else 0.0 for row in rows]
            places = [place + (index - 1) * height for place in range(len(rows))]
            axes.barh(places, shares, height, label=name, color=colour)
        axes.set_yticks(range(len(rows)), [f"{row.agent}  ({row.attempts})" for row in rows])
        axes.invert_yaxis()
        axes.set_xlim(0, 1)
        axes.set_xlabel("share of attempts accepted")
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, frameon=False)
        axes.spines[["top", "right"]].set_visible(False)
        figure.tight_layout()
        figure.savefig(path, dpi=130)
        pyplot.close(figure)


def write_html(rows: Sequence[DemoRow], picture: Path, path: Path) -> None:
    """One self-contained page with the picture and the table."""
    heads = ("agent", "attempts", *_COLUMNS, "infra errors", "median s per grade")
    body = "\n".join(
        "<tr>" + "".join(f"<td>{html.escape(str(cell))}</td>" for cell in _cells(row)) + "</tr>"
        for row in rows
    )
    image = b64encode(picture.read_bytes()).decode()
    notes = "".join(f"<p>{html.escape(line)}</p>" for line in FOOTNOTES)
    path.write_text(
        "<!doctype html><html lang=en><meta charset=utf-8><title>cligym demo</title>"
        "<style>body{font:16px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:60rem}"
        "table{border-collapse:collapse}td,th{padding:.3rem .8rem;border-bottom:1px solid #ddd;"
        "text-align:right}td:first-child,th:first-child{text-align:left}img{max-width:100%}"
        "p{color:#555}</style><h1>What each grader accepts</h1>"
        f'<img alt="accepted share by agent and grader" src="data:image/png;base64,{image}">'
        f"<table><tr>{''.join(f'<th>{html.escape(head)}</th>' for head in heads)}</tr>\n{body}"
        f"</table>{notes}</html>\n",
        encoding="utf-8",
    )


def _cells(row: DemoRow) -> tuple[object, ...]:
    seconds = "-" if row.median_grade_s is None else f"{row.median_grade_s:.3f}"
    counts = (row.accepted[name] for name in _COLUMNS)
    return (row.agent, row.attempts, *counts, row.infra_errors, seconds)
