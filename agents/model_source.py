"""Opens a model from one word of a command line, and limits how many are asked at once.

replay:FILE                 recorded answers
openai:MODEL@BASE_URL       a server; its address and key are in no record
hf:FOLDER[+ADAPTER]         a local model, with a LoRA adapter
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cligym.agents.model_client import Completion, ModelClient, Sampling
from cligym.agents.openai_client import OpenAIClient, ServerSettings
from cligym.agents.rendering import ChatRenderer, load_tokenizer
from cligym.agents.replay_client import Recording
from cligym.agents.transformers_client import load_transformers
from cligym.errors import ConfigError

__all__ = ["LimitedClient", "ModelOptions", "ModelSource", "open_model"]

_FORMS = "replay:FILE, openai:MODEL@BASE_URL or hf:FOLDER[+ADAPTER]"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOptions:
    """How a model is opened.

    Attributes:
        jobs: model calls at once.
        thinking: `enable_thinking` of the chat template; None leaves it to the template.
        tokenizer: folder of a tokenizer: a server is then sent token ids (raw-token mode).
        token_ids: ask a server in chat mode for token ids (a vLLM extension).
        timeout_s: seconds for one answer of a server.
        key_variable: environment variable that holds a server's key.
    """

    jobs: int = 8
    thinking: bool | None = None
    tokenizer: Path | None = None
    token_ids: bool = False
    timeout_s: float = 600.0
    key_variable: str = "OPENAI_API_KEY"


class ModelSource:
    """A model that attempts ask, with a limit on the calls at once and a count of tokens.

    Args:
        name: as records carry it.
        identity: what makes it the same model in another run.
        make: (task id, attempt) -> client.
        jobs: calls at once.
        close: lets the model go.
    """

    def __init__(
        self,
        name: str,
        identity: dict[str, Any],
        make: Callable[[str, int], ModelClient],
        *,
        jobs: int,
        close: Callable[[], None] = lambda: None,
    ) -> None:
        if jobs < 1:
            raise ConfigError(f"model calls at once must be at least 1, not {jobs}")
        self.name = name
        self.identity = {"name": name, **identity}
        self._make = make
        self._close = close
        self._slots = threading.BoundedSemaphore(jobs)
        self._lock = threading.Lock()
        self._tokens = 0

    @property
    def completion_tokens(self) -> int:
        """Tokens sampled so far."""
        return self._tokens

    def client(self, task_id: str, attempt: int) -> ModelClient:
        """What one attempt asks."""
        return LimitedClient(self._make(task_id, attempt), self._slots, self._count)

    def _count(self, completion: Completion) -> None:
        with self._lock:
            self._tokens += completion.completion_tokens

    def close(self) -> None:
        """Lets the model go; idempotent."""
        self._close()


class LimitedClient:
    """A client that waits for a free slot before each call.

    Args:
        inner: the client.
        slots: shared by all clients of a model.
        on_answer: called after each answer.
    """

    def __init__(
        self,
        inner: ModelClient,
        slots: threading.Semaphore,
        on_answer: Callable[[Completion], None],
    ) -> None:
        self._inner, self._slots, self._on_answer = inner, slots, on_answer

    @property
    def name(self) -> str:
        """The inner client's."""
        return self._inner.name

    def describe(self) -> dict[str, Any]:
        """The inner client's."""
        return self._inner.describe()

    def count_tokens(
        self, messages: Sequence[dict[str, Any]], tools: Sequence[dict[str, Any]]
    ) -> int | None:
        """The inner client's; takes no slot."""
        return self._inner.count_tokens(messages, tools)

    def complete(
        self,
        messages: Sequence[dict[str, Any]],
        tools: Sequence[dict[str, Any]],
        *,
        sampling: Sampling,
        max_tokens: int,
        seed: int,
    ) -> Completion:
        """The inner client's answer, once a slot is free."""
        with self._slots:
            completion = self._inner.complete(
                messages, tools, sampling=sampling, max_tokens=max_tokens, seed=seed
            )
        self._on_answer(completion)
        return completion

    def close(self) -> None:
        """The model belongs to its source."""


def open_model(spec: str, options: ModelOptions | None = None) -> ModelSource:
    """Opens a model.

    Raises:
        ConfigError: the word has another form, or names what cannot be read.
        DependencyError: a package is missing.
    """
    options = options or ModelOptions()
    kind, _, rest = spec.partition(":")
    if not rest or kind not in ("replay", "openai", "hf"):
        raise ConfigError(f"unknown model {spec!r}; known: {_FORMS}")
    if kind == "replay":
        recording = Recording.read(Path(rest))
        identity = {"recording": recording.digest}
        return ModelSource("replay", identity, recording.client, jobs=options.jobs)
    client: ModelClient = _server(rest, options) if kind == "openai" else _local(rest, options)
    return ModelSource(
        client.name,
        {"kind": kind, **client.describe()},
        lambda task_id, attempt: client,
        jobs=options.jobs,
        close=client.close,
    )


def _server(rest: str, options: ModelOptions) -> ModelClient:
    name, at, address = rest.partition("@http")
    if not name or not at:
        raise ConfigError(f"unknown model 'openai:{name}…'; write openai:MODEL@http://HOST:PORT/v1")
    settings = ServerSettings(
        base_url="http" + address,
        api_key=os.environ.get(options.key_variable, ""),
        timeout_s=options.timeout_s,
        thinking=options.thinking,
        token_ids=options.token_ids,
    )
    renderer = None
    if options.tokenizer is not None:
        renderer = ChatRenderer(load_tokenizer(options.tokenizer), thinking=options.thinking)
    return OpenAIClient(name, settings, renderer=renderer)


def _local(rest: str, options: ModelOptions) -> ModelClient:
    folder, _, adapter = (rest, "", "") if Path(rest).is_dir() else rest.partition("+")
    for path in (folder, adapter):
        if path and not Path(path).is_dir():
            raise ConfigError(f"no model folder {path}; models are never downloaded here")
    return load_transformers(
        Path(folder),
        adapter=Path(adapter) if adapter else None,
        thinking=options.thinking,
        batch=options.jobs,
    )
