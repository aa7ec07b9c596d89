"""Tables as plain text, Markdown or LaTeX, from the same cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

__all__ = ["Table", "TableFormat", "percent", "percent_interval", "render"]

_LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}


class TableFormat(StrEnum):
    """How a table is written."""

    TEXT = "text"
    MARKDOWN = "markdown"
    LATEX = "latex"


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table of text cells.

    Attributes:
        title: one line above the table, may be empty.
        header: names of the columns.
        rows: cells, as many in each row as there are columns.
    """

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]


def render(table: Table, form: TableFormat) -> str:
    """Writes the table, without control characters; the result ends without a line break."""
    table = Table(
        title=_printable(table.title),
        header=[_printable(cell) for cell in table.header],
        rows=[[_printable(cell) for cell in row] for row in table.rows],
    )
    match form:
        case TableFormat.TEXT:
            return _text(table)
        case TableFormat.MARKDOWN:
            return _markdown(table)
        case TableFormat.LATEX:
            return _latex(table)


def percent(share: float | None) -> str:
    """Writes a share as per cent with one digit, or a dash for None."""
    return "-" if share is None else f"{100 * share:.1f} %"


def percent_interval(interval: Sequence[float] | None) -> str:
    """Writes an interval of shares in per cent, or a dash for None."""
    if interval is None:
        return "-"
    low, high = interval
    return f"[{100 * low:.1f}, {100 * high:.1f}] %"


def _printable(cell: str) -> str:
    """Replaces what could steer a terminal; names of tasks and agents are untrusted."""
    return "".join(c if c.isprintable() else "?" for c in cell)


def _text(table: Table) -> str:
    """Aligns the columns with spaces, the first to the left and the others to the right."""
    lines = [list(table.header), *[list(row) for row in table.rows]]
    widths = [max(len(line[i]) for line in lines) for i in range(len(table.header))]
    out = [table.title] if table.title else []
    for line in lines:
        cells = [
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        out.append("  ".join(cells).rstrip())
    return "\n".join(out)


def _markdown(table: Table) -> str:
    """Writes a pipe table."""

    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"

    rule = "|" + "|".join("---" if i == 0 else "---:" for i in range(len(table.header))) + "|"
    head = [f"**{table.title}**", ""] if table.title else []
    return "\n".join([*head, line(table.header), rule, *[line(row) for row in table.rows]])


def _latex(table: Table) -> str:
    """Writes a tabular with the rules of the booktabs package."""

    def line(cells: Sequence[str]) -> str:
        return " & ".join("".join(_LATEX.get(c, c) for c in cell) for cell in cells) + r" \\"

    columns = "l" + "r" * (len(table.header) - 1)
    head = ["% " + table.title] if table.title else []
    return "\n".join(
        [
            *head,
            rf"\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            line(table.header),
            r"\midrule",
            *[line(row) for row in table.rows],
            r"\bottomrule",
            r"\end{tabular}",
        ]
    )
