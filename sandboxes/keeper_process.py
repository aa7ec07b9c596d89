"""The keeper: one trusted process a driver, root of a user namespace, which forks every job.

Started by `keeper.py` as `python -I -S`, never imported by the library itself. It maps the id
range, gives up the caller's rights, and then works only below two folders: `home` (the layer store)
and `scratch` (this run's boxes and trees), by relative paths. A job is one request on a socket of
its own, served by a fork: a box (`supervisor.py`) or work on a tree. When the driver is gone,
however it went, boxes end, the run's scratch is removed and the keeper exits. Standard library and
sibling modules only: everything is imported before the rights are given up, because afterwards the
caller's own folders (and so the interpreter's library) may be unreadable.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import resource
import select
import signal
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cligym.sandboxes import cgroup, linux, wire
from cligym.sandboxes.entry import Entry, decode_path, encode_path
from cligym.sandboxes.seat import Seats
from cligym.sandboxes.seccomp import compile_profile
from cligym.sandboxes.supervisor import BoxGoneError, DriverGoneError, Supervisor
from cligym.sandboxes.tree_edit import Piece, compose_tree, open_parent, remove_tree
from cligym.sandboxes.tree_scan import ScanLimits, TreeScan, scan_tree
from cligym.sandboxes.tree_tar import pack_tar, unpack_tar

__all__ = ["main"]

_OOM_SCORE = "-900"
"""Supervisors share their box's memory group: what runs in the box has to go first (root only)."""
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True, kw_only=True)
class _World:
    """What every job needs."""

    groups: cgroup.GroupRoots
    seccomp: bytes
    has_id_range: bool


def main(control_fd: str) -> None:
    """Serves the driver on the socket of that number until it is gone."""
    control = socket.socket(fileno=int(control_fd))
    os.set_inheritable(control.fileno(), False)
    first = wire.receive(control)
    if first is None:
        return
    linux.set_title(f"cligym: keeper {first.header['run']}")
    try:
        world = _settle(control, first.header)
    except OSError as error:
        wire.send(control, {"error": str(error.strerror or error), "errno": error.errno or 0})
        return
    wire.send(control, {"ready": True, "controllers": list(world.groups.controllers)})
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the driver's business
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps our jobs
    _serve_driver(control, world, first.header["run"])
    with contextlib.suppress(ChildProcessError):
        os.waitpid(-1, 0)  # with SIGCHLD ignored this returns when the last job has ended
    cgroup.remove_groups(world.groups, f"{first.header['run']}-box-")
    _remove_run(first.header["run"])


def _serve_driver(control: socket.socket, world: _World, run: str) -> None:
    """Starts jobs until the driver is gone."""
    seats = Seats(world.groups, run, lambda sock, job: _serve_box(sock, job.header, world))
    seats.poll.register(control, select.POLLIN)
    while True:
        for fd, _ in seats.poll.poll():
            if fd != control.fileno():
                seats.on_event(fd)
            elif (message := wire.receive(control)) is None:
                seats.close()
                return
            elif message.header["job"] == "box" and world.groups.folders:
                seats.take(message)
                for each in message.fds:
                    os.close(each)
            else:
                _start_job(control, message, world)


def _settle(control: socket.socket, setup: dict[str, Any]) -> _World:
    """Takes on the id map and the two folders; afterwards this process has no host rights."""
    program = compile_profile(Path(setup["profile"]))
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, hard), hard))
    groups = cgroup.GroupRoots(version=0)
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write(_OOM_SCORE)
    if setup["by_root"]:
        groups = cgroup.prepare(setup["uid_base"], setup["gid_base"])
        linux.unshare(linux.CLONE_NEWNS)
        _bind_folders(setup)
        linux.unshare(linux.CLONE_NEWUSER)
        _take_ids(control)
        linux.unshare(linux.CLONE_NEWNS)
    else:
        linux.unshare(linux.CLONE_NEWUSER)
        _take_ids(control)
        linux.unshare(linux.CLONE_NEWNS)
        _bind_folders(setup)
    os.umask(0o022)
    # Our own /proc entries must stay ours: after the change of ids the kernel would give them
    # to host root. Boxes cannot see this process at all (a pid namespace of their own).
    linux.prctl(linux.PR_SET_DUMPABLE, 1)
    _sweep(setup["run"], groups)
    return _World(groups=groups, seccomp=program, has_id_range=setup["length"] > 1)


