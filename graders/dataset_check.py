"""The dataset's own check: run its script in the box, read the log that it leaves there.

Rule for rule what the dataset's consumers do (FACTS.md 2.1, check 3), holes included; the graders
`dataset` and `published` are there for comparable numbers, not for rewards.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field

from cligym.errors import SandboxDestroyedError
from cligym.sandboxes.base import MIB, Backend, Capture, SandboxSpec
from cligym.sandboxes.image import Image

__all__ = ["ScriptResult", "judge_log", "run_script_check"]

_LOG = "/test.log"
_LOG_BYTES_MAX = 64 * MIB
_COMMAND = re.compile(r"pytest --disable-warnings.*?--verbose(?P<ids>[^']*)'")
_LINE = re.compile(r"^(\S+::\S.*?) (PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS)\b")
_SUMMARY = re.compile(r"^=+ (?P<counts>.*\bin [\d.]+s.*?) =+$")
_COUNT = re.compile(r"(\d+) (passed|failed|errors?|skipped)")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptResult:
    """What the script's log says.

    Attributes:
        passed: the dataset's judgement.
        detail: why not, in words.
        tests: id as printed -> last word printed after it.
        timed_out: whether the script was killed at its limit.
        seconds: wall time of the script.
    """

    passed: bool
    detail: str = ""
    tests: Mapping[str, str] = field(default_factory=dict)
    timed_out: bool = False
    seconds: float = 0.0


def run_script_check(
    run_tests: str,
    *,
    image: Image,
    overlays: tuple[Capture, ...] = (),
    backend: Backend,
    timeout_s: float,
) -> ScriptResult:
    """Runs the script in a fresh box as an agent would, with the image's own environment."""
    mark = f"CLIGYM_{secrets.token_hex(8)}"
    sandbox = backend.start(SandboxSpec(image=image, overlays=overlays))
    try:
        sandbox.run(f"cat > /tmp/.run_tests.sh <<'{mark}'\n{run_tests}\n{mark}")
        result = sandbox.run(
            "cd /testbed && bash /tmp/.run_tests.sh > /tmp/.rt.out 2>&1", timeout_s=timeout_s
        )
        if result.timed_out:
            return ScriptResult(
                passed=False,
                detail=f"the script ran past {timeout_s:.0f} s",
                timed_out=True,
                seconds=result.seconds,
            )
        log = sandbox.execute(
            ["/bin/cat", _LOG], env={}, timeout_s=60, output_limit_bytes=_LOG_BYTES_MAX
        )
    except SandboxDestroyedError as error:
        return ScriptResult(passed=False, detail=f"the script ended its box: {error}")
    finally:
        sandbox.close()
    text = log.output.decode("utf-8", "replace") if log.exit_code == 0 else ""
    passed, detail, tests = judge_log(run_tests, text)
    return ScriptResult(passed=passed, detail=detail, tests=tests, seconds=result.seconds)


def judge_log(run_tests: str, log: str) -> tuple[bool, str, dict[str, str]]:
    """(passed, why not, printed outcomes): all listed ids PASSED, or the summary says as much."""
    found = _COMMAND.search(run_tests)
    ids = [_bare(word) for word in found["ids"].split()] if found else []
    seen: dict[str, str] = {}
    counts: dict[str, int] = {}
    for line in log.splitlines():
        if match := _LINE.match(line):
            seen[match[1]] = match[2]
        if summary := _SUMMARY.match(line):
            counts = {word.rstrip("s"): int(n) for n, word in _COUNT.findall(summary["counts"])}
    bare = {_bare(name): word for name, word in seen.items()}
    by_ids = bool(ids) and all(bare.get(name) == "PASSED" for name in ids)
    bad = counts.get("failed", 0) + counts.get("error", 0)
    if ids:
        by_summary = counts.get("passed") == len(ids) and not bad and not counts.get("skipped", 0)
    else:
        by_summary = counts.get("passed", 0) > 0 and not bad
    if by_ids or by_summary:
        return True, "", seen
    missing = [name for name in ids if bare.get(name) != "PASSED"]
    words = f"{len(missing)} of {len(ids)} listed tests did not pass" if ids else "tests failed"
    return False, words if log else f"{words}; there is no {_LOG}", seen


def _bare(name: str) -> str:
    return name.replace("\\", "")
