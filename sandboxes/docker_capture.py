"""What a stopped container left: read from its upper folder, kept as a layer's tar file."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import IO

from cligym.errors import SandboxError
from cligym.sandboxes.base import GIB, MIB, CaptureLimits
from cligym.sandboxes.docker_images import EngineLayer
from cligym.sandboxes.entry import ChangeSet, Entry, Kind, Manifest
from cligym.sandboxes.keeper import Keeper, bare_argv, parse_scan
from cligym.sandboxes.layer_form import layer_changes, layer_pieces
from cligym.sandboxes.namespace import NamespaceCapture
from cligym.sandboxes.resolve import resolve_changes
from cligym.sandboxes.tree_edit import Piece

__all__ = ["DockerCapture", "read_upper"]

_APPARENT_BYTES = 2 * GIB
"""Layers of Docker hold no holes: a sparse file takes its whole size."""
_WHITEOUT = b".wh."


class DockerCapture:
    """A change set with its bytes; see `Capture`."""

    def __init__(
        self, changes: ChangeSet, lower: Manifest, oversized: str, file: IO[bytes] | None
    ) -> None:
        self._changes = changes
        self._lower = lower
        self._oversized = oversized
        self._file = file
        self._layer: EngineLayer | None = None

    @staticmethod
    def of_tree(keeper: Keeper, tree: NamespaceCapture, lower: Manifest) -> DockerCapture:
        """The same content as a tree of the namespace back end."""
        file = tempfile.TemporaryFile()
        keeper.pack_tar(tree.tree, file.fileno())
        return DockerCapture(tree.changes, lower, "", file)

    @property
    def changes(self) -> ChangeSet:
        """What changed against the image and overlays below."""
        return self._changes

    @property
    def oversized(self) -> str:
        """Which limit it is over, or ""."""
        return self._oversized

    @property
    def layer(self) -> EngineLayer:
        """The layer to lay over the image."""
        if self._layer is None:
            self._layer = EngineLayer(self._open())
        return self._layer

    def _open(self) -> IO[bytes]:
        if self._file is None:
            raise SandboxError(f"this capture has no content: {self._oversized or 'it is closed'}")
        return self._file

    def read(self, path: bytes, *, limit_bytes: int = 64 * MIB) -> bytes:
        """Bytes of a changed regular file."""
        entry = self._changes.changed.get(path)
        if entry is None or entry.kind is not Kind.FILE:
            raise SandboxError(f"cannot read {path!r}: no changed regular file of that name")
        if entry.size > limit_bytes:
            raise SandboxError(f"cannot read {path!r}: larger than {limit_bytes} bytes")
        return self._content(path)

    def _content(self, path: bytes) -> bytes:
        with _reader(self._open()) as archive:
            stream = archive.extractfile(os.fsdecode(path))
            assert stream is not None  # a regular file, by its entry
            return stream.read()

    def subset(self, paths: Sequence[bytes]) -> DockerCapture:
        """The same, reduced to some of its paths."""
        changes = self._changes.subset(paths)
        file = tempfile.TemporaryFile()
        with _reader(self._open()) as source:
            _write(file, layer_pieces(layer_changes(self._lower, changes), ""), source)
        return DockerCapture(changes, self._lower, "", file)

    def close(self) -> None:
        """Frees it; idempotent."""
        file, self._file = self._file, None
        if file is not None:
            file.close()

    def __enter__(self) -> DockerCapture:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def read_upper(upper: Path, lower: Manifest, limits: CaptureLimits) -> DockerCapture:
    """Reads the upper folder of a stopped container."""
    wanted = asdict(limits) | {"bytes_apparent": _APPARENT_BYTES}
    file = tempfile.TemporaryFile()
    argv = bare_argv("docker_scan", [str(upper), str(file.fileno()), json.dumps(wanted)])
    done = subprocess.run(
        [sys.executable, *argv], pass_fds=[file.fileno()], capture_output=True, check=False
    )
    if done.returncode != 0:
        file.close()
        raise SandboxError(f"cannot read what the container left: {done.stderr.decode()[-300:]}")
    oversized = str(json.loads(done.stdout)["oversized"])
    if oversized:
        file.close()
        return DockerCapture(ChangeSet(), lower, oversized, None)
    changes = resolve_changes(parse_scan(done.stdout, ""), lower)
    return DockerCapture(changes, lower, "", file)


def _reader(file: IO[bytes]) -> tarfile.TarFile:
    file.seek(0)
    return tarfile.open(fileobj=file, mode="r:", encoding="utf-8", errors="surrogateescape")


def _write(target: IO[bytes], pieces: Iterable[Piece], source: tarfile.TarFile) -> None:
    with tarfile.open(
        fileobj=target,
        mode="w",
        format=tarfile.PAX_FORMAT,
        encoding="utf-8",
        errors="surrogateescape",
    ) as archive:
        for piece in pieces:
            if piece.entry is None:
                folder, name = os.path.split(piece.path)
                archive.addfile(
                    tarfile.TarInfo(os.fsdecode(os.path.join(folder, _WHITEOUT + name)))
                )
                continue
            member = _member(piece.path, piece.entry)
            stream: IO[bytes] | None = None
            if piece.entry.kind is Kind.FILE:
                stream = source.extractfile(member.name) or io.BytesIO()
                member.size = piece.entry.size
            archive.addfile(member, stream)


def _member(path: bytes, entry: Entry) -> tarfile.TarInfo:
    member = tarfile.TarInfo(os.fsdecode(path))
    member.mode, member.uid, member.gid = entry.mode, entry.uid, entry.gid
    member.pax_headers = {f"SCHILY.xattr.{name}": os.fsdecode(v) for name, v in entry.xattrs}
    if entry.kind is Kind.DIRECTORY:
        member.type = tarfile.DIRTYPE
    elif entry.kind is Kind.SYMLINK:
        member.type, member.linkname = tarfile.SYMTYPE, os.fsdecode(entry.target)
    elif entry.kind is Kind.FIFO:
        member.type = tarfile.FIFOTYPE
    return member
