"""Fixtures of the training tests: tokenizers with chat templates, a tiny random model, repairs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Row = dict[str, Any]

BASH_TOOL: Row = {
    "type": "function",
    "function": {
        "name": "bash",
        "description": "Runs a command.",
        "parameters": {
            "type": "object",
            "properties": {"command": {"type": "string", "description": "the command"}},
            "required": ["command"],
        },
    },
}

_CORPUS = """
You repair a broken environment. Run commands with bash and stop when it works again.
cd /testbed && python -m pytest -q tests; cat src/module.py; ls -la /usr/lib/python3; git status
sed -i 's/return None/return value/' src/module.py && rm -f sitecustomize.py; pip list; env | sort
def parse(text): return [line.split("=") for line in text.splitlines() if line]
Traceback (most recent call last): ImportError: cannot import name 'parse' from 'module'
<function=bash>\n<parameter=command>\n</parameter>\n</function>
{"name": "bash", "arguments": {"command": "ls"}}
# Tools\n\nYou may call one or more functions to assist with the user query.
"""
_ADDED = (
    "<|endoftext|>", "<|im_start|>", "<|im_end|>", "<tool_call>", "</tool_call>",
    "<tool_response>", "</tool_response>", "<think>", "</think>",
)  # fmt: skip
_SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


@pytest.fixture(scope="session")
def base_tokenizer() -> Any:
    """A byte-level BPE tokenizer with Qwen's way to split, trained on a few lines."""
    transformers = pytest.importorskip("transformers", reason="needs the extra [train]")
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_SPLIT), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=600, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator([_CORPUS] * 4, trainer)
    # As in Qwen's own files: the turn marks are special, the tags of calls and thoughts are not.
    tokenizer.add_tokens(
        [AddedToken(text, special=text.startswith("<|"), normalized=False) for text in _ADDED]
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token="<|im_end|>", pad_token="<|endoftext|>"
    )


def template_text(name: str) -> str:
    """Reads a chat template: TRL's, or one written for these tests."""
    from importlib import resources

    own = Path(__file__).parent / "templates" / f"{name}.jinja"
    if own.is_file():
        return own.read_text()
    return (resources.files("trl.chat_templates") / f"{name}.jinja").read_text()


@pytest.fixture
def tokenizer_with(base_tokenizer: Any) -> Callable[[str], Any]:
    """Gives the tokenizer with the chat template of this name."""
    import copy

    def choose(name: str) -> Any:
        tokenizer = copy.deepcopy(base_tokenizer)
        tokenizer.chat_template = template_text(name)
        return tokenizer

    return choose


@pytest.fixture(scope="session")
def tiny_qwen(base_tokenizer: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random model of the newest Qwen family with three linear-attention layers, saved."""
    torch = pytest.importorskip("torch", reason="needs the extra [train]")
    from transformers import Qwen3_5ForCausalLM, Qwen3_5TextConfig

    torch.manual_seed(0)
    config = Qwen3_5TextConfig(
        vocab_size=len(base_tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=4,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=16,
        linear_num_key_heads=2,
        linear_num_value_heads=2,
        linear_key_head_dim=16,
        linear_value_head_dim=16,
        max_position_embeddings=4096,
        eos_token_id=base_tokenizer.eos_token_id,
        pad_token_id=base_tokenizer.pad_token_id,
    )
    folder = tmp_path_factory.mktemp("tiny-qwen")
    Qwen3_5ForCausalLM(config).save_pretrained(folder)
    base_tokenizer.chat_template = template_text("qwen3_5_nothink")
    base_tokenizer.save_pretrained(folder)
    return folder


def bash_call(command: str, *, content: str = "", reasoning: str | None = None) -> Row:
    """An assistant's message that runs one command."""
    function = {"name": "bash", "arguments": {"command": command}}
    message: Row = {
        "role": "assistant",
        "content": content,
        "tool_calls": [{"type": "function", "function": function}],
    }
    return message if reasoning is None else {**message, "reasoning_content": reasoning}


def repair_row(number: int = 0, **changes: Any) -> Row:
    """A row as the evaluator writes it to verified.jsonl."""
    row: Row = {
        "schema_version": 1,
        "task_id": f"task-{number}",
        "task_digest": f"sha256:{number:064x}",
        "repository": f"repo-{number % 2}",
        "licence": "MIT",
        "split": "train",
        "attempt": 0,
        "seed": number,
        "model": "oracle",
        "grader": {"name": "hardened", "version": 1},
        "passed": True,
        "reward": 1.0,
        "messages": [
            {"role": "system", "content": "You repair a broken environment."},
            {"role": "user", "content": f"Test {number} fails. Repair it."},
            bash_call("git status", content="I look first."),
            {"role": "tool", "name": "bash", "content": "modified: src/module.py"},
            bash_call(f"sed -i 's/{number}/1/' src/module.py"),
            {"role": "tool", "name": "bash", "content": ""},
            {"role": "assistant", "content": "It works again."},
        ],
        "tools": [BASH_TOOL],
        "chat_template_kwargs": {},
        "tokens": None,
        "end_reason": "submitted",
        "commands": 2,
    }
    return {**row, **changes}


@pytest.fixture
def write_repairs(tmp_path: Path) -> Callable[..., Path]:
    """Writes rows to a file of repairs."""

    def write(*rows: Row, tail: str = "") -> Path:
        path = tmp_path / "verified.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows) + tail)
        return path

    return write


@pytest.fixture
def make_row() -> Callable[..., Row]:
    """Makes a verified repair; keyword arguments replace its fields."""
    return repair_row


@pytest.fixture
def make_call() -> Callable[..., Row]:
    """Makes an assistant's message that runs one command."""
    return bash_call
