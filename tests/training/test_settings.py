"""Settings: shipped file < own file < command line, and every shipped file is sound."""

from __future__ import annotations

import argparse
from importlib import resources
from pathlib import Path

import pytest
import yaml

from cligym.errors import ConfigError
from cligym.training.settings import add_flags, load_settings
from cligym.training.sft_settings import SftSettings

NEEDED = {"repairs": "verified.jsonl"}


def test_the_shipped_file_holds_every_setting_at_its_default() -> None:
    shipped = yaml.safe_load((resources.files("cligym.configs") / "sft.yaml").read_text())
    settings = load_settings(SftSettings, shipped="sft.yaml", config=None, flags=NEEDED)
    assert settings == SftSettings(repairs=Path("verified.jsonl"))
    assert shipped.keys() == SftSettings.model_fields.keys() - {"repairs"}


def test_the_command_line_wins_over_an_own_file(tmp_path: Path) -> None:
    own = tmp_path / "own.yaml"
    own.write_text("lora_rank: 8\nepochs: 3\n")
    parser = argparse.ArgumentParser()
    add_flags(parser, SftSettings)
    words = ["--repairs", "v.jsonl", "--epochs", "2", "--licences", "MIT", "ISC", "--use-cpu"]
    flags = vars(parser.parse_args(words))
    settings = load_settings(SftSettings, shipped="sft.yaml", config=own, flags=flags)
    assert (settings.lora_rank, settings.epochs, settings.lora_alpha) == (8, 2.0, 32)
    assert (settings.licences, settings.use_cpu) == (["MIT", "ISC"], True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("lora_rnk: 8\n", "'lora_rnk'"),
        ("lora_rank: 0\n", "'lora_rank'"),
        ("- 1\n", "no mapping"),
        ("a: [\n", "is no YAML"),
    ],
)
def test_wrong_files_are_refused(tmp_path: Path, text: str, message: str) -> None:
    own = tmp_path / "own.yaml"
    own.write_text(text)
    with pytest.raises(ConfigError, match=message):
        load_settings(SftSettings, shipped="sft.yaml", config=own, flags=NEEDED)


def test_what_is_written_reads_back(tmp_path: Path) -> None:
    settings = SftSettings(repairs=Path("v.jsonl"), licences=["MIT"])
    own = tmp_path / "settings.yaml"
    own.write_text(settings.to_yaml())
    assert load_settings(SftSettings, shipped="sft.yaml", config=own, flags={}) == settings
