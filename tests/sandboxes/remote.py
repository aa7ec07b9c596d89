"""Namespace back ends driven by a process of their own: other users, and drivers to be killed."""

from __future__ import annotations

import io
import os
import pickle
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Lock
from typing import Any

import cligym.sandboxes

INTERPRETER = "/usr/bin/python3"
RANGE_ACCOUNT = "cligym-tests"
ONE_ID_UID = 64123
"""A uid without an account and so without a range: the map of one id."""


class Thing:
    """Stands for a box, a capture or a store that lives in the driver."""

    def __init__(self, driver: RemoteDriver, number: int) -> None:
        self._driver = driver
        self._number = number

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        value = self._driver.ask(self, name, None, {})
        if value is NotImplemented:
            return lambda *args, **kwargs: self._driver.ask(self, name, args, kwargs)
        return value

    def __enter__(self) -> Thing:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class RemoteDriver:
    """Starts the driver; `backend` is its back end.

    Args:
        uid: the user it runs as.
        folder: a folder of that user for `home` and `scratch`.
    """

    def __init__(self, uid: int, folder: Path) -> None:
        self.uid = uid
        self.home, self.scratch = folder / "home", folder / "scratch"
        for path in (folder, self.home, self.scratch):
            path.mkdir(parents=True, exist_ok=True)
            os.chown(path, uid, uid)
        self._lock = Lock()
        self._sources = tempfile.TemporaryDirectory(prefix="cligym-driver-")
        copy_sources(Path(self._sources.name))
        ours, theirs = socket.socketpair()
        self.process = subprocess.Popen(
            [INTERPRETER, "-B", f"{self._sources.name}/remote_driver.py", str(theirs.fileno())]
            + [str(self.home), str(self.scratch)],
            env={"PATH": os.environ["PATH"], "PYTHONPATH": self._sources.name},
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            cwd="/",
            start_new_session=True,
            user=None if uid == os.getuid() else uid,
            group=None if uid == os.getuid() else uid,
            extra_groups=None if uid == os.getuid() else [],
        )
        theirs.close()
        self._channel = Connection(ours.detach())
        self.backend: Any = self._loads(self._channel.recv_bytes())

    def ask(self, target: Thing, name: str, args: Sequence[object] | None, kwargs: Any) -> Any:
        """One request; raises what the driver raised."""
        with self._lock:
            self._channel.send_bytes(self._dumps((target, name, args, kwargs)))
            works, value = self._loads(self._channel.recv_bytes())
        if not works:
            raise value
        return value

    def send_only(self, target: Thing, name: str, *args: object) -> None:
        """A request whose answer nobody waits for (the driver is about to be killed)."""
        self._channel.send_bytes(self._dumps((target, name, args, {})))

    def kill(self) -> None:
        """SIGKILL for the driver alone."""
        self.process.kill()
        self.process.wait()
        self._channel.close()
        self._sources.cleanup()

    def kill_gently(self) -> None:
        """SIGTERM, as a scheduler sends it."""
        self.process.terminate()
        self.process.wait()
        self._channel.close()
        self._sources.cleanup()

    def close(self) -> None:
        """Lets it end by itself."""
        if self.process.poll() is None:
            self._channel.close()
            self.process.wait(60)
        self._sources.cleanup()

    def _dumps(self, value: object) -> bytes:
        class Pickler(pickle.Pickler):
            def persistent_id(self, obj: object) -> int | None:
                return obj._number if isinstance(obj, Thing) else None

        file = io.BytesIO()
        Pickler(file).dump(value)
        return file.getvalue()

    def _loads(self, data: bytes) -> Any:
        driver = self

        class Unpickler(pickle.Unpickler):
            def persistent_load(self, pid: Any) -> Thing:
                return Thing(driver, pid)

        return Unpickler(io.BytesIO(data)).load()


def copy_sources(target: Path) -> None:
    """What a driver needs, readable for everybody."""
    package = Path(cligym.sandboxes.__file__).resolve().parent
    (target / "cligym").mkdir()
    shutil.copytree(package, target / "cligym/sandboxes", ignore=_no_caches)
    (target / "cligym/__init__.py").touch()
    errors = Path(cligym.sandboxes.__file__).parent.parent / "errors.py"
    shutil.copy(errors, target / "cligym/errors.py")
    shutil.copy(Path(__file__).with_name("remote_driver.py"), target)
    subprocess.run(["chmod", "-R", "a+rX", str(target)], check=True)


_no_caches = shutil.ignore_patterns("__pycache__")


def range_account() -> int:
    """Uid of an ordinary account with an id range; made when missing (needs root)."""
    try:
        uid = pwd.getpwnam(RANGE_ACCOUNT).pw_uid
    except KeyError:
        command = ["useradd", "--no-create-home", "--shell", "/usr/sbin/nologin", RANGE_ACCOUNT]
        subprocess.run(command, check=False, capture_output=True)  # another worker may be faster
        uid = pwd.getpwnam(RANGE_ACCOUNT).pw_uid
    for name in ("uid", "gid"):
        if RANGE_ACCOUNT not in Path(f"/etc/sub{name}").read_text():
            ranges = [f"--add-sub{name}s", "2000000000-2000065535", RANGE_ACCOUNT]
            subprocess.run(["usermod", *ranges], check=True)
    return uid
