"""The trusted side of the judge: one pytest session, collected once, forked for every candidate.

Runs as its own process (`python -m cligym.graders.judge_session JOBS CONTROL`, two descriptors).
`JOBS` carries frames from and to `cligym.graders.judge`; `CONTROL` leads to the candidate zygote
in its box. `from solution import name` in a test gives a name that is looked up, at each use, in
the candidate of the test that is running. Public and hidden tests run mixed, in an order drawn
anew each time, each against a fresh candidate: nothing a candidate can count tells them apart.
"""

from __future__ import annotations

import ast
import gc
import os
import random
import signal
import socket
import sys
import threading
import time
import types
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import pytest

from cligym.graders.crossing import CrossingError, Handle, Lane, Lost, deadline_lane
from cligym.graders.crossing_peer import Peer
from cligym.graders.judge_wire import read_frame, receive_bytes, send_bytes, write_frame

__all__ = ["main", "normal_form"]

_EXPORTABLE = (
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodType,
    types.GeneratorType,
)

# What these plugins do around each test costs more than the test.
_UNUSED_PLUGINS = """
cacheprovider terminal threadexception unraisableexception logging warnings faulthandler doctest
junitxml pastebin stepwise debugging setuponly setupplan unittest
"""

_FAULTS = frozenset({"timeout", "crashed", "protocol"})
"""Ways for a run to end that no test outcome is."""
_EXIT = ("exit",)
"""What a candidate's SystemExit and its kin become, see `crossing_peer`."""


class TrustedPeer(Peer):
    """The tests' end of one crossing; remembers the first fault, which no test can undo."""

    fault: Lost | None = None

    def ask(
        self, operation: str, target: object, args: list[Any], kwargs: dict[str, Any] | None = None
    ) -> Any:
        """As `Peer.ask`; after a fault, every further call ends at once."""
        if self.fault is not None:
            raise self.fault
        try:
            return super().ask(operation, target, args, kwargs)
        except Lost as fault:
            self.fault = self.fault or fault
            raise


class Current:
    """The candidate of the test that runs now (one test at a time in this process)."""

    peer: TrustedPeer | None = None


