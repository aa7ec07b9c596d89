"""The embedded back end: boxes made of Linux namespaces and overlayfs; no daemon, no root needed.

Covered: own user, mount, pid, network, ipc, uts and cgroup namespaces; in-box root is an
unprivileged id of the host; capabilities and system calls as in Docker's default; no network; no
host path, process, socket or variable inside; limits by control group where one may be made, else
by a watchdog. Not covered: kernel faults, side channels, CPU share without control groups.

Needs Linux 5.11 or newer with user namespaces and overlayfs in them. How it works:
`keeper_process.py` (who holds which rights), `supervisor.py` (life of a box), `box_init.py` and
`box_mounts.py` (what the box sees), `tree_scan.py` (how its changes are read).
"""

from __future__ import annotations

import atexit
import os
import socket
import threading
import weakref
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from cligym.errors import (
    ImageError,
    SandboxDestroyedError,
    SandboxError,
    SandboxStartError,
    SandboxTimeoutError,
)
from cligym.sandboxes import wire
from cligym.sandboxes.base import (
    GIB,
    MIB,
    Capture,
    CaptureLimits,
    ExecResult,
    SandboxSpec,
    ShellState,
)
from cligym.sandboxes.entry import ChangeSet, Manifest
from cligym.sandboxes.host_files import episode_files
from cligym.sandboxes.image import Image
from cligym.sandboxes.keeper import Keeper, default_home, default_scratch, parse_scan
from cligym.sandboxes.layer_form import layer_changes, layer_pieces
from cligym.sandboxes.manifest_rows import RowManifest
from cligym.sandboxes.resolve import resolve_changes
from cligym.sandboxes.store import ImageStore
from cligym.sandboxes.tree_edit import Piece

__all__ = [
    "NamespaceBackend",
    "NamespaceCapture",
    "NamespaceProcess",
    "NamespaceSandbox",
    "SHELL_ENV",
    "encode_command",
]

SHELL_ENV = {
    "TERM": "dumb",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "GIT_EDITOR": "true",
    "DEBIAN_FRONTEND": "noninteractive",
    "HOME": "/root",
}
_SHM_BYTES = 64 * MIB
_APPARENT_BYTES = 16 * GIB
_ANSWER_SLACK_S = 60.0


