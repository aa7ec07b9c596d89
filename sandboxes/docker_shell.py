"""The persistent shell of a container: one exec stream, no process of the engine per command.

bash reads its script from the stream's input. A command is the body of a heredoc with a random
delimiter, read by `source`; its status comes back on the stream's second output, so nothing that a
command prints can be taken for it (`shell.py` tells why `source`). The two outputs travel apart: a
random mark after the last output tells that all of it is here.
"""

from __future__ import annotations

import secrets
import time
from typing import Any

from cligym.sandboxes.docker_stream import ERR, EngineStream
from cligym.sandboxes.output_buffer import OutputBuffer

__all__ = ["SHELL_ARGV", "DockerShell"]

SHELL_ARGV = [
    "/bin/bash",
    "--noprofile",
    "--norc",
    "-c",
    "exec 252>&2 253>&1 2>&1 250<&0 </dev/null; exec /bin/bash --noprofile --norc /dev/fd/250",
]
_LAST_OUTPUT_S = 0.05


class DockerShell:
    """One bash at the other end of a stream."""

    def __init__(self, stream: EngineStream) -> None:
        self._stream = stream
        self._number = 0
        self._status = bytearray()
        self._mark = b""
        self._held = bytearray()
        self.output = OutputBuffer()

    def run(self, command: bytes, deadline: float) -> dict[str, Any] | None:
        """Runs a command; its `exit_code` and `shell`, or None at the deadline."""
        self._number += 1
        self._status.clear()
        self._mark = secrets.token_hex(16).encode()
        self._stream.send(_script(command, self._number, self._mark))
        return self.wait(deadline)

    def wait(self, deadline: float) -> dict[str, Any] | None:
        """Waits on for the command; None when it still runs at the deadline."""
        if not self._stream.pump(self._take, lambda: self._line() is not None, deadline):
            return None
        line = self._line()
        if line is None:
            self._take_output(b"", flush=True)
            return {"exit_code": None, "shell": "exited"}
        self._stream.pump(self._take, lambda: not self._mark, time.monotonic() + _LAST_OUTPUT_S)
        self._take_output(b"", flush=True)
        number = line.split()[-1]
        return {"exit_code": int(number) if number.isdigit() else None, "shell": "kept"}

    def _line(self) -> bytes | None:
        mark = b"%d " % self._number
        lines = bytes(self._status).split(b"\n")[:-1]
        return next((line for line in lines if line.startswith(mark)), None)

    def _take(self, which: int, data: bytes) -> None:
        if which == ERR:
            self._status += data
            del self._status[: -(1 << 16)]
        else:
            self._take_output(data)

    def _take_output(self, data: bytes, *, flush: bool = False) -> None:
        """Hands output on without the mark, also when it comes in pieces."""
        self._held += data
        if self._mark and (position := self._held.find(self._mark)) >= 0:
            del self._held[position : position + len(self._mark)]
            self._mark = b""
        if flush or not self._mark:
            ready = len(self._held)
            self._mark = b""
        else:
            ready = max(0, len(self._held) - len(self._mark) + 1)
        self.output.add(bytes(self._held[:ready]))
        del self._held[:ready]

    def drain(self, seconds: float) -> None:
        """Takes what still comes."""
        self._stream.pump(self._take, lambda: False, time.monotonic() + seconds)
        self._take_output(b"", flush=True)

    def close(self) -> None:
        """Hangs up; bash ends when it reads the end of its script."""
        self._stream.close()


def _script(command: bytes, number: int, mark: bytes) -> bytes:
    end = secrets.token_hex(16).encode()
    return (
        b"builtin source /dev/fd/251 251<<'%s'\n%s\n%s\n"
        b"{ builtin printf '%d %%s\\n' \"$?\" >&252; } 2>/dev/null || builtin exit 125\n"
        b"{ builtin printf %%s %s >&253; } 2>/dev/null\n"
    ) % (end, command, end, number, mark)
