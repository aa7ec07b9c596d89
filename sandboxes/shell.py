"""The persistent shell of one box: how a command gets in, and how its status comes out.

bash reads one line a command as its script: no loop around it, so that `break`, `return` and `exit`
in a command mean what they mean at a prompt. `source`, not `eval`: after a syntax error in `eval`
bash misreads its next line. The text comes over a file in memory, the status goes out over a pipe
of its own: nothing that the command prints can be taken for either. A second, empty line tells when
bash got past the first one: a shell that closed or redefined what we need is replaced, not waited
for. Standard library and sibling modules only.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import struct
import termios
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cligym.sandboxes.supervisor import Supervisor

__all__ = ["Shell", "bytes_waiting"]

_PIPE_BYTES = 1 << 20
_SCRIPT_FD, _COMMAND_FD, _STATUS_FD = 250, 251, 252
# The number lets a late or forged status of another command pass unnoticed; `k` says that the next
# command can still come in.
_SCRIPT_LINES = (
    b"builtin source /dev/fd/251; { builtin printf '%d %%s ' \"$?\"; "
    b"[[ -e /dev/fd/251 ]] && builtin printf k; builtin printf '\\n'; } >&252 2>/dev/null\n:\n"
)
_ARGV = ["/bin/bash", "--noprofile", "--norc", f"/dev/fd/{_SCRIPT_FD}"]
_LOOK_S = 0.25
_KILL_WAIT_S = 5.0


def bytes_waiting(fd: int) -> int:
    """Bytes in a pipe that nobody has read yet."""
    raw = fcntl.ioctl(fd, termios.FIONREAD, b"\0\0\0\0")
    return int(struct.unpack("i", raw)[0])


class Shell:
    """One bash, from its start to `close`."""

    def __init__(self, box: Supervisor, env: dict[str, str], workdir: str) -> None:
        self._box = box
        self._number = 0
        self._status = bytearray()
        self.output, output_inside = os.pipe2(os.O_CLOEXEC)
        self._script, self._status_fd = -1, -1
        inside = [output_inside]
        self._command = os.memfd_create("command", os.MFD_CLOEXEC)
        try:
            with contextlib.suppress(OSError):
                fcntl.fcntl(self.output, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
            os.set_blocking(self.output, False)
            script_inside, self._script = os.pipe2(os.O_CLOEXEC)
            inside.append(script_inside)
            self._status_fd, status_inside = os.pipe2(os.O_CLOEXEC)
            inside.append(status_inside)
            os.set_blocking(self._script, False)
            self._whole = {
                str(_COMMAND_FD): _identity(self._command),
                str(_STATUS_FD): _identity(status_inside),
            }
            request = {
                "argv": _ARGV,
                "env": env,
                "cwd": workdir,
                "any_cwd": True,
                "user": "",
                "fds": [1, 2, _SCRIPT_FD, _COMMAND_FD, _STATUS_FD],
            }
            places = (output_inside, output_inside, script_inside, self._command, status_inside)
            self.pid = box.spawn_process(request, places)
        except BaseException:
            self.close()
            raise
        finally:
            for fd in inside:
                os.close(fd)

    def mark(self) -> dict[str, object]:
        """What PID 1 is asked before a command: who runs already, and is this shell whole?"""
        return {"mark": True, "shell": self.pid, "whole": self._whole}

    def run(self, command: bytes, spared: list[int], deadline: float) -> dict[str, Any]:
        """Runs a command; `exit_code`, `timed_out` and `shell` of its result.

        Raises:
            BoxGoneError: the box ended.
        """
        self._number += 1
        self._status.clear()
        self._box.watch(self._status_fd, self._on_status)
        try:
            self._send(command)
            while not self._over():
                now = time.monotonic()
                if now >= deadline:
                    return self._kill(spared, timed_out=True)
                self._box.loop(self._over, min(deadline, now + _LOOK_S))
                if not self._over() and self._is_past_the_line():
                    return self._kill(spared, timed_out=False)
            return self._result()
        finally:
            self._box.unwatch(self._status_fd)

    def _send(self, command: bytes) -> None:
        os.ftruncate(self._command, 0)
        os.pwrite(self._command, command + b"\n", 0)
        with contextlib.suppress(BrokenPipeError, BlockingIOError):  # noticed: it ended, or never
            os.write(self._script, _SCRIPT_LINES % self._number)  # gets past the line

    def _on_status(self) -> None:
        data = os.read(self._status_fd, 4096)
        self._status += data
        if not data:
            self._box.unwatch(self._status_fd)  # closed: an exit or `_is_past_the_line` follows
        elif len(self._status) > 1 << 16:
            del self._status[: -(1 << 12)]

    def _own_status(self) -> list[bytes] | None:
        begin = b"%d " % self._number
        for line in bytes(self._status).split(b"\n")[:-1]:
            if line.startswith(begin):
                return line.split()
        return None

    def _over(self) -> bool:
        return self.pid in self._box.exits or self._own_status() is not None

    def _is_past_the_line(self) -> bool:
        """Bash takes bytes from a pipe one by one: once all are taken, the command is over."""
        if bytes_waiting(self._script):
            return False
        self._box.loop(self._over, time.monotonic() + 0.05)  # its status may be on the way
        return not self._over()

    def _result(self) -> dict[str, Any]:
        words = self._own_status()
        if words is None:
            return {
                "exit_code": self._box.exits.pop(self.pid),
                "timed_out": False,
                "shell": "exited",
            }
        number = words[1] if len(words) > 1 else b""
        code = int(number) if number.isdigit() and len(number) <= 3 else None
        state = "kept" if words[2:] == [b"k"] else "exited"
        return {"exit_code": code, "timed_out": False, "shell": state}

    def _kill(self, spared: list[int], *, timed_out: bool) -> dict[str, Any]:
        self._box.ask({"kill_since": spared} if timed_out else {"kill_session": self.pid})
        self._box.loop(lambda: self.pid in self._box.exits, time.monotonic() + _KILL_WAIT_S)
        code = self._box.exits.pop(self.pid, None)
        if timed_out:
            return {"exit_code": None, "timed_out": True, "shell": "killed"}
        return {"exit_code": code, "timed_out": False, "shell": "exited"}

    def release_output(self) -> int:
        """Hands over the descriptor on which what it started may still print."""
        fd, self.output = self.output, -1
        return fd

    def close(self) -> None:
        """Lets go of its descriptors; bash ends when it reads the end of its script."""
        self._box.exits.pop(getattr(self, "pid", 0), None)
        for fd in (self.output, self._script, self._command, self._status_fd):
            if fd >= 0:
                self._box.unwatch(fd)
                os.close(fd)


def _identity(fd: int) -> list[int]:
    status = os.fstat(fd)
    return [status.st_dev, status.st_ino]
