"""Graders by name: known ones, near misses, dotted paths."""

from __future__ import annotations

import pytest

from cligym.errors import ConfigError
from cligym.graders.registry import grader_names, load_grader


@pytest.mark.parametrize("name", ["dataset", "published", "hardened"])
def test_our_graders_load(name: str) -> None:
    assert load_grader(name).name == name


def test_a_near_miss_is_named() -> None:
    with pytest.raises(ConfigError, match="did you mean 'hardened'"):
        grader_names(["hardend"])


def test_names_are_kept_in_order_once() -> None:
    assert grader_names(["hardened", "dataset", "hardened"]) == ("hardened", "dataset")
    assert grader_names("published") == ("published",)


@pytest.mark.parametrize("names", [[], ["nobody.here:Grader"]])
def test_what_cannot_be_loaded(names: list[str]) -> None:
    with pytest.raises(ConfigError):
        for name in grader_names(names):
            load_grader(name)


def test_a_dotted_path_loads() -> None:
    assert load_grader("cligym.graders.dataset:DatasetGrader").name == "dataset"