class NamespaceBackend:
    """Runs boxes on this machine; one keeper process, started at the first use.

    Args:
        home: layer store, default `CLIGYM_HOME` or the user's cache folder.
        scratch: where boxes write, default `CLIGYM_SCRATCH` or the temporary folder.
    """

    name = "namespace"

    def __init__(self, home: Path | None = None, scratch: Path | None = None) -> None:
        self.home = home or default_home()
        self._scratch = scratch or default_scratch()
        self._lock = threading.Lock()
        self._keeper: Keeper | None = None
        self._store: ImageStore | None = None
        self._open: weakref.WeakSet[NamespaceSandbox | NamespaceCapture] = weakref.WeakSet()

    def __getstate__(self) -> dict[str, Any]:
        """Pickles as its two folders: a copy in another process starts a keeper of its own."""
        return {"home": self.home, "scratch": self._scratch}

    def __setstate__(self, state: dict[str, Any]) -> None:
        NamespaceBackend.__init__(self, state["home"], state["scratch"])

    @property
    def keeper(self) -> Keeper:
        """The keeper process (made at the first use, and again in a forked child)."""
        with self._lock:
            if self._keeper is None or self._keeper.pid != os.getpid():
                self._keeper = Keeper(self.home, self._scratch)
                self._store = ImageStore(self.home, self._keeper)
                atexit.register(_close_weakly, weakref.ref(self))
            return self._keeper

    @property
    def store(self) -> ImageStore:
        """The images of this id map."""
        _ = self.keeper
        assert self._store is not None
        return self._store

    def start(self, spec: SandboxSpec) -> NamespaceSandbox:
        """Starts a box; see `Backend.start`."""
        keeper = self.keeper
        overlays = [_as_namespace(overlay) for overlay in spec.overlays]
        lowers = [overlay.tree for overlay in reversed(overlays)]
        for digest in reversed(spec.image.layers):
            lowers.append(keeper.inside(self.store.layer_path(digest)))
        name = keeper.new_name("box")
        config = spec.image.config
        request = {
            "job": "box",
            "name": name,
            "lowers": lowers,
            "ids": keeper.id_map.length,
            "network": spec.network,
            "files": episode_files(network=spec.network),
            "hostname": "sandbox",
            "workdir": spec.workdir or config.workdir,
            "env": SHELL_ENV | dict(config.env) | dict(spec.env),
            "shm_bytes": _SHM_BYTES,
        } | asdict(spec.limits)
        sock = keeper.open_job(request)
        message = wire.receive(sock)
        if message is None or "error" in message.header:
            sock.close()
            reason = message.header["error"] if message else "its supervisor died"
            raise SandboxStartError(f"sandbox did not start: {reason}")
        sandbox = NamespaceSandbox(self, sock, name, spec, overlays)
        self._open.add(sandbox)
        return sandbox

    def manifest(self, image: Image, overlays: Sequence[Capture] = ()) -> RowManifest:
        """The whole root of an image with captures laid over it."""
        manifest = self.store.manifest(image)
        for overlay in overlays:
            manifest = manifest.with_changes(overlay.changes)
        return manifest

    def read_file(self, image: Image, path: bytes, *, limit_bytes: int = 64 * MIB) -> bytes:
        """Bytes of a regular file of an image, read from outside.

        Raises:
            ImageError: no such regular file, or it is larger.
        """
        source = self._source(image, path)
        return self.keeper.read_file(source, path, limit_bytes=limit_bytes)

    def _source(self, image: Image, path: bytes) -> str:
        for digest in reversed(image.layers):
            changes = self.store.layer_changes(digest)
            if path in changes.changed:
                return self.keeper.inside(self.store.layer_path(digest))
            if path in changes.deleted:
                break
        raise ImageError(f"no file {path!r} in image {image.digest[:19]}")

    def overlay_from_image(
        self,
        image: Image,
        paths: Iterable[bytes],
        *,
        over: Image,
        deleted: Iterable[bytes] = (),
    ) -> NamespaceCapture:
        """A layer that makes `paths` what they are in `image`, to be laid over `over`.

        Args:
            image: where the paths come from.
            paths: paths that exist in `image`.
            over: the image that the layer is for.
            deleted: paths of `over` that the layer removes (children have to be listed as well).
        """
        manifest = self.store.manifest(image)
        wanted = ChangeSet({path: manifest[path] for path in paths}, frozenset(deleted))
        lower = self.store.manifest(over)
        pieces = []
        for piece in layer_pieces(layer_changes(lower, wanted), ""):
            if piece.entry is not None and piece.entry.kind == "f":
                source = self._source(image, piece.path)
                piece = Piece(path=piece.path, entry=piece.entry, source=source)
            pieces.append(piece)
        return self._compose(pieces, wanted, lower)

    def _compose(
        self, pieces: list[Piece], changes: ChangeSet, lower: Manifest
    ) -> NamespaceCapture:
        tree = f"scratch/trees/{self.keeper.new_name('tree')}"
        self.keeper.compose(tree, pieces)
        capture = NamespaceCapture(self, tree, changes, lower, "")
        self._open.add(capture)
        return capture

    def close(self) -> None:
        """Ends every box and capture and the keeper; idempotent."""
        with self._lock:
            keeper, self._keeper, self._store = self._keeper, None, None
        if keeper is not None:
            for each in list(self._open):
                each.abandon()
            keeper.close()

    def __enter__(self) -> NamespaceBackend:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _close_weakly(reference: weakref.ref[NamespaceBackend]) -> None:
    backend = reference()
    if backend is not None:
        backend.close()


