"""Places for boxes: one control group each, with a process inside that forks the supervisors.

Moving a process between groups takes the kernel up to 15 ms on a busy machine (it waits for every
CPU); a process that is *born* in a group costs nothing. So a group outlives its box: a seat moves
itself into fresh pids and cpu groups once, then forks one supervisor after another, each with its
box, and starts the next only when everything of the last is gone. The memory group (version 1) is
entered by PID 1 alone, see `BoxGroup.memory_folder`. Standard library and siblings only.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn

from cligym.sandboxes import linux, wire
from cligym.sandboxes.cgroup import BoxGroup, GroupRoots

__all__ = ["Seats"]

Serve = Callable[[socket.socket, wire.Message], None]


@dataclass(slots=True)
class _Seat:
    sock: socket.socket


class Seats:
    """The keeper's seats; a free one is used again before another is made.

    Args:
        roots: where groups may be made.
        run: name of this keeper's run, the first part of the groups' names.
        serve: what a supervisor does with one request.
    """

    def __init__(self, roots: GroupRoots, run: str, serve: Serve) -> None:
        self._roots = roots
        self._run = run
        self._serve = serve
        self._count = 0
        self._free: list[_Seat] = []
        self._busy: dict[int, _Seat] = {}
        self.poll = select.poll()

    def take(self, message: wire.Message) -> None:
        """Hands a request for a box to a seat; the request's descriptors are closed here."""
        seat = self._free.pop() if self._free else self._make()
        wire.send(seat.sock, message.header, message.payload, tuple(message.fds))
        self._busy[seat.sock.fileno()] = seat
        self.poll.register(seat.sock, select.POLLIN)

    def on_event(self, fd: int) -> None:
        """A busy seat has something to say: it is free again, or gone."""
        seat = self._busy.pop(fd)
        self.poll.unregister(fd)
        if wire.receive(seat.sock) is not None:
            self._free.append(seat)
        else:
            seat.sock.close()

    def close(self) -> None:
        """Lets every seat end: free ones now, busy ones after their box."""
        for seat in (*self._free, *self._busy.values()):
            with contextlib.suppress(OSError):
                seat.sock.shutdown(socket.SHUT_WR)

    def _make(self) -> _Seat:
        self._count += 1
        ours, theirs = socket.socketpair()
        others = [seat.sock for seat in (*self._free, *self._busy.values())]
        pid = os.fork()
        if pid == 0:
            for sock in (ours, *others):
                sock.close()  # or a seat would never see the keeper go
            self._run_seat(theirs, BoxGroup(self._roots, f"{self._run}-box-{self._count}"))
        theirs.close()
        return _Seat(ours)

    def _run_seat(self, keeper: socket.socket, group: BoxGroup) -> NoReturn:
        try:
            linux.set_title(f"cligym: seat {self._run}-{self._count}")
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            problem = _enter(group)
            while (message := wire.receive(keeper)) is not None:
                self._seat_one(message, group, problem)
                with contextlib.suppress(OSError):
                    wire.send(keeper, {"free": True})
        finally:
            os._exit(0)  # the keeper removes the groups when all seats are gone

    def _seat_one(self, message: wire.Message, group: BoxGroup, problem: str) -> None:
        header = message.header
        try:
            if problem:
                raise OSError(1, problem)
            header["memory_group"] = group.memory_folder
            group.limit(
                memory_bytes=header["memory_bytes"], pids=header["pids"], cpus=header["cpus"]
            )
            pid = os.fork()
        except OSError as error:
            with socket.socket(fileno=message.fds[0]) as sock, contextlib.suppress(OSError):
                wire.send(sock, {"error": f"control group: {error.strerror}", "errno": 1})
            return
        if pid == 0:
            try:
                with socket.socket(fileno=message.fds[0]) as sock:
                    self._serve(sock, message)
            finally:
                os._exit(0)  # a fork must not return into the seat's loop
        for fd in message.fds:
            os.close(fd)
        os.waitpid(pid, 0)


def _enter(group: BoxGroup) -> str:
    """Makes the group and moves this process in; what went wrong, or ""."""
    try:
        group.make()
        group.add(os.getpid())
    except OSError as error:
        return str(error.strerror or error)
    return ""
