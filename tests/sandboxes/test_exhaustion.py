"""What an agent does to its own box: a typed result each time, and the next command or the end."""

from __future__ import annotations

import time
from typing import Any

import pytest

from cligym.errors import SandboxDestroyedError
from cligym.sandboxes.base import MIB, CaptureLimits, ShellState
from tests.sandboxes.contract import Boxes, output

_UNLINKED = "exec 9>/root/x; rm /root/x; head -c 300M /dev/zero >&9; sleep 3"
_FOLDERS = "cd /root; perl -e 'for (1..3000) { (mkdir q(d)) && (chdir q(d)) && $n++ } print $n'"


def ends_well(box: Any, *, tries: int = 5) -> bool:
    """True when commands work again, False when the box says that it is destroyed; else fails."""
    for _ in range(tries):
        try:
            result = box.run("echo still here", timeout_s=10)
        except SandboxDestroyedError:
            return False
        if b"still here\n" in result.output:
            return True
    raise AssertionError(f"neither working nor destroyed: {result}")


@pytest.mark.parametrize(
    "command",
    ["f() { f | f & }; f; sleep 30", "while :; do sleep 1000 & done", "while :; do (:) & done"],
    ids=["bomb", "sleepers", "short-lived"],
)
def test_too_many_processes(boxes: Boxes, command: str) -> None:
    with boxes.start_small(pids=64) as box:
        before = time.monotonic()
        result = box.run(command, timeout_s=2)
        assert result.timed_out or result.shell is not ShellState.KEPT
        ends_well(box)
        assert time.monotonic() - before < 60
        box.capture().close()


def test_the_process_limit_holds(boxes: Boxes) -> None:
    with boxes.start_small(pids=64) as box:
        box.run("for i in $(seq 200); do sleep 100 & done", timeout_s=5)
        seen = box.run("set -- /proc/[0-9]*; echo $#", timeout_s=5)
        assert int(seen.output.split()[-1]) <= 80


@pytest.mark.parametrize(
    "command",
    ["tail /dev/zero", "for i in $(seq 20); do tail /dev/zero & done; wait"],
    ids=["one", "many"],
)
def test_too_much_memory(boxes: Boxes, command: str) -> None:
    with boxes.start_small(memory_bytes=128 * MIB) as box:
        result = box.run(command, timeout_s=20)
        assert not result.timed_out
        assert result.exit_code != 0 or "wait" in command
        ends_well(box)
        box.capture().close()


def test_memory_without_a_process(boxes: Boxes) -> None:
    with boxes.start_small(memory_bytes=128 * MIB) as box:
        box.run("head -c 400M /dev/zero > /dev/fd/251; echo $?", timeout_s=20)
        ends_well(box)
        box.capture().close()


def test_shared_memory_is_bounded(box: Any) -> None:
    assert box.run("head -c 200M /dev/zero > /dev/shm/x").exit_code != 0
    assert ends_well(box)


@pytest.mark.parametrize(
    "command",
    ["head -c 300M /dev/zero > /root/x; sleep 3", _UNLINKED]
    + ["for i in $(seq 40); do head -c 10M /dev/zero > /var/tmp/x$i; done; sleep 3"],
    ids=["file", "unlinked", "files"],
)
def test_too_much_disk_destroys_the_box(boxes: Boxes, command: str) -> None:
    with boxes.start_small(disk_bytes=64 * MIB) as box:
        box.run("echo kept > /root/kept")
        result = box.run(command, timeout_s=20)
        assert (result.shell, result.exit_code) == (ShellState.DESTROYED, None)
        with pytest.raises(SandboxDestroyedError):
            box.run("echo next")
        with box.capture() as capture:
            assert capture.read(b"root/kept") == b"kept\n"


