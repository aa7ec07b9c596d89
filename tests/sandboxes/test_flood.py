"""Floods of output: bounded memory of ours, head and tail kept, exact counts of what is left."""

from __future__ import annotations

import resource
from pathlib import Path
from typing import Any

import pytest

from cligym.sandboxes.base import MIB
from tests.sandboxes.contract import output


def _peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _supervisor_peak_bytes() -> int:
    """Largest peak of our processes beside the boxes."""
    peaks = [0]
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            if b"cligym:" in status.with_name("cmdline").read_bytes():
                lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
                peaks.append(int(lines["VmHWM"].split()[0]) * 1024)
        except (OSError, KeyError):
            continue  # it ended meanwhile
    return max(peaks)


@pytest.mark.parametrize(
    "gigabytes", [0.25, pytest.param(5.0, marks=pytest.mark.slow)], ids=["quarter", "five"]
)
def test_a_flood_costs_little_memory(box: Any, gigabytes: float) -> None:
    box.run("echo warm")
    before = _peak_bytes()
    count = int(gigabytes * 1024) * MIB
    result = box.run(f"echo first; head -c {count} /dev/zero; echo last", timeout_s=600)
    assert _peak_bytes() - before < 50 * MIB
    assert _supervisor_peak_bytes() < 50 * MIB
    assert result.exit_code == 0
    assert result.output.startswith(b"first\n\0") and result.output.endswith(b"\0last\n")
    assert len(result.output) + result.omitted_bytes == count + 11
    assert len(result.output) <= 4 * MIB
    assert result.head_bytes in range(1, len(result.output))
    assert output(box, "echo next") == "next\n"


def test_a_flood_is_timed_out(box: Any) -> None:
    result = box.run("yes", timeout_s=1)
    assert result.timed_out and result.omitted_bytes > MIB
    assert output(box, "echo next") == "next\n"


def test_a_background_flood_does_not_stop_others(box: Any) -> None:
    box.run("yes &")
    for _ in range(3):
        result = box.run("echo next", timeout_s=20)
        assert result.exit_code == 0 and result.output
    box.run("kill %1; wait", timeout_s=20)


def test_omitted_characters_are_counted_as_characters(box: Any) -> None:
    count = 3_000_000
    result = box.run(f"head -c {count} /dev/zero | sed 's/\\x00/é/g'", timeout_s=60)
    kept = result.output[: result.head_bytes], result.output[result.head_bytes :]
    starts = sum(sum(byte & 0xC0 != 0x80 for byte in part) for part in kept)
    assert starts + result.omitted_characters == count


def test_output_of_execute_is_bounded_as_asked(box: Any) -> None:
    argv = ["/usr/bin/head", "-c", "3000000", "/dev/zero"]
    result = box.execute(argv, env={}, output_limit_bytes=1000)
    assert len(result.output) + result.omitted_bytes == 3_000_000
    assert len(result.output) <= 1000
