"""`Peer`: one side of a crossing, with its tables of objects and the calls themselves.

What crosses, and how, is told in `crossing.py`. Like that file, this one is sent as text into the
candidate's box and imports only the standard library.
"""

from __future__ import annotations

import json
import operator
import struct
import sys
import threading
from collections.abc import Callable, Iterable
from typing import Any

from cligym.graders.crossing import (
    FUNCTIONS,
    CrossingError,
    Handle,
    Lane,
    Lost,
    builtin_error,
    crossing_text,
    error_named,
    plain_args,
    proxy_class,
    snapshot,
)

SAFE_INT = 2**53
DIGITS_LIMIT = 2_000_000
DEPTH_LIMIT = 100


class Peer:
    """One side of a crossing: tables of what both sides know, and the calls themselves.

    Args:
        side: "t" for the trusted side, "c" for the candidate's.
        lane: returns the lane of the calling thread.
        operations: special methods that handles of this side forward.
        root: objects that the other side may name ("n" targets): name -> object.
        guard: says whether this side carries out an operation on one of its objects; it raises
            to refuse.
    """

    def __init__(
        self,
        side: str,
        lane: Callable[[], Lane],
        operations: Iterable[str],
        root: Callable[[str], Any],
        guard: Callable[[str, Any, list[Any]], None] | None = None,
    ) -> None:
        self.side, self.lane, self.root, self.guard = side, lane, root, guard
        self.operations = operations
        self.handle_class: type[Handle] | None = None
        self.table_lock = threading.RLock()
        self.exports: dict[int, Any] = {}
        self.export_numbers: dict[int, int] = {}
        self.handles: dict[int, Handle] = {}
        self.shared: dict[str, Any] = {}
        self.shared_ids: dict[int, str] = {}
        self.snapshots: dict[str, Any] = {}
        self.counter = 0
        self.release = True
        self.error_classes: dict[tuple[str, str], type[BaseException]] = {}

    # -- calls --------------------------------------------------------------------------------

    def ask(
        self, operation: str, target: object, args: list[Any], kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Has the other side carry out one operation; returns or raises what came of it."""
        lane = self.lane()
        lane.lock.acquire()
        try:
            # Tuples, since a list or a dict would be shared from now on.
            values: list[Any] = [tuple(args), tuple((kwargs or {}).items())]
            lane.send(self._frame({"q": operation, "t": target}, values))
            while True:
                message = self._parse(lane.receive())
                if "q" not in message:
                    return self._answer(message)
                lane.lock.release()
                try:
                    frame = self.perform(message)
                finally:
                    lane.lock.acquire()
                lane.send(frame)
        finally:
            lane.lock.release()

    def serve(self, lane: Lane) -> None:
        """Carries out requests until the other side closes the lane."""
        lane.lock.acquire()
        while True:
            message = self._parse(lane.receive())
            lane.lock.release()
            frame = self.perform(message)
            lane.lock.acquire()
            lane.send(frame)

    def perform(self, message: dict[str, Any]) -> bytes:
        """One request of the other side, carried out: the frame that answers it."""
        caught: tuple[type[BaseException], ...] = (Exception,)
        if self.side == "c":
            caught = (BaseException,)
        try:
            with self.table_lock:
                self._define(message)
                args, pairs = self._values(message, 2)
            if type(args) is not tuple or type(pairs) is not tuple:
                raise CrossingError("arguments are two tuples")
            if not all(type(pair) is tuple and len(pair) == 2 for pair in pairs):
                raise CrossingError("named arguments are pairs")
            kwargs = {str(name): value for name, value in pairs}
            result = self._carry_out(str(message["q"]), message.get("t"), list(args), kwargs)
            # An encoding fault (nothing exact, not exportable) is the caller's exception too.
            return self._frame({"r": 1}, [result])
        except CrossingError:
            raise
        except caught as error:
            return self._frame({"x": 1}, [error])

    def _carry_out(self, operation: str, target: object, args: list[Any], kwargs: Any) -> Any:
        own = self._target(target)
        if self.guard is not None:
            self.guard(operation, own, args)
        if operation == "__call__":
            return own(*args, **kwargs)
        if operation == "attr":
            return getattr(own, str(args[0]))
        if operation == "setattr":
            return setattr(own, str(args[0]), args[1])
        if operation == "__enter__":
            return own.__enter__()
        if operation == "__exit__":
            error = args[0] if args else None
            return own.__exit__(type(error) if error is not None else None, error, None)
        if operation not in FUNCTIONS:
            raise CrossingError(f"no such operation: {operation[:40]}")
        return FUNCTIONS[operation](own, *args)

    def _target(self, target: object) -> Any:
        if isinstance(target, str):
            return self.root(target)
        if isinstance(target, int) and target in self.exports:
            return self.exports[target]
        raise CrossingError("an operation on an unknown object")

    def _answer(self, message: dict[str, Any]) -> Any:
        with self.table_lock:
            self._define(message)
            (value,) = self._values(message, 1)
        if "x" not in message:
            return value
        if not isinstance(value, BaseException):
            raise CrossingError("an exception was announced, none came")
        raise value

    # -- frames -------------------------------------------------------------------------------

    def _frame(self, head: dict[str, Any], values: list[Any]) -> bytes:
        with self.table_lock:
            gone = self._release_unheld() if self.side == "t" and self.release else []
            fresh: list[str] = []
            try:
                encoded = [self._encode(value, fresh, 0) for value in values]
                definitions = self._changes(fresh)
            except BaseException:
                self._forget_undefined()
                raise
            message = {**head, "v": encoded}
            if definitions:
                message["d"] = definitions
            if gone:
                message["z"] = gone
            return json.dumps(message, separators=(",", ":")).encode()

    def _parse(self, frame: bytes) -> dict[str, Any]:
        try:
            message = json.loads(frame)
        except (ValueError, RecursionError) as error:
            raise CrossingError("a frame that is no JSON") from error
        if not isinstance(message, dict):
            raise CrossingError("a frame that is no object")
        return message

    def _values(self, message: dict[str, Any], count: int) -> list[Any]:
        values = message.get("v")
        if not isinstance(values, list) or len(values) != count:
            raise CrossingError("a frame with the wrong number of values")
        return [self._decode(value, 0) for value in values]

    # -- shared containers --------------------------------------------------------------------

    def _changes(self, fresh: list[str]) -> list[Any]:
        """Definitions of new containers and of known ones that changed since last time."""
        rows: list[Any] = []
        done: set[str] = set()
        pending = [
            *fresh,
            *(i for i, obj in self.shared.items() if i in self.snapshots and self._changed(i, obj)),
        ]
        fresh.clear()
        while pending:
            name = pending.pop()
            if name in done:
                continue
            done.add(name)
            rows.append([name, *self._contents(self.shared[name], fresh)])
            self.snapshots[name] = snapshot(self.shared[name])
            pending.extend(fresh)
            fresh.clear()
        return rows

    def _changed(self, name: str, obj: Any) -> bool:
        before, now = self.snapshots[name], snapshot(obj)
        if isinstance(obj, bytearray):
            return bool(before != now)
        return len(before) != len(now) or not all(map(operator.is_, before, now))

    def _contents(self, obj: Any, fresh: list[str]) -> list[Any]:
        if type(obj) is bytearray:
            return ["B", obj.hex()]
        tag = "L" if type(obj) is list else "D" if type(obj) is dict else "S"
        return [tag, [self._encode(item, fresh, 0) for item in snapshot(obj)]]

    def _define(self, message: dict[str, Any]) -> None:
        for name in message.get("z") or ():
            if self.side == "t":
                raise CrossingError("only the trusted side releases")
            obj = self.shared.pop(name, None)
            self.shared_ids.pop(id(obj), None)
            self.snapshots.pop(name, None)
        rows = message.get("d") or []
        if not isinstance(rows, list):
            raise CrossingError("definitions are a list")
        try:
            for name, tag, _ in rows:
                self._declare(str(name), str(tag))
            for name, tag, content in rows:
                self._fill(self.shared[name], str(tag), content)
                self.snapshots[name] = snapshot(self.shared[name])
        except (KeyError, IndexError) as error:
            raise CrossingError("a definition of nothing known") from error
        except (TypeError, ValueError) as error:
            raise CrossingError("a malformed definition") from error

    def _declare(self, name: str, tag: str) -> None:
        kind = {"L": list, "D": dict, "S": set, "B": bytearray}[tag]
        if name in self.shared:
            if type(self.shared[name]) is not kind:
                raise CrossingError("a container changed its type")
            return
        if name.startswith(self.side):
            raise CrossingError("a definition in our own name")
        self._share(kind(), name)

    def _fill(self, obj: Any, tag: str, content: Any) -> None:
        if tag == "B":
            obj[:] = bytes.fromhex(content)
            return
        items = [self._decode(item, 0) for item in content]
        if tag == "L":
            obj[:] = items
        elif tag == "S":
            obj.clear()
            obj.update(items)
        else:
            obj.clear()
            obj.update(zip(items[::2], items[1::2], strict=True))

    def _share(self, obj: Any, name: str) -> str:
        self.shared[name] = obj
        self.shared_ids[id(obj)] = name
        return name

    def _forget_undefined(self) -> None:
        """After a frame that could not be made: what was never sent has no name over there."""
        for name in [name for name in self.shared if name not in self.snapshots]:
            self.shared_ids.pop(id(self.shared.pop(name)), None)

    def _release_unheld(self) -> list[str]:
        """Forgets containers that only our tables still hold; else every frame scans them all."""
        if len(self.shared) < 8:
            return []
        gone = [name for name in self.shared if sys.getrefcount(self.shared[name]) <= 2]
        for name in gone:
            self.shared_ids.pop(id(self.shared.pop(name)), None)
            self.snapshots.pop(name, None)
        return gone

    # -- values -------------------------------------------------------------------------------

    def _encode(self, value: Any, fresh: list[str], depth: int) -> Any:
        kind = type(value)
        if value is None or kind is bool:
            return value
        if kind is int:
            return value if -SAFE_INT < value < SAFE_INT else ["i", hex(value)]
        if kind is str:
            return value if value.isascii() or value.isprintable() else crossing_text(value)
        if kind is float:
            return ["f", struct.pack(">d", value).hex()]
        if depth > DEPTH_LIMIT:
            raise ValueError("a value is nested too deep to cross")
        if kind in (list, dict, set, bytearray):
            name = self.shared_ids.get(id(value))
            if name is None:
                self.counter += 1
                name = self._share(value, f"{self.side}{self.counter}")
                fresh.append(name)
            return ["@", name]
        if kind in (tuple, frozenset):
            tag = "t" if kind is tuple else "z"
            return [tag, [self._encode(item, fresh, depth + 1) for item in value]]
        return self._encode_rare(value, kind, fresh, depth)

    def _encode_rare(self, value: Any, kind: type, fresh: list[str], depth: int) -> Any:
        if kind is bytes:
            return ["b", value.hex()]
        if kind is complex:
            return ["c", struct.pack(">dd", value.real, value.imag).hex()]
        if kind is range:
            return ["r", [value.start, value.stop, value.step]]
        if value is NotImplemented:
            return ["N"]
        if value is Ellipsis:
            return ["E"]
        if kind is slice:
            parts = (value.start, value.stop, value.step)
            return ["l", [self._encode(part, fresh, depth + 1) for part in parts]]
        if isinstance(value, BaseException):
            return ["x", self._encode_error(value, fresh, depth)]
        if isinstance(value, type) and builtin_error(value) is value:
            return ["k", value.__name__]
        if isinstance(value, Handle) and value._peer is self:
            return ["h", value._number]
        return ["o", self._export(value)]

    def _decode(self, value: Any, depth: int) -> Any:
        if not isinstance(value, list):
            if isinstance(value, dict | float):
                raise CrossingError("a value without a tag")
            return value
        if depth > DEPTH_LIMIT or not value:
            raise CrossingError("a value that is nested too deep, or empty")
        tag, body = value[0], value[1] if len(value) > 1 else None
        try:
            return self._decode_tag(tag, body, depth)
        except (struct.error, ValueError, TypeError, KeyError, RecursionError) as error:
            raise CrossingError(f"a malformed value: {type(error).__name__}") from error

    def _decode_tag(self, tag: str, body: Any, depth: int) -> Any:
        match tag:
            case "@":
                return self.shared[body]
            case "f":
                return struct.unpack(">d", bytes.fromhex(body))[0]
            case "t":
                return tuple([self._decode(item, depth + 1) for item in body])
            case "z":
                return frozenset([self._decode(item, depth + 1) for item in body])
            case "i":
                if len(body) > DIGITS_LIMIT:
                    raise CrossingError("an integer that is too long")
                return int(body, 16)
            case "s":
                return bytes.fromhex(body).decode("utf-32-be", "surrogatepass")
            case "b":
                return bytes.fromhex(body)
            case "c":
                return complex(*struct.unpack(">dd", bytes.fromhex(body)))
            case "r":
                return range(*body)
            case "l":
                return slice(*[self._decode(item, depth + 1) for item in body])
            case "N":
                return NotImplemented
            case "E":
                return Ellipsis
            case "x":
                return self._decode_error(body, depth)
            case "k":
                return error_named(body)
            case "h":
                return self.exports[body]
            case "o":
                return self._handle(int(body))
        raise CrossingError("an unknown tag")

    def _export(self, value: Any) -> int:
        number = self.export_numbers.get(id(value))
        if number is None:
            if self.guard is not None:
                self.guard("export", value, [])
            number = len(self.exports) + 1
            self.exports[number] = value
            self.export_numbers[id(value)] = number
        return number

    def _handle(self, number: int) -> Handle:
        if number not in self.handles:
            if len(self.handles) > 100_000:
                raise CrossingError("too many objects")
            if self.handle_class is None:  # most tests need none, and a class costs time
                self.handle_class = proxy_class(self.operations)
            self.handles[number] = self.handle_class(self, number)
        return self.handles[number]

    # -- exceptions ---------------------------------------------------------------------------

    def _encode_error(self, error: BaseException, fresh: list[str], depth: int) -> Any:
        origin = getattr(error, "_crossing_origin", None)
        if isinstance(origin, tuple) and origin[0] is self:
            return {"home": origin[1]}
        row: dict[str, Any] = {
            "base": builtin_error(type(error)).__name__,
            "name": type(error).__name__,
            "args": [self._encode(a, fresh, depth + 1) for a in plain_args(error)],
        }
        number = len(self.exports) + 1
        self.exports[number] = error
        row["id"] = number
        if error.__cause__ is not None and depth < 8:
            row["cause"] = self._encode_error(error.__cause__, fresh, depth + 1)
        return row

    def _decode_error(self, row: Any, depth: int) -> BaseException:
        if "home" in row:
            own = self.exports[row["home"]]
            if not isinstance(own, BaseException):
                raise CrossingError("an exception that is none")
            return own
        args = [self._decode(a, depth + 1) for a in row["args"]]
        kind = self._error_class(str(row["base"]), str(row["name"]))
        if kind is Lost:
            return Lost("exit")
        try:
            error = kind(*args)
        except Exception:  # some built-in exceptions insist on their own arguments
            error = error_named("Exception")(*args)
        if row.get("cause") is not None and depth < 8:
            error.__cause__ = self._decode_error(row["cause"], depth + 1)
        error._crossing_origin = (self, int(row["id"]))  # type: ignore[attr-defined]  # our mark
        return error

    def _error_class(self, base: str, name: str) -> type[BaseException]:
        key = (base, name)
        if key not in self.error_classes:
            kind = error_named(base)
            if self.side == "t" and not issubclass(kind, Exception):
                kind = Lost  # a candidate that exits, or interrupts, is no test outcome
            if kind is Lost or name == base or not name.isidentifier() or len(name) > 80:
                self.error_classes[key] = kind
            else:
                self.error_classes[key] = type(name, (kind,), {})
        return self.error_classes[key]
