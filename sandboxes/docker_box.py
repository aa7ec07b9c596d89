"""One container as a box: its shell, its single processes, its end."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from cligym.errors import SandboxDestroyedError, SandboxError, boundary
from cligym.sandboxes.base import (
    MIB,
    CaptureLimits,
    ExecResult,
    SandboxSpec,
    ShellState,
)
from cligym.sandboxes.box_watch import BoxWatch
from cligym.sandboxes.docker_capture import DockerCapture, read_upper
from cligym.sandboxes.docker_processes import can_reach, kill_all_but, processes, ticks_now
from cligym.sandboxes.docker_shell import SHELL_ARGV, DockerShell
from cligym.sandboxes.docker_stream import ERR, EngineStream
from cligym.sandboxes.namespace import SHELL_ENV, encode_command
from cligym.sandboxes.output_buffer import OutputBuffer

if TYPE_CHECKING:
    from cligym.sandboxes.docker import DockerBackend

__all__ = ["DockerProcess", "DockerSandbox"]

_CHANNEL_BYTES = 64 * MIB
_CHANNEL_WORDS = ["/bin/bash", "-c", 'exec 60>&2 2>&1 </dev/null; exec "$@"', "channel"]
_TICK_S = 0.25
_KILL_SCRIPT = (
    'for d in /proc/[0-9]*; do p=${d#/proc/}; [ "$p" = 1 ] || [ "$p" = $$ ] || '
    "{ read -r line < $d/stat && set -- ${line##*) } && [ ${20} -ge %d ] && kill -9 $p; }; done"
)


class _Running(NamedTuple):
    """What ran before a command: its processes where we can see them, and when that was."""

    ticks: int
    pids: list[int] | None


class DockerProcess:
    """A process started by `spawn`; see `Process`."""

    def __init__(self, box: DockerSandbox, exec_id: str, threads: list[threading.Thread]) -> None:
        self._box = box
        self._id = exec_id
        self._threads = threads

    def wait(self, timeout_s: float | None = None) -> int | None:
        """Exit code, or None when it still runs after `timeout_s`."""
        deadline = time.monotonic() + (86_400.0 if timeout_s is None else timeout_s)
        while (code := self._box.exit_code(self._id)) is None and time.monotonic() < deadline:
            time.sleep(0.02)
        return code

    def kill(self) -> None:
        """Kills it and what it started."""
        self._box.kill_exec(self._id)


class DockerSandbox:
    """One container; see `Sandbox`. Calls from several threads wait for each other."""

    def __init__(
        self,
        backend: DockerBackend,
        container: str,
        spec: SandboxSpec,
        overlays: list[DockerCapture],
        own_image: str,
    ) -> None:
        self._backend = backend
        self._api = backend.api
        self._container = container
        self._spec = spec
        self._lower = [overlay.changes for overlay in overlays]
        self._own_image = own_image
        self._lock = threading.RLock()
        self._shell: DockerShell | None = None
        self._stdin: EngineStream | None = None
        self._destroyed = ""
        self._is_closed = False
        self._init_pid = 0
        self._upper = Path()
        self._watch: BoxWatch | None = None
        self._env = SHELL_ENV | dict(spec.image.config.env) | dict(spec.env)

    def begin(self) -> None:
        """Starts the container."""
        path = f"/v{self._api.api_version}/containers/{self._container}/attach?stream=1&stdin=1"
        self._stdin = EngineStream(self._backend.base_url, path)
        self._api.start(self._container)
        found = self._api.inspect_container(self._container)
        self._init_pid = int(found["State"]["Pid"])
        self._upper = Path(found["GraphDriver"]["Data"]["UpperDir"])
        if not found["State"]["Running"]:
            raise SandboxError(f"its first process ended at once ({found['State']['ExitCode']})")
        if can_reach(self._init_pid) and self._upper.is_dir():
            self._watch = BoxWatch(
                str(self._upper),
                disk_bytes=self._spec.limits.disk_bytes,
                memory_bytes=0,
                pids=0,
                find=lambda pid: [str(each) for each in processes(pid)],
            )

    # -- commands ----------------------------------------------------------------------------

    def run(self, command: str, *, timeout_s: float = 300.0) -> ExecResult:
        """Runs a command in the persistent shell; see `Sandbox.run`."""
        text = encode_command(command)
        if b"\0" in text:
            return ExecResult(exit_code=2, output=b"bash: a command cannot hold a NUL byte\n")
        with self._lock, boundary(SandboxError, "the engine does not answer"):
            shell = self._shell or self._start_shell()
            begin, before = time.monotonic(), self._running()
            output = shell.output  # holds what came in the background since the last command
            result = self._wait_for(shell, text, begin + timeout_s)
            if result["timed_out"]:
                self._kill_shell()  # first the shell, or it reports the others' deaths
                self._kill_since(before)
                shell.drain(0.05)
            if result["shell"] == "kept":
                shell.output = OutputBuffer()
            else:
                self._drop_shell()
            return _result(output, result, begin)

    def _kill_shell(self) -> None:
        pid = int(self._api.exec_inspect(self._shell_id)["Pid"] or 0)
        if pid and can_reach(self._init_pid):
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)  # not its group: background services are in there

    def _wait_for(self, shell: DockerShell, text: bytes, deadline: float) -> dict[str, Any]:
        found = shell.run(text, min(deadline, time.monotonic() + _TICK_S))
        while found is None:
            self._check_disk()
            if self._destroyed:
                break
            if time.monotonic() >= deadline:
                return {"exit_code": None, "timed_out": True, "shell": "killed"}
            found = shell.wait(min(deadline, time.monotonic() + _TICK_S))
        if found is None or found["shell"] == "exited":
            return self._ended()
        self._check_disk()
        return found | {"timed_out": False}

    def _ended(self) -> dict[str, Any]:
        """The shell is gone: alone, or with the whole box?"""
        code = self._shell_code()
        state = self._api.inspect_container(self._container)["State"]
        if self._destroyed or not state["Running"]:
            killed = "ran out of memory" if state["OOMKilled"] else "its first process was killed"
            self._destroyed = self._destroyed or killed
            return {"exit_code": None, "timed_out": False, "shell": "destroyed"}
        return {"exit_code": code, "timed_out": False, "shell": "exited"}

    def _shell_code(self) -> int | None:
        deadline = time.monotonic() + 2
        while time.monotonic() < deadline:
            if (code := self.exit_code(self._shell_id)) is not None:
                return code
            time.sleep(0.01)
        return None

    def exit_code(self, exec_id: str) -> int | None:
        """Exit code of a process that was started, None while it runs."""
        found = self._api.exec_inspect(exec_id)
        return None if found["Running"] else int(found["ExitCode"] or 0)

    def _check_disk(self) -> None:
        reason = self._watch.check(self._init_pid) if self._watch is not None else ""
        if reason and not self._destroyed:
            self._destroyed = reason
            self._kill()

    def _start_shell(self) -> DockerShell:
        self._require_alive()
        workdir = self._spec.workdir or self._spec.image.config.workdir
        config = {"cmd": SHELL_ARGV, "environment": self._env, "user": "0:0", "stdin": True}
        reason = ""
        for folder in (workdir, "/"):  # a shell must come up also when its folder is gone
            config["workdir"] = folder
            try:
                with boundary(SandboxError, "the engine does not answer"):
                    made, stream = self._backend.open_exec(self._container, config)
            except SandboxError as error:
                self._wait_for_end(error)
                raise
            shell = DockerShell(stream)
            if self._has_started(made):
                self._shell_id, self._shell = made, shell
                return shell
            shell.drain(1)
            shell.close()
            reason = shell.output.value().decode(errors="replace").strip()
        self._require_alive()
        self._destroyed = f"no shell can be started in it: {reason[-200:]}"
        raise SandboxDestroyedError(f"the sandbox is gone: {self._destroyed}")

    def _wait_for_end(self, error: Exception) -> None:
        """A container that just ended refuses before the engine says that it is gone."""
        deadline = time.monotonic() + 5
        while "not running" in str(error) and time.monotonic() < deadline:
            self._require_alive()
            time.sleep(0.02)

    def _has_started(self, exec_id: str) -> bool:
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            found = self._api.exec_inspect(exec_id)
            if found["Pid"]:
                return True
            if not found["Running"] and found["ExitCode"] is not None:
                return False
            time.sleep(0.005)
        return False

    def _drop_shell(self) -> None:
        shell, self._shell = self._shell, None
        if shell is not None:
            shell.close()

    def _require_alive(self) -> None:
        if self._is_closed:
            raise SandboxError("the sandbox is closed")
        if not self._destroyed:
            with boundary(SandboxError, "the engine does not answer"):
                state = self._api.inspect_container(self._container)["State"]
            if state["Running"]:
                return
            self._destroyed = "its first process was killed"
        raise SandboxDestroyedError(f"the sandbox is gone: {self._destroyed}")

    def execute(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: str = "/",
        user: str = "",
        timeout_s: float = 300.0,
        channel: bool = False,
        output_limit_bytes: int = MIB,
    ) -> ExecResult:
        """Runs one fresh process and waits; see `Sandbox.execute`."""
        with self._lock, boundary(SandboxError, "the engine does not answer"):
            self._require_alive()
            begin, before = time.monotonic(), self._running()
            output, data = OutputBuffer(output_limit_bytes), OutputBuffer(2 * _CHANNEL_BYTES)
            words, full = list(argv), dict(env)
            if any("\0" in word for word in words):
                output.add(b"cannot run it: a word holds a NUL byte\n")
                return _result(output, {"exit_code": 126, "timed_out": False}, begin)
            if channel:
                words, full = [*_CHANNEL_WORDS, *words], full | {"CLIGYM_CHANNEL": "60"}
            try:
                made, stream = self._open(words, full, cwd, user, stdin=False)
            except Exception as error:  # the engine's refusal is what a shell would say
                self._wait_for_end(error)
                output.add(f"cannot run {argv[0]!r}: {error}\n".encode(errors="replace"))
                return _result(output, {"exit_code": 126, "timed_out": False}, begin)

            def take(which: int, piece: bytes) -> None:
                (data if channel and which == ERR else output).add(piece)

            result = self._await(made, stream, take, begin + timeout_s)
            if result["timed_out"]:
                self._kill_since(before)
            stream.close()
            if result["exit_code"] == 126 and _is_missing(output.value()):
                result["exit_code"] = 127
            return _result(output, result, begin, data.value())

    def _open(
        self, argv: list[str], env: dict[str, str], cwd: str, user: str, *, stdin: bool
    ) -> tuple[str, EngineStream]:
        config = {"cmd": argv, "environment": env, "user": user or "0:0", "workdir": cwd}
        return self._backend.open_exec(self._container, config | {"stdin": stdin})

    def _await(self, made: str, stream: EngineStream, take: Any, deadline: float) -> dict[str, Any]:
        while True:
            until = min(deadline, time.monotonic() + _TICK_S)
            at_end = stream.pump(take, lambda: False, until)
            self._check_disk()
            if self._destroyed:
                return {"exit_code": None, "timed_out": False, "shell": "destroyed"}
            code = self.exit_code(made)
            if code is not None:
                if not at_end:  # something in the background holds the stream
                    stream.pump(take, lambda: False, time.monotonic() + 0.05)
                return {"exit_code": code, "timed_out": False, "shell": "kept"}
            if time.monotonic() >= deadline:
                return {"exit_code": None, "timed_out": True, "shell": "kept"}
            if at_end:
                time.sleep(0.005)

    def spawn(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: str = "/",
        user: str = "",
        fds: Mapping[int, int],
    ) -> DockerProcess:
        """Starts one fresh process; descriptors 0, 1 and 2 are relayed."""
        if odd := [number for number in fds if number > 2]:
            raise SandboxError(f"the docker back end passes descriptors 0 to 2, not {odd}")
        self._require_alive()
        with boundary(SandboxError, f"cannot start {argv[0]!r}"):
            made, stream = self._open(list(argv), dict(env), cwd, user, stdin=0 in fds)
        ours = {number: os.dup(fd) for number, fd in fds.items()}
        threads = [threading.Thread(target=_relay_out, args=(stream, ours), daemon=True)]
        if 0 in ours:
            threads.append(threading.Thread(target=_relay_in, args=(stream, ours[0]), daemon=True))
        for thread in threads:
            thread.start()
        return DockerProcess(self, made, threads)

    def kill_exec(self, exec_id: str) -> None:
        """Kills a started process and its group, and waits for its end."""
        deadline = time.monotonic() + 10
        while self.exit_code(exec_id) is None and time.monotonic() < deadline:
            pid = int(self._api.exec_inspect(exec_id)["Pid"] or 0)
            if pid:  # 0: the engine has not started it yet
                with contextlib.suppress(OSError):
                    os.killpg(pid, signal.SIGKILL)
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.02)

    def _running(self) -> _Running:
        pids = processes(self._init_pid) if can_reach(self._init_pid) else None
        return _Running(ticks=ticks_now(), pids=pids)

    def _kill_since(self, before: _Running) -> None:
        if before.pids is not None:
            kill_all_but(self._init_pid, frozenset(before.pids))
            return
        argv = ["/bin/bash", "-c", _KILL_SCRIPT % before.ticks]
        with boundary(SandboxError, "cannot kill the command"):
            _, stream = self._open(argv, {}, "/", "", stdin=False)
            stream.pump(lambda *_: None, lambda: False, time.monotonic() + 10)
            stream.close()

    # -- end ---------------------------------------------------------------------------------

    def _kill(self) -> None:
        with contextlib.suppress(Exception):  # it may have ended by itself
            self._api.kill(self._container)
        with boundary(SandboxError, "the container does not end"):
            self._api.wait(self._container, timeout=60)

    def stop(self) -> None:
        """Kills every process of the box and waits; idempotent."""
        with self._lock:
            if not self._is_closed and self._destroyed != "it was stopped":
                self._destroyed = self._destroyed or "it was stopped"
                self._drop_shell()
                self._kill()

    def capture(self, limits: CaptureLimits = CaptureLimits()) -> DockerCapture:
        """Stops the box and reads what it changed; the box is closed afterwards."""
        self.stop()
        lower = self._backend.store.manifest(self._spec.image)
        for changes in self._lower:
            lower = lower.with_changes(changes)
        if not os.access(self._upper, os.R_OK | os.X_OK):
            raise SandboxError(
                f"cannot read {self._upper}: capture needs the engine on this machine, and root"
            )
        capture = read_upper(self._upper, lower, limits)
        self.close()
        return capture

    def close(self) -> None:
        """Removes the container; idempotent."""
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
            self._drop_shell()
            if self._stdin is not None:
                self._stdin.close()
            with contextlib.suppress(Exception):  # gone already, or the engine is
                self._api.remove_container(self._container, force=True, v=True)
            if self._own_image:
                with contextlib.suppress(Exception):
                    self._backend.images.remove(self._own_image)

    def __enter__(self) -> DockerSandbox:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _relay_out(stream: EngineStream, ours: dict[int, int]) -> None:
    def take(which: int, data: bytes) -> None:
        if which in ours:
            with contextlib.suppress(OSError):
                os.write(ours[which], data)

    stream.pump(take, lambda: False, time.monotonic() + 86_400)
    stream.close()
    for number, fd in ours.items():
        if number:
            os.close(fd)


def _relay_in(stream: EngineStream, fd: int) -> None:
    with open(fd, "rb", buffering=0) as source:
        with contextlib.suppress(OSError, ValueError):  # the process ended, its stream is closed
            while data := source.read(65536):
                stream.send(data)
            stream.end_input()


def _is_missing(text: bytes) -> bool:
    """True when the engine says that there is no such program or folder; as a shell's 127."""
    missing = b"no such file or directory" in text or b"executable file not found" in text
    return text.startswith(b"OCI runtime exec failed") and missing


def _result(
    output: OutputBuffer, found: dict[str, Any], begin: float, channel: bytes = b""
) -> ExecResult:
    counts = output.describe()
    return ExecResult(
        exit_code=found["exit_code"],
        output=output.value(),
        omitted_bytes=counts["omitted_bytes"],
        omitted_characters=counts["omitted_characters"],
        head_bytes=counts["head_bytes"],
        timed_out=found["timed_out"],
        shell=ShellState(found.get("shell", "kept")),
        seconds=time.monotonic() - begin,
        channel=channel,
    )
