"""PID 1 of a box: starts processes on request, reaps everything, and cannot be killed from inside.

It is a fork of the keeper, so nothing of the image has to work for it to work; it executes nothing
itself, is not dumpable (root in the box can neither trace it nor read its memory, descriptors or
paths), and ends when its supervisor does. Standard library and sibling modules only.
"""

from __future__ import annotations

import contextlib
import errno
import os
import resource
import select
import signal
import socket
import stat
import time
from dataclasses import dataclass
from typing import Any, NoReturn

from cligym.sandboxes import linux, wire
from cligym.sandboxes.box_mounts import BoxView, enter_root, leave_old_root, raise_loopback

__all__ = ["BoxSetup", "run_init"]

# Docker's default capabilities, by number (capabilities(7)).
_KEPT_CAPABILITIES = frozenset(
    {
        0,  # CHOWN
        1,  # DAC_OVERRIDE
        3,  # FOWNER
        4,  # FSETID
        5,  # KILL
        6,  # SETGID
        7,  # SETUID
        8,  # SETPCAP
        10,  # NET_BIND_SERVICE
        13,  # NET_RAW
        18,  # SYS_CHROOT
        27,  # MKNOD
        29,  # AUDIT_WRITE
        31,  # SETFCAP
    }
)
_OPEN_FILES = 1_048_576
_KILL_ROUNDS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class BoxSetup:
    """What PID 1 needs to know before it starts."""

    folder: str
    view: BoxView
    hostname: str
    own_network: bool
    has_id_range: bool
    seccomp: bytes
    processes: int
    """Processes of each in-box user; 0 where a control group limits all of them together."""


def run_init(setup: BoxSetup, sock: socket.socket) -> NoReturn:
    """Sets the box up, then serves the supervisor on `sock` until it is gone."""
    try:
        _become_init(setup)
    except OSError as error:
        with contextlib.suppress(OSError):
            wire.send(sock, {"error": f"{error.strerror or error}"})
        os._exit(1)
    wire.send(sock, {"ready": True})
    code = 1
    try:
        if wire.receive(sock) is None:  # settle: see the supervisor
            os._exit(0)
        linux.unshare(linux.CLONE_NEWCGROUP)  # now that its groups are final: none above shows
        leave_old_root()
        _Init(setup, sock).serve()
        code = 0
    finally:
        os._exit(code)


def _become_init(setup: BoxSetup) -> None:
    linux.set_title("init")
    linux.prctl(linux.PR_SET_DUMPABLE, 0)
    os.setsid()
    for number in range(1, signal.NSIG):
        if number not in (signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD, 32, 33):
            # From inside the box PID 1 only gets signals it has handlers for: it has none.
            with contextlib.suppress(OSError, ValueError):
                signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    os.umask(0o022)
    if setup.own_network:
        raise_loopback()
    socket.sethostname(setup.hostname)
    enter_root(setup.folder, setup.view)


