"""Whole runs use the suite's store, so that the judge's image is built once."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def suite_store(store_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLIGYM_HOME", str(store_home))
