"""Asks an OpenAI-compatible server (vLLM, SGLang, llama.cpp, `transformers serve`).

Two modes. *Chat*: messages go out, the server renders them and may read the tool calls itself; its
calls are written back into the text as JSON calls, so that one parser reads all models. *Raw
tokens*, with a tokenizer: we render and encode the prompt, ids go out, and ids come back where the
server gives them. Needs no package. The address and the key are in no record and no message.
"""

from __future__ import annotations

import http.client
import json
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cligym.agents.model_client import Completion, Sampling
from cligym.agents.rendering import ChatRenderer
from cligym.errors import ModelCallError

__all__ = ["OpenAIClient", "ServerSettings", "chat_messages", "completion_of_chat"]

_ANSWER_LIMIT_BYTES = 64 * 1024 * 1024
_AGAIN = {408, 409, 425, 429, 500, 502, 503, 504}


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """How a server is reached.

    Attributes:
        base_url: address up to and including `/v1`.
        api_key: sent as a bearer token; "" sends none.
        timeout_s: seconds for one answer.
        retries: further tries after a fault that may pass.
        wait_s: seconds before the second try, doubled each time.
        thinking: passed to the chat template; None leaves it to the server.
        token_ids: in chat mode, ask for token ids (a vLLM extension).
    """

    base_url: str
    api_key: str = ""
    timeout_s: float = 600.0
    retries: int = 3
    wait_s: float = 1.0
    thinking: bool | None = None
    token_ids: bool = False


