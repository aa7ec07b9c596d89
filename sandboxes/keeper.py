"""The driver's side of the keeper: starts it once, sends it jobs, takes it down.

A `Keeper` is safe to use from many threads. It belongs to the process that made it; a forked child
makes its own. See `keeper_process.py` for what runs on the other side.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from cligym.errors import ImageError, SandboxError, SandboxUnavailableError
from cligym.sandboxes import wire
from cligym.sandboxes.entry import Entry, decode_path, encode_path
from cligym.sandboxes.id_map import CALLER_ID, IdMap, find_id_map
from cligym.sandboxes.tree_edit import Piece
from cligym.sandboxes.tree_scan import ScanLimits, TreeScan

__all__ = ["Keeper", "bare_argv", "default_home", "default_scratch"]

_HERE = Path(__file__).resolve().parent
# The child has no site-packages and must not run cligym/__init__ (it imports gymnasium): two bare
# package objects with paths are enough to import our modules by their usual names.
_BOOT = """
import sys, types
for name, path in (("cligym", sys.argv[1]), ("cligym.sandboxes", sys.argv[2])):
    module = types.ModuleType(name)
    module.__path__ = [path]
    sys.modules[name] = module
import importlib
importlib.import_module("cligym.sandboxes." + sys.argv[3]).main(*sys.argv[4:])
"""


def bare_argv(module: str, arguments: list[str]) -> list[str]:
    """Options for an interpreter that calls `main` of a sibling module, and loads no more."""
    boot = ["-I", "-S", "-X", "utf8", "-c", _BOOT, str(_HERE.parent), str(_HERE)]
    return [*boot, module, *arguments]


def default_home() -> Path:
    """`CLIGYM_HOME`, or `cligym` in the user's cache folder."""
    if home := os.environ.get("CLIGYM_HOME"):
        return Path(home).absolute()
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache).absolute() / "cligym"


def default_scratch() -> Path:
    """`CLIGYM_SCRATCH`, or the folder for temporary files (homes on clusters are often NFS)."""
    return Path(os.environ.get("CLIGYM_SCRATCH") or tempfile.gettempdir()).absolute()


