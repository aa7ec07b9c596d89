"""The crossing on its own: two peers on a socket behave as one process does, and nothing leaks."""

from __future__ import annotations

import math
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cligym.graders.crossing import (
    OPERATIONS,
    CrossingError,
    Handle,
    Lane,
    Lost,
    deadline_lane,
)
from cligym.graders.crossing_peer import Peer

USUAL = ("__iter__", "__next__", "__call__", "__len__", "__enter__", "__exit__")


class Pair:
    """A trusted peer and a candidate's peer whose root is a namespace."""

    def __init__(self, guard: Callable[[str, Any, list[Any]], None] | None = None) -> None:
        ours, self.theirs = socket.socketpair()
        self.solution = SimpleNamespace()
        self.lane = deadline_lane(ours, lambda: time.monotonic() + 5)
        self.sock = ours
        far = Lane(self.theirs)
        self.trusted = Peer("t", lambda: self.lane, USUAL, self._no_name, guard)
        self.far = Peer("c", lambda: far, OPERATIONS, lambda name: getattr(self.solution, name))
        self.thread = threading.Thread(target=self._serve, args=(far,), daemon=True)
        self.thread.start()

    def _serve(self, lane: Lane) -> None:
        try:
            self.far.serve(lane)
        except (Lost, OSError):
            pass

    @staticmethod
    def _no_name(name: str) -> Any:
        raise CrossingError("no names here")

    def call(self, name: str, *args: Any) -> Any:
        return self.trusted.ask("__call__", name, list(args))

    def close(self) -> None:
        self.sock.shutdown(socket.SHUT_RDWR)
        self.sock.close()
        self.thread.join(timeout=5)
        self.theirs.close()


@pytest.fixture
def pair() -> Iterator[Pair]:
    made = Pair()
    yield made
    made.close()


def same_bits(first: Any, second: Any) -> bool:
    if isinstance(first, float) and isinstance(second, float):
        return struct.pack(">d", first) == struct.pack(">d", second)
    return bool(type(first) is type(second) and first == second)


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        0,
        -5,
        2**53,
        -(2**4000),
        0.1,
        -0.0,
        math.inf,
        5e-324,
        struct.unpack(">d", bytes.fromhex("7ff8000000000123"))[0],
        1 + 2j,
        "",
        "naïve ☃ \x00 \n",
        "\ud83d\ude00",
        b"\x00\xff",
        (1, (2.5, "x"), ()),
        frozenset({1, "a"}),
        range(3, 20, 4),
        slice(1, None, 2),
        ...,
    ],
    ids=lambda value: "frozenset" if isinstance(value, frozenset) else repr(value),  # not by hash
)
def test_exact_values_come_back_the_same(pair: Pair, value: Any) -> None:
    pair.solution.same = lambda x: x
    assert same_bits(pair.call("same", value), value)


plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary(),
    lambda inner: (
        st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(st.text(), inner, max_size=4)
    ),
    max_leaves=12,
)


@settings(max_examples=60, deadline=None)
@given(plain)
def test_any_plain_value_comes_back_equal(value: Any) -> None:
    made = Pair()
    try:
        made.solution.same = lambda x: x
        assert made.call("same", value) == value
    finally:
        made.close()


def test_mutation_in_place_and_identity(pair: Pair) -> None:
    def change(items: list[Any], table: dict[str, Any], words: set[str], data: bytearray) -> Any:
        items.append(table)
        table["new"] = items
        words.discard("a")
        data[0] = 9
        return items

    pair.solution.change = change
    items, table, words, data = [1], {"k": 0}, {"a", "b"}, bytearray(b"ab")
    result = pair.call("change", items, table, words, data)
    assert result is items
    assert items[1] is table
    assert table["new"] is items
    assert words == {"b"}
    assert data == bytearray(b"\x09b")


def test_the_candidates_own_lists_stay_shared(pair: Pair) -> None:
    kept = [1, 2]
    pair.solution.give = lambda: kept
    pair.solution.look = lambda: list(kept)
    given = pair.call("give")
    given.append(3)
    assert pair.call("look") == [1, 2, 3]
    assert pair.call("give") is given


def test_what_a_candidate_keeps_of_an_argument_follows_the_test(pair: Pair) -> None:
    kept: list[Any] = []
    pair.solution.keep = kept.append
    pair.solution.size = lambda: len(kept[0])
    items = [1]
    pair.call("keep", items)
    items.extend([2, 3])
    assert pair.call("size") == 3


def test_exceptions_and_their_causes(pair: Pair) -> None:
    class Special(KeyError):
        pass

    def fail() -> None:
        raise Special("a", 7) from OSError(2, "gone")

    pair.solution.fail = fail
    with pytest.raises(KeyError) as caught:
        pair.call("fail")
    assert caught.value.args == ("a", 7)
    assert type(caught.value).__name__ == "Special"
    assert isinstance(caught.value.__cause__, OSError)


def test_an_exception_of_the_test_comes_home_as_itself(pair: Pair) -> None:
    class Trouble(Exception):
        pass

    error = Trouble("x")

    def broken() -> None:
        raise error

    pair.solution.run = lambda call: call()
    with pytest.raises(Trouble) as caught:
        pair.call("run", broken)
    assert caught.value is error


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt, GeneratorExit])
def test_leaving_is_no_outcome_of_a_test(pair: Pair, kind: type[BaseException]) -> None:
    def leave() -> None:
        raise kind

    pair.solution.leave = leave
    with pytest.raises(Lost):
        pair.call("leave")


