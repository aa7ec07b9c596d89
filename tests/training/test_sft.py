"""Supervised fine-tuning of a tiny random model, for real: two updates, loss, labels, adapter."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cligym.errors import ConfigError
from cligym.training import sft
from cligym.training.chat_mask import IGNORED, MaskError, template_digest
from cligym.training.sft_data import Turns, build_dataset
from cligym.training.sft_settings import SftSettings
from cligym.training.sft_setup import make_trainer
from cligym.training.verified import read_repairs

Write = Callable[..., Path]
Make = Callable[..., dict[str, Any]]

# Warnings of the training libraries are not ours to fix.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(autouse=True)
def _needs_training_libraries() -> None:
    pytest.importorskip("trl", reason="needs the extra [train]")


@pytest.fixture
def tokenizer(tokenizer_with: Callable[[str], Any]) -> Any:
    return tokenizer_with("qwen3_5_nothink")


def test_two_updates_train_an_adapter(
    tiny_qwen: Path, write_repairs: Write, make_row: Make, tmp_path: Path
) -> None:
    import torch
    from peft import PeftModel
    from transformers import AutoModelForCausalLM, AutoTokenizer

    repairs = write_repairs(*[make_row(i) for i in range(4)])
    out = tmp_path / "out"
    words = ["--repairs", repairs, "--model", tiny_qwen, "--output", out, "--max-steps", 2]
    words += ["--examples-per-update", 2, "--use-cpu", "--save-every-steps", 1]
    words += ["--learning-rate", 0.01, "--warmup-fraction", 0]
    assert sft.main([str(word) for word in words]) == 0

    results = json.loads((out / "results.json").read_text())
    assert results["updates"] == 2
    # A random model guesses: its loss starts at the logarithm of the vocabulary.
    vocabulary = len(AutoTokenizer.from_pretrained(out))
    start = float(torch.log(torch.tensor(float(vocabulary))))
    assert results["losses"][0] == pytest.approx(start, abs=0.3)
    assert results["losses"][1] < results["losses"][0]

    adapter = json.loads((out / "adapter_config.json").read_text())
    assert (adapter["r"], adapter["lora_alpha"]) == (16, 32)
    kinds = {name.rpartition(".")[2] for name in adapter["target_modules"]}
    assert kinds >= {"in_proj_qkv", "in_proj_z", "out_proj", "q_proj", "o_proj", "down_proj"}
    model = PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(tiny_qwen), out)
    moved = [p for name, p in model.named_parameters() if "lora_B" in name and p.abs().sum() > 0]
    assert len(moved) == 4 * 3 + 3 * 3 + 4  # MLP, linear attention, attention

    report = json.loads((out / "dataset.json").read_text())
    card = (out / "README.md").read_text()
    assert report["dataset_sha256"] in card
    assert f"mean loss: {results['mean_loss']}" in card
    assert (report["examples"], report["tasks"], report["repositories"]) == (4, 4, 2)


def test_a_stopped_run_resumes_and_a_folder_is_never_reused(
    tiny_qwen: Path, write_repairs: Write, make_row: Make, tmp_path: Path
) -> None:
    def run(path: Path, **changes: Any) -> dict[str, Any]:
        base = {"model": str(tiny_qwen), "output": tmp_path / "out", "use_cpu": True}
        base |= {"examples_per_update": 2, "save_every_steps": 1}
        return sft.train(SftSettings(repairs=path, **{**base, **changes}))

    repairs = write_repairs(*[make_row(i) for i in range(4)])
    with pytest.raises(ConfigError, match="no checkpoint to resume"):
        run(repairs, resume=True)
    assert run(repairs, max_steps=1)["updates"] == 1
    with pytest.raises(ConfigError, match="holds checkpoints of a run"):
        run(repairs)
    assert run(repairs, max_steps=2, resume=True)["updates"] == 2
    with pytest.raises(ConfigError, match="another dataset"):
        run(write_repairs(make_row(7)), resume=True)


def test_the_trainers_labels_are_the_proven_ones(
    tiny_qwen: Path, tokenizer: Any, write_repairs: Write, make_row: Make, tmp_path: Path
) -> None:
    rows = read_repairs(write_repairs(*[make_row(i) for i in range(3)]))
    dataset = build_dataset(rows, tokenizer, template_name="x", max_tokens=9999)
    settings = SftSettings(
        repairs=tmp_path, model=str(tiny_qwen), output=tmp_path / "out", use_cpu=True
    )
    trainer = make_trainer(settings, dataset, tokenizer)
    batch = trainer.data_collator([trainer.train_dataset[i] for i in range(3)])
    for example, ids, labels in zip(
        dataset.examples, batch["input_ids"], batch["labels"], strict=True
    ):
        size = len(example.input_ids)
        assert tuple(ids[:size].tolist()) == example.input_ids
        assert tuple(labels[:size].tolist()) == example.labels
        assert set(labels[size:].tolist()) <= {IGNORED}


def test_long_examples_are_dropped_and_counted_never_cut(
    tokenizer: Any, write_repairs: Write, make_row: Make
) -> None:
    long = make_row(1)
    long["messages"][3]["content"] = "output " * 500
    rows = read_repairs(write_repairs(make_row(0), long))
    dataset = build_dataset(rows, tokenizer, template_name="x", max_tokens=900)
    assert (dataset.report.examples, dataset.report.dropped_over_length) == (1, 1)
    with pytest.raises(ConfigError, match="all 2 sequences are longer"):
        build_dataset(rows, tokenizer, template_name="x", max_tokens=10)


def test_split_turns_train_each_turn_in_its_own_context(
    tokenizer: Any, write_repairs: Write, make_row: Make
) -> None:
    rows = read_repairs(write_repairs(make_row(0)))
    whole = build_dataset(rows, tokenizer, template_name="x", max_tokens=9999)
    split = build_dataset(rows, tokenizer, template_name="x", max_tokens=9999, turns=Turns.SPLIT)
    assert (whole.report.examples, split.report.examples) == (1, 3)
    assert whole.report.trained_tokens == split.report.trained_tokens


def test_repeated_repairs_are_reported(
    tokenizer: Any, write_repairs: Write, make_row: Make
) -> None:
    rows = read_repairs(write_repairs(make_row(0), make_row(0, attempt=1), make_row(1)))
    report = build_dataset(rows, tokenizer, template_name="x", max_tokens=9999).report
    assert (report.repeated_repairs, report.repeated_sequences) == (1, 1)


def sampled_tokens(tokenizer: Any, row: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """What an engine would hand back for a row: ids split at the first answer."""
    path_free = read_row_example(tokenizer, row)
    start = next(i for i, label in enumerate(path_free.labels) if label != IGNORED)
    tokens = {
        "prompt_ids": list(path_free.input_ids[:start]),
        "completion_ids": list(path_free.input_ids[start:]),
        "mask": [int(label != IGNORED) for label in path_free.labels[start:]],
        "source": "engine",
        "model": "tiny",
        "chat_template_sha256": template_digest(tokenizer.chat_template),
    }
    return {**tokens, **changes}


def read_row_example(tokenizer: Any, row: dict[str, Any]) -> Any:
    from cligym.training.chat_mask import Conversation, mask_conversation

    return mask_conversation(tokenizer, Conversation(messages=row["messages"], tools=row["tools"]))


def test_sampled_ids_are_used_as_they_are(
    tokenizer: Any, write_repairs: Write, make_row: Make
) -> None:
    row = make_row()
    rendered = read_row_example(tokenizer, row)
    tokens = sampled_tokens(tokenizer, row)
    # Another way to cut the same text into tokens, as sampling may give: letter by letter.
    words = [tokenizer.decode([i]) for i in tokens["completion_ids"]]
    at = next(i for i, word in enumerate(words) if len(word) > 1 and word.strip().isalpha())
    letters = [i for c in words[at] for i in tokenizer.encode(c, add_special_tokens=False)]
    tokens["completion_ids"][at : at + 1] = letters
    tokens["mask"][at : at + 1] = [1] * len(letters)
    rows = read_repairs(write_repairs({**row, "tokens": tokens}))
    dataset = build_dataset(rows, tokenizer, template_name="x", max_tokens=9999)
    assert (dataset.report.from_sampled_ids, dataset.report.from_rendering) == (1, 0)
    example = dataset.examples[0]
    assert example.input_ids != rendered.input_ids
    assert list(example.input_ids) == tokens["prompt_ids"] + tokens["completion_ids"]
    assert example.trained_tokens == sum(tokens["mask"])


@pytest.mark.parametrize(
    "changes",
    [{"source": "rerender"}, {"chat_template_sha256": "0"}, {"chat_template_sha256": None}],
)
def test_ids_of_another_origin_are_rendered_again(
    tokenizer: Any, write_repairs: Write, make_row: Make, changes: dict[str, Any]
) -> None:
    row = make_row()
    rows = read_repairs(write_repairs({**row, "tokens": sampled_tokens(tokenizer, row, **changes)}))
    report = build_dataset(rows, tokenizer, template_name="x", max_tokens=9999).report
    assert (report.from_sampled_ids, report.from_rendering) == (0, 1)


def test_sampled_ids_that_say_something_else_are_refused(
    tokenizer: Any, write_repairs: Write, make_row: Make
) -> None:
    row = make_row()
    tokens = sampled_tokens(tokenizer, row)
    other = make_row(5)

    def build(**changes: Any) -> None:
        rows = read_repairs(write_repairs({**row, "tokens": tokens, **changes}))
        build_dataset(rows, tokenizer, template_name="x", max_tokens=9999)

    with pytest.raises(MaskError, match="other tool calls than its message"):
        build(messages=other["messages"])
    with pytest.raises(MaskError, match="3 turns, the messages 1"):
        build(messages=[*row["messages"][:2], row["messages"][-1]])
    with pytest.raises(MaskError, match="empty mask"):
        build(tokens={**tokens, "mask": [0] * len(tokens["mask"])})
    with pytest.raises(MaskError, match="a mask of 0 and 1"):
        build(tokens={**tokens, "mask": tokens["mask"][:-1]})


def test_a_broken_template_stops_with_task_and_turn(
    tokenizer_with: Callable[[str], Any], write_repairs: Write, make_row: Make
) -> None:
    rows = read_repairs(write_repairs(make_row(3)))
    with pytest.raises(MaskError, match="task task-3, attempt 0: chat template qwen3, turn 2"):
        build_dataset(rows, tokenizer_with("qwen3"), template_name="qwen3", max_tokens=9999)


def test_wrong_input_is_one_line_on_standard_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sft.main(["--repairs", str(tmp_path / "missing")]) == 2
    assert capsys.readouterr().err.startswith("error: cannot read repairs")


def test_rows_whose_mask_cannot_be_proven_can_be_left_out_and_are_counted(
    tokenizer: Any, write_repairs: Write, make_row: Make
) -> None:
    bad = make_row(1)
    bad["messages"][2]["content"] = "a<|im_end|>b"
    rows = read_repairs(write_repairs(make_row(0), bad))
    with pytest.raises(MaskError, match="task task-1"):
        build_dataset(rows, tokenizer, template_name="x", max_tokens=9999)
    report = build_dataset(
        rows, tokenizer, template_name="x", max_tokens=9999, drop_unproven=True
    ).report
    assert (report.examples, report.from_rendering, report.dropped_unproven) == (1, 1, 1)


def test_a_call_that_could_not_be_read_is_the_assistants_text(
    tokenizer: Any, write_repairs: Write, make_row: Make
) -> None:
    row = make_row()
    bad = '<tool_call>\n{"name": "bash", "argu\n</tool_call>'
    told = {"role": "user", "content": "[this tool call could not be read]"}
    row["messages"][2:2] = [{"role": "assistant", "content": bad}, told]
    tokenizer.chat_template = tokenizer_text("qwen2_5")
    dataset = build_dataset(
        read_repairs(write_repairs(row)), tokenizer, template_name="x", max_tokens=9999
    )
    example = dataset.examples[0]
    words = tokenizer.decode([label for label in example.labels if label != IGNORED])
    assert words.startswith(f"{bad}<|im_end|>I look first.")


def tokenizer_text(name: str) -> str:
    from importlib import resources

    return (resources.files("trl.chat_templates") / f"{name}.jinja").read_text()


def test_sampled_turns_are_used_where_the_history_was_rewritten(
    tokenizer: Any, write_repairs: Write, make_row: Make
) -> None:
    from cligym.training.chat_mask import Conversation, mask_each_turn

    tokenizer.chat_template = tokenizer_text("qwen3")
    row = make_row(chat_template_kwargs={"enable_thinking": False})
    expected = mask_each_turn(
        tokenizer,
        Conversation(
            messages=row["messages"],
            tools=row["tools"],
            template_options={"enable_thinking": False},
        ),
    )
    turns: list[dict[str, Any]] = []
    before: list[int] = []
    for example in expected:
        start = next(i for i, label in enumerate(example.labels) if label != IGNORED)
        prompt, sampled = list(example.input_ids[:start]), list(example.input_ids[start:])
        pairs = enumerate(zip(before, prompt, strict=False))
        kept = next((i for i, (old, new) in pairs if old != new), min(len(before), len(prompt)))
        turns.append({"kept": kept, "prompt_ids": prompt[kept:], "completion_ids": sampled})
        before = prompt + sampled
    assert any(turn["kept"] for turn in turns)
    row |= {
        "token_turns": turns,
        "chat_template_sha256": template_digest(tokenizer.chat_template),
    }
    rows = read_repairs(write_repairs(row))
    dataset = build_dataset(rows, tokenizer, template_name="x", max_tokens=9999)
    assert list(dataset.examples) == expected
    assert (dataset.report.from_sampled_ids, dataset.report.from_rendering) == (1, 0)
