"""The server client, against a real HTTP server on this machine: forms, faults, secrets."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from cligym.agents.model_client import Sampling
from cligym.agents.openai_client import OpenAIClient, ServerSettings, chat_messages
from cligym.agents.records import BASH_TOOL
from cligym.agents.tool_calls import BashCall, parse_answer
from cligym.errors import ModelCallError


class Server:
    """Answers with what is queued; keeps what it was sent."""

    def __init__(self) -> None:
        self.answers: list[tuple[int, Any]] = []
        self.requests: list[tuple[str, dict[str, Any], dict[str, str]]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.requests.append((self.path, body, dict(self.headers)))
                status, value = outer.answers.pop(0)
                data = value if isinstance(value, bytes) else json.dumps(value).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: Any) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}/v1"
        threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True).start()

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


def client(server: Server, **settings: Any) -> OpenAIClient:
    given: dict[str, Any] = {"api_key": "sk-secret", "wait_s": 0.01} | settings
    return OpenAIClient("qwen", ServerSettings(base_url=server.url, **given))


def chat(message: dict[str, Any], finish: str = "stop", **more: Any) -> dict[str, Any]:
    return {
        "choices": [{"message": message, "finish_reason": finish}],
        "usage": {"prompt_tokens": 7, "completion_tokens": 3},
        **more,
    }


def ask(asked: OpenAIClient, messages: list[dict[str, Any]] | None = None) -> Any:
    said = messages or [{"role": "user", "content": "hi"}]
    return asked.complete(said, [BASH_TOOL], sampling=Sampling(), max_tokens=50, seed=4)


def test_calls_that_the_server_read_are_calls_again(server: Server) -> None:
    command = "awk '{print $1}' <<< \"a {b\" # </tool_call>"
    calls = [
        {"function": {"name": "bash", "arguments": json.dumps({"command": c})}}
        for c in (command, "ls")
    ]
    message = {"content": "Look.", "reasoning_content": "hm", "tool_calls": calls}
    server.answers.append((200, chat(message, "tool_calls")))
    completion = ask(client(server))
    answer = parse_answer(completion.text)
    assert answer.calls == (BashCall(command=command), BashCall(command="ls"))
    assert (answer.thinking, answer.content) == ("hm", "Look.")
    assert (completion.prompt_tokens, completion.completion_tokens) == (7, 3)
    path, body, headers = server.requests[0]
    assert path == "/v1/chat/completions" and headers["Authorization"] == "Bearer sk-secret"
    assert (body["seed"], body["max_tokens"], body["top_k"]) == (4, 50, 20)


def test_arguments_that_are_no_json_stay_an_error(server: Server) -> None:
    calls = [{"function": {"name": "bash", "arguments": '{"command": "ls'}}]
    server.answers.append((200, chat({"content": None, "tool_calls": calls})))
    (call,) = parse_answer(ask(client(server)).text).calls
    assert not isinstance(call, BashCall) and "not valid JSON" in call.reason


def test_a_fault_that_passes_is_tried_again(server: Server) -> None:
    server.answers += [(500, {}), (503, b"<html>"), (200, chat({"content": "ok"}, "length"))]
    completion = ask(client(server))
    assert (completion.text, completion.finish_reason) == ("ok", "length")
    assert len(server.requests) == 3


@pytest.mark.parametrize("status", [500, 400])
def test_a_fault_that_stays_is_an_infra_error_without_secrets(server: Server, status: int) -> None:
    told = {"error": {"message": f"bad key sk-secret at {server.url}"}}
    server.answers += [(status, told)] * 4
    with pytest.raises(ModelCallError, match=str(status)) as raised:
        ask(client(server))
    assert "sk-secret" not in str(raised.value) and "127.0.0.1" not in str(raised.value)
    assert len(server.requests) == (4 if status == 500 else 1)


@pytest.mark.parametrize("answer", [b"", b"[]", b"not json", b'{"choices": []}', b"{}"])
def test_answers_of_an_unknown_form_are_infra_errors(server: Server, answer: bytes) -> None:
    server.answers += [(200, answer)] * 2
    with pytest.raises(ModelCallError):
        ask(client(server, retries=1))


def test_no_server_is_an_infra_error_without_the_address(server: Server) -> None:
    asked = client(server, retries=0)
    server.close()
    with pytest.raises(ModelCallError) as raised:
        ask(asked)
    assert "127.0.0.1" not in str(raised.value)


def test_history_goes_out_in_the_servers_form() -> None:
    call = {"type": "function", "function": {"name": "bash", "arguments": {"command": "ls"}}}
    sent = chat_messages(
        [
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": "", "tool_calls": [call, call]},
            {"role": "tool", "name": "bash", "content": "1"},
            {"role": "tool", "name": "bash", "content": "2"},
            {"role": "user", "content": "[a call could not be read]"},
        ]
    )
    ids = [c["id"] for c in sent[1]["tool_calls"]]
    assert len(set(ids)) == 2
    assert [m["tool_call_id"] for m in sent[2:4]] == ids
    assert json.loads(sent[1]["tool_calls"][0]["function"]["arguments"]) == {"command": "ls"}


def test_ids_of_the_engine_are_kept(server: Server) -> None:
    value = chat({"content": "ok"}, prompt_token_ids=[1, 2])
    value["choices"][0]["token_ids"] = [5, 6]
    server.answers.append((200, value))
    completion = ask(client(server, token_ids=True))
    assert (completion.prompt_ids, completion.completion_ids) == ((1, 2), (5, 6))
    assert completion.ids_source == "engine" and server.requests[0][1]["return_token_ids"] is True


class Letters:
    """A tokenizer of code points, as small as the renderer needs it."""

    chat_template = "t"
    eos_token = "$"

    def apply_chat_template(self, messages: list[dict[str, Any]], **_: Any) -> str:
        return "".join(f"{m['role'][0]}:{m['content']}$" for m in messages) + "a:"

    def encode(self, text: str, add_special_tokens: bool) -> list[int]:
        return [ord(letter) for letter in text]


@pytest.mark.parametrize("ids", [[111, 107, 36], None])
def test_the_raw_mode_sends_and_takes_token_ids(server: Server, ids: list[int] | None) -> None:
    from cligym.agents.rendering import ChatRenderer

    choice = {
        "text": "ok$",
        "finish_reason": "stop",
        "token_ids": ids,
        "logprobs": {"token_logprobs": [-0.1, -0.2, -0.3]},
    }
    server.answers.append((200, {"choices": [choice]}))
    asked = OpenAIClient(
        "qwen", ServerSettings(base_url=server.url), renderer=ChatRenderer(Letters())
    )
    completion = ask(asked)
    path, body, _ = server.requests[0]
    assert path == "/v1/completions" and body["prompt"] == [ord(c) for c in "u:hi$a:"]
    assert completion.text == "ok" and completion.completion_ids == (111, 107, 36)
    assert completion.ids_source == ("engine" if ids else "rerender")
    assert completion.logprobs == (-0.1, -0.2, -0.3)
    assert asked.count_tokens([{"role": "user", "content": "hi"}], []) == 7
