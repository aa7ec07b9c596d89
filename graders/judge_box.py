"""The box in which candidates run: its image, and the zygote started in it."""

from __future__ import annotations

import ast
import inspect
import json
import os
import socket
from dataclasses import asdict, dataclass

from cligym.errors import GraderError, ImageError, SandboxError
from cligym.graders import candidate_zygote, crossing, crossing_peer
from cligym.graders.candidate_filter import candidate_filter
from cligym.graders.judge_wire import receive_bytes, send_bytes
from cligym.sandboxes.base import MIB, Limits, Process, Sandbox, SandboxSpec
from cligym.sandboxes.build import build
from cligym.sandboxes.image import Image
from cligym.sandboxes.namespace import NamespaceBackend
from cligym.tasks.syntax_tree import parse_source

__all__ = ["CandidateLimits", "JudgeBox", "judge_image"]

_IMAGE_NAME = "cligym/judge:1"
_DOCKERFILE = """\
FROM debian:bookworm-slim
RUN apt-get update \\
 && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends python3 \\
 && apt-get clean && rm -rf /var/lib/apt/lists/* /var/log/*
"""
_LOADER = """\
import socket, struct
s = socket.socket(fileno=3)
(n,) = struct.unpack(">I", s.recv(4, socket.MSG_WAITALL))
text = b""
while len(text) < n:
    text += s.recv(n - len(text))
s.detach()
exec(compile(text, "zygote.py", "exec"), globals())
main()
"""
_START_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateLimits:
    """What one candidate process may use in one test."""

    cpu_s: int = 1
    """CPU seconds; an endless loop ends here, on a busy machine as on an idle one."""
    memory_bytes: int = 512 * MIB
    """Address space."""
    threads: int = 100
    """Threads of its user."""


def judge_image(backend: NamespaceBackend) -> Image:
    """The image with a Python and nothing of ours, built at the first use.

    Raises:
        BuildError: it cannot be built (packages are fetched once).
    """
    try:
        return backend.store.get(_IMAGE_NAME)
    except ImageError:
        image = build(_DOCKERFILE, backend)
        backend.store.tag(image, _IMAGE_NAME)
        return image


class JudgeBox:
    """One box with a warm candidate zygote.

    Args:
        backend: where it runs.
        limits: of every candidate.

    Attributes:
        control: socket that leads to the zygote.
    """

    def __init__(self, backend: NamespaceBackend, limits: CandidateLimits) -> None:
        spec = SandboxSpec(
            image=judge_image(backend),
            limits=Limits(memory_bytes=1024 * MIB, pids=256, disk_bytes=64 * MIB),
        )
        self._sandbox: Sandbox = backend.start(spec)
        self.control, theirs = socket.socketpair()
        try:
            self._process = self._start(theirs)
            self._greet(limits)
        except BaseException:
            self.close()
            raise
        finally:
            theirs.close()

    def _start(self, theirs: socket.socket) -> Process:
        null = os.open(os.devnull, os.O_RDWR)
        argv = ["/usr/bin/python3", "-I", "-S", "-c", _LOADER]
        env = {"PATH": "/usr/bin:/bin", "PYTHONHASHSEED": "0", "MALLOC_ARENA_MAX": "1"}
        fds = {0: null, 1: null, 2: null, 3: theirs.fileno()}
        try:
            return self._sandbox.spawn(argv, env=env, user="nobody", fds=fds)
        except SandboxError:
            # A one-user id map has no nobody; the system-call filter holds for any user.
            return self._sandbox.spawn(argv, env=env, fds=fds)
        finally:
            os.close(null)

    def _greet(self, limits: CandidateLimits) -> None:
        settings = {"limits": asdict(limits), "filter": candidate_filter().hex()}
        self.control.settimeout(_START_S)
        try:
            send_bytes(self.control, _box_program().encode())
            send_bytes(self.control, json.dumps(settings).encode())
            ready = receive_bytes(self.control)
        except (OSError, EOFError) as error:
            raise GraderError(f"the candidates' interpreter did not start: {error}") from error
        if ready != b"ready":
            raise GraderError("the candidates' interpreter sent no greeting")
        self.control.settimeout(None)

    def close(self) -> None:
        """Ends the zygote and removes the box; idempotent."""
        self.control.close()
        self._sandbox.close()


def _box_program() -> str:
    """Our three modules as one text: there is no package of ours in the box."""
    body: list[ast.stmt] = []
    for module in (crossing, crossing_peer, candidate_zygote):
        for node in parse_source(inspect.getsource(module)).body:
            ours = isinstance(node, ast.ImportFrom) and (node.module or "").startswith("cligym")
            future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
            if not ours and not future:
                body.append(node)
    text = ast.unparse(ast.Module(body=body, type_ignores=[]))
    return f"from __future__ import annotations\n{text}\n"
