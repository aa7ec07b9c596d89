"""`execute` and `spawn`: fresh processes with exactly the environment asked for."""

from __future__ import annotations

import os
import time
from typing import Any

import pytest

from cligym.sandboxes.base import SandboxSpec
from cligym.sandboxes.image import Image
from cligym.sandboxes.namespace import NamespaceBackend
from tests.sandboxes.contract import Boxes, output


def _sh(box: Any, script: str, **options: Any) -> Any:
    options.setdefault("env", {"PATH": "/usr/bin:/bin"})
    return box.execute(["/bin/sh", "-c", script], **options)


_ENGINES = {
    b"HOSTNAME=sandbox",
    b"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
}


def test_environment_is_exact(boxes: Boxes, box: Any) -> None:
    result = box.execute(["/usr/bin/env"], env={"A": "1 2", "é": "ü"})
    lines = set(result.output.split(b"\n")) - {b"HOME=/root", b""}
    if boxes.name == "docker":
        lines -= _ENGINES
    assert lines == {b"A=1 2", "é=ü".encode()}


def test_environment_is_bytes(boxes: Boxes, box: Any) -> None:
    if boxes.name == "docker":
        pytest.xfail("the engine takes text only")
    assert b"A=\xff\n" in box.execute(["/usr/bin/env"], env={"A": "\udcff"}).output


def test_folder_and_user(box: Any) -> None:
    result = _sh(box, "pwd; id -u; id -g", cwd="/usr", user="nobody")
    assert result.output == b"/usr\n65534\n65534\n"
    assert _sh(box, "id -u; id -g", user="12:34").output == b"12\n34\n"


def test_descriptors_are_only_the_standard_ones(box: Any) -> None:
    result = box.execute(["/bin/ls", "/proc/self/fd"], env={})
    assert result.output == b"0\n1\n2\n3\n"  # the last is the folder itself, being read
    assert _sh(box, "wc -c").output == b"0\n"


def test_exit_codes(box: Any) -> None:
    assert _sh(box, "exit 3").exit_code == 3
    assert _sh(box, "kill -9 $$").exit_code == 137


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"argv": ["/nosuch"]}, 127),
        ({"argv": ["nosuch"]}, 127),
        ({"argv": ["/etc/passwd"]}, 126),
        ({"argv": ["/etc"]}, 126),
        ({"argv": ["/bin/true"], "cwd": "/nosuch"}, 127),
        ({"argv": ["/bin/true"], "user": "nosuch"}, 126),
        ({"argv": ["/bin/true", "a\0b"]}, 126),
    ],
)
def test_what_cannot_start_is_a_result(box: Any, options: dict[str, Any], code: int) -> None:
    result = box.execute(env={"PATH": "/bin"}, **options)
    assert result.exit_code == code
    assert result.output


def test_channel_is_apart_from_output(box: Any) -> None:
    script = "echo out; echo data >&60; printf '\\000\\377' >&$CLIGYM_CHANNEL"
    argv = ["/bin/bash", "-c", script]
    result = box.execute(argv, env={}, channel=True)
    assert (result.output, result.channel) == (b"out\n", b"data\n\0\xff")


def test_a_timeout_kills_all_it_started_and_no_other(box: Any) -> None:
    box.run("sleep 555 &")
    result = _sh(box, "setsid sleep 471 & sleep 471", timeout_s=0.5)
    assert result.timed_out and result.exit_code is None
    processes = output(box, "cat /proc/[0-9]*/cmdline | tr '\\0' ' '")
    assert "471" not in processes and "sleep 555" in processes


def test_the_shell_is_untouched(box: Any) -> None:
    box.run("cd /usr; export A=1")
    _sh(box, "cd /; export A=2; kill -9 $PPID")
    assert output(box, "pwd; echo $A") == "/usr\n1\n"


@pytest.mark.userns
def test_spawn_talks_over_our_descriptors(backend: NamespaceBackend, base_image: Image) -> None:
    with backend.start(SandboxSpec(image=base_image)) as box:
        in_read, in_write = os.pipe()
        out_read, out_write = os.pipe()
        process = box.spawn(["/usr/bin/tr", "a-z", "A-Z"], env={}, fds={0: in_read, 1: out_write})
        os.close(in_read)
        os.close(out_write)
        os.write(in_write, b"hello\n")
        assert process.wait(0.2) is None
        os.close(in_write)
        with open(out_read, "rb") as answer:
            assert answer.read() == b"HELLO\n"
        assert process.wait(10) == 0
        assert process.wait(10) == 0


@pytest.mark.userns
def test_kill_ends_a_whole_session(backend: NamespaceBackend, base_image: Image) -> None:
    with backend.start(SandboxSpec(image=base_image)) as box:
        argv = ["/bin/sh", "-c", "sleep 471 & sleep 471"]
        process = box.spawn(argv, env={"PATH": "/bin"}, fds={})
        time.sleep(0.2)
        process.kill()
        assert process.wait(10) == 137
        process.kill()
        assert "471" not in output(box, "cat /proc/[0-9]*/cmdline | tr '\\0' ' '")
