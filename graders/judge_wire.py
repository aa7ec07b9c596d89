"""Frames between the judge, its session process and the zygote: bytes with a length in front."""

from __future__ import annotations

import json
import socket
import struct
from typing import Any

__all__ = ["read_frame", "receive_bytes", "send_bytes", "write_frame"]


def send_bytes(sock: socket.socket, data: bytes) -> None:
    """Sends bytes with their length in front."""
    sock.sendall(struct.pack(">I", len(data)) + data)


def receive_bytes(sock: socket.socket) -> bytes:
    """The bytes of the next `send_bytes`.

    Raises:
        EOFError: the other end is gone.
    """
    head = sock.recv(4, socket.MSG_WAITALL)
    if len(head) < 4:
        raise EOFError("the other end is gone")
    (size,) = struct.unpack(">I", head)
    data = bytearray()
    while len(data) < size:
        part = sock.recv(size - len(data))
        if not part:
            raise EOFError("the other end is gone")
        data += part
    return bytes(data)


def write_frame(sock: socket.socket, value: dict[str, Any]) -> None:
    """Sends a JSON object."""
    send_bytes(sock, json.dumps(value).encode())


def read_frame(sock: socket.socket) -> dict[str, Any] | None:
    """The next JSON object, or None at the end."""
    try:
        value = json.loads(receive_bytes(sock))
    except (EOFError, ConnectionError):
        return None
    assert isinstance(value, dict)  # our own frames
    return value
