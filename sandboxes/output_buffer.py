"""Keeps the head and the tail of a stream, and counts what lies between; bounded memory.

Standard library only (used in the supervisor).
"""

from __future__ import annotations

from typing import Any

__all__ = ["OutputBuffer"]

_CONTINUATION = bytes(range(0x80, 0xC0))


class OutputBuffer:
    """At most `limit_bytes`: one half for the head, one half for the tail."""

    def __init__(self, limit_bytes: int = 1 << 20) -> None:
        self._half = max(1, limit_bytes // 2)
        self._head = bytearray()
        self._tail = bytearray()
        self._omitted_bytes = 0
        self._omitted_characters = 0

    def add(self, data: bytes) -> None:
        """Takes the next piece of the stream."""
        room = self._half - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        if not data:
            return
        self._tail += data
        if len(self._tail) > 2 * self._half:
            self._shrink()

    def _shrink(self) -> None:
        """Drops what is older than the last half; counts characters as UTF-8 start bytes."""
        surplus = len(self._tail) - self._half
        if surplus > 0:
            dropped = bytes(memoryview(self._tail)[:surplus])
            self._omitted_bytes += surplus
            self._omitted_characters += len(dropped.translate(None, _CONTINUATION))
            del self._tail[:surplus]

    def describe(self) -> dict[str, Any]:
        """Counts for the message that carries `value`."""
        self._shrink()
        return {
            "omitted_bytes": self._omitted_bytes,
            "omitted_characters": self._omitted_characters,
            "head_bytes": len(self._head) if self._omitted_bytes else 0,
        }

    def value(self) -> bytes:
        """Head and tail together."""
        self._shrink()
        return bytes(self._head + self._tail)
