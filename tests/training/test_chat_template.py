"""Choosing and naming chat templates."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cligym.errors import ConfigError
from cligym.training.chat_template import choose_template, name_template

# Warnings of the training libraries are not ours to fix.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(autouse=True)
def _needs_training_libraries() -> None:
    pytest.importorskip("trl", reason="needs the extra [train]")


def test_known_templates_have_names_and_others_digests(
    tokenizer_with: Callable[[str], Any],
) -> None:
    assert choose_template(tokenizer_with("qwen3"), "own").startswith("qwen3 (sha256 ")
    assert name_template("{{ messages }}").startswith("sha256 ")


def test_the_training_twin_is_taken_on_request(tokenizer_with: Callable[[str], Any]) -> None:
    tokenizer = tokenizer_with("qwen3")
    assert choose_template(tokenizer, "training").startswith("qwen3_training (")
    assert tokenizer.chat_template == tokenizer_with("qwen3_training").chat_template


def test_a_template_without_a_twin_is_refused(tokenizer_with: Callable[[str], Any]) -> None:
    with pytest.raises(ConfigError, match="no training twin"):
        choose_template(tokenizer_with("qwen3_coder"), "training")


def test_a_file_is_read(tokenizer_with: Callable[[str], Any], tmp_path: Path) -> None:
    path = tmp_path / "x.jinja"
    path.write_text("{{ messages }}")
    tokenizer = tokenizer_with("qwen3")
    choose_template(tokenizer, str(path))
    assert tokenizer.chat_template == "{{ messages }}"
    with pytest.raises(ConfigError, match="cannot read"):
        choose_template(tokenizer, str(tmp_path / "missing"))


def test_a_tokenizer_without_a_template_is_refused(tokenizer_with: Callable[[str], Any]) -> None:
    tokenizer = tokenizer_with("qwen3")
    tokenizer.chat_template = None
    with pytest.raises(ConfigError, match="no chat template"):
        choose_template(tokenizer, "own")