class OpenAIClient:
    """One served model, asked by many threads at once.

    Args:
        name: the served model's name.
        settings: how it is reached.
        renderer: tokenizer and template for the raw-token mode; None takes the chat mode.
    """

    def __init__(
        self, name: str, settings: ServerSettings, *, renderer: ChatRenderer | None = None
    ) -> None:
        self.name = name
        self._settings = settings
        self._renderer = renderer

    def describe(self) -> dict[str, Any]:
        """The chat template, where we render it, and its options."""
        if self._renderer is not None:
            return self._renderer.describe()
        thinking = self._settings.thinking
        return {} if thinking is None else {"chat_template_kwargs": {"enable_thinking": thinking}}

    def count_tokens(
        self, messages: Sequence[dict[str, Any]], tools: Sequence[dict[str, Any]]
    ) -> int | None:
        """Exact in raw-token mode, else unknown."""
        return len(self._renderer.prompt_ids(messages, tools)) if self._renderer else None

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
            ModelCallError: the server failed, or sent no answer.
        """
        body: dict[str, Any] = {
            "model": self.name,
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "max_tokens": max_tokens,
            "seed": seed,
        }
        if sampling.top_k > 0:  # no part of OpenAI's own interface
            body["top_k"] = sampling.top_k
        try:
            if self._renderer is not None:
                ids = self._renderer.prompt_ids(messages, tools)
                return self._raw(body, ids, self._renderer)
            return self._chat(body, messages, tools)
        except (KeyError, IndexError, TypeError, AttributeError) as error:
            raise ModelCallError(
                f"the model server's answer has an unknown form: {type(error).__name__} {error}"
            ) from error

    def _chat(
        self,
        body: dict[str, Any],
        messages: Sequence[dict[str, Any]],
        tools: Sequence[dict[str, Any]],
    ) -> Completion:
        body["messages"] = chat_messages(messages)
        if tools:
            body["tools"] = list(tools)
        if self._settings.thinking is not None:
            body["chat_template_kwargs"] = {"enable_thinking": self._settings.thinking}
        if self._settings.token_ids:
            body["return_token_ids"] = True
        return completion_of_chat(self._post("chat/completions", body))

    def _raw(
        self, body: dict[str, Any], ids: tuple[int, ...], renderer: ChatRenderer
    ) -> Completion:
        body |= {
            "prompt": list(ids),
            "logprobs": 1,
            "return_token_ids": True,
            "skip_special_tokens": False,
        }
        value = self._post("completions", body)
        choice = value["choices"][0]
        sampled = choice.get("token_ids")
        source = "engine" if sampled else "rerender"
        if not sampled:
            sampled = renderer.encode(choice["text"])
        logprobs = (choice.get("logprobs") or {}).get("token_logprobs")
        if not logprobs or len(logprobs) != len(sampled) or None in logprobs:
            logprobs = None
        return Completion(
            text=renderer.without_end(choice["text"]),
            finish_reason="length" if choice.get("finish_reason") == "length" else "stop",
            prompt_tokens=len(ids),
            completion_tokens=len(sampled),
            prompt_ids=ids,
            completion_ids=tuple(sampled),
            logprobs=tuple(logprobs) if logprobs else None,
            ids_source=source,
        )

    def _post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Sends a request, again after faults that may pass; the answer's JSON."""
        problem = ""
        for attempt in range(self._settings.retries + 1):
            if attempt:
                time.sleep(self._settings.wait_s * 2 ** (attempt - 1))
            try:
                return self._send(path, body)
            except urllib.error.HTTPError as error:
                problem = f"the model server answered {error.code}{self._reason(error)}"
                if error.code not in _AGAIN:
                    raise ModelCallError(problem) from None
            except (OSError, http.client.HTTPException, ValueError) as error:
                # Its text may hold the address, so only the kind is told.
                problem = f"no answer from the model server: {_kind(error)}"
        raise ModelCallError(f"{problem}, {self._settings.retries + 1} times")

    def _send(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        headers = {"Content-Type": "application/json"}
        if self._settings.api_key:
            headers["Authorization"] = f"Bearer {self._settings.api_key}"
        request = urllib.request.Request(
            f"{self._settings.base_url.rstrip('/')}/{path}",
            data=json.dumps(body).encode(),
            headers=headers,
        )
        with urllib.request.urlopen(request, timeout=self._settings.timeout_s) as response:
            value = json.loads(response.read(_ANSWER_LIMIT_BYTES))
        if not isinstance(value, dict):
            raise ValueError("no object")
        return value

    def _reason(self, error: urllib.error.HTTPError) -> str:
        """What the server says of a fault, without the address and the key."""
        try:
            value = json.loads(error.read(65_536))
            text = str((value.get("error") or value)["message"])
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return ""
        for secret in (self._settings.api_key, self._settings.base_url):
            text = text.replace(secret, "…") if secret else text
        return f": {' '.join(text.split())[:200]}"

    def close(self) -> None:
        """No connection is kept."""


def chat_messages(messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Our messages in OpenAI's form: calls have ids and arguments as text, results name them."""
    sent: list[dict[str, Any]] = []
    waiting: list[str] = []
    count = 0
    for message in messages:
        value = {k: v for k, v in message.items() if k not in ("tool_calls", "name")}
        if message.get("tool_calls"):
            waiting = [f"call_{count + i}" for i in range(len(message["tool_calls"]))]
            count += len(waiting)
            value["tool_calls"] = [
                _sent_call(call, name)
                for call, name in zip(message["tool_calls"], waiting, strict=True)
            ]
        if message["role"] == "tool":
            value["tool_call_id"] = waiting.pop(0)
        sent.append(value)
    return sent


def _sent_call(call: dict[str, Any], name: str) -> dict[str, Any]:
    function = call["function"]
    arguments = json.dumps(function["arguments"])
    return {
        "id": name,
        "type": "function",
        "function": {"name": function["name"], "arguments": arguments},
    }


def completion_of_chat(value: dict[str, Any]) -> Completion:
    """A chat answer as one text, its calls in the JSON form, arguments as the server gave them."""
    choice = value["choices"][0]
    message = choice["message"]
    thought = message.get("reasoning_content") or message.get("reasoning")
    parts = [f"<think>\n{thought}\n</think>\n"] if thought else []
    parts += [message["content"]] if message.get("content") else []
    for call in message.get("tool_calls") or ():
        function = call["function"]
        wire = {"name": function["name"], "arguments": function["arguments"]}
        parts.append(f"<tool_call>\n{json.dumps(wire)}\n</tool_call>")
    usage = value.get("usage") or {}
    prompt_ids, sampled = value.get("prompt_token_ids"), choice.get("token_ids")
    has_ids = bool(prompt_ids and sampled)
    return Completion(
        text="\n".join(parts),
        finish_reason="length" if choice.get("finish_reason") == "length" else "stop",
        prompt_tokens=int(usage.get("prompt_tokens") or 0),
        completion_tokens=int(usage.get("completion_tokens") or 0),
        prompt_ids=tuple(prompt_ids or ()) if has_ids else None,
        completion_ids=tuple(sampled or ()) if has_ids else None,
        ids_source="engine" if has_ids else "",
    )


def _kind(error: Exception) -> str:
    reason = getattr(error, "reason", None)
    return type(reason).__name__ if isinstance(reason, Exception) else type(error).__name__
