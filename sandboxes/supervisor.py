"""The trusted process beside one box: starts it, reads its output, times it, kills it, scans it.

One supervisor a box, forked from the keeper, in the keeper's user namespace. It serves one driver
over a socket; when the driver is gone (also by SIGKILL) it kills the box and removes all it made.
What a command prints is read here, so a background service never blocks on a full pipe and a flood
costs this process a bounded amount of memory. Standard library and sibling modules only.
"""

from __future__ import annotations

import contextlib
import errno
import os
import select
import signal
import socket
import time
from collections.abc import Callable
from typing import Any, NoReturn

from cligym.sandboxes import linux, wire
from cligym.sandboxes.box_init import BoxSetup, run_init
from cligym.sandboxes.box_mounts import FOLDERS, BoxView
from cligym.sandboxes.box_watch import BoxWatch
from cligym.sandboxes.cgroup import move_process
from cligym.sandboxes.output_buffer import OutputBuffer
from cligym.sandboxes.shell import Shell, bytes_waiting
from cligym.sandboxes.tree_edit import remove_tree

__all__ = ["BoxGoneError", "Supervisor"]

_READ_BYTES = 1 << 20
_TICK_S = 0.25
_CHANNEL_BYTES = 64 << 20
_ANSWER_S = 60.0


class BoxGoneError(Exception):
    """The box's PID 1 is gone."""


class DriverGoneError(Exception):
    """The driver closed its end."""


