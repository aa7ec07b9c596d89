"""What the shop computes."""

import os
import sys

import pytest
from workshop.core import discount, total  # type: ignore[import-not-found]  # in the image


@pytest.mark.parametrize("names, cost", [(["nail"], 1), (["saw", "hammer"], 32), ([], 0)])
def test_total(names: list[str], cost: int) -> None:
    assert total(names) == cost


def test_discount() -> None:
    assert discount(200, 25) == 150


@pytest.mark.skipif(sys.version_info >= (3, 0), reason="never here")
def test_skipped() -> None:
    raise AssertionError


@pytest.mark.xfail(reason="known")
def test_known_failure() -> None:
    assert discount(1, 1) == 1


def test_nothing_was_slipped_in() -> None:
    assert "CLIGYM_CHANNEL" not in os.environ
    assert "" not in sys.path
