"""Messages between our own processes: a JSON header, bytes, and open descriptors.

Only trusted processes of ours speak this; nothing that runs inside a box ever holds such a socket.
"""

from __future__ import annotations

import array
import json
import os
import socket
import struct
from typing import Any, NamedTuple

__all__ = ["Message", "receive", "send"]

_HEAD = struct.Struct("!IQ")
_FDS_MAX = 32


class Message(NamedTuple):
    """One message: header, payload and descriptors (close-on-exec)."""

    header: dict[str, Any]
    payload: bytes
    fds: list[int]


def send(
    sock: socket.socket,
    header: dict[str, Any],
    payload: bytes | bytearray | memoryview = b"",
    fds: tuple[int, ...] = (),
) -> None:
    """Sends one message; blocks until it is on its way."""
    text = json.dumps(header).encode()
    first = _HEAD.pack(len(text), len(payload)) + text
    ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
    sent = sock.sendmsg([first], ancillary)
    if sent < len(first):
        sock.sendall(first[sent:])
    if payload:
        sock.sendall(payload)


def receive(sock: socket.socket) -> Message | None:
    """The next message, or None when the other side is gone."""
    fds: list[int] = []
    head = _exactly(sock, _HEAD.size, fds)
    if head is None:
        return None
    text_bytes, payload_bytes = _HEAD.unpack(head)
    text = _exactly(sock, text_bytes, fds)
    payload = _exactly(sock, payload_bytes, fds)
    if text is None or payload is None:
        for fd in fds:
            os.close(fd)
        return None
    return Message(json.loads(text), payload, fds)


def _exactly(sock: socket.socket, count: int, fds: list[int]) -> bytes | None:
    parts = bytearray()
    while len(parts) < count:
        try:
            data, ancillary, _, _ = sock.recvmsg(
                min(count - len(parts), 1 << 20), socket.CMSG_SPACE(_FDS_MAX * 4)
            )
        except ConnectionResetError:
            return None
        for level, kind, value in ancillary:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                numbers = array.array("i")
                numbers.frombytes(value[: len(value) - len(value) % 4])
                for number in numbers:
                    os.set_inheritable(number, False)
                    fds.append(number)
        if not data:
            return None
        parts += data
    return bytes(parts)
