"""A driver in a process of its own: runs a namespace back end for a test, as any user.

Started by `remote.py` with a plain interpreter and copies of the modules it needs, so that it also
works for an account that cannot read the checkout. Requests come over a socket as pickles; boxes
and captures stay here and travel as numbers.
"""

from __future__ import annotations

import io
import pickle
import sys
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from cligym.sandboxes.keeper import Keeper
from cligym.sandboxes.namespace import (
    NamespaceBackend,
    NamespaceCapture,
    NamespaceProcess,
    NamespaceSandbox,
)
from cligym.sandboxes.store import ImageStore

_KEPT = (NamespaceBackend, NamespaceCapture, NamespaceProcess, NamespaceSandbox, ImageStore, Keeper)


class _Things(dict[int, Any]):
    """What the test holds by number."""

    def dumps(self, value: object) -> bytes:
        things = self

        class Pickler(pickle.Pickler):
            def persistent_id(self, obj: object) -> int | None:
                if isinstance(obj, _KEPT):
                    things[id(obj)] = obj
                    return id(obj)
                return None

        file = io.BytesIO()
        Pickler(file).dump(value)
        return file.getvalue()

    def loads(self, data: bytes) -> Any:
        things = self

        class Unpickler(pickle.Unpickler):
            def persistent_load(self, pid: Any) -> Any:
                return things[pid]

        return Unpickler(io.BytesIO(data)).load()


def _describe(things: _Things, error: Exception) -> bytes:
    try:
        return things.dumps((False, error))
    except Exception:  # an error that does not travel must not end the driver
        return things.dumps((False, RuntimeError(repr(error))))


def main(fd: int, home: str, scratch: str) -> None:
    """Serves requests until the test hangs up."""
    things = _Things()
    channel = Connection(fd)
    with NamespaceBackend(Path(home), Path(scratch)) as backend:
        channel.send_bytes(things.dumps(backend))
        while True:
            try:
                data = channel.recv_bytes()
            except EOFError:
                return
            try:
                target, name, args, kwargs = things.loads(data)
                value = getattr(target, name)
                if args is not None:
                    value = value(*args, **kwargs)
                elif callable(value):
                    value = NotImplemented  # a method: to be called with arguments
                answer = things.dumps((True, value))
            except Exception as error:  # whatever it is belongs to the test
                answer = _describe(things, error)
            channel.send_bytes(answer)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], sys.argv[3])
