"""A missing optional package becomes one line with the command that installs it."""

from __future__ import annotations

import importlib

import pytest

from cligym.errors import DependencyError
from cligym.extras import missing_package, needs_extra


def test_a_missing_package_is_told_with_its_extra() -> None:
    with (
        pytest.raises(DependencyError, match=r"reading parquet: .*pip install 'cligym\[data\]'"),
        needs_extra("data", "reading parquet"),
    ):
        importlib.import_module("no_such_package_of_ours.part")


def test_an_installed_package_passes() -> None:
    with needs_extra("data", "reading"):
        importlib.import_module("json")


def test_other_errors_of_an_import_pass_unchanged() -> None:
    with pytest.raises(ZeroDivisionError), needs_extra("data", "reading"):
        raise ZeroDivisionError


@pytest.mark.parametrize(
    ("module", "remedy"),
    [("torch.nn", r"cligym\[train\]"), ("left_pad", "pip install left_pad")],
)
def test_the_remedy_follows_from_the_package(module: str, remedy: str) -> None:
    with pytest.raises(DependencyError, match=remedy):
        raise missing_package(ModuleNotFoundError(name=module))