class Supervisor:
    """Life of one box, from `start` to `close`."""

    def __init__(
        self,
        driver: socket.socket,
        name: str,
        request: dict[str, Any],
        controllers: tuple[str, ...],
    ) -> None:
        self.driver = driver
        self.name = name
        self.folder = f"scratch/boxes/{name}"
        self._request = request
        self._watch = BoxWatch(
            f"{self.folder}/u",
            disk_bytes=request["disk_bytes"],
            memory_bytes=0 if "memory" in controllers else request["memory_bytes"],
            pids=0 if "pids" in controllers else request["pids"],
        )
        self._init: socket.socket | None = None
        self._init_pid = 0
        self._shell: Shell | None = None
        self._idle = OutputBuffer()
        self._answer: dict[str, Any] | None = None
        self.exits: dict[int, int] = {}
        self._poll = select.poll()
        self._handlers: dict[int, Callable[[], None]] = {}
        self._next_tick = time.monotonic() + _TICK_S
        self.destroyed = ""

    # -- start -----------------------------------------------------------------------------

    def start(self, seccomp: bytes, *, has_id_range: bool) -> None:
        """Starts the box's PID 1; raises OSError with the reason when it does not come up."""
        request = self._request
        self._make_folder(request["lowers"])
        setup = BoxSetup(
            folder=self.folder,
            view=BoxView(
                lower_count=len(request["lowers"]),
                files=request["files"],
                sysfs=not request["network"],
                shm_bytes=request["shm_bytes"],
            ),
            hostname=request["hostname"],
            own_network=not request["network"],
            has_id_range=has_id_range,
            seccomp=seccomp,
            processes=self._watch.pids,
        )
        self._fork_box(setup, request["ids"])
        assert self._init is not None
        message = wire.receive(self._init)
        if message is None or "error" in message.header:
            reason = message.header["error"] if message else "its first process died"
            raise OSError(f"box did not start: {reason}")
        self.watch(self._init.fileno(), self._on_init)
        self.watch(self.driver.fileno(), lambda: None)

    def _make_folder(self, lowers: list[str]) -> None:
        os.mkdir(self.folder, 0o755)
        for name in FOLDERS:
            os.mkdir(f"{self.folder}/{name}", 0o755)
        for number, lower in enumerate(lowers):
            os.symlink(f"../../../{lower}", f"{self.folder}/{number}")

    def _fork_box(self, setup: BoxSetup, id_count: int) -> None:
        linux.prctl(linux.PR_SET_CHILD_SUBREAPER, 1)
        self._init, theirs = socket.socketpair()
        gate_read, gate_write = os.pipe()
        report_read, report_write = os.pipe()
        pid = os.fork()
        if pid == 0:
            self._init.close()
            self.driver.close()
            os.close(gate_write)
            self._unshare_and_fork(setup, theirs, gate_read, report_write)
        theirs.close()
        os.close(report_write)
        os.close(gate_read)
        try:
            if os.read(report_read, 1) != b"u":
                raise OSError("cannot make namespaces (limit of user namespaces reached?)")
            _write_id_maps(pid, id_count)
            os.write(gate_write, b"m")
            answer = os.read(report_read, 16)
            self._init_pid = int(answer or 0)
        finally:
            os.close(gate_write)
            os.close(report_read)
            os.waitpid(pid, 0)
        if not self._init_pid:
            raise OSError("box did not start: fork failed")

    def settle(self) -> None:
        """Moves PID 1 into its memory group and lets it begin; the driver is not kept waiting.

        Raises:
            OSError: the host refuses.
        """
        assert self._init is not None
        if folder := self._request.get("memory_group"):
            move_process(folder, self._init_pid)
        wire.send(self._init, {"settle": True})

    def _unshare_and_fork(
        self, setup: BoxSetup, sock: socket.socket, gate: int, report: int
    ) -> None:
        try:
            flags = (
                linux.CLONE_NEWUSER
                | linux.CLONE_NEWNS
                | linux.CLONE_NEWPID
                | linux.CLONE_NEWIPC
                | linux.CLONE_NEWUTS
            )
            linux.unshare(flags | (linux.CLONE_NEWNET if setup.own_network else 0))
            os.write(report, b"u")
            os.read(gate, 1)
            os.setresgid(0, 0, 0)
            os.setresuid(0, 0, 0)
            pid = os.fork()
            if pid == 0:
                os.close(gate)
                os.close(report)
                run_init(setup, sock)
            os.write(report, str(pid).encode())
        finally:
            os._exit(0)

    @property
    def init_pid(self) -> int:
        """Host pid of the box's PID 1 (0 when it is gone)."""
        return self._init_pid

    # -- the event loop ----------------------------------------------------------------------

    def watch(self, fd: int, handler: Callable[[], None]) -> None:
        self._handlers[fd] = handler
        self._poll.register(fd, select.POLLIN)

    def unwatch(self, fd: int) -> None:
        if self._handlers.pop(fd, None) is not None:
            self._poll.unregister(fd)

    def loop(self, done: Callable[[], bool], deadline: float | None = None) -> bool:
        """Handles events until `done`; False when the deadline came first.

        Raises:
            DriverGoneError: the driver hung up.
            BoxGoneError: the box ended.
        """
        while not done():
            now = time.monotonic()
            if deadline is not None and now >= deadline:
                return False
            if now >= self._next_tick:
                self._tick()
                continue
            until = self._next_tick if deadline is None else min(deadline, self._next_tick)
            for fd, event in self._poll.poll(max(0.0, until - now) * 1000 + 1):
                if fd == self.driver.fileno() and event & (select.POLLHUP | select.POLLERR):
                    raise DriverGoneError
                handler = self._handlers.get(fd)
                if handler is not None:
                    handler()
        return True

    def wait_for_request(self) -> wire.Message | None:
        """The driver's next request; meanwhile the box's background output is taken up."""
        ready: list[bool] = []
        self._handlers[self.driver.fileno()] = lambda: ready.append(True)
        try:
            while not ready:
                try:
                    self.loop(lambda: bool(ready))
                except BoxGoneError:
                    self._poll_driver_only()
                    ready.append(True)
        except DriverGoneError:
            return None
        finally:
            self._handlers[self.driver.fileno()] = lambda: None
            # While a request runs, readable data means nothing here: only a hang-up counts.
            self._poll.modify(self.driver.fileno(), 0)
        message = wire.receive(self.driver)
        return message

    def listen(self) -> None:
        """Takes requests again after one was answered."""
        self._poll.modify(self.driver.fileno(), select.POLLIN)

    def _poll_driver_only(self) -> None:
        poll = select.poll()
        poll.register(self.driver.fileno(), select.POLLIN)
        poll.poll()

    def _tick(self) -> None:
        self._next_tick = time.monotonic() + _TICK_S
        reason = self._watch.check(self._init_pid)
        if reason:
            self._destroy(reason)

    def _destroy(self, reason: str) -> NoReturn:
        """Ends the box for good because of what ran in it."""
        self.destroyed = self.destroyed or reason
        self.kill()
        raise BoxGoneError(self.destroyed)

    def _on_init(self) -> None:
        assert self._init is not None
        message = wire.receive(self._init)
        if message is None:
            self._on_box_gone()
        elif "exited" in message.header:
            self.exits[message.header["exited"]] = message.header["code"]
        else:
            self._answer = message.header

    def _on_box_gone(self) -> NoReturn:
        if self._init is not None:
            self.unwatch(self._init.fileno())
        self._destroy("its first process was killed")

    def ask(self, header: dict[str, Any], fds: tuple[int, ...] = ()) -> dict[str, Any]:
        """One request to PID 1."""
        if self._init is None or self.destroyed:
            raise BoxGoneError(self.destroyed)
        self._answer = None
        try:
            wire.send(self._init, header, fds=fds)
        except OSError:
            self._on_box_gone()
        if not self.loop(lambda: self._answer is not None, time.monotonic() + _ANSWER_S):
            self._destroy("its first process does not answer")
        assert self._answer is not None
        return self._answer

    # -- commands ----------------------------------------------------------------------------

    def run(self, command: bytes, timeout_s: float) -> tuple[dict[str, Any], bytes]:
        """Runs a command in the persistent shell."""
        started = time.monotonic()
        if self._shell is None:
            self._start_shell()
        answer = self.ask(self._shell_of().mark())
        if not answer["whole"]:
            self._drop_shell()
            self._start_shell()
        shell = self._shell_of()
        spared = [pid for pid in answer["marked"] if pid != shell.pid]
        output, self._idle = self._idle, OutputBuffer()
        self._read_into(shell.output, output)
        try:
            result = shell.run(command, spared, started + timeout_s)
        except BoxGoneError:
            result = {"exit_code": None, "timed_out": False, "shell": "destroyed"}
        self._drain(shell.output, output)
        if result["shell"] == "kept":
            self._read_into(shell.output, self._idle)
        else:
            self._drop_shell()
        header = output.describe() | result | {"seconds": time.monotonic() - started}
        return header, output.value()

    def _shell_of(self) -> Shell:
        assert self._shell is not None  # started just before
        return self._shell

    def _start_shell(self) -> None:
        try:
            self._shell = Shell(self, self._request["env"], self._request["workdir"])
        except OSError as error:
            # Whoever ran in the box removed bash, or used up its processes: their own doing.
            self._destroy(f"no shell can be started in it: {error}")

    def _drop_shell(self) -> None:
        if self._shell is not None:
            shell, self._shell = self._shell, None
            self._keep_reading(shell.release_output())
            shell.close()

    def _keep_reading(self, fd: int) -> None:
        """Takes what services of a shell that is gone still print; closes `fd` after the last one.

        With nobody at the other end of the pipe, the next word they print would kill them.
        """
        self._read(fd, lambda data: self._idle.add(data), lambda: os.close(fd))

    def spawn_process(self, request: dict[str, Any], fds: tuple[int, ...]) -> int:
        """Starts a process with these descriptors; its pid in the box.

        Raises:
            OSError: it did not start.
            BoxGoneError: the box ended.
        """
        answer = self.ask({"spawn": request}, fds)
        if "error" in answer:
            raise OSError(answer.get("errno", 0), answer["error"])
        return int(answer["pid"])

    def _read_into(self, fd: int, buffer: OutputBuffer) -> None:
        self._read(fd, buffer.add, lambda: None)

    def _read(self, fd: int, take: Callable[[bytes], None], at_end: Callable[[], None]) -> None:
        def on_output() -> None:
            try:
                data = os.read(fd, _READ_BYTES)
            except BlockingIOError:
                return
            if data:
                take(data)
            else:
                self.unwatch(fd)
                at_end()

        self.unwatch(fd)
        self.watch(fd, on_output)

    def _drain(self, fd: int, buffer: OutputBuffer) -> None:
        """Takes what is in the pipe now, and no more: a background writer may never stop."""
        left = bytes_waiting(fd)
        while left > 0:
            try:
                data = os.read(fd, min(left, _READ_BYTES))
            except BlockingIOError:
                break
            if not data:
                break
            buffer.add(data)
            left -= len(data)
        self.unwatch(fd)

    def execute(self, request: dict[str, Any]) -> tuple[dict[str, Any], bytes, bytes]:
        """Runs one fresh process and waits; header, output, channel bytes."""
        started = time.monotonic()
        spared = self.ask({"mark": True})["marked"]
        output = OutputBuffer(request["output_limit_bytes"])
        channel = OutputBuffer(2 * _CHANNEL_BYTES)
        ends: list[int] = []
        inside: dict[int, int] = {}
        for number, buffer in ((1, output), (60, channel)):
            if number == 60 and not request["channel"]:
                continue
            read, inside[number] = os.pipe2(os.O_CLOEXEC)
            os.set_blocking(read, False)
            ends.append(read)
            self._read_into(read, buffer)
        inside[2] = inside[1]
        request["fds"] = list(inside)
        if request["channel"]:
            request["env"]["CLIGYM_CHANNEL"] = "60"
        try:
            pid = self.spawn_process(request, tuple(inside.values()))
        except OSError as error:
            for fd in ends:
                self.unwatch(fd)
                os.close(fd)
            return self._not_started(request["argv"], error, started)
        finally:
            for fd in set(inside.values()):
                os.close(fd)
        result = self._await(pid, spared, started + request["timeout_s"])
        for fd, buffer in zip(ends, (output, channel), strict=False):
            self._drain(fd, buffer)
            os.close(fd)
        header = output.describe() | result | {"seconds": time.monotonic() - started}
        return header, output.value(), channel.value()

    def _await(self, pid: int, spared: list[int], deadline: float) -> dict[str, Any]:
        code, state, timed_out = None, "kept", False
        try:
            if self.loop(lambda: pid in self.exits, deadline):
                code = self.exits.pop(pid)
            else:
                timed_out = True
                self.ask({"kill_since": spared})
                self.loop(lambda: pid in self.exits, time.monotonic() + 5)
                self.exits.pop(pid, None)
        except BoxGoneError:
            state = "destroyed"
        return {"exit_code": code, "timed_out": timed_out, "shell": state}

    def _not_started(
        self, argv: list[str], error: OSError, started: float
    ) -> tuple[dict[str, Any], bytes, bytes]:
        """What a shell says of a program it cannot start: the box's fault, so a result."""
        code = 127 if error.errno in (errno.ENOENT, errno.ENOTDIR) else 126
        output = OutputBuffer()
        output.add(os.fsencode(f"cannot run {argv[0]!r}: {error.strerror}\n"))
        result = {"exit_code": code, "timed_out": False, "shell": "kept"}
        header = output.describe() | result | {"seconds": time.monotonic() - started}
        return header, output.value(), b""

    def spawn(self, request: dict[str, Any], fds: list[int]) -> int:
        """Starts a process with the driver's descriptors."""
        return self.spawn_process(request, tuple(fds))

    def poll_exit(self, pid: int, timeout_s: float) -> int | None:
        """Exit code of a spawned process, or None when it still runs."""
        self.loop(lambda: pid in self.exits, time.monotonic() + timeout_s)
        return self.exits.get(pid)

    def kill_session(self, pid: int) -> None:
        """Kills a spawned process and its session."""
        if pid not in self.exits:
            self.ask({"kill_session": pid})

    # -- end ---------------------------------------------------------------------------------

    def kill(self) -> None:
        """Kills every process of the box and waits until all are gone; idempotent."""
        if self._init_pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._init_pid, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(self._init_pid, 0)  # returns only when the whole namespace is empty
            self._init_pid = 0
        if self._init is not None:
            self.unwatch(self._init.fileno())
            self._init.close()
            self._init = None
        self.destroyed = self.destroyed or "it was stopped"

    def close(self) -> None:
        """Kills the box and removes its folder."""
        self.kill()
        self._drop_shell()
        boxes = os.open("scratch/boxes", os.O_RDONLY | os.O_DIRECTORY)
        try:
            remove_tree(boxes, self.name)
        finally:
            os.close(boxes)


def _write_id_maps(pid: int, count: int) -> None:
    """Maps the box's ids one to one onto the keeper's; the keeper maps those onto the host's."""
    if count == 1:
        with open(f"/proc/{pid}/setgroups", "w") as file:
            file.write("deny")
    for name in ("uid_map", "gid_map"):
        with open(f"/proc/{pid}/{name}", "w") as file:
            file.write(f"0 0 {count}")


def _status_code(status: bytes) -> int | None:
    line = status.split(b"\n")[0].strip()
    return int(line) if line.isdigit() and len(line) <= 3 else None