@pytest.mark.parametrize(
    "command",
    [
        "kill -9 -1",
        "kill -9 -1; sleep 100",
        "kill -STOP -1",
        "kill -9 1; kill -STOP 1; kill -TERM 1; kill -SEGV 1; echo done",
        "kill -9 $PPID",
        "for p in /proc/[0-9]*; do kill -9 ${p#/proc/}; done",
        "pkill -9 bash; killall bash",
    ],
)
def test_killing_everything(boxes: Boxes, box: Any, command: str) -> None:
    box.run("sleep 1000 &")
    result = box.run(command, timeout_s=3)
    if boxes.name == "docker":  # its first process may end with the rest
        ends_well(box)
        return
    assert result.shell is not ShellState.DESTROYED
    assert ends_well(box)


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf --one-file-system / 2>/dev/null; exit",
        "rm -f /bin/bash; exit",
        "chmod 0 /bin/bash /usr/bin/bash; exit",
        "echo > /usr/bin/bash; exit",
        "printf '#!/nosuch' > /usr/bin/bash; exit",
        "rm -f /usr/bin/bash; mkfifo /usr/bin/bash; exit",
        "rm -f /lib64/ld-linux-x86-64.so.2; exit",
        "rm -f /etc/passwd; mkfifo /etc/passwd; exit",
        "rm -f /etc/passwd; ln -s /dev/zero /etc/passwd; exit",
        "mv /lib64 /lib2; exit",
        "rm -rf /tmp /root; exit",
        "chmod 000 /; exit",
    ],
)
def test_a_box_made_unusable(boxes: Boxes, box: Any, command: str) -> None:
    box.run(command, timeout_s=30)
    try:
        for _ in range(2):
            result = box.run("echo next", timeout_s=1 if "passwd" in command else 10)
            assert result.timed_out <= ("/etc/passwd" in command)  # bash itself waits for it
            assert result.output == b"next\n" or result.shell is not ShellState.KEPT
        code = box.execute(["/bin/echo", "hi"], env={}).exit_code
        assert code in (0, 126, 127) or boxes.name == "docker"  # runc says 1 of a missing loader
    except SandboxDestroyedError:
        pass
    box.capture().close()


def test_a_working_directory_that_is_gone(boxes: Boxes) -> None:
    with boxes.start(workdir="/srv") as box:
        box.run("rm -r /srv; exit")
        assert output(box, "pwd") == "/\n"


def test_a_huge_sparse_file_is_oversized(box: Any) -> None:
    assert box.run("truncate -s 1T /root/sparse").exit_code == 0
    before = time.monotonic()
    with box.capture() as capture:
        assert "bytes" in capture.oversized
        assert not capture.changes
    assert time.monotonic() - before < 20


def test_deep_folders_are_oversized_and_removed(box: Any) -> None:
    assert output(box, _FOLDERS, timeout_s=60) == "3000"
    with box.capture() as capture:
        assert "nested" in capture.oversized


@pytest.mark.parametrize(
    ("command", "limits", "word"),
    [
        ("touch /root/{1..50}", {"files": 40}, "paths"),
        ("head -c 3M /dev/zero > /root/x", {"bytes_on_disk": MIB}, "disk"),
        ("mkdir -p /root/1/2/3/4/5/6", {"depth": 5}, "nested"),
        ("touch /root/$(printf %0200d 1)", {"name_bytes": 100}, "name"),
    ],
)
def test_capture_limits(box: Any, command: str, limits: dict[str, int], word: str) -> None:
    assert box.run(command).exit_code == 0
    with box.capture(CaptureLimits(**limits)) as capture:
        assert word in capture.oversized


def test_nothing_runs_after_stop(box: Any) -> None:
    box.run("(while :; do date +%N > /root/beat; done) &")
    time.sleep(0.1)
    box.stop()
    with pytest.raises(SandboxDestroyedError):
        box.run("echo next")
    box.stop()
    with box.capture() as capture:
        assert b"root/beat" in capture.changes.changed
    box.close()
    box.close()
