"""Pictures of a run's metrics; matplotlib is imported only when one is drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from cligym.errors import DependencyError

__all__ = ["draw_plots"]

_BLUE, _RED, _GREY = "#1f5fa8", "#c0392b", "#8a8a8a"


def draw_plots(metrics: Mapping[str, Any], folder: Path) -> list[Path]:
    """Writes arms_race, calibration, confusion, per_class and per_task as PNG files.

    Raises:
        DependencyError: matplotlib is missing.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise DependencyError("plots need matplotlib: pip install 'cligym[report]'") from error
    make: Any = Figure
    folder.mkdir(parents=True, exist_ok=True)
    parts: dict[str, Callable[[Any, Mapping[str, Any]], None]] = {
        "arms_race": _arms_race,
        "calibration": _calibration,
        "confusion": _confusion,
        "per_class": lambda axes, m: _bars(axes, m["by_class"], "bug_class"),
        "per_task": lambda axes, m: _bars(axes, m["by_task"], "task"),
    }
    paths = []
    for name, draw in parts.items():
        figure: Any = make(figsize=(7.5, 4.2), layout="constrained")
        axes: Any = figure.add_subplot()
        draw(axes, metrics)
        path = folder / f"{name}.png"
        # No software version in the file: equal metrics give equal pictures.
        figure.savefig(path, dpi=110, metadata={"Software": None})
        paths.append(path)
    return paths


def _arms_race(axes: Any, metrics: Mapping[str, Any]) -> None:
    table = metrics["by_round"]
    rounds = [row["round"] for row in table]
    recall = [_share(row["defence"]["recall"]) for row in table]
    evasion = [_share(row["attack"]["evasion_per_tampered"]) for row in table]
    axes.plot(rounds, recall, "s-", color=_BLUE, label="defender: recall of real bugs")
    axes.plot(rounds, evasion, "o-", color=_RED, label="attacker: evasion per tampered sample")
    axes.fill_between(rounds, [v if v == v else 0 for v in evasion], color=_RED, alpha=0.15)
    axes.set(xlabel="round", ylabel="rate", ylim=(-0.02, 1.05), title="Arms race by round")
    _legend_below(axes)


def _calibration(axes: Any, metrics: Mapping[str, Any]) -> None:
    bins = [row for row in metrics["calibration"]["bins"] if row["n"]]
    axes.plot([0, 1], [0, 1], "--", color=_GREY, label="perfect")
    sizes = [20 + 4 * row["n"] for row in bins]
    axes.scatter(
        [row["stated"] for row in bins],
        [row["found"] for row in bins],
        s=sizes,
        color=_BLUE,
        alpha=0.7,
        label="samples (area: how many)",
    )
    title = "Calibration: stated and true share of real bugs"
    axes.set(xlabel="stated probability of tampered", ylabel="share of real bugs", title=title)
    axes.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03))
    axes.legend(loc="upper left")


def _confusion(axes: Any, metrics: Mapping[str, Any]) -> None:
    counts = metrics["defence"]["confusion"]
    names = {
        "tp": "bug found",
        "fn": "bug missed",
        "fp": "false alarm",
        "tn": "clean, said so",
    }
    bars = axes.bar(
        list(names.values()),
        [counts[key] for key in names],
        color=[_BLUE, _RED, _RED, _BLUE],
    )
    axes.bar_label(bars)
    axes.set(ylabel="samples", title="Real bugs and clean samples")


def _bars(axes: Any, table: list[Mapping[str, Any]], name: str) -> None:
    labels = [str(row[name]) for row in table]
    places = range(len(labels))
    series = {
        "real bugs per attack": ("attack", "real_bug_per_attack", _GREY, -0.27),
        "evasion per tampered": ("attack", "evasion_per_tampered", _RED, 0.0),
        "recall of real bugs": ("defence", "recall", _BLUE, 0.27),
    }
    for label, (part, metric, colour, shift) in series.items():
        heights = [_share(row[part][metric]) for row in table]
        axes.bar([p + shift for p in places], heights, width=0.27, color=colour, label=label)
    axes.set_xticks(list(places), labels, rotation=20, ha="right")
    axes.set(ylabel="rate", ylim=(0, 1.05), title=f"By {name.replace('_', ' ')}")
    _legend_below(axes)


def _legend_below(axes: Any) -> None:
    axes.figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=3)


def _share(value: Mapping[str, Any]) -> float:
    found = value["rate"]
    return float("nan") if found is None else float(found)
