"""Rules that stop a reinforcement learning run that cannot succeed any more.

Source of the defaults: the published GRPO study on these environments (FACTS: three updates without
variance; fewer than 60 % informative groups in two windows of 32; more than 5 % cut-off attempts in
two windows of 8).
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["StopRules", "StopSettings"]

INFORMATIVE = "groups/informative_share"
INFRA_SHARE = "groups/infra_error_share"
TRUNCATED = "completions/clipped_ratio"
_WATCHED = ("loss", "grad_norm")


@dataclass(frozen=True, slots=True, kw_only=True)
class StopSettings:
    """When to stop; None switches a rule off.

    Attributes:
        constant_updates: updates in a row without any informative group.
        informative_window: updates in a window.
        least_informative: lowest share of informative groups in a window, in [0, 1].
        truncated_window: updates in a window.
        most_truncated: highest share of cut-off attempts in a window, in [0, 1].
        windows: bad windows in a row before the run stops.
        infra_updates: updates in a row with infra errors in more than half of the attempts.
    """

    constant_updates: int | None = 3
    informative_window: int | None = 32
    least_informative: float = 0.6
    truncated_window: int | None = 8
    most_truncated: float = 0.05
    windows: int = 2
    infra_updates: int | None = 3


class StopRules:
    """Watches the log of each update."""

    def __init__(self, settings: StopSettings | None = None) -> None:
        self.settings = settings or StopSettings()
        self._constant = 0
        self._infra = 0
        self._informative: deque[float] = deque()
        self._truncated: deque[float] = deque()
        self._bad = {INFORMATIVE: 0, TRUNCATED: 0}

    def update(self, log: Mapping[str, Any]) -> str | None:
        """Takes in one update's log.

        Returns:
            Why the run must stop, in one line; None to go on.
        """
        for name in _WATCHED:
            value = log.get(name)
            if value is not None and not math.isfinite(float(value)):
                return f"{name} is not finite ({value})"
        return self._without_variance(log) or self._infra_errors(log) or self._windows(log)

    def _without_variance(self, log: Mapping[str, Any]) -> str | None:
        """Counts updates in a row without any informative group."""
        share = log.get(INFORMATIVE)
        if share is None or self.settings.constant_updates is None:
            return None
        self._constant = self._constant + 1 if share == 0 else 0
        if self._constant < self.settings.constant_updates:
            return None
        return f"{self._constant} updates in a row had no group with both outcomes"

    def _infra_errors(self, log: Mapping[str, Any]) -> str | None:
        """Counts updates in a row where most attempts had infra errors."""
        share = log.get(INFRA_SHARE)
        if share is None or self.settings.infra_updates is None:
            return None
        self._infra = self._infra + 1 if share > 0.5 else 0
        if self._infra < self.settings.infra_updates:
            return None
        return f"{self._infra} updates in a row had infra errors in most attempts"

    def _windows(self, log: Mapping[str, Any]) -> str | None:
        """Judges full windows, one after another and not overlapping."""
        rules = self.settings
        low = self._window_mean(self._informative, log.get(INFORMATIVE), rules.informative_window)
        if low is not None and self._count_bad(INFORMATIVE, low < rules.least_informative):
            return (
                f"only {low:.0%} of the groups were informative, {rules.windows} windows in a row"
            )
        high = self._window_mean(self._truncated, log.get(TRUNCATED), rules.truncated_window)
        if high is not None and self._count_bad(TRUNCATED, high > rules.most_truncated):
            return f"{high:.0%} of the attempts were cut off, {rules.windows} windows in a row"
        return None

    def _count_bad(self, name: str, bad: bool) -> bool:
        """Counts bad windows in a row; True when there are too many."""
        self._bad[name] = self._bad[name] + 1 if bad else 0
        return self._bad[name] >= self.settings.windows

    @staticmethod
    def _window_mean(window: deque[float], value: Any, size: int | None) -> float | None:
        """Adds a value; the mean of the window once it is full, which empties it."""
        if value is None or size is None:
            return None
        window.append(float(value))
        if len(window) < size:
            return None
        mean = sum(window) / len(window)
        window.clear()
        return mean