class Name:
    """What `from solution import name` gives: a name, looked up in the current candidate."""

    def __init__(self, name: str) -> None:
        self._name = name

    def _ask(self, operation: str, args: list[Any], kwargs: dict[str, Any] | None = None) -> Any:
        assert Current.peer is not None, "a test used the solution while no candidate runs"
        return Current.peer.ask(operation, self._name, args, kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._ask("__call__", list(args), kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self._ask("attr", [name])

    def __instancecheck__(self, value: object) -> bool:
        return isinstance(value, Handle) and self._ask("__instancecheck__", [value]) is True


class SolutionModule(types.ModuleType):
    """Stands for `solution` while the tests are imported."""

    def __getattr__(self, name: str) -> Name:
        if name.startswith("_"):
            raise AttributeError(name)
        return Name(name)


@dataclass(slots=True)
class Task:
    """What this process knows of one task."""

    operations: list[str]
    clean: set[str]
    items: list[tuple[str, pytest.Item]] = field(default_factory=list)


class Session:
    """Pytest plugin: collects once, then serves jobs instead of running the tests."""

    def __init__(self, jobs: socket.socket, control: socket.socket, setup: dict[str, Any]) -> None:
        self.jobs, self.control = jobs, control
        self.test_s = float(setup["test_s"])
        self.job_s = float(setup["job_s"])
        self.tasks = {
            name: Task(row["operations"], {normal_form(text) for text in row["clean"]})
            for name, row in setup["tasks"].items()
        }
        self.paths = {
            Path(path): (name, kind)
            for name, row in setup["tasks"].items()
            for kind, path in row["tests"].items()
        }
        self.modules: set[str] = set()
        self.errors: list[str] = []

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Keeps collection errors: a task whose tests cannot be imported is never judged."""
        if report.failed:
            self.errors.append(f"{report.nodeid}: {str(report.longrepr)[-400:]}")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Serves jobs until the judge closes the socket."""
        for item in session.items:
            name, kind = self.paths[item.path]
            test_id = f"{kind}::{item.nodeid.split('::', 1)[1]}"
            self.tasks[name].items.append((test_id, item))
            self.modules.add(_module_name(item))
        ids = {name: [i for i, _ in task.items] for name, task in self.tasks.items()}
        write_frame(self.jobs, {"ids": ids, "errors": self.errors})
        gc.collect()
        gc.freeze()  # a child that collects would copy every page of pytest's heap
        while (job := read_frame(self.jobs)) is not None:
            pid = os.fork()
            if pid == 0:
                self._run_in_child(job)
            _, status = os.waitpid(pid, 0)
            if status:
                write_frame(self.jobs, {"died": status})
        return True

    def _run_in_child(self, job: dict[str, Any]) -> NoReturn:
        status = 1
        gc.disable()
        try:
            task = self.tasks[job["task"]]
            parsed = _parse_report(job["source"], task)
            run = not parsed["syntax_error"] and (job["always"] or not parsed["no_op"])
            write_frame(self.jobs, {**parsed, "run": run})
            if run:
                rows = self._run_tests(task, job["source"], job["mode"])
                write_frame(self.jobs, {"rows": rows})
            status = 0
        finally:
            os._exit(status)

    def _run_tests(self, task: Task, source: str, mode: str) -> list[list[Any]]:
        order = _mixed_order(task.items)
        if mode == "public":
            order = [pair for pair in order if pair[0].startswith("public")]
        public_left = sum(test_id.startswith("public") for test_id, _ in order)
        rows: list[list[Any]] = []
        end = time.monotonic() + self.job_s
        confirmed = faulted = False
        for test_id, item in order:
            public = test_id.startswith("public")
            row = [test_id, *self._run_one(item, task, source, end)]
            rows.append(row)
            if row[1] != "passed" and mode in ("first", "public"):
                break
            # A hidden failure counts only if a new candidate repeats it; so does a fault, which
            # may be ours (a slow machine). One fault that came twice is enough to know.
            if (row[1] == "failed" and not public) or (row[1] in _FAULTS and not faulted):
                first, row = row, [test_id, *self._run_one(item, task, source, end)]
                rows.append(row)
                confirmed = confirmed or (not public and first[1] == row[1] == "failed")
                faulted = faulted or (first[1] in _FAULTS and row[1] in _FAULTS)
            if public and row[1] == "passed":
                public_left -= 1
            elif public and mode == "decide":
                break  # rejected, whatever else happens
            if mode == "decide" and confirmed and not public_left:
                break
        return rows

    def _run_one(self, item: pytest.Item, task: Task, source: str, end: float) -> list[Any]:
        started = time.monotonic()
        limit = min(started + self.test_s, end)
        ours, theirs = socket.socketpair()
        more, more_theirs = socket.socketpair()
        socket.send_fds(self.control, [b"F"], [theirs.fileno(), more_theirs.fileno()])
        theirs.close()
        more_theirs.close()
        send_bytes(self.control, source.encode("utf-8", "surrogatepass"))
        peer = self._peer(task, ours, more, limit)
        Current.peer = peer
        signal.signal(signal.SIGALRM, _on_alarm)
        signal.setitimer(signal.ITIMER_REAL, max(0.001, limit - started + 0.5))
        result = ("failed", "")
        try:
            result = _run_item(item)
        except Lost as fault:
            peer.fault = peer.fault or fault
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            Current.peer = None
        # Ended before its sockets are closed: how it ended must be its own doing, or our kill.
        self.control.sendall(b"E")
        status = int(receive_bytes(self.control))
        ours.close()
        more.close()
        word, detail = _outcome(result, peer.fault, status)
        return [word, detail, round(time.monotonic() - started, 4)]

    def _peer(
        self, task: Task, ours: socket.socket, more: socket.socket, limit: float
    ) -> TrustedPeer:
        main_thread = threading.get_ident()
        local = threading.local()
        first = deadline_lane(ours, lambda: limit)

        def lane() -> Lane:
            if threading.get_ident() == main_thread:
                return first
            if not hasattr(local, "lane"):
                peer.release = False
                own, other = socket.socketpair()
                socket.send_fds(more, [b"L"], [other.fileno()])
                other.close()
                local.lane = deadline_lane(own, lambda: limit)
            return local.lane  # type: ignore[no-any-return]  # thread locals have no types

        peer = TrustedPeer("t", lane, task.operations, _no_root, self._guard)
        return peer

    def _guard(self, operation: str, own: Any, args: list[Any]) -> None:
        """What a candidate may do to the tests' own objects: call, iterate, use public names."""
        ours = type(own).__module__ in self.modules
        iterator = hasattr(type(own), "__next__")
        if operation == "export":
            if not ours and not iterator and not isinstance(own, _EXPORTABLE):
                raise TypeError(f"a {type(own).__name__} cannot cross to the candidate")
        elif operation in ("attr", "setattr"):
            if not ours or str(args[0]).startswith("_"):
                raise AttributeError(str(args[0])[:80])
        elif not ours and operation not in ("__call__", "__iter__", "__next__"):
            raise TypeError(f"{operation} is not supported here")


def _module_name(item: pytest.Item) -> str:
    module = item.getparent(pytest.Module)
    assert module is not None
    return str(module.obj.__name__)


def _mixed_order(items: list[tuple[str, pytest.Item]]) -> list[tuple[str, pytest.Item]]:
    """All public tests mixed with some hidden ones, then the other hidden tests.

    A verdict is often known after the first part; a candidate that counts still cannot know
    whether the test it is in is a public one.
    """
    shuffle = random.SystemRandom().shuffle
    public = [pair for pair in items if pair[0].startswith("public")]
    hidden = [pair for pair in items if not pair[0].startswith("public")]
    shuffle(hidden)
    some = max(2, len(public) // 2)
    head = public + hidden[:some]
    shuffle(head)
    return head + hidden[some:]


def normal_form(source: str) -> str:
    """The code without comments, layout and docstrings: equal text means an equal program."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if not isinstance(body, list) or len(body) < 2:
            continue
        first = body[0]
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
            del body[0]
    return ast.dump(tree)


def _parse_report(source: str, task: Task) -> dict[str, Any]:
    try:
        return {"no_op": normal_form(source) in task.clean, "syntax_error": ""}
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return {"no_op": False, "syntax_error": f"{type(error).__name__}: {error}"[:300]}


def _run_item(item: pytest.Item) -> tuple[str, str]:
    """Set-up, call and tear-down of one test, as pytest's own runner does, without its reports.

    Raises:
        Lost: the candidate is gone, too late, or broke the protocol.
    """
    state = item.session._setupstate
    try:
        item._initrequest()  # type: ignore[attr-defined]  # a Function; it has no public form
        try:
            state.setup(item)
            item.runtest()
        finally:
            state.teardown_exact(None)
    except pytest.skip.Exception:
        return "skipped", "a test skipped itself"
    except (Exception, pytest.fail.Exception) as error:  # whatever a test raises is its failure
        return "failed", f"{type(error).__name__}: {_short(error)}"
    return "passed", ""


def _short(error: BaseException) -> str:
    return str(error)[:200]


def _outcome(result: tuple[str, str], fault: Lost | None, status: int) -> tuple[str, str]:
    if isinstance(fault, CrossingError):
        return "protocol", str(fault)
    if fault is not None:
        # A spent CPU limit ends in SIGKILL too, without any word of ours.
        if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL and fault.args != _EXIT:
            return "timeout", "no answer in time"
        return "crashed", f"{fault}, wait status {status}"
    return result


def _no_root(name: str) -> Any:
    raise CrossingError("the candidate asked for a name of the tests")


def _on_alarm(number: int, frame: object) -> None:
    raise Lost("timeout")


def main(argv: list[str]) -> int:
    """Collects the tests of the setup frame and serves jobs until the socket closes."""
    sys.dont_write_bytecode = True
    jobs, control = (socket.socket(fileno=int(word)) for word in argv)
    setup = read_frame(jobs)
    if setup is None:
        return 1
    sys.modules["solution"] = SolutionModule("solution")
    session = Session(jobs, control, setup)
    files = [str(path) for path in session.paths]
    pytest.main(
        [f"-pno:{name}" for name in _UNUSED_PLUGINS.split()]
        + ["--capture=no", "--assert=plain", "--import-mode=importlib"]
        + ["-c", os.devnull, f"--rootdir={os.path.commonpath(files)}", *files],
        plugins=[session],
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
