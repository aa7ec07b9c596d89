"""Thousands of boxes and killed drivers leave nothing; many boxes live side by side."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.sandboxes.contract import Boxes, Driven, output
from tests.sandboxes.remote import range_account

_SLEEP = "sleep 98765"


def _processes(driver_pid: int) -> list[str]:
    """Our processes of a driver, and what runs in its boxes."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            text = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if f" {driver_pid}-" in text or _SLEEP in text:
            found.append(f"{path.parent.name}: {text}")
    return found


def _all_processes() -> list[str]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.append(path.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            continue
    return found


def _groups(driver_pid: int) -> list[str]:
    # not `glob`: groups of other tests come and go under it
    return [
        f"{folder}/{name}"
        for folder, names, _ in os.walk("/sys/fs/cgroup")
        if folder.endswith("/cligym")
        for name in names
        if name.startswith(f"{driver_pid}-")
    ]


def _leftovers(driver: Any) -> list[str]:
    pid = driver.process.pid
    folders = [str(path) for path in driver.scratch.glob(f"cligym-*/{pid}-*")]
    mounts = [
        line
        for line in Path("/proc/self/mountinfo").read_text().splitlines()
        if str(driver.scratch) in line
    ]
    return [*_processes(pid), *_groups(pid), *folders, *mounts]


def _wait_until_clean(driver: Any) -> None:
    deadline = time.monotonic() + 30
    while left := _leftovers(driver):
        assert time.monotonic() < deadline, left
        time.sleep(0.05)


def _round(driven: Driven, count: int) -> None:
    """Half of the boxes are closed, the others live on with commands running."""
    for number in range(count):
        box = driven.boxes.start()
        assert output(box, "mkdir /root/d; echo x > /root/d/f; echo done") == "done\n"
        if number % 2:
            box.run(f"setsid {_SLEEP} & {_SLEEP} &")
        else:
            box.close()
    box = driven.boxes.start()
    driven.driver.send_only(box, "run", f"touch /root/x; {_SLEEP}")
    time.sleep(0.1)


@pytest.mark.userns
@pytest.mark.parametrize("user", ["root", "ordinary"])
@pytest.mark.parametrize(
    "cycles", [200, pytest.param(2000, marks=pytest.mark.slow)], ids=["200", "2000"]
)
def test_killed_drivers_leave_nothing(
    new_driver: Callable[[int], Driven], user: str, cycles: int
) -> None:
    ordinary = user == "ordinary" and os.geteuid() == 0
    uid = range_account() if ordinary else os.geteuid()
    for _ in range(cycles // 20):
        driven = new_driver(uid)
        _round(driven, 20)
        driven.driver.kill()
        _wait_until_clean(driven.driver)


@pytest.mark.userns
def test_a_driver_that_ends_by_itself_leaves_nothing(new_driver: Callable[[int], Driven]) -> None:
    driven = new_driver(os.geteuid())
    _round(driven, 4)
    driven.driver.kill_gently()
    _wait_until_clean(driven.driver)


@pytest.mark.userns
def test_a_killed_keeper_is_swept_by_the_next(new_driver: Callable[[int], Driven]) -> None:
    driven = new_driver(os.geteuid())
    _round(driven, 4)
    for line in _processes(driven.driver.process.pid):
        if "cligym:" in line:
            os.kill(int(line.split(":")[0]), 9)
    driven.driver.kill()
    new_driver(os.geteuid())
    _wait_until_clean(driven.driver)


def test_many_boxes_at_once(boxes: Boxes) -> None:
    count = 64
    with ExitStack() as stack, ThreadPoolExecutor(16) as pool:
        started = list(pool.map(lambda _: stack.enter_context(boxes.start()), range(count)))
        commands = [f"echo {number} > /root/n; sleep 0.1; cat /root/n" for number in range(count)]
        texts = list(pool.map(output, started, commands))
        assert texts == [f"{number}\n" for number in range(count)]
        captures = list(pool.map(lambda box: box.capture(), started))
        for number, capture in enumerate(captures):
            assert capture.read(b"root/n") == f"{number}\n".encode()
            capture.close()


def test_closing_the_box_is_enough(boxes: Boxes) -> None:
    box = boxes.start()
    mine = f"sleep {100_000 + os.getpid()}"  # other tests sleep beside this one
    box.run(f"setsid {mine} & {mine} &")
    box.close()
    assert not [line for line in _all_processes() if mine in line]
