"""Samples from a local `transformers` model, several attempts in one batch, each with its seed.

Requests wait for one another for a moment; on a CPU that is most of the speed. Each row draws from
a generator of its own, so an answer does not depend on who shares its batch (up to rounding).
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, Queue
from typing import Any

from cligym.agents.model_client import Completion, Sampling
from cligym.agents.rendering import ChatRenderer, load_tokenizer
from cligym.errors import ConfigError, ModelCallError, boundary
from cligym.extras import needs_extra

__all__ = ["TransformersClient", "load_transformers"]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Request:
    ids: tuple[int, ...]
    sampling: Sampling
    max_tokens: int
    seed: int
    answer: Future[Completion] = field(default_factory=Future)


class TransformersClient:
    """A model that many threads ask at once.

    Args:
        name: as records carry it.
        model: a transformers model.
        renderer: its tokenizer and template.
        facts: what else records say of it.
        batch: most answers at once.
        wait_s: how long a batch waits for more requests, in seconds.
    """

    def __init__(
        self,
        name: str,
        model: Any,
        renderer: ChatRenderer,
        *,
        facts: dict[str, Any] | None = None,
        batch: int = 8,
        wait_s: float = 0.1,
    ) -> None:
        with needs_extra("train", "sampling from a local model"):
            import torch
        self._torch = torch
        self.name = name
        self._model = model.eval()
        self._renderer = renderer
        self._facts = dict(facts or {})
        self._batch, self._wait_s = batch, wait_s
        self._ends = _end_tokens(model, renderer.tokenizer)
        self._queue: Queue[_Request | None] = Queue()
        self._thread = threading.Thread(target=self._serve, name="model", daemon=True)
        self._thread.start()

    def describe(self) -> dict[str, Any]:
        """Revision, adapter and chat template."""
        return self._facts | self._renderer.describe()

    def count_tokens(
        self, messages: Sequence[dict[str, Any]], tools: Sequence[dict[str, Any]]
    ) -> int | None:
        """Exact."""
        return len(self._renderer.prompt_ids(messages, tools))

    def complete(
        self,
        messages: Sequence[dict[str, Any]],
        tools: Sequence[dict[str, Any]],
        *,
        sampling: Sampling,
        max_tokens: int,
        seed: int,
    ) -> Completion:
        """The next answer.

        Raises:
            ModelCallError: the model failed (memory, for example), or was closed.
        """
        if not self._thread.is_alive():
            raise ModelCallError(f"the model {self.name} was closed")
        ids = self._renderer.prompt_ids(messages, tools)
        request = _Request(ids=ids, sampling=sampling, max_tokens=max_tokens, seed=seed)
        self._queue.put(request)
        with boundary(ModelCallError, f"the model {self.name} failed"):
            return request.answer.result()

    def close(self) -> None:
        """Ends the thread; idempotent."""
        if self._thread.is_alive():
            self._queue.put(None)
            self._thread.join()

    def _serve(self) -> None:
        """Collects requests and answers them, until it is closed."""
        open_for_more = True
        while open_for_more:
            first = self._queue.get()
            if first is None:
                return
            requests = [first]
            while len(requests) < self._batch:
                try:
                    more = self._queue.get(timeout=self._wait_s)
                except Empty:
                    break
                if more is None:
                    open_for_more = False
                    break
                requests.append(more)
            try:
                answers = self._sample(requests)
            except BaseException as error:  # whoever waits must hear of it, whatever it is
                for request in requests:
                    request.answer.set_exception(error)
                continue
            for request, answer in zip(requests, answers, strict=True):
                request.answer.set_result(answer)

    def _sample(self, requests: Sequence[_Request]) -> list[Completion]:
        """Decodes a batch, padded on the left, until every row has ended."""
        torch, device = self._torch, self._model.device
        width = max(len(request.ids) for request in requests)
        pad = min(self._ends)
        ids = torch.tensor([[pad] * (width - len(r.ids)) + list(r.ids) for r in requests])
        mask = torch.tensor([[0] * (width - len(r.ids)) + [1] * len(r.ids) for r in requests])
        ids, mask = ids.to(device), mask.to(device)
        rows = [_Row(request, torch.Generator().manual_seed(request.seed)) for request in requests]
        cache = None
        with torch.inference_mode():
            while not all(row.done(self._ends) for row in rows):
                positions = (mask.cumsum(-1) - 1).clamp(min=0)[:, -ids.shape[1] :]
                out = self._model(
                    input_ids=ids,
                    attention_mask=mask,
                    position_ids=positions,
                    past_key_values=cache,
                    use_cache=True,
                    logits_to_keep=1,
                )
                cache = out.past_key_values
                scores = torch.log_softmax(out.logits[:, -1].float(), dim=-1).cpu()
                drawn = [self._draw(row, scores[i], pad) for i, row in enumerate(rows)]
                ids = torch.tensor([[token] for token in drawn]).to(device)
                mask = torch.cat([mask, torch.ones_like(ids)], dim=1)
        return [self._completion(row) for row in rows]

    def _draw(self, row: _Row, scores: Any, pad: int) -> int:
        """Draws a row's next token: top-k, then top-p, then by chance; padding after its end."""
        if row.done(self._ends):
            return pad
        torch, sampling = self._torch, row.request.sampling
        if sampling.temperature <= 0:
            token = int(scores.argmax())
        else:
            count = min(sampling.top_k or len(scores), len(scores))
            values, indices = torch.topk(scores / sampling.temperature, count)
            shares = torch.softmax(values, dim=-1)
            # A token stays while the likelier ones before it have not filled the share yet.
            shares[shares.cumsum(-1) - shares > sampling.top_p] = 0
            token = int(indices[torch.multinomial(shares, 1, generator=row.generator)])
        row.sampled.append(token)
        row.logprobs.append(float(scores[token]))
        return token

    def _completion(self, row: _Row) -> Completion:
        ended = row.sampled[-1] in self._ends
        text_ids = row.sampled[:-1] if ended else row.sampled
        return Completion(
            text=str(self._renderer.tokenizer.decode(text_ids, skip_special_tokens=False)),
            finish_reason="stop" if ended else "length",
            prompt_tokens=len(row.request.ids),
            completion_tokens=len(row.sampled),
            prompt_ids=row.request.ids,
            completion_ids=tuple(row.sampled),
            logprobs=tuple(row.logprobs),
            ids_source="engine",
        )


