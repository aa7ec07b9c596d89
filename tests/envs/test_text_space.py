"""A space of texts that takes what shells really print."""

from __future__ import annotations

import pytest

from cligym.envs.text_space import UnicodeText


@pytest.mark.parametrize("text", ["", "ls -la\n", "é✓漢\x1b[31m\x00", "a" * 100])
def test_any_text_within_the_bounds_belongs(text: str) -> None:
    assert UnicodeText(100).contains(text)


@pytest.mark.parametrize("value", [b"ls", 3, None, "a" * 101])
def test_other_things_do_not(value: object) -> None:
    assert not UnicodeText(100).contains(value)


def test_samples_belong_and_repeat_with_the_seed() -> None:
    one, two = UnicodeText(5, min_length=1, seed=7), UnicodeText(5, min_length=1, seed=7)
    samples = [one.sample() for _ in range(50)]
    assert samples == [two.sample() for _ in range(50)]
    assert all(one.contains(text) for text in samples)
    assert len(set(samples)) > 10
