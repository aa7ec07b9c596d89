"""Every test that docs/threat-model.md names exists: a promise without a test is none."""

from __future__ import annotations

import re
from pathlib import Path

_ROOT = Path(__file__).parents[2]


def test_every_named_test_exists() -> None:
    text = (_ROOT / "docs/threat-model.md").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith("| ") and "| Test" not in line]
    assert len(rows) >= 20
    sources = "".join(path.read_text() for path in Path(__file__).parent.glob("test_*.py"))
    defined = set(re.findall(r"^def test_(\w+)", sources, re.MULTILINE))
    for row in rows:
        names = re.findall(r"`([\w/.]+)`", row.rsplit("|", 2)[1])
        assert names, row
        for name in names:
            is_file = (_ROOT / "tests/sandboxes" / name).with_suffix(".py").exists() or (
                _ROOT / name
            ).exists()
            assert is_file or name in defined, f"{name}: no such test, in {row}"