@dataclass(slots=True)
class _Row:
    """One answer in the making."""

    request: _Request
    generator: Any
    sampled: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)

    def done(self, ends: frozenset[int]) -> bool:
        """Whether it has ended or is as long as it may be."""
        if not self.sampled:
            return False
        return self.sampled[-1] in ends or len(self.sampled) >= self.request.max_tokens


def load_transformers(
    folder: Path, *, adapter: Path | None = None, thinking: bool | None = None, batch: int = 8
) -> TransformersClient:
    """Loads a model's folder, with a LoRA adapter on top where one is given.

    Raises:
        ConfigError: a folder cannot be read.
        DependencyError: torch, transformers or peft is missing.
    """
    with needs_extra("train", "a local model"):
        import torch
        from transformers import AutoModelForCausalLM
    renderer = ChatRenderer(load_tokenizer(folder), thinking=thinking)
    with boundary(ConfigError, f"cannot read a model from {folder}"):
        model = AutoModelForCausalLM.from_pretrained(
            str(folder), dtype="auto", local_files_only=True
        )
    facts: dict[str, Any] = {"model_revision": _digest(folder, "model*.safetensors")}
    name = folder.resolve().name
    if adapter is not None:
        with needs_extra("train", "a LoRA adapter"):
            from peft import PeftModel
        with boundary(ConfigError, f"cannot read an adapter from {adapter}"):
            model = PeftModel.from_pretrained(model, str(adapter))
        facts["adapter_digest"] = _digest(adapter, "adapter_model*")
        name = f"{name}+{adapter.resolve().name}"
    if torch.cuda.is_available():
        model = model.to("cuda")
    return TransformersClient(name, model, renderer, facts=facts, batch=batch)


def _digest(folder: Path, weights: str) -> str:
    """Names weights and configuration by their content."""
    digest = hashlib.sha256()
    for path in sorted([*folder.glob(weights), *folder.glob("*config.json")]):
        with path.open("rb") as file:
            content = hashlib.file_digest(file, "sha256").hexdigest()
        digest.update(f"{path.name} {content}\n".encode())
    return "sha256:" + digest.hexdigest()


def _end_tokens(model: Any, tokenizer: Any) -> frozenset[int]:
    """Every token that ends a turn."""
    ends: set[int] = set()
    config = getattr(model, "generation_config", None)
    for value in (tokenizer.eos_token_id, getattr(config, "eos_token_id", None)):
        ends |= {value} if isinstance(value, int) else set(value or ())
    if not ends:
        raise ConfigError("the tokenizer names no end-of-turn token")
    return frozenset(ends)
