"""What this machine can and cannot do, found by trying: the checks behind `cligym doctor`."""

from __future__ import annotations

import io
import os
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cligym.errors import CLIGymError, SandboxUnavailableError
from cligym.sandboxes.base import SandboxSpec
from cligym.sandboxes.id_map import find_id_map
from cligym.sandboxes.image import Image
from cligym.sandboxes.keeper import default_home, default_scratch
from cligym.sandboxes.namespace import NamespaceBackend
from cligym.sandboxes.seccomp import compile_profile

__all__ = ["Check", "check_docker", "check_namespace", "works"]

_UNSHARE = (
    "import ctypes, os; c = ctypes.CDLL(None, use_errno=True)\n"
    "print('' if c.unshare(0x10000000) == 0 else os.strerror(ctypes.get_errno()))"
)
_WATCHDOG = "a watchdog looks four times a second instead"
_ROUNDS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that was tried.

    Attributes:
        backend: the back end that it is about.
        check: what was tried, in a few words.
        ok: whether it worked.
        needed: without it the back end cannot be used at all.
        detail: what was found; when not ok, what that means and what to do.
    """

    backend: str
    check: str
    ok: bool
    needed: bool
    detail: str


def works(checks: list[Check], backend: str) -> bool:
    """True when nothing is missing that a back end cannot do without."""
    return all(check.ok for check in checks if check.backend == backend and check.needed)


def check_namespace() -> Iterator[Check]:
    """Tries everything that the namespace back end uses."""
    yield from (_user_namespaces(), _id_range(), _seccomp(), _attributes())
    yield from _boxes()
    yield _mmdebstrap()


def _namespace(check: str, detail: str, *, ok: bool, needed: bool = True) -> Check:
    return Check(backend="namespace", check=check, ok=ok, needed=needed, detail=detail)


def _user_namespaces() -> Check:
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", _UNSHARE], capture_output=True, text=True, check=False
    )
    problem = done.stdout.strip() if done.returncode == 0 else done.stderr.strip()[-200:]
    if problem:
        detail = (
            f"this machine does not let us make one ({problem}): see the settings "
            "user.max_user_namespaces, kernel.unprivileged_userns_clone and "
            "kernel.apparmor_restrict_unprivileged_userns, or use the docker back end"
        )
        return _namespace("user namespaces", detail, ok=False)
    return _namespace("user namespaces", "can be made", ok=True)


def _id_range() -> Check:
    ids = find_id_map()
    if ids.has_range:
        detail = f"{ids.length} ids from {ids.uid_base} (in-box root is never this machine's root)"
        return _namespace("id range", detail, ok=True, needed=False)
    detail = (
        "boxes have one user only: chown, su and packages with accounts of their own do not work, "
        "tasks that need owners are refused; install uidmap and give this account 65536 ids in "
        "/etc/subuid and /etc/subgid (usermod --add-subuids, --add-subgids)"
    )
    return _namespace("id range", detail, ok=False, needed=False)


def _seccomp() -> Check:
    try:
        size = len(compile_profile(Path(__file__).resolve().with_name("seccomp_profile.json")))
    except OSError as error:
        return _namespace("seccomp filter", str(error.strerror or error), ok=False)
    return _namespace("seccomp filter", f"compiled, {size // 8} instructions", ok=True)


def _attributes() -> Check:
    scratch = default_scratch()
    try:
        with tempfile.NamedTemporaryFile(dir=scratch) as file:
            os.setxattr(file.name, "user.cligym", b"1")
    except OSError as error:
        detail = f"{scratch}: {error.strerror}; set CLIGYM_SCRATCH to a folder on a local disk"
        return _namespace("scratch folder", detail, ok=False)
    free = shutil.disk_usage(scratch).free // 2**30
    return _namespace("scratch folder", f"{scratch}: attributes work, {free} GiB free", ok=True)


def _boxes() -> Iterator[Check]:
    """A box on an empty image: overlay, mounts, control groups, times."""
    with tempfile.TemporaryDirectory(prefix="cligym-doctor-") as folder:
        Path(folder).chmod(0o755)
        backend = NamespaceBackend(home=Path(folder))
        try:
            controllers = backend.keeper.controllers
            image = _empty_image(backend)
            timings = [_time_box(backend, image) for _ in range(_ROUNDS)]
            backend.store.layers.drop(image.layers[0])  # its files belong to ids of the range
        except (CLIGymError, OSError) as error:
            yield _namespace("a box starts", str(error), ok=False)
            return
        finally:
            backend.close()
    start_ms, stop_ms = (statistics.median(column) for column in zip(*timings, strict=True))
    detail = f"start {start_ms:.1f} ms, stop {stop_ms:.1f} ms (median of {_ROUNDS}), overlay works"
    yield _namespace("a box starts", detail, ok=True)
    for name, what in (("memory", "memory"), ("pids", "processes"), ("cpu", "CPU time")):
        ok = name in controllers
        missing = "nothing limits it" if name == "cpu" else _WATCHDOG
        detail = "a control group limits it" if ok else f"no control group: {missing}"
        yield _namespace(f"limit of {what}", detail, ok=ok, needed=False)
    yield from _exec_time()


def _empty_image(backend: NamespaceBackend) -> Image:
    with tempfile.TemporaryFile() as file:
        with tarfile.open(fileobj=file, mode="w") as archive:
            archive.addfile(tarfile.TarInfo("empty"), io.BytesIO())
        layer = backend.store.layers.take_root(file)
    return Image(layers=(layer,))


def _time_box(backend: NamespaceBackend, image: Image) -> tuple[float, float]:
    begin = time.perf_counter()
    with backend.start(SandboxSpec(image=image)) as box:
        started = time.perf_counter()
        if box.execute(["/nothing"], env={}).exit_code != 127:
            raise SandboxUnavailableError("a process in an empty box did something unexpected")
        before_stop = time.perf_counter()
    return (started - begin) * 1000, (time.perf_counter() - before_stop) * 1000


def _exec_time() -> Iterator[Check]:
    """Time of one command, when the store has an image with a shell."""
    with NamespaceBackend() as backend:
        try:
            image = backend.store.get("debian:bookworm-slim")
            with backend.start(SandboxSpec(image=image)) as box:
                times = [box.run("true").seconds * 1000 for _ in range(_ROUNDS)]
        except CLIGymError:
            home = default_home()
            detail = f"not measured: no debian:bookworm-slim in {home} yet (`make demo` makes it)"
            yield _namespace("a command runs", detail, ok=True, needed=False)
            return
    detail = f"{statistics.median(times):.2f} ms (median of {_ROUNDS}, persistent shell)"
    yield _namespace("a command runs", detail, ok=True)


def _mmdebstrap() -> Check:
    program = shutil.which("mmdebstrap")
    detail = "makes the base image debian:bookworm-slim"
    if program is None:
        detail = "missing: the base image cannot be made here (Debian: apt-get install mmdebstrap)"
    return _namespace("mmdebstrap", detail, ok=program is not None, needed=False)


def check_docker() -> Iterator[Check]:
    """Tries the engine."""
    import docker  # heavy: only `cligym doctor` pays for it

    try:
        client = docker.from_env(timeout=10)
        version = client.version()
        client.close()
    except Exception as error:  # the SDK lets errors of several libraries through
        reason = str(error).partition("\n")[0][:160]
        detail = f"no engine answers ({reason}); start one, or set DOCKER_HOST"
        yield Check(backend="docker", check="engine", ok=False, needed=True, detail=detail)
        return
    detail = f"{version.get('Version', '?')}, API {version.get('ApiVersion', '?')}"
    yield Check(backend="docker", check="engine", ok=True, needed=True, detail=detail)
