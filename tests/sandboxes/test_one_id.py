"""A caller without an id range: what cannot work there is said at start and is never a 0."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.sandboxes.contract import Driven, output
from tests.sandboxes.remote import ONE_ID_UID

pytestmark = pytest.mark.userns


@pytest.fixture(scope="module")
def driven(new_driver: Callable[[int], Driven]) -> Driven:
    return new_driver(ONE_ID_UID)


@pytest.fixture
def box(driven: Driven) -> Iterator[Any]:
    with driven.boxes.start() as sandbox:
        yield sandbox


def test_the_back_end_says_so(driven: Driven) -> None:
    assert driven.boxes.backend.keeper.has_id_range is False


def test_commands_run_and_files_are_captured(driven: Driven, box: Any) -> None:
    assert output(box, "id -u; cd /tmp; echo x > a; rm /etc/motd; ls") == "0\na\n"
    with box.capture() as capture:
        assert set(capture.changes.changed) == {b"tmp/a"}
        assert capture.changes.deleted == {b"etc/motd"}
        with driven.boxes.start(overlays=(capture,)) as again:
            assert output(again, "cat /tmp/a") == "x\n"


def test_other_owners_are_errors_inside_not_failures_of_ours(box: Any) -> None:
    for command in ("chown 1:1 /tmp", "su nobody -s /bin/sh -c id", "chgrp 5 /tmp"):
        assert box.run(command).exit_code != 0
    assert output(box, "echo next") == "next\n"
    assert box.execute(["/usr/bin/id"], env={}, user="nobody").exit_code == 126


def test_timeouts_work(box: Any) -> None:
    assert box.run("setsid sleep 471 & sleep 471", timeout_s=0.3).timed_out
    assert "471" not in output(box, "cat /proc/[0-9]*/cmdline | tr '\\0' ' '")