class Keeper:
    """One keeper process.

    Args:
        home: root of the layer stores; the one of this id map lies below it.
        scratch: where boxes write; a folder of this user is made below it.

    Raises:
        SandboxUnavailableError: user namespaces, overlay or libseccomp do not work here.
    """

    def __init__(self, home: Path, scratch: Path) -> None:
        self.id_map: IdMap = find_id_map()
        self.home = home / self.id_map.key
        self.runs = scratch / f"cligym-{os.geteuid()}"
        self.pid = os.getpid()
        self.run = f"{os.getpid()}-{secrets.token_hex(4)}"
        self.controllers: tuple[str, ...] = ()
        self._lock = threading.Lock()
        self._count = 0
        self._lock_fd = -1
        self._make_folders()
        self._control, theirs = socket.socketpair()
        self._process = self._launch(theirs)
        theirs.close()
        try:
            self._settle()
        except BaseException:
            self.close()
            raise

    @property
    def map_key(self) -> str:
        """Names the id map; folders whose files have mapped owners carry it."""
        return self.id_map.key

    @property
    def has_id_range(self) -> bool:
        """False when a box has one user only."""
        return self.id_map.has_range

    # -- start -------------------------------------------------------------------------------

    def _make_folders(self) -> None:
        folder = self.runs / self.run
        try:
            self.home.mkdir(parents=True, exist_ok=True)
            self.runs.mkdir(parents=True, exist_ok=True)
            flags = os.O_CREAT | os.O_RDWR | os.O_CLOEXEC
            self._lock_fd = os.open(self.runs / f"{self.run}.lock", flags, 0o600)
            fcntl.flock(self._lock_fd, fcntl.LOCK_EX)
            for name in ("", "boxes", "trees"):
                (folder / name).mkdir(mode=0o711)
            if self.id_map.by_root:
                owner = (self.id_map.uid_base, self.id_map.gid_base)
                for path in (self.home, self.runs, folder, folder / "boxes", folder / "trees"):
                    os.chown(path, *owner)
                os.fchown(self._lock_fd, *owner)  # the next keeper must be able to try it
        except OSError as error:
            raise SandboxUnavailableError(
                f"cannot prepare {error.filename or self.runs}: {error.strerror}; set CLIGYM_HOME "
                "and CLIGYM_SCRATCH to folders on a local disk that you may write to"
            ) from error

    def _launch(self, theirs: socket.socket) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, *bare_argv("keeper_process", [str(theirs.fileno())])],
            stdin=subprocess.DEVNULL,
            env={"PATH": os.environ.get("PATH", "/usr/bin:/bin")},
            pass_fds=(theirs.fileno(), self._lock_fd),
            start_new_session=True,
        )

    def _settle(self) -> None:
        setup = asdict(self.id_map) | {
            "home": str(self.home),
            "run": self.run,
            "run_folder": str(self.runs / self.run),
            "runs_folder": str(self.runs),
            "profile": str(_HERE / "seccomp_profile.json"),
        }
        wire.send(self._control, setup)
        answer = self._receive_setup()
        if "map_me" in answer:
            problem = self._write_maps()
            wire.send(self._control, {"error": problem} if problem else {})
            answer = self._receive_setup()
        self.controllers = tuple(answer["controllers"])

    def _receive_setup(self) -> dict[str, Any]:
        message = wire.receive(self._control)
        if message is None:
            raise SandboxUnavailableError("the sandbox keeper process died while starting")
        if "error" in message.header:
            raise SandboxUnavailableError(
                f"the namespace sandbox does not work here: {message.header['error']} "
                "(needs Linux 5.11 or newer with unprivileged user namespaces and overlayfs; "
                "`cligym doctor` tells more)"
            )
        return message.header

    def _write_maps(self) -> str:
        """Writes the keeper's id maps; what went wrong, or ""."""
        pid, ids = self._process.pid, self.id_map
        try:
            if ids.has_range and not ids.by_root:
                return self._run_map_helpers(pid)
            if not ids.by_root:
                Path(f"/proc/{pid}/setgroups").write_text("deny")
            for name, base in (("uid_map", ids.uid_base), ("gid_map", ids.gid_base)):
                Path(f"/proc/{pid}/{name}").write_text(f"0 {base} {ids.length}")
        except OSError as error:
            return f"cannot map ids: {error.strerror}"
        return ""

    def _run_map_helpers(self, pid: int) -> str:
        for helper, base, own in (
            ("newuidmap", self.id_map.uid_base, os.geteuid()),
            ("newgidmap", self.id_map.gid_base, os.getegid()),
        ):
            words = [helper, pid, 0, base, self.id_map.length, CALLER_ID, own, 1]
            done = subprocess.run([str(word) for word in words], capture_output=True, check=False)
            if done.returncode != 0:
                return f"{helper}: {done.stderr.decode(errors='replace').strip()}"
        return ""

    # -- jobs --------------------------------------------------------------------------------

    def new_name(self, kind: str) -> str:
        """A name for a box or tree that no other of this machine has."""
        with self._lock:
            self._count += 1
            return f"{self.run}-{kind}-{self._count}"

    def open_job(self, header: dict[str, Any], fds: tuple[int, ...] = ()) -> socket.socket:
        """Starts a job; the socket on which it answers."""
        ours, theirs = socket.socketpair()
        try:
            with self._lock:
                wire.send(self._control, header, fds=(theirs.fileno(), *fds))
        except OSError as error:
            ours.close()
            raise SandboxError("the sandbox keeper process is gone") from error
        finally:
            theirs.close()
        return ours

    def tree_job(self, header: dict[str, Any], fds: tuple[int, ...] = ()) -> wire.Message:
        """Runs one job on a tree and waits.

        Raises:
            ImageError: the job failed; the text says why.
        """
        with self.open_job(header, fds) as sock:
            message = wire.receive(sock)
        if message is None:
            raise ImageError(f"tree job {header['job']!r} died")
        if "error" in message.header:
            raise ImageError(f"cannot {header['job']} {header['tree']}: {message.header['error']}")
        return message

    def inside(self, path: Path | str) -> str:
        """How the keeper names a path of the store or of this run's scratch."""
        text = str(path)
        if text.startswith(("home/", "scratch/")):
            return text
        for root, name in ((self.home, "home"), (self.runs / self.run, "scratch")):
            if Path(text).is_relative_to(root):
                return f"{name}/{Path(text).relative_to(root)}"
        raise ImageError(f"{text} lies neither in the store nor in this run's scratch")

    def make_tree(self, tree: Path | str) -> None:
        """Makes an empty folder owned by in-box root."""
        self.tree_job({"job": "make", "tree": self.inside(tree)})

    def remove_tree(self, tree: Path | str) -> None:
        """Removes a tree; missing is fine."""
        self.tree_job({"job": "remove", "tree": self.inside(tree)})

    def rename(self, tree: Path | str, target: Path | str) -> None:
        """Moves a tree, also between scratch and store when they share a file system."""
        job = {"job": "rename", "tree": self.inside(tree), "target": self.inside(target)}
        self.tree_job(job)

    def walk(self, tree: Path | str, limits: ScanLimits = ScanLimits()) -> TreeScan:
        """Reads a tree's entries; see `tree_scan.py`."""
        job = {"job": "scan", "tree": self.inside(tree), "limits": asdict(limits)}
        message = self.tree_job(job)
        return parse_scan(message.payload, message.header["oversized"])

    def read_file(self, tree: Path | str, path: bytes, *, limit_bytes: int) -> bytes:
        """Bytes of a regular file of a tree."""
        job = {
            "job": "read",
            "tree": self.inside(tree),
            "path": encode_path(path),
            "limit_bytes": limit_bytes,
        }
        return self.tree_job(job).payload

    def unpack_tar(self, fd: int, tree: Path | str) -> list[str]:
        """Unpacks a tar stream into an existing tree; names of device nodes left out."""
        job = {"job": "unpack", "tree": self.inside(tree)}
        return [str(name) for name in self.tree_job(job, (fd,)).header["skipped"]]

    def pack_tar(self, tree: Path | str, fd: int) -> None:
        """Writes a tree as a tar stream with OCI whiteouts."""
        self.tree_job({"job": "pack", "tree": self.inside(tree)}, (fd,))

    def compose(self, tree: Path | str, pieces: Iterable[Piece]) -> None:
        """Makes a tree of pieces, parents first; files are linked, not copied, where possible."""
        with tempfile.TemporaryFile() as file:
            for piece in pieces:
                row = piece.entry.to_json() if piece.entry is not None else None
                line = json.dumps([encode_path(piece.path), row, piece.source])
                file.write(line.encode() + b"\n")
            file.flush()
            file.seek(0)
            self.tree_job({"job": "compose", "tree": self.inside(tree)}, (file.fileno(),))

    def close(self) -> None:
        """Ends the keeper and everything it runs, and removes this run's scratch; idempotent."""
        if self.pid != os.getpid():
            return  # a forked child: not ours to end
        self._control.close()
        try:
            self._process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._lock_fd >= 0:
            os.close(self._lock_fd)
            self._lock_fd = -1
            self._remove_unused_run()

    def _remove_unused_run(self) -> None:
        """What a keeper that could not even start has left; anything else is its own to remove."""
        folder = self.runs / self.run
        try:
            for path in (*folder.iterdir(), folder):
                path.rmdir()
            (self.runs / f"{self.run}.lock").unlink()
        except OSError:
            pass  # the keeper has removed it, or the next one's sweep will


def parse_scan(payload: bytes, oversized: str) -> TreeScan:
    """The inverse of the keeper's scan message."""
    value = json.loads(payload)
    return TreeScan(
        changed={decode_path(path): Entry.from_json(row) for path, row in value["changed"]},
        whiteouts={decode_path(path) for path in value["whiteouts"]},
        opaque={decode_path(path) for path in value["opaque"]},
        oversized=oversized,
    )