def _as_namespace(capture: Capture) -> NamespaceCapture:
    if not isinstance(capture, NamespaceCapture):
        raise SandboxStartError("overlays of another back end cannot be used here")
    if capture.oversized:
        raise SandboxStartError(f"an oversized change set cannot be replayed: {capture.oversized}")
    return capture


class NamespaceCapture:
    """A tree that a box left, or that was made of parts of one; see `Capture`."""

    def __init__(
        self,
        backend: NamespaceBackend,
        tree: str,
        changes: ChangeSet,
        lower: Manifest,
        oversized: str,
    ) -> None:
        self._backend = backend
        self._lower = lower
        self.tree = tree
        self._changes = changes
        self._oversized = oversized
        self._closed = False

    @property
    def changes(self) -> ChangeSet:
        """What changed against the image and overlays below."""
        return self._changes

    @property
    def oversized(self) -> str:
        """Which limit it is over, or ""."""
        return self._oversized

    def read(self, path: bytes, *, limit_bytes: int = 64 * MIB) -> bytes:
        """Bytes of a changed regular file."""
        return self._backend.keeper.read_file(self.tree, path, limit_bytes=limit_bytes)

    def subset(self, paths: Sequence[bytes]) -> NamespaceCapture:
        """The same, reduced to `paths`; files are links to this capture's, nothing is copied."""
        changes = self._changes.subset(paths)
        pieces = layer_pieces(layer_changes(self._lower, changes), self.tree)
        return self._backend._compose(pieces, changes, self._lower)

    def release(self) -> str:
        """Hands the tree over: the caller now owns it, under this name in the keeper's view."""
        self._closed = True
        return self.tree

    def abandon(self) -> None:
        """Forgets the tree without removing it (the keeper is going and takes it along)."""
        self._closed = True

    def close(self) -> None:
        """Removes the tree; idempotent."""
        if not self._closed:
            self._closed = True
            self._backend.keeper.remove_tree(self.tree)

    def __enter__(self) -> NamespaceCapture:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class NamespaceProcess:
    """A process in a box; see `Process`."""

    def __init__(self, sandbox: NamespaceSandbox, pid: int) -> None:
        self._sandbox = sandbox
        self._pid = pid

    def wait(self, timeout_s: float | None = None) -> int | None:
        """Exit code, or None when it still runs after `timeout_s` (None: one day)."""
        limit_s = 86_400.0 if timeout_s is None else timeout_s
        header = {"op": "wait", "pid": self._pid, "timeout_s": limit_s}
        code = self._sandbox.call(header, limit_s).header["code"]
        return None if code is None else int(code)

    def kill(self) -> None:
        """Kills it and its session."""
        self._sandbox.call({"op": "kill", "pid": self._pid}, 10)


