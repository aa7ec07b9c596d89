"""Paired comparison against hand-computed values, and its order-independence and speed."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
import scipy.stats

from cligym.errors import ConfigError
from cligym.training.comparison import compare_groups
from cligym.training.episode_rows import AttemptRow
from cligym.training.groups import GroupTable, count_groups
from cligym.training.variance import compare_runs

T, F, E = True, False, None


def table(
    outcomes: Mapping[str, Sequence[bool | None]], *, digest: str | None = None
) -> GroupTable:
    return count_groups(
        AttemptRow(task_id=task, attempt=str(i), passed=passed, task_digest=digest)
        for task, attempts in outcomes.items()
        for i, passed in enumerate(attempts)
    )


def test_values_computed_by_hand() -> None:
    a = table({"p": [F, F], "q": [T, F], "r": [T, T], "s": [T, T, F], "x": [T], "gone": [E]})
    b = table({"p": [T, F], "q": [F, F], "r": [T, E], "s": [T, T, F], "y": [F], "gone": [T]})
    found = compare_groups(a, b)
    assert found.difference == pytest.approx((0.5 - 0.5 + 0 + 0) / 4)
    assert (found.wins, found.losses, found.ties, found.common_tasks) == (1, 1, 2, 4)
    assert (found.only_in_a, found.only_in_b) == (("x",), ("gone", "y"))
    assert (found.infra_errors_a, found.infra_errors_b) == (1, 1)
    assert found.rate_a == pytest.approx((0 + 0.5 + 1 + 2 / 3) / 4)
    assert found.rate_b_infra_as_fail == pytest.approx((0.5 + 0 + 0.5 + 2 / 3) / 4)
    assert found.sign_test_p == 1.0


def test_ties_are_decided_exactly() -> None:
    a, b = table({"p": [T, F, F]}), table({"p": [T, F, F] * 3})
    assert compare_groups(a, b).ties == 1


def test_the_difference_is_b_minus_a_and_turns_with_the_sides() -> None:
    a, b = table({"p": [F], "q": [F]}), table({"p": [T], "q": [F]})
    forward, backward = compare_groups(a, b), compare_groups(b, a)
    assert (forward.difference, backward.difference) == (0.5, -0.5)
    assert (forward.wins, backward.losses) == (1, 1)


def test_the_interval_equals_scipy_within_noise() -> None:
    rng = np.random.default_rng(8)
    made = {
        side: {str(i): [bool(x) for x in rng.random(4) < rate] for i in range(80)}
        for side, rate in (("a", 0.4), ("b", 0.5))
    }
    a, b = table(made["a"]), table(made["b"])
    expected = scipy.stats.bootstrap(
        (b.rates - a.rates,), np.mean, method="percentile", n_resamples=20_000, rng=rng
    ).confidence_interval
    found = compare_groups(a, b)
    assert found.interval == pytest.approx((expected.low, expected.high), abs=0.006)


def test_tasks_with_other_files_are_not_paired() -> None:
    a = table({"p": [T], "q": [T]}, digest="old")
    b = table({"p": [T]}, digest="new")
    with pytest.raises(ConfigError, match="1 of these have other files"):
        compare_groups(a, b)


def test_nothing_in_common_is_refused() -> None:
    with pytest.raises(ConfigError, match="no task to compare on"):
        compare_groups(table({"p": [T]}), table({"q": [T]}))


def write_run(path: Path, rows: list[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_identical_inputs_in_any_order_give_identical_output(tmp_path: Path) -> None:
    rng = random.Random(4)
    rows: list[dict[str, object]] = [
        {"task_id": f"t{i}", "attempt": k, "passed": rng.random() < 0.4}
        for i in range(50)
        for k in range(4)
    ]
    shuffled = rng.sample(rows, len(rows))
    other = [{**row, "passed": rng.random() < 0.5} for row in rows]
    base = write_run(tmp_path / "b.jsonl", other)
    first = compare_runs(write_run(tmp_path / "a.jsonl", rows), base)
    second = compare_runs(write_run(tmp_path / "c.jsonl", shuffled), base)
    assert first == second


def test_every_grader_that_judged_both_is_compared(tmp_path: Path) -> None:
    def rows(hardened: bool) -> list[dict[str, object]]:
        verdicts = {"dataset": True, "hardened": hardened}
        return [{"task_id": "p", "attempt": 0, "verdicts": verdicts}]

    a = write_run(tmp_path / "a.jsonl", rows(False))
    b = write_run(tmp_path / "b.jsonl", rows(True))
    found = compare_runs(a, b)
    assert list(found) == ["hardened", "dataset"]
    assert (found["hardened"].difference, found["dataset"].difference) == (1.0, 0.0)


def test_a_large_comparison_takes_less_than_two_seconds() -> None:
    rng = np.random.default_rng(1)
    a, b = (
        table({str(i): [bool(x) for x in rng.random(4) < 0.3] for i in range(1_500)})
        for _ in range(2)
    )
    start = time.process_time()
    found = compare_groups(a, b)
    assert time.process_time() - start < 2.0
    assert found.resamples >= 100_000
