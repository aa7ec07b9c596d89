"""Players that are models: an OpenAI-compatible server, or a command-line program in a box.

A command-line program (`codex exec` and the like) runs in a sandbox of ours with the network and
only its own files: task folders, hidden tests and our variables are not there. It is never given a
flag that switches a sandbox off outside of one.
"""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cligym.agents.tamper_prompts import AttackView, DefenceView, Prompt
from cligym.errors import ConfigError, ModelCallError
from cligym.sandboxes.base import Backend, SandboxSpec
from cligym.sandboxes.image import Image

__all__ = ["CommandPlayer", "ServerPlayer"]

_ANSWER_LIMIT_BYTES = 4 * 1024 * 1024
_PROMPT_WORD = "{prompt}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerPlayer:
    """Asks a chat-completions server, once for each answer.

    Attributes:
        name: the served model's name.
        base_url: address up to and including `/v1`; in no record.
        api_key: sent as a bearer token; "" sends none; in no record.
        temperature: sampling temperature.
        max_tokens: longest answer.
        timeout_s: seconds for one answer.
    """

    name: str
    base_url: str
    api_key: str = ""
    temperature: float = 0.7
    max_tokens: int = 8_192
    timeout_s: float = 300.0

    def answer(self, view: AttackView | DefenceView, prompt: Prompt, *, seed: int) -> str:
        """The model's text.

        Raises:
            ModelCallError: the server failed or sent no text.
        """
        body = {
            "model": self.name,
            "messages": prompt.messages(),
            "temperature": self.temperature,
            "max_tokens": self.max_tokens,
            "seed": seed,
        }
        headers = {"Content-Type": "application/json"}
        if self.api_key:
            headers["Authorization"] = f"Bearer {self.api_key}"
        url = f"{self.base_url.rstrip('/')}/chat/completions"
        request = urllib.request.Request(url, data=json.dumps(body).encode(), headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=self.timeout_s) as response:
                value: Any = json.loads(response.read(_ANSWER_LIMIT_BYTES))
            text = value["choices"][0]["message"]["content"]
        except urllib.error.HTTPError as error:
            raise ModelCallError(f"the model server answered {error.code}") from error
        except (OSError, ValueError, KeyError, IndexError, TypeError) as error:
            raise ModelCallError(f"no answer from the model server: {type(error).__name__}") from (
                error
            )
        return text if isinstance(text, str) else ""


class CommandPlayer:
    """Runs a program for each answer, each time in a fresh box with network.

    Args:
        backend: where the box runs.
        image: the program's image.
        argv: words of the program; `{prompt}` stands for system and user text.
        env_names: variables of ours that it gets (its key, for example).
        timeout_s: seconds for one answer.

    Raises:
        ConfigError: no word holds `{prompt}`, or a variable is not set.
    """

    def __init__(
        self,
        backend: Backend,
        image: Image,
        argv: Sequence[str],
        *,
        env_names: Sequence[str] = (),
        timeout_s: float = 300.0,
    ) -> None:
        if not any(_PROMPT_WORD in word for word in argv):
            raise ConfigError(f"the command needs {_PROMPT_WORD} in one of its words")
        missing = [name for name in env_names if name not in os.environ]
        if missing:
            raise ConfigError(f"environment variables that are not set: {', '.join(missing)}")
        self._backend, self._image, self._argv = backend, image, tuple(argv)
        self._env = dict(image.config.env) | {name: os.environ[name] for name in env_names}
        self._timeout_s = timeout_s

    @property
    def name(self) -> str:
        """The program's name."""
        return self._argv[0].rsplit("/", 1)[-1]

    def answer(self, view: AttackView | DefenceView, prompt: Prompt, *, seed: int) -> str:
        """What the program printed.

        Raises:
            ModelCallError: it failed, or ran too long.
            SandboxError: its box failed.
        """
        text = f"{prompt.system}\n\n{prompt.user}"
        argv = [word.replace(_PROMPT_WORD, text) for word in self._argv]
        sandbox = self._backend.start(SandboxSpec(image=self._image, network=True))
        try:
            result = sandbox.execute(
                argv,
                env=self._env,
                cwd=self._image.config.workdir,
                user=self._image.config.user,
                timeout_s=self._timeout_s,
                output_limit_bytes=_ANSWER_LIMIT_BYTES,
            )
        finally:
            sandbox.close()
        if result.timed_out:
            raise ModelCallError(f"{self.name} did not answer in {self._timeout_s:.0f} s")
        if result.exit_code != 0:
            raise ModelCallError(f"{self.name} ended with exit code {result.exit_code}")
        return result.output.decode("utf-8", "replace")
