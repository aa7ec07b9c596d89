"""The program in the candidate's box: a warm interpreter that forks one candidate per test.

Sent as text into the box together with `crossing.py` and `crossing_peer.py`, whose names it uses;
it imports only the standard library. The zygote itself never runs a line of a candidate. A child
gets limits and a system-call filter (no files written, no processes, no sockets, no signals)
*before* it compiles the candidate, so nothing of one test can outlive it or be seen by the next.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import resource
import signal
import socket
import struct
import sys
import threading
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from cligym.graders.crossing import OPERATIONS, Lane
    from cligym.graders.crossing_peer import Peer

PRELOADED = (
    "abc array bisect calendar collections collections.abc contextlib copy csv dataclasses "
    "datetime decimal enum fractions functools heapq io itertools math operator queue random re "
    "statistics string textwrap threading time types typing unicodedata weakref"
)


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]


def serve_zygote(control: socket.socket, settings: dict[str, Any]) -> NoReturn:
    """Forks and ends candidates as the control socket says, until it closes."""
    for name in PRELOADED.split():
        __import__(name)
    install = _filter_installer(bytes.fromhex(settings["filter"]))
    gc.collect()
    gc.freeze()  # a child that collects would copy every page of this heap
    _write(control, b"ready")
    child = 0
    while True:
        letter, fds, _, _ = socket.recv_fds(control, 1, 2)
        if letter == b"F":
            source = _read(control)
            child = os.fork()
            if child == 0:
                control.close()
                _become_candidate(fds, source, settings["limits"], install)
            for fd in fds:
                os.close(fd)
        elif letter == b"E":
            os.kill(child, signal.SIGKILL)
            _, status = os.waitpid(child, 0)
            _write(control, str(status).encode())
        else:
            os._exit(0)


def _become_candidate(
    fds: list[int], source: bytes, limits: dict[str, int], install: Callable[[], None]
) -> NoReturn:
    try:
        resource.setrlimit(resource.RLIMIT_CPU, (limits["cpu_s"], limits["cpu_s"]))
        resource.setrlimit(resource.RLIMIT_AS, (limits["memory_bytes"],) * 2)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
        resource.setrlimit(resource.RLIMIT_NPROC, (limits["threads"],) * 2)
        install()
        _run_candidate(fds, source.decode("utf-8", "surrogatepass"))
    finally:
        os._exit(70)


def _filter_installer(program: bytes) -> Callable[[], None]:
    libc = ctypes.CDLL(None, use_errno=True)
    text = ctypes.create_string_buffer(program, len(program))
    block = _Program(len(program) // 8, ctypes.addressof(text))
    libc.prctl(38, 0, 1, 0, 0)  # resolves the name before any child needs it

    def install() -> None:
        assert text is not None  # the block points into it
        if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.byref(block), 0, 0):
            os._exit(71)  # never run a candidate without its filter

    return install


def _run_candidate(fds: list[int], source: str) -> None:
    # 3.11 looks for a waiting thread only now and then; races must get their chance to show.
    sys.setswitchinterval(1e-5)
    lane = Lane(socket.socket(fileno=fds[0]))
    more = socket.socket(fileno=fds[1])
    local = threading.local()
    module = types.ModuleType("solution")
    failure: list[BaseException] = []

    def root(name: str) -> Any:
        if failure:
            raise ImportError(f"solution cannot be imported: {type(failure[0]).__name__}")
        if name not in module.__dict__:
            raise ImportError(f"solution has no {name}")
        return module.__dict__[name]

    peer = Peer("c", lambda: getattr(local, "lane", lane), OPERATIONS, root)

    def serve_lane(own: Lane) -> None:
        local.lane = own
        peer.serve(own)

    def accept_lanes() -> None:
        while True:
            letter, new, _, _ = socket.recv_fds(more, 1, 1)
            if not letter:
                return
            sock = socket.socket(fileno=new[0])
            threading.Thread(target=serve_lane, args=(Lane(sock),), daemon=True).start()

    threading.Thread(target=accept_lanes, daemon=True).start()
    sys.modules["solution"] = module
    try:
        exec(compile(source, "solution.py", "exec"), module.__dict__)
    except BaseException as error:
        failure.append(error)
        if not isinstance(error, Exception):
            os._exit(72)
    peer.serve(lane)


def _read(sock: socket.socket) -> bytes:
    (size,) = struct.unpack(">I", sock.recv(4, socket.MSG_WAITALL))
    data = b""
    while len(data) < size:
        data += sock.recv(size - len(data))
    return data


def _write(sock: socket.socket, data: bytes) -> None:
    sock.sendall(struct.pack(">I", len(data)) + data)


def main() -> NoReturn:
    """Entry in the box: descriptor 3 is the control socket, settings come first."""
    control = socket.socket(fileno=3)
    serve_zygote(control, json.loads(_read(control)))
