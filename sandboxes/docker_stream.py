"""One `exec` of a Docker engine as a raw stream: input, and two outputs that are kept apart.

The SDK's own socket may lose what the engine sends together with its answer's head, so the few
lines of HTTP are ours. Works over a unix socket or plain TCP.
"""

from __future__ import annotations

import contextlib
import json
import select
import socket
import struct
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from cligym.errors import SandboxError

__all__ = ["OUT", "ERR", "EngineStream", "open_socket"]

OUT, ERR = 1, 2
_HEAD = struct.Struct(">BxxxI")
_READ_BYTES = 1 << 20


def open_socket(base_url: str) -> socket.socket:
    """A connection to the engine; `unix:///path` or `tcp://host:port`."""
    parts = urlsplit(base_url)
    if parts.scheme in ("unix", "http+unix"):
        sock = socket.socket(socket.AF_UNIX)
        sock.connect(parts.path)
        return sock
    return socket.create_connection((parts.hostname or "localhost", parts.port or 2375))


class EngineStream:
    """A hijacked connection: what is sent is the process's input.

    Args:
        base_url: the engine.
        path: what to POST to, with its query.
        body: JSON body.

    Raises:
        SandboxError: the engine refuses; `status` of the error text is its HTTP status.
    """

    def __init__(self, base_url: str, path: str, body: dict[str, Any] | None = None) -> None:
        self._sock = open_socket(base_url)
        self._data = b""
        self.at_end = False
        text = json.dumps(body or {}).encode()
        head = (
            f"POST {path} HTTP/1.1\r\nHost: engine\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(text)}\r\n\r\n"
        )
        try:
            self._sock.settimeout(60)
            self._sock.sendall(head.encode() + text)
            self._read_head()
            self._sock.setblocking(False)
        except BaseException:
            self._sock.close()
            raise

    def _read_head(self) -> None:
        while b"\r\n\r\n" not in self._data:
            more = self._sock.recv(65536)
            if not more:
                raise SandboxError("the engine hung up")
            self._data += more
        head, _, self._data = self._data.partition(b"\r\n\r\n")
        status = int(head.split()[1])
        if status not in (101, 200):
            self._sock.settimeout(2)
            with contextlib.suppress(OSError):
                self._data += self._sock.recv(65536)
            raise SandboxError(f"the engine answers {status}: {_reason(self._data)}")

    def send(self, data: bytes) -> None:
        """Gives input; silently nothing when the process is gone."""
        view = memoryview(data)
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            while view:
                select.select([], [self._sock], [], 60)
                view = view[self._sock.send(view[:65536]) :]

    def end_input(self) -> None:
        """No more input."""
        with contextlib.suppress(OSError):
            self._sock.shutdown(socket.SHUT_WR)

    def pump(
        self, take: Callable[[int, bytes], None], done: Callable[[], bool], deadline: float
    ) -> bool:
        """Reads until `done`, the end of the stream or the deadline; False at the deadline."""
        while True:
            self._split(take)
            if done() or self.at_end:
                return True
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            ready, _, _ = select.select([self._sock], [], [], left)
            if ready:
                self._receive()

    def _receive(self) -> None:
        try:
            data = self._sock.recv(_READ_BYTES)
        except BlockingIOError:
            return
        except ConnectionResetError:
            data = b""
        if data:
            self._data += data
        else:
            self.at_end = True

    def _split(self, take: Callable[[int, bytes], None]) -> None:
        position = 0
        while len(self._data) - position >= _HEAD.size:
            which, size = _HEAD.unpack_from(self._data, position)
            end = position + _HEAD.size + size
            if len(self._data) < end:
                break
            take(which, self._data[position + _HEAD.size : end])
            position = end
        self._data = self._data[position:]

    def close(self) -> None:
        """Hangs up; idempotent."""
        self._sock.close()


def _reason(data: bytes) -> str:
    text = data.decode(errors="replace")
    begin = text.find("{")
    try:
        return str(json.loads(text[begin : text.rfind("}") + 1])["message"])
    except (ValueError, KeyError):
        return text.strip()[:200]