class _Init:
    def __init__(self, setup: BoxSetup, sock: socket.socket) -> None:
        self._setup = setup
        self._sock = sock
        self._known: set[int] = set()
        self._drop = [
            number
            for number in range(linux.last_capability() + 1)
            if number not in _KEPT_CAPABILITIES
        ]
        self._wake_read, self._wake_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    def serve(self) -> None:
        signal.set_wakeup_fd(self._wake_write, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        poll = select.poll()
        poll.register(self._sock, select.POLLIN)
        poll.register(self._wake_read, select.POLLIN)
        while True:
            for fd, _ in poll.poll():
                if fd == self._wake_read:
                    with contextlib.suppress(BlockingIOError):
                        os.read(self._wake_read, 4096)
                else:
                    message = wire.receive(self._sock)
                    if message is None:
                        return
                    self._handle(message)
            self._reap()

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid in self._known:
                self._known.discard(pid)
                code = os.waitstatus_to_exitcode(status)
                wire.send(self._sock, {"exited": pid, "code": 128 - code if code < 0 else code})

    def _handle(self, message: wire.Message) -> None:
        header = message.header
        if "spawn" in header:
            answer = self._spawn(header["spawn"], message.fds)
        elif "mark" in header:
            answer = {"marked": _pids()}
            if "shell" in header:
                answer["whole"] = _has_files(header["shell"], header["whole"])
        elif "kill_since" in header:
            answer = {"killed": _kill_all_but(set(header["kill_since"]))}
        else:
            _kill_session(int(header["kill_session"]))
            answer = {"killed": True}
        for fd in message.fds:
            os.close(fd)
        wire.send(self._sock, answer)

    def _spawn(self, request: dict[str, Any], fds: list[int]) -> dict[str, Any]:
        report_read, report_write = os.pipe2(os.O_CLOEXEC)
        try:
            pid = os.fork()
        except OSError as error:
            os.close(report_read)
            os.close(report_write)
            return {"error": f"fork: {error.strerror}", "errno": error.errno}
        if pid == 0:
            self._exec(request, fds, report_write)
        os.close(report_write)
        with open(report_read, "rb") as report:
            text = report.read(4096).decode(errors="replace")
        if text:
            os.waitpid(pid, 0)
            number, _, reason = text.partition(" ")
            return {"error": reason, "errno": int(number)}
        self._known.add(pid)
        return {"pid": pid}

    def _exec(self, request: dict[str, Any], fds: list[int], report: int) -> NoReturn:
        try:
            argv = [os.fsencode(word) for word in request["argv"]]
            env = {os.fsencode(k): os.fsencode(v) for k, v in request["env"].items()}
            self._place_descriptors(dict(zip(request["fds"], fds, strict=True)), report)
            os.setsid()
            self._go_to(request.get("cwd", "/"), any_cwd=request.get("any_cwd", False))
            self._limit(str(request.get("user", "")), env)
            for number in range(1, signal.NSIG):
                with contextlib.suppress(OSError, ValueError):
                    signal.signal(number, signal.SIG_DFL)
            linux.set_seccomp(self._setup.seccomp)
            path = env.get(b"PATH", b"/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
            _exec_search(argv, env, path)
        except BaseException as error:  # a forked child must never return into the parent's code
            with contextlib.suppress(OSError):
                number = error.errno or 0 if isinstance(error, OSError) else 0
                reason = error.strerror if isinstance(error, OSError) else error
                os.write(self._report, f"{number} {reason}".encode(errors="replace")[:4000])
        os._exit(127)

    def _place_descriptors(self, wanted: dict[int, int], report: int) -> None:
        """Puts descriptors where the process expects them; everything else closes on exec."""
        high = 1 + max([report, 64, *wanted, *wanted.values()])
        self._report = report
        moved = {}
        for target, fd in wanted.items():
            os.dup2(fd, high, inheritable=False)
            moved[target] = high
            high += 1
        self._report = os.dup2(report, high, inheritable=False)
        for target in (0, 1, 2):
            if target not in moved:
                null = os.open("/dev/null", os.O_RDWR)
                if null != target:
                    os.dup2(null, target, inheritable=True)
        for target, fd in moved.items():
            os.dup2(fd, target, inheritable=True)
        for name in os.listdir("/proc/self/fd"):
            number = int(name)
            if number > 2 and number not in moved and number != self._report:
                with contextlib.suppress(OSError):
                    os.set_inheritable(number, False)

    def _go_to(self, cwd: str, *, any_cwd: bool) -> None:
        try:
            os.chdir(os.fsencode(cwd))
        except OSError:
            if not any_cwd:
                raise
            os.chdir("/")  # a shell must come up also when its folder is gone

    def _limit(self, user: str, env: dict[bytes, bytes]) -> None:
        with contextlib.suppress(OSError, ValueError):
            hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
            soft = min(_OPEN_FILES, hard) if hard != resource.RLIM_INFINITY else _OPEN_FILES
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, soft))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if self._setup.processes and _counts_processes_per_box():
            count = self._setup.processes
            resource.setrlimit(resource.RLIMIT_NPROC, (count, count))
        with contextlib.suppress(OSError):
            with open("/proc/self/oom_score_adj", "w") as file:
                file.write("500")  # under memory pressure they die before this PID 1 does
        for number in self._drop:
            linux.prctl(linux.PR_CAPBSET_DROP, number)
        uid, gid, groups, home = _find_user(user)
        env.setdefault(b"HOME", home)
        if self._setup.has_id_range:
            os.setgroups(groups)
        if (uid, gid) != (0, 0):
            os.setresgid(gid, gid, gid)
            os.setresuid(uid, uid, uid)
        linux.new_privileges_off()
        linux.prctl(linux.PR_SET_DUMPABLE, 1)