class NamespaceSandbox:
    """One box; see `Sandbox`. Calls from several threads wait for each other."""

    def __init__(
        self,
        backend: NamespaceBackend,
        sock: socket.socket,
        name: str,
        spec: SandboxSpec,
        overlays: list[NamespaceCapture],
    ) -> None:
        self._backend = backend
        self._sock: socket.socket | None = sock
        self._lock = threading.RLock()
        self._spec = spec
        self._overlays = overlays
        self.name = name
        self._stopped = False

    def call(
        self,
        header: dict[str, Any],
        limit_s: float,
        payload: bytes = b"",
        fds: tuple[int, ...] = (),
    ) -> wire.Message:
        """One request to the supervisor, which answers within `limit_s` and some slack."""
        with self._lock:
            sock = self._sock
            if sock is None:
                raise SandboxError("the sandbox is closed")
            sock.settimeout(limit_s + _ANSWER_SLACK_S)
            try:
                wire.send(sock, header, payload, fds)
                message = wire.receive(sock)
            except TimeoutError as error:
                self.abandon()
                raise SandboxTimeoutError("the sandbox's supervisor does not answer") from error
            except OSError as error:
                self.abandon()
                raise SandboxError(f"the sandbox's supervisor is gone: {error}") from error
            except BaseException:
                self.abandon()  # Ctrl-C amid a message: the rest of it would be taken for the next
                raise
        if message is None or "closed" in message.header:
            raise SandboxError("the sandbox's supervisor died")
        if "destroyed" in message.header:
            raise SandboxDestroyedError(f"the sandbox is gone: {message.header['destroyed']}")
        if "error" in message.header:
            raise SandboxError(f"sandbox {header['op']} failed: {message.header['error']}")
        return message

    def run(self, command: str, *, timeout_s: float = 300.0) -> ExecResult:
        """Runs a command in the persistent shell; see `Sandbox.run`."""
        text = encode_command(command)
        if b"\0" in text:
            return ExecResult(exit_code=2, output=b"bash: a command cannot hold a NUL byte\n")
        message = self.call({"op": "run", "timeout_s": timeout_s}, timeout_s, text)
        return _result(message, len(message.payload))

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
        header = {
            "op": "execute",
            "argv": list(argv),
            "env": dict(env),
            "cwd": cwd,
            "user": user,
            "timeout_s": timeout_s,
            "channel": channel,
            "output_limit_bytes": output_limit_bytes,
        }
        message = self.call(header, timeout_s)
        return _result(message, int(message.header["channel_at"]))

    def spawn(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: str = "/",
        user: str = "",
        fds: Mapping[int, int],
    ) -> NamespaceProcess:
        """Starts one fresh process; see `Sandbox.spawn`."""
        header = {
            "op": "spawn",
            "argv": list(argv),
            "env": dict(env),
            "cwd": cwd,
            "user": user,
            "fds": list(fds),
        }
        message = self.call(header, 30, fds=tuple(fds.values()))
        return NamespaceProcess(self, int(message.header["pid"]))

    def stop(self) -> None:
        """Kills every process of the box and waits; idempotent."""
        if not self._stopped:
            self.call({"op": "stop"}, 30)
            self._stopped = True

    def capture(self, limits: CaptureLimits = CaptureLimits()) -> NamespaceCapture:
        """Stops the box and reads what it changed; the box is closed afterwards."""
        wanted = asdict(limits) | {"bytes_apparent": _APPARENT_BYTES}
        message = self.call({"op": "capture", "limits": wanted}, 600)
        oversized = str(message.header["oversized"])
        scan = parse_scan(message.payload, oversized)
        lower = self._backend.manifest(self._spec.image, self._overlays)
        changes = ChangeSet() if oversized else resolve_changes(scan, lower)
        capture = NamespaceCapture(self._backend, message.header["tree"], changes, lower, oversized)
        self._backend._open.add(capture)
        self.close()
        return capture

    def abandon(self) -> None:
        """Hangs up: the supervisor kills the box and cleans up by itself."""
        sock, self._sock = self._sock, None
        if sock is not None:
            sock.close()

    def close(self) -> None:
        """Ends the box and waits until all it used is removed; idempotent."""
        with self._lock:
            sock, self._sock = self._sock, None
        if sock is None:
            return
        try:
            sock.settimeout(60)
            wire.send(sock, {"op": "close"})
            while (message := wire.receive(sock)) is not None:
                if "closed" in message.header:
                    break
        except OSError:
            pass  # it died: the kernel ended the box, the next keeper sweeps the rest
        finally:
            sock.close()

    def __enter__(self) -> NamespaceSandbox:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def encode_command(command: str) -> bytes:
    """A command's bytes; what no byte stands for (a model may write any code point) becomes `?`."""
    try:
        return command.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return command.encode("utf-8", "replace")


def _result(message: wire.Message, output_bytes: int) -> ExecResult:
    header = message.header
    return ExecResult(
        exit_code=header["exit_code"],
        output=message.payload[:output_bytes],
        omitted_bytes=header["omitted_bytes"],
        omitted_characters=header["omitted_characters"],
        head_bytes=header["head_bytes"],
        timed_out=header["timed_out"],
        shell=ShellState(header["shell"]),
        seconds=header["seconds"],
        channel=message.payload[output_bytes:],
    )
