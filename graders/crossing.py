"""How values, calls and exceptions cross between a trusted test and the candidate it tests.

The same file runs on both sides. It is sent as text into the candidate's box, so it imports only
the standard library. Nothing that arrives is ever executed or unpickled: a frame is JSON with a
closed set of tags. What crosses, and how:

* exact built-in values (None, bool, int, float with its bits, complex, str, bytes, tuple,
  frozenset, range) by value; a *subclass* of one is no built-in value and crosses as a handle;
* exact list, dict, set and bytearray by shared identity: both sides keep a copy, every frame
  carries what changed, so in-place mutation, aliasing and `is` behave as in one process;
* everything else as a handle; the side that owns the object carries out a closed set of
  operations on it. On the trusted side underscore names never cross, and comparison with a
  candidate's object is identity unless the task's spec names the operator;
* exceptions as the nearest built-in class with their arguments; one that comes back home is the
  same object again.

One lane (socket) serves one thread, so two test threads really run side by side over there.
"""

from __future__ import annotations

import builtins
import operator
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

FRAME_LIMIT_BYTES = 8 * 1024 * 1024

ORDERING = ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__")
CONTAINER = (
    "__len__",
    "__iter__",
    "__next__",
    "__getitem__",
    "__setitem__",
    "__delitem__",
    "__contains__",
    "__reversed__",
)
ARITHMETIC = ("__add__", "__radd__", "__sub__", "__rsub__", "__mul__", "__rmul__", "__neg__")
OTHER = ("__call__", "__enter__", "__exit__", "__bool__", "__hash__", "__instancecheck__")
OPERATIONS = frozenset((*ORDERING, *CONTAINER, *ARITHMETIC, *OTHER))
"""Every special method that can cross at all."""


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "__len__": len,
    "__iter__": iter,
    "__next__": next,
    "__getitem__": operator.getitem,
    "__setitem__": operator.setitem,
    "__delitem__": operator.delitem,
    "__contains__": operator.contains,
    "__reversed__": reversed,
    "__bool__": bool,
    "__hash__": hash,
    "__neg__": operator.neg,
    "__add__": operator.add,
    "__sub__": operator.sub,
    "__mul__": operator.mul,
    "__radd__": lambda own, other: other + own,
    "__rsub__": lambda own, other: other - own,
    "__rmul__": lambda own, other: other * own,
    "__instancecheck__": lambda own, other: isinstance(other, own),
    **{name: getattr(operator, name) for name in ORDERING},
}


class Lost(BaseException):
    """The other side is gone, too late, or broke the protocol; no test catches it by accident."""


class CrossingError(Lost):
    """A bad frame, an unknown id, too much data."""


class Lane:
    """One socket with length-prefixed frames, used by one thread at a time."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.lock = threading.Lock()

    def send(self, frame: bytes) -> None:
        """Sends one frame."""
        if len(frame) > FRAME_LIMIT_BYTES:
            raise CrossingError(f"a frame of {len(frame)} bytes is over {FRAME_LIMIT_BYTES}")
        self.sock.sendall(struct.pack(">I", len(frame)) + frame)

    def receive(self) -> bytes:
        """The next frame; Lost at end of file."""
        (size,) = struct.unpack(">I", self._exactly(4))
        if size > FRAME_LIMIT_BYTES:
            raise CrossingError(f"a frame of {size} bytes is over {FRAME_LIMIT_BYTES}")
        return self._exactly(size)

    def _exactly(self, size: int) -> bytes:
        parts: list[bytes] = []
        while size:
            part = self._some(min(size, 1 << 20))
            if not part:
                raise Lost("end of file")
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def _some(self, size: int) -> bytes:
        return self.sock.recv(size)


class Handle:
    """An object of the other side; `proxy_class` makes the class that forwards operations."""

    __slots__ = ("_number", "_peer")

    def __init__(self, peer: Any, number: object) -> None:
        object.__setattr__(self, "_peer", peer)
        object.__setattr__(self, "_number", number)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self._peer.ask("attr", self._number, [name])

    def __setattr__(self, name: str, value: object) -> None:
        if name.startswith("_"):
            raise AttributeError(name)
        self._peer.ask("setattr", self._number, [name, value])

    def __repr__(self) -> str:
        return f"<object {self._number} of the other side>"


def proxy_class(operations: Iterable[str]) -> type[Handle]:
    """A Handle class that forwards these special methods; equality is identity otherwise."""
    names = OPERATIONS.intersection(operations)
    body: dict[str, Any] = {"__slots__": ()}
    for name in names:
        body[name] = _forwarder(name)
    if "__eq__" in body and "__hash__" not in body:
        body["__hash__"] = object.__hash__
    return type("Handle", (Handle,), body)


def _forwarder(name: str) -> Callable[..., Any]:
    def forward(self: Handle, *args: Any, **kwargs: Any) -> Any:
        return self._peer.ask(name, self._number, list(args), kwargs)

    def leave(self: Handle, *error: Any) -> Any:
        # The traceback of an exception never crosses; its type is rebuilt over there.
        return self._peer.ask(name, self._number, [error[1]] if error and error[1] else [])

    return leave if name == "__exit__" else forward


def snapshot(obj: Any) -> Any:
    """A flat copy of a container; a dict's keys and values take turns."""
    if type(obj) is dict:
        return [part for pair in list(obj.items()) for part in pair]
    return bytes(obj) if type(obj) is bytearray else list(obj)


def crossing_text(value: str) -> Any:
    """A text as it crosses; JSON would join two lone surrogates into one character."""
    if any(0xD800 <= ord(char) < 0xE000 for char in value):
        return ["s", value.encode("utf-32-be", "surrogatepass").hex()]
    return value


def plain_args(error: BaseException) -> tuple[Any, ...]:
    """An exception's arguments, where they are what they seem."""
    args = error.args
    return args if type(args) is tuple and len(args) < 100 else ()


def builtin_error(kind: type[Any]) -> type[Any]:
    """The nearest built-in exception class, or object for a class that is no exception."""
    bases: tuple[type[Any], ...] = kind.__mro__
    for base in bases:
        if issubclass(base, BaseException) and getattr(builtins, base.__name__, None) is base:
            nearest: type[Any] = base
            return nearest
    return object


def error_named(name: object) -> type[BaseException]:
    """The built-in exception class of that name."""
    kind = getattr(builtins, str(name), None)
    if not isinstance(kind, type) or not issubclass(kind, BaseException):
        raise CrossingError("an exception class that is not built in")
    return kind


def deadline_lane(sock: socket.socket, deadline: Callable[[], float]) -> Lane:
    """A lane whose every wait ends at a deadline (`time.monotonic`), with Lost."""

    class Bounded(Lane):
        def _bound(self) -> None:
            left = deadline() - time.monotonic()
            if left <= 0:
                raise Lost("timeout")
            self.sock.settimeout(left)

        def send(self, frame: bytes) -> None:
            self._bound()
            try:
                super().send(frame)
            except TimeoutError as error:
                raise Lost("timeout") from error
            except OSError as error:
                raise Lost("end of file") from error

        def _some(self, size: int) -> bytes:
            self._bound()  # before each part: a candidate may send one byte at a time
            try:
                return super()._some(size)
            except TimeoutError as error:
                raise Lost("timeout") from error
            except OSError as error:
                raise Lost("end of file") from error

    return Bounded(sock)