def _counts_processes_per_box() -> bool:
    """Linux 5.14 and newer count a user's processes in each user namespace by itself."""
    major, minor = os.uname().release.split(".")[:2]
    return (int(major), int(minor)) >= (5, 14)


def _exec_search(argv: list[bytes], env: dict[bytes, bytes], path: bytes) -> None:
    if b"/" in argv[0]:
        os.execve(argv[0], argv, env)
    last: OSError = FileNotFoundError(errno.ENOENT, f"not found on PATH: {os.fsdecode(argv[0])}")
    for folder in path.split(b":"):
        try:
            os.execve(os.path.join(folder or b".", argv[0]), argv, env)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except PermissionError as error:
            last = error
    raise last


def _find_user(user: str) -> tuple[int, int, list[int], bytes]:
    """uid, gid, supplementary groups and home of `name`, `uid`, `name:group` or `uid:gid`."""
    name, _, group = user.partition(":")
    uid, gid, home = 0, 0, b"/root"
    known = False
    for fields in _account_lines("/etc/passwd", 7):
        if name and name.encode() in (fields[0], fields[2]):
            uid, gid, home, known = int(fields[2]), int(fields[3]), fields[5] or b"/", True
            name = os.fsdecode(fields[0])
            break
    if name and not known:
        if not name.isdigit():
            raise OSError(errno.EINVAL, f"no user {name!r} in the image")
        uid, home = int(name), b"/"
    groups = [gid]
    for fields in _account_lines("/etc/group", 4):
        if group and group.encode() in (fields[0], fields[2]):
            gid = int(fields[2])
            groups, group = [gid], ""
        elif name.encode() in fields[3].split(b","):
            groups.append(int(fields[2]))
    if group:
        if not group.isdigit():
            raise OSError(errno.EINVAL, f"no group {group!r} in the image")
        gid, groups = int(group), [int(group)]
    return uid, gid, groups, home


def _account_lines(path: str, count: int) -> list[list[bytes]]:
    try:
        # Not blocking: a fifo of that name must not stop us.
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return []
            lines = file.read(4 << 20).splitlines()
    except OSError:
        return []
    rows = [line.split(b":") for line in lines]
    return [row for row in rows if len(row) >= count and row[2].isdigit()]


def _has_files(pid: int, wanted: dict[str, list[int]]) -> bool:
    """True when the process still has these files: descriptor -> device and inode."""
    for number, identity in wanted.items():
        try:
            status = os.stat(f"/proc/{pid}/fd/{number}")
        except OSError:
            return False
        if [status.st_dev, status.st_ino] != identity:
            return False
    return True


def _pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _kill_all_but(spared: set[int]) -> int:
    """Kills every process that is not in `spared`; freezes the box while it does."""
    spared = spared | {1}
    killed = 0
    with contextlib.suppress(ProcessLookupError):
        os.kill(-1, signal.SIGSTOP)  # -1 from PID 1: everybody else in this namespace, at once
    for _ in range(_KILL_ROUNDS):
        victims = [pid for pid in _pids() if pid not in spared and not _is_zombie(pid)]
        if not victims:
            break
        for pid in victims:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
                killed += 1
        time.sleep(0.002)
    with contextlib.suppress(ProcessLookupError):
        os.kill(-1, signal.SIGCONT)
    return killed


def _is_zombie(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] in (b"Z", b"X")
    except (OSError, IndexError):
        return True


def _kill_session(leader: int) -> None:
    """Kills a process, its process group and its session."""
    for pid in _pids():
        if pid == 1:
            continue
        with contextlib.suppress(OSError):
            if os.getsid(pid) == leader:
                os.kill(pid, signal.SIGKILL)
    with contextlib.suppress(OSError):
        os.kill(leader, signal.SIGKILL)
