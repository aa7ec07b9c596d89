"""Candidates that attack the judge neither win, nor pass for what they are not, nor hang it."""

from __future__ import annotations

import time

import pytest

from cligym.graders.judge import Judge
from tests.judge.hostile_candidates import HOSTILE


def test_there_are_enough() -> None:
    assert len(HOSTILE) >= 30


@pytest.mark.userns
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_candidate_neither_wins_nor_hangs(judge: Judge, name: str) -> None:
    right, source = HOSTILE[name]
    started = time.monotonic()
    verdict = judge.judge("binary_search", source)
    assert time.monotonic() - started < 40
    assert verdict.outcome in right, verdict.reason
    assert not verdict.real_bug


@pytest.mark.userns
def test_judge_works_after_them(judge: Judge) -> None:
    clean = judge.tasks["binary_search"].solution("bisection").source
    assert judge.check_clean("binary_search", clean).all_passed