def test_generators_classes_and_context_managers(pair: Pair) -> None:
    class Box:
        def __init__(self) -> None:
            self.open = False

        def __enter__(self) -> Box:
            self.open = True
            return self

        def __exit__(self, *error: Any) -> None:
            self.open = False

        def __len__(self) -> int:
            return 4

    def numbers() -> Iterator[int]:
        yield 1
        yield 2

    pair.solution.Box, pair.solution.numbers = Box, numbers
    assert list(pair.call("numbers")) == [1, 2]
    box = pair.call("Box")
    with box as inside:
        assert inside is box
        assert box.open is True
    assert box.open is False
    assert len(box) == 4


def test_a_subclass_of_a_value_is_no_value(pair: Pair) -> None:
    class Any5(int):
        def __eq__(self, other: object) -> bool:
            return True

        __hash__ = int.__hash__

    pair.solution.five = lambda: Any5(5)
    found: Any = pair.call("five")
    assert type(found).__mro__[1] is Handle
    assert found != 5
    assert found == found
    with pytest.raises(TypeError):
        _ = found + 1
    with pytest.raises(TypeError):
        _ = found < 9


def test_call_backs_count(pair: Pair) -> None:
    seen: list[int] = []

    def key(value: int) -> int:
        seen.append(value)
        return -value

    pair.solution.order = lambda items, how: sorted(items, key=how)
    assert pair.call("order", [1, 3, 2], key) == [3, 2, 1]
    assert sorted(seen) == [1, 2, 3]


def test_underscore_names_never_cross(pair: Pair) -> None:
    pair.solution.make = SimpleNamespace
    made = pair.call("make")
    with pytest.raises(AttributeError):
        _ = made.__dict__
    with pytest.raises(AttributeError):
        made._x = 1


def test_the_guard_is_asked_before_anything_of_ours_is_touched() -> None:
    def guard(operation: str, own: Any, args: list[Any]) -> None:
        if operation == "attr":
            raise AttributeError("no")

    made = Pair(guard)
    made.solution.peek = lambda thing: thing.secret
    try:
        with pytest.raises(AttributeError, match="no"):
            made.call("peek", SimpleNamespace(secret=1))
    finally:
        made.close()


BAD_FRAMES = [
    b"no json",
    b"[]",
    b'{"r":1}',
    b'{"r":1,"v":[1,2]}',
    b'{"r":1,"v":[["?",1]]}',
    b'{"r":1,"v":[{}]}',
    b'{"r":1,"v":[1.5]}',
    b'{"r":1,"v":[NaN]}',
    b'{"r":1,"v":[["f","zz"]]}',
    b'{"r":1,"v":[["@","t99"]]}',
    b'{"r":1,"v":[["h",99]]}',
    b'{"r":1,"v":[["x",{"base":"exec","name":"x","args":[],"id":1}]]}',
    b'{"r":1,"v":[["x",{"base":"type","name":"x","args":[],"id":1}]]}',
    b'{"x":1,"v":[1]}',
    b'{"r":1,"v":[1],"d":[["t9","L",[1]]]}',
    b'{"r":1,"v":[1],"d":[["c1","Q",[1]]]}',
    b'{"r":1,"v":[1],"d":[["c1","D",[1]]]}',
    b'{"r":1,"v":[1],"d":7}',
    b'{"r":1,"v":[1],"z":["c1"]}',
    b'{"q":"__call__","t":"exit","v":[["t",[]],["t",[]]]}',
    b'{"q":"__call__","t":1,"v":[["t",[]],["t",[]]]}',
    b'{"q":"__call__","t":1,"v":[["@","c1"],["t",[]]],"d":[["c1","L",[]]]}',
    b'{"q":"__call__","t":1,"v":[["t",[]],["t",[1]]]}',
    b"[" * 50_000,
    b'{"r":1,"v":' + b"[" * 900 + b"]" * 900 + b"}",
    b'{"r":1,"v":[["i","' + b"f" * 3_000_000 + b'"]]}',
]


@pytest.mark.parametrize("frame", BAD_FRAMES, ids=range(len(BAD_FRAMES)))
def test_bad_frames_are_faults_that_no_test_catches(frame: bytes) -> None:
    ours, theirs = socket.socketpair()
    lane = deadline_lane(ours, lambda: time.monotonic() + 5)
    trusted = Peer("t", lambda: lane, USUAL, Pair._no_name)
    sender = threading.Thread(
        target=theirs.sendall, args=(struct.pack(">I", len(frame)) + frame,), daemon=True
    )
    sender.start()
    with pytest.raises(CrossingError) as caught:
        trusted.ask("__call__", "f", [])
    assert not isinstance(caught.value, Exception)
    sender.join(timeout=5)
    ours.close()
    theirs.close()


def test_a_frame_that_is_too_long_is_not_read() -> None:
    ours, theirs = socket.socketpair()
    theirs.sendall(struct.pack(">I", 2**31))
    with pytest.raises(CrossingError, match="bytes"):
        deadline_lane(ours, lambda: time.monotonic() + 5).receive()
    ours.close()
    theirs.close()


def test_one_byte_at_a_time_does_not_move_the_deadline() -> None:
    ours, theirs = socket.socketpair()
    end = time.monotonic() + 0.4

    def drip() -> None:
        try:
            theirs.sendall(struct.pack(">I", 1000))
            for _ in range(50):
                theirs.sendall(b"x")
                time.sleep(0.05)
        except OSError:
            pass

    thread = threading.Thread(target=drip, daemon=True)
    thread.start()
    with pytest.raises(Lost):
        deadline_lane(ours, lambda: end).receive()
    assert time.monotonic() < end + 1
    ours.close()
    thread.join(timeout=5)
    theirs.close()