def _bind_folders(setup: dict[str, Any]) -> None:
    """Makes `home`, `scratch` and `runs` of a private file system the way to the three folders.

    It lies over the folder of all runs, which stays for ever: a mount point of our own could not be
    removed by us at the end.
    """
    linux.mount("none", "/", flags=linux.MS_REC | linux.MS_PRIVATE)
    sources = {
        name: os.open(setup[key], os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        for name, key in (("home", "home"), ("scratch", "run_folder"), ("runs", "runs_folder"))
    }
    flags = linux.MS_NOSUID | linux.MS_NODEV
    linux.mount("tmpfs", setup["runs_folder"], "tmpfs", flags, "mode=755,size=1m")
    os.chdir(setup["runs_folder"])
    for name, fd in sources.items():
        os.mkdir(name, 0o755)
        linux.mount(f"/proc/self/fd/{fd}", name, flags=linux.MS_BIND)
        os.close(fd)


def _take_ids(control: socket.socket) -> None:
    """Lets the driver write the maps, then becomes root of the namespace."""
    wire.send(control, {"map_me": True})
    answer = wire.receive(control)
    if answer is None or "error" in answer.header:
        raise OSError(1, answer.header["error"] if answer else "the driver went away")
    os.setresgid(0, 0, 0)
    os.setresuid(0, 0, 0)
    with contextlib.suppress(OSError):
        os.setgroups([])  # refused where only one id is mapped


def _sweep(own_run: str, groups: cgroup.GroupRoots) -> None:
    """Removes what killed keepers left: runs nobody holds the lock of, and their groups."""
    for name in os.listdir("runs"):
        if name.endswith(".lock") and name != f"{own_run}.lock":
            with contextlib.suppress(OSError), open(f"runs/{name}", "rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _remove_run(name.removesuffix(".lock"))
    names = set(os.listdir("runs"))
    live = {name.removesuffix(".lock") for name in names if name.endswith(".lock")}
    for name in names - live:
        if not name.endswith(".lock"):
            _remove_run(name)  # the lock is made before the folder and removed after it
    for folder in set(groups.folders.values()):
        for name in os.listdir(folder):
            run, is_box, _ = name.partition("-box-")
            # other scratch folders have live runs too: their names begin with the driver's pid
            if is_box and run not in live and not os.path.exists(f"/proc/{run.partition('-')[0]}"):
                with contextlib.suppress(OSError):
                    os.rmdir(f"{folder}/{name}")


def _remove_run(run: str) -> None:
    runs = os.open("runs", _DIRECTORY)
    for part in ("boxes", "trees"):
        with contextlib.suppress(OSError):
            folder = os.open(f"{run}/{part}", _DIRECTORY, dir_fd=runs)
            for name in os.listdir(folder):
                remove_tree(folder, name)
            os.close(folder)
    for name in (f"{run}/boxes", f"{run}/trees", run):
        with contextlib.suppress(OSError):
            os.rmdir(name, dir_fd=runs)
    with contextlib.suppress(OSError):
        os.unlink(f"{run}.lock", dir_fd=runs)
    os.close(runs)


def _start_job(control: socket.socket, message: wire.Message, world: _World) -> None:
    (fd,) = message.fds[:1]
    try:
        pid = os.fork()
    except OSError as error:
        with socket.socket(fileno=fd) as sock, contextlib.suppress(OSError):
            wire.send(sock, {"error": f"fork: {error.strerror}", "errno": error.errno})
        return
    if pid:
        for each in message.fds:
            os.close(each)
        return
    code = 1
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        control.close()
        with socket.socket(fileno=fd) as sock:
            if message.header["job"] == "box":
                _serve_box(sock, message.header, world)
            else:
                _serve_tree(sock, message.header, message.fds[1:])
        code = 0
    finally:
        os._exit(code)  # also after an exception: a fork must not return into the keeper's loop


def _serve_tree(sock: socket.socket, header: dict[str, Any], fds: list[int]) -> None:
    try:
        answer, payload = _TREE_JOBS[header["job"]](header, fds)
    except OSError as error:
        answer = {"error": f"{error.strerror or error}", "errno": error.errno or 0}
        payload = b""
    wire.send(sock, answer, payload)


def _split(path: str) -> tuple[int, str]:
    parent, name = os.path.split(path)
    return os.open(parent, _DIRECTORY), name


def _job_make(header: dict[str, Any], _: list[int]) -> tuple[dict[str, Any], bytes]:
    os.mkdir(header["tree"], 0o755)
    return {}, b""


def _job_remove(header: dict[str, Any], _: list[int]) -> tuple[dict[str, Any], bytes]:
    parent, name = _split(header["tree"])
    remove_tree(parent, name)
    return {}, b""


def _job_rename(header: dict[str, Any], _: list[int]) -> tuple[dict[str, Any], bytes]:
    os.rename(header["tree"], header["target"])
    return {}, b""


def _job_scan(header: dict[str, Any], _: list[int]) -> tuple[dict[str, Any], bytes]:
    scan = scan_tree(os.open(header["tree"], _DIRECTORY), ScanLimits(**header["limits"]))
    return {"oversized": scan.oversized}, _scan_json(scan)


def _job_read(header: dict[str, Any], _: list[int]) -> tuple[dict[str, Any], bytes]:
    path = decode_path(header["path"])
    parent = open_parent(os.open(header["tree"], _DIRECTORY), path)
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
    name = os.path.basename(path)
    if not os.path.isfile(f"/proc/self/fd/{parent}/{os.fsdecode(name)}"):
        return {"error": "no regular file", "errno": 2}, b""
    with open(os.open(name, flags, dir_fd=parent), "rb") as file:
        if os.fstat(file.fileno()).st_size > header["limit_bytes"]:
            return {"error": f"larger than {header['limit_bytes']} bytes", "errno": 27}, b""
        return {}, file.read(header["limit_bytes"])


def _job_compose(header: dict[str, Any], fds: list[int]) -> tuple[dict[str, Any], bytes]:
    """Makes a tree of pieces, given as JSON lines on a descriptor."""
    os.mkdir(header["tree"], 0o755)
    with open(fds[0], "rb") as lines:
        rows = [json.loads(line) for line in lines]
    pieces = (
        Piece(
            path=decode_path(path),
            entry=Entry.from_json(row) if row is not None else None,
            source=source,
        )
        for path, row, source in rows
    )
    compose_tree(os.open(header["tree"], _DIRECTORY), pieces)
    return {}, b""


def _job_unpack(header: dict[str, Any], fds: list[int]) -> tuple[dict[str, Any], bytes]:
    with open(fds[0], "rb") as stream:
        skipped = unpack_tar(stream, os.open(header["tree"], _DIRECTORY))
    return {"skipped": skipped}, b""


def _job_pack(header: dict[str, Any], fds: list[int]) -> tuple[dict[str, Any], bytes]:
    root = os.open(header["tree"], _DIRECTORY)
    back = os.open(".", _DIRECTORY)
    scan = scan_tree(root, ScanLimits())
    os.fchdir(back)
    with open(fds[0], "wb") as stream:
        pack_tar(scan, root, stream)
    return {}, b""


_TREE_JOBS: dict[str, Callable[[dict[str, Any], list[int]], tuple[dict[str, Any], bytes]]] = {
    "make": _job_make,
    "remove": _job_remove,
    "rename": _job_rename,
    "scan": _job_scan,
    "read": _job_read,
    "compose": _job_compose,
    "unpack": _job_unpack,
    "pack": _job_pack,
}


def _scan_json(scan: TreeScan) -> bytes:
    value = {
        "changed": [[encode_path(path), entry.to_json()] for path, entry in scan.changed.items()],
        "whiteouts": [encode_path(path) for path in scan.whiteouts],
        "opaque": [encode_path(path) for path in scan.opaque],
    }
    return json.dumps(value, separators=(",", ":")).encode()


def _serve_box(sock: socket.socket, header: dict[str, Any], world: _World) -> None:
    linux.set_title(f"cligym: {header['name']}")
    box = Supervisor(sock, header["name"], header, world.groups.controllers)
    try:
        try:
            box.start(world.seccomp, has_id_range=world.has_id_range)
        except OSError as error:
            wire.send(sock, {"error": f"{error.strerror or error}", "errno": error.errno or 0})
            return
        wire.send(sock, {"ready": True, "pid": box.init_pid})
        box.settle()
        while (message := box.wait_for_request()) is not None:
            if message.header["op"] == "close":
                break
            _answer_box(box, sock, message)
            box.listen()
    except (DriverGoneError, BrokenPipeError, ConnectionResetError):
        pass  # nobody to answer: clean up below
    finally:
        box.close()
        with contextlib.suppress(OSError):
            wire.send(sock, {"closed": True})


def _answer_box(box: Supervisor, sock: socket.socket, message: wire.Message) -> None:
    header: dict[str, Any] = {}
    payload = b""
    try:
        header, payload = _box_operation(box, message)
    except BoxGoneError as error:
        header = {"destroyed": str(error)}
    except OSError as error:
        header = {"error": f"{error.strerror or error}", "errno": error.errno or 0}
    wire.send(sock, header, payload)


def _box_operation(box: Supervisor, message: wire.Message) -> tuple[dict[str, Any], bytes]:
    header = message.header
    match header["op"]:
        case "run":
            return box.run(message.payload, header["timeout_s"])
        case "execute":
            answer, output, channel = box.execute(header)
            return answer | {"channel_at": len(output)}, output + channel
        case "spawn":
            try:
                return {"pid": box.spawn(header, message.fds)}, b""
            finally:
                for fd in message.fds:
                    os.close(fd)
        case "wait":
            return {"code": box.poll_exit(header["pid"], header["timeout_s"])}, b""
        case "kill":
            box.kill_session(header["pid"])
            return {}, b""
        case "stop":
            box.kill()
            return {}, b""
        case "capture":
            return _capture(box, header)
    raise OSError(22, f"unknown operation {header['op']!r}")


def _capture(box: Supervisor, header: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    """Kills the box, scans what it wrote and hands the tree over."""
    box.kill()
    back = os.open(".", _DIRECTORY)
    scan = scan_tree(os.open(f"{box.folder}/u", _DIRECTORY), ScanLimits(**header["limits"]))
    os.fchdir(back)
    os.rename(f"{box.folder}/u", f"scratch/trees/{box.name}")
    return {"oversized": scan.oversized, "tree": f"scratch/trees/{box.name}"}, _scan_json(scan)
