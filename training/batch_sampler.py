"""Samples answers of a local model in batches, each answer with its own seed.

Attempts wait for one another for a moment, so that several are decoded together; on a CPU that is
most of the speed. Each row draws from a generator of its own, so an answer does not depend on who
shares its batch (up to rounding).
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from queue import Empty, Queue
from typing import Any

from cligym.extras import needs_extra

__all__ = ["BatchSampler", "SamplingSettings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingSettings:
    """How answers are drawn.

    Attributes:
        temperature: above 0.
        top_p: share of probability that is kept.
        top_k: tokens that are kept.
        max_tokens: longest answer.
        batch: most answers at once.
        wait_s: how long a batch waits for more requests, in seconds.
    """

    temperature: float = 0.7
    top_p: float = 0.95
    top_k: int = 20
    max_tokens: int = 96
    batch: int = 8
    wait_s: float = 0.5


@dataclass(frozen=True, slots=True)
class _Request:
    ids: list[int]
    seed: int
    answer: Future[str] = field(default_factory=Future)


class BatchSampler:
    """A model that many threads ask at once; use it as a context manager, or call `close`.

    Args:
        model: a transformers model.
        tokenizer: its tokenizer.
        settings: how answers are drawn.
    """

    def __init__(self, model: Any, tokenizer: Any, settings: SamplingSettings) -> None:
        with needs_extra("train", "sampling from a local model"):
            import torch
        self._torch = torch
        self._model = model.eval()
        self._tokenizer = tokenizer
        self.settings = settings
        self._queue: Queue[_Request | None] = Queue()
        self._thread = threading.Thread(target=self._serve, name="batch-sampler", daemon=True)
        self._thread.start()

    def answer(
        self, messages: Sequence[dict[str, Any]], tools: Sequence[dict[str, Any]], *, seed: int
    ) -> str:
        """Samples the next answer of a conversation, without its end-of-turn token."""
        prompt = self._tokenizer.apply_chat_template(
            list(messages), tools=list(tools), tokenize=False, add_generation_prompt=True
        )
        request = _Request(self._tokenizer.encode(prompt, add_special_tokens=False), seed)
        self._queue.put(request)
        return request.answer.result()

    def close(self) -> None:
        """Ends the thread; idempotent."""
        if self._thread.is_alive():
            self._queue.put(None)
            self._thread.join()

    def __enter__(self) -> BatchSampler:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _serve(self) -> None:
        """Collects requests and answers them, until it is closed."""
        open_for_more = True
        while open_for_more:
            first = self._queue.get()
            if first is None:
                return
            requests = [first]
            while len(requests) < self.settings.batch:
                try:
                    more = self._queue.get(timeout=self.settings.wait_s)
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
            for request, text in zip(requests, answers, strict=True):
                request.answer.set_result(text)

    def _sample(self, requests: Sequence[_Request]) -> list[str]:
        """Decodes a batch, padded on the left."""
        torch = self._torch
        width = max(len(request.ids) for request in requests)
        end = self._tokenizer.eos_token_id
        ids = torch.tensor([[end] * (width - len(r.ids)) + r.ids for r in requests])
        mask = torch.tensor([[0] * (width - len(r.ids)) + [1] * len(r.ids) for r in requests])
        generators = [torch.Generator().manual_seed(request.seed) for request in requests]
        sampled: list[list[int]] = [[] for _ in requests]
        done = [False] * len(requests)
        cache = None
        with torch.inference_mode():
            for _ in range(self.settings.max_tokens):
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
                tokens = self._draw(out.logits[:, -1].float(), generators)
                for row, token in enumerate(tokens):
                    done[row] = done[row] or token == end
                    if not done[row]:
                        sampled[row].append(token)
                if all(done):
                    break
                ids = torch.tensor([[token] for token in tokens])
                mask = torch.cat([mask, torch.ones_like(ids)], dim=1)
        return [self._tokenizer.decode(tokens, skip_special_tokens=True) for tokens in sampled]

    def _draw(self, logits: Any, generators: Sequence[Any]) -> list[int]:
        """Draws one token for each row: top-k, then top-p, then by chance."""
        torch = self._torch
        values, indices = torch.topk(logits / self.settings.temperature, self.settings.top_k)
        shares = torch.softmax(values, dim=-1)
        # A token stays while the more likely ones before it have not filled the share yet.
        shares[shares.cumsum(-1) - shares > self.settings.top_p] = 0
        return [
            int(indices[row, torch.multinomial(shares[row], 1, generator=generator)])
            for row, generator in enumerate(generators)
        ]
