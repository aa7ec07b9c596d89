"""Start, stop, exec, capture and replay of sandboxes: medians per back end and worker count.

    python benchmarks/sandbox.py                       # what works on this machine, 1 and 8 workers
    python benchmarks/sandbox.py --rounds 200 --json
    DOCKER_HOST=unix:///run/podman/podman.sock python benchmarks/sandbox.py

Rows (`--json`): {backend, workers, start_ms, stop_ms, exec_ms, capture_ms, replay_ms}. `replay` is
the start of a box over a capture. A round: start, one command, stop; then one with a change that is
captured and replayed. Numbers of back ends are taken in turns, so that load hits them alike.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any

from cligym.errors import CLIGymError
from cligym.sandboxes.base import SandboxSpec
from cligym.sandboxes.image import Image

_STEPS = ("start_ms", "stop_ms", "exec_ms", "capture_ms", "replay_ms")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """Medians of one back end with some workers at once, in milliseconds."""

    backend: str
    workers: int
    start_ms: float
    stop_ms: float
    exec_ms: float
    capture_ms: float
    replay_ms: float


@dataclass(frozen=True, slots=True)
class _Subject:
    backend: Any
    image: Image


def main(argv: Sequence[str] | None = None) -> int:
    """Measures and prints; 1 when no back end works."""
    arguments = _parser().parse_args(argv)
    subjects = [each for each in (_namespace(), _docker()) if each is not None]
    if not subjects:
        print("no back end works here; `cligym doctor` says why", file=sys.stderr)
        return 1
    rows = []
    for workers in arguments.workers:
        for subject in subjects:
            rows.append(measure(subject, workers, arguments.rounds))
    for subject in subjects:
        subject.backend.close()
    if arguments.json:
        print(json.dumps([asdict(row) for row in rows], indent=2))
    else:
        _print(rows)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=200, help="boxes a row (default 200)")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 8], help="boxes at once")
    parser.add_argument("--json", action="store_true", help="print rows as JSON")
    return parser


def _namespace() -> _Subject | None:
    from cligym.sandboxes.base_image import base
    from cligym.sandboxes.namespace import NamespaceBackend

    backend = NamespaceBackend()
    try:
        return _Subject(backend, base(backend.store))
    except CLIGymError as error:
        print(f"namespace: left out: {error}", file=sys.stderr)
        return None


def _docker() -> _Subject | None:
    from cligym.sandboxes.base_image import base
    from cligym.sandboxes.docker import DockerBackend

    try:
        backend = DockerBackend()
        return _Subject(backend, base(backend.store))
    except CLIGymError as error:
        print(f"docker: left out: {error}", file=sys.stderr)
        return None


def measure(subject: _Subject, workers: int, rounds: int) -> Row:
    """Runs the rounds with `workers` threads."""
    _round(subject)  # the first starts the keeper and warms the caches
    with ThreadPoolExecutor(workers) as pool:
        samples = list(pool.map(lambda _: _round(subject), range(rounds)))
    medians = {
        step: round(statistics.median(sample[step] for sample in samples), 3) for step in _STEPS
    }
    return Row(backend=subject.backend.name, workers=workers, **medians)


def _round(subject: _Subject) -> dict[str, float]:
    backend, spec = subject.backend, SandboxSpec(image=subject.image)
    box, start_ms = _timed(lambda: backend.start(spec))
    box.run("true")  # the shell starts with the first command
    _, exec_ms = _timed(lambda: box.run("true"))
    _, stop_ms = _timed(box.close)
    box = backend.start(spec)
    box.run("echo x > /etc/motd; rm /etc/issue; mkdir /root/d; touch /root/d/{1..20}")
    capture, capture_ms = _timed(box.capture)
    over = SandboxSpec(image=subject.image, overlays=(capture,))
    again, replay_ms = _timed(lambda: backend.start(over))
    again.close()
    capture.close()
    return dict(zip(_STEPS, (start_ms, stop_ms, exec_ms, capture_ms, replay_ms), strict=True))


def _timed(call: Callable[[], Any]) -> tuple[Any, float]:
    begin = time.perf_counter()
    value = call()
    return value, (time.perf_counter() - begin) * 1000


def _print(rows: list[Row]) -> None:
    titles = [name.removesuffix("_ms") for name in _STEPS]
    print(f"{'back end':12}{'workers':>8}" + "".join(f"{title:>10}" for title in titles) + "   ms")
    for row in rows:
        values = [getattr(row, name) for name in _STEPS]
        cells = "".join(f"{value:10.2f}" for value in values)
        print(f"{row.backend:12}{row.workers:>8}{cells}")
    for row in rows:
        if row.backend == "docker":
            ours = next(r for r in rows if (r.backend, r.workers) == ("namespace", row.workers))
            ratio = (row.start_ms + row.stop_ms) / (ours.start_ms + ours.stop_ms)
            print(f"namespace starts and stops {ratio:.0f} times faster at {row.workers} worker(s)")


if __name__ == "__main__":
    sys.exit(main())
