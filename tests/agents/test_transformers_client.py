"""A tiny random model of Qwen's kind, through the client that runs real ones."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import cligym
from cligym.agents.attempt import play_attempt
from cligym.agents.model_agent import AgentSettings, ModelAgent
from cligym.agents.model_client import Completion, Sampling
from cligym.agents.records import BASH_TOOL, AttemptRecord
from cligym.agents.transformers_client import TransformersClient, load_transformers
from cligym.envs.bench import Bench
from cligym.envs.hardened import CLIGymHardenedEnv
from cligym.errors import ConfigError, ModelCallError
from cligym.sandboxes.namespace import NamespaceBackend
from tests.agents.test_views import agree

pytestmark = [
    pytest.mark.model,
    # transformers renames what transformers and peft themselves still use.
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]

TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def tiny_model(transformers: Any, family: str, vocabulary: int, end: int) -> Any:
    """A random model; the newest family mixes linear attention with full attention."""
    common = {
        "vocab_size": vocabulary,
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
        "head_dim": 16,
        "eos_token_id": end,
        "bos_token_id": None,
    }
    if family == "qwen3":
        config = transformers.Qwen3Config(num_hidden_layers=2, **common)
        return transformers.Qwen3ForCausalLM(config)
    config = transformers.Qwen3_5TextConfig(
        num_hidden_layers=4,
        linear_num_key_heads=2,
        linear_num_value_heads=2,
        linear_key_head_dim=16,
        linear_value_head_dim=16,
        max_position_embeddings=4096,
        pad_token_id=end,
        **common,
    )
    return transformers.Qwen3_5ForCausalLM(config)


@pytest.fixture(scope="module", params=["qwen3", "qwen3_5"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch = pytest.importorskip("torch", reason="needs the extra [train]")
    transformers = pytest.importorskip("transformers", reason="needs the extra [train]")
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    torch.manual_seed(0)
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE(vocab={c: i for i, c in enumerate(letters)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_tokens([AddedToken(t, special=True) for t in ("<|im_start|>", "<|im_end|>")])
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token="<|im_end|>", chat_template=TEMPLATE
    )
    model = tiny_model(transformers, request.param, len(fast), fast.eos_token_id)
    path = tmp_path_factory.mktemp("models") / "tiny-qwen"
    model.save_pretrained(path)
    fast.save_pretrained(path)
    return path


@pytest.fixture(scope="module")
def client(folder: Path) -> Iterator[TransformersClient]:
    client = load_transformers(folder)
    yield client
    client.close()


def ask(client: TransformersClient, text: str, seed: int, **more: Any) -> Completion:
    return client.complete(
        [{"role": "user", "content": text}],
        [BASH_TOOL],
        sampling=more.pop("sampling", Sampling(temperature=1.0)),
        max_tokens=more.pop("max_tokens", 12),
        seed=seed,
    )


def test_the_seed_decides_and_the_batch_does_not(client: TransformersClient) -> None:
    alone = [ask(client, "x" * (5 * n + 1), seed=n) for n in range(6)]
    with ThreadPoolExecutor(6) as pool:
        together = list(pool.map(lambda n: ask(client, "x" * (5 * n + 1), seed=n), range(6)))
    assert [c.completion_ids for c in together] == [c.completion_ids for c in alone]
    assert len({c.completion_ids for c in alone}) > 1


def test_what_is_recorded_is_what_was_sampled(client: TransformersClient) -> None:
    found = ask(client, "hi", seed=3)
    assert found.completion_ids and found.logprobs and found.prompt_ids
    assert len(found.completion_ids) == len(found.logprobs) == found.completion_tokens <= 12
    assert len(found.prompt_ids) == found.prompt_tokens
    assert found.ids_source == "engine" and all(value <= 0 for value in found.logprobs)
    messages = [{"role": "user", "content": "hi"}]
    assert client.count_tokens(messages, [BASH_TOOL]) == found.prompt_tokens


def test_temperature_zero_takes_the_likeliest(client: TransformersClient) -> None:
    greedy = [ask(client, "hi", seed=n, sampling=Sampling(temperature=0)) for n in (1, 2)]
    assert greedy[0].completion_ids == greedy[1].completion_ids


def test_it_plays_an_attempt_to_a_lawful_end(client: TransformersClient) -> None:
    agent = ModelAgent(
        "m", client, seed=5, settings=AgentSettings(turn_tokens=16), system_prompt="repair"
    )
    assert agent.act("broken") == cligym.SUBMIT
    assert agent.end_reason in ("stopped", "truncated")
    said = agent.finish(None)
    tokens = said["tokens"]
    assert tokens["source"] == "engine" and set(tokens["mask"]) == {1}
    assert (
        len(tokens["mask"]) == len(tokens["completion_ids"]) == said["usage"]["completion_tokens"]
    )
    assert said["model"] == "tiny-qwen" and said["model_revision"].startswith("sha256:")
    assert tokens["chat_template_sha256"] == said["chat_template_sha256"]


def test_an_adapter_is_named_and_changes_the_answers(folder: Path, tmp_path: Path) -> None:
    peft = pytest.importorskip("peft", reason="needs the extra [train]")
    torch = pytest.importorskip("torch", reason="needs the extra [train]")
    transformers = pytest.importorskip("transformers", reason="needs the extra [train]")
    model = transformers.AutoModelForCausalLM.from_pretrained(str(folder))
    tuned = peft.get_peft_model(
        model, peft.LoraConfig(r=4, target_modules=["q_proj", "v_proj", "o_proj"])
    )
    torch.manual_seed(1)
    for name, weight in tuned.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(weight, std=3.0)
    tuned.save_pretrained(str(tmp_path / "adapter"))
    base, other = load_transformers(folder), load_transformers(folder, adapter=tmp_path / "adapter")
    try:
        assert other.name == "tiny-qwen+adapter"
        assert other.describe()["adapter_digest"].startswith("sha256:")
        greedy = Sampling(temperature=0)
        first, second = (ask(c, "hello", 1, sampling=greedy) for c in (base, other))
        assert first.completion_ids != second.completion_ids
    finally:
        base.close()
        other.close()


def test_a_closed_model_and_a_missing_folder_say_so(folder: Path, tmp_path: Path) -> None:
    client = load_transformers(folder)
    client.close()
    client.close()
    with pytest.raises(ModelCallError, match="was closed"):
        ask(client, "hi", 1)
    with pytest.raises(ConfigError, match="cannot read"):
        load_transformers(tmp_path / "none")


@pytest.mark.userns
@pytest.mark.xdist_group("starter")
def test_it_plays_real_episodes_that_are_graded(
    client: TransformersClient, backend: NamespaceBackend
) -> None:
    bench = Bench("starter", backend=backend)
    env = CLIGymHardenedEnv(tasks=bench)
    budgets = AgentSettings(turn_tokens=24)
    agent = ModelAgent("model:tiny", client, seed=1, settings=budgets, system_prompt="repair")
    try:
        record = play_attempt(env, agent, task_id=sorted(bench.tasks)[0], attempt=0, seed=1)
    finally:
        env.close()
    assert record.infra_error is None and record.passed is False and record.reward == 0.0
    assert record.end_reason in ("stopped", "truncated")
    (line,) = record.to_line().splitlines()
    again = AttemptRecord.model_validate_json(line)
    assert again.tokens is not None and again.tokens["source"] == "engine"
    assert again.seconds["model"] > 0
    agree(again)
