"""Which layers get an adapter."""

from __future__ import annotations

import pytest

from cligym.errors import ConfigError
from cligym.training.lora import find_targets

QWEN3_5 = [
    ("model.embed_tokens", False),
    ("model.layers.0.linear_attn.in_proj_qkv", True),
    ("model.layers.0.linear_attn.in_proj_z", True),
    ("model.layers.0.linear_attn.in_proj_a", True),
    ("model.layers.0.linear_attn.conv1d", False),
    ("model.layers.0.linear_attn.out_proj", True),
    ("model.layers.3.self_attn.q_proj", True),
    ("model.layers.3.mlp.down_proj", True),
    ("model.visual.blocks.0.attn.q_proj", True),
    ("lm_head", True),
]


def test_projections_of_the_language_model_are_found_by_name() -> None:
    assert [name.rpartition(".")[2] for name in find_targets(QWEN3_5)] == [
        "in_proj_qkv",
        "in_proj_z",
        "out_proj",
        "down_proj",
        "q_proj",
    ]


def test_an_unknown_family_is_refused_with_what_it_has() -> None:
    with pytest.raises(ConfigError, match="c_attn, lm_head"):
        find_targets([("h.0.c_attn", True), ("lm_head", True), ("norm", False)])
