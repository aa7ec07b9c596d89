"""Draws group statistics: groups by number of passes, expected mixed share by group size."""

from __future__ import annotations

from pathlib import Path

from cligym.errors import ConfigError
from cligym.extras import needs_extra
from cligym.training.group_statistics import GroupStatistics

__all__ = ["save_plot"]

PLOT_SUFFIXES = (".png", ".svg", ".pdf")


def save_plot(stats: GroupStatistics, path: Path) -> None:
    """Saves a figure with two panels; its bytes depend on the statistics only.

    Args:
        stats: what to draw.
        path: file to write, ending in .png, .svg or .pdf.

    Raises:
        ConfigError: the file's ending is another one.
        DependencyError: matplotlib is not installed.
    """
    if path.suffix not in PLOT_SUFFIXES:
        raise ConfigError(f"a plot ends in {', '.join(PLOT_SUFFIXES)}; found {path.name!r}")
    with needs_extra("report", "drawing statistics"):
        import matplotlib
        from matplotlib.figure import Figure
    with matplotlib.rc_context({"svg.hashsalt": "cligym", "font.size": 9}):
        figure = Figure(figsize=(8, 3.2), layout="constrained")
        left, right = figure.subplots(1, 2)
        left.bar([str(k) for k in stats.passes_per_group], list(stats.passes_per_group.values()))
        left.set_xlabel("passed attempts in the group")
        left.set_ylabel("groups")
        sizes = [str(size) for size in stats.expected_mixed_share]
        right.plot(sizes, list(stats.expected_mixed_share.values()), "o-", label="expected")
        right.plot(sizes, list(stats.supported_mixed_share.values()), "s--", label="without prior")
        right.set_xlabel("group size G")
        right.set_ylabel("share of mixed groups")
        right.set_ylim(0, 1)
        if sizes:
            right.legend()
        # A date would make two drawings of the same numbers differ.
        dates = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
        figure.savefig(path, dpi=150, metadata=dates.get(path.suffix))
