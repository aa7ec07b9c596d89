"""Strict reading of the result channel: what counts, and what is no result at all."""

from __future__ import annotations

import json

import pytest

from cligym.graders.pytest_results import TestResults, compare_outcomes, read_results

NONCE = "n" * 32
START: dict[str, object] = {"kind": "start", "pytest": "8", "python": "3.11", "rootdir": "/testbed"}


def phase(
    test: str, when: str = "call", outcome: str = "passed", **more: object
) -> dict[str, object]:
    return {"kind": "phase", "id": test, "when": when, "outcome": outcome, **more}


def run(*records: dict[str, object], code: int = 0, end: bool = True) -> bytes:
    count = sum(record["kind"] == "phase" for record in records)
    rows: list[dict[str, object]] = [START, *records]
    if end:
        rows.append({"kind": "end", "exit_code": code, "reports": count})
    return b"".join(json.dumps(row | {"nonce": NONCE}).encode() + b"\n" for row in rows)


def read(channel: bytes, code: int | None = 0) -> TestResults:
    return read_results(channel, nonce=NONCE, exit_code=code)


@pytest.mark.parametrize(
    ("phases", "outcome"),
    [
        ([("setup", "passed"), ("call", "passed"), ("teardown", "passed")], "passed"),
        ([("setup", "passed"), ("call", "failed"), ("teardown", "passed")], "failed"),
        ([("setup", "failed"), ("teardown", "passed")], "error"),
        ([("setup", "passed"), ("call", "passed"), ("teardown", "failed")], "error"),
        ([("setup", "skipped"), ("teardown", "passed")], "skipped"),
        ([("setup", "passed"), ("call", "skipped"), ("teardown", "passed")], "skipped"),
        ([("setup", "passed"), ("teardown", "passed")], "error"),
        ([("setup", "passed"), ("call", "rerun"), ("call", "passed")], "passed"),
        ([("setup", "passed"), ("call", "rerun"), ("call", "failed")], "failed"),
        ([("setup", "passed"), ("call", "strange")], "error"),
    ],
)
def test_phases_make_one_outcome(phases: list[tuple[str, str]], outcome: str) -> None:
    channel = run(*(phase("t", when, found) for when, found in phases))
    assert read(channel).outcomes == {"t": outcome}


def test_expected_failures() -> None:
    channel = run(phase("a", outcome="skipped", xfail=True), phase("b", xfail=True))
    assert read(channel).outcomes == {"a": "xfailed", "b": "xpassed"}


@pytest.mark.parametrize(
    ("channel", "code", "words"),
    [
        (b"", 0, "did not come to its end"),
        (run(phase("t"), end=False), 0, "did not come to its end"),
        (run(phase("t"), code=0), 1, "exit status"),
        (run(phase("t")) + b"x", 0, "no record"),
        (b"\xff\n", 0, "no record"),
        (run(phase("t")) + run(phase("u")), 0, "after the final record"),
        (run(phase("t")).replace(b'"reports": 1', b'"reports": 2'), 0, "2 reports"),
        (run({"kind": "odd"}), 0, "unexpected"),
        (b'{"kind": "phase", "id": "t", "nonce": "other"}\n', 0, "somebody else"),
        (b"[1]\n", 0, "somebody else"),
        (run(START), 0, "unexpected"),
    ],
)
def test_what_is_no_result(channel: bytes, code: int, words: str) -> None:
    assert words in read(channel, code).problem


def test_a_time_out_is_the_first_thing_said() -> None:
    found = read_results(b"", nonce=NONCE, exit_code=None, timed_out=True)
    assert "time limit" in found.problem


EXPECTED = {"a": "passed", "b": "skipped"}
GOOD = run(phase("a"), phase("b", outcome="skipped"))


def test_as_certified() -> None:
    assert compare_outcomes(read(GOOD), EXPECTED, 0) == []


@pytest.mark.parametrize(
    ("channel", "code", "wrong"),
    [
        (run(phase("a")), 0, ("b", "did not run")),
        (run(phase("a"), phase("b")), 0, ("b", "passed, on gold skipped")),
        (run(phase("a"), phase("b", outcome="skipped"), phase("c")), 0, ("c", "is not among")),
        (
            run(phase("a", outcome="failed"), phase("b", outcome="skipped"), code=1),
            1,
            ("a", "failed"),
        ),
        (
            run({"kind": "collect-error", "id": "x.py"}, phase("a")),
            0,
            ("x.py", "cannot be collected"),
        ),
        (run(phase("a"), phase("b", outcome="skipped"), code=3), 3, ("", "exit status 3")),
    ],
    ids=["missing", "other", "extra", "failed", "collection", "status"],
)
def test_not_as_certified(channel: bytes, code: int, wrong: tuple[str, str]) -> None:
    found = compare_outcomes(read(channel, code), EXPECTED, 0)
    assert any(test == wrong[0] and wrong[1] in words for test, words in found)


def test_many_differences_are_counted_not_listed() -> None:
    expected = {f"t{n}": "passed" for n in range(100)}
    found = compare_outcomes(read(run()), expected, 0)
    assert len(found) == 21 and found[-1] == ("", "and 80 more")


@pytest.mark.parametrize("key", ["id", "when", "outcome"])
@pytest.mark.parametrize("value", [None, 3, ["t"]])
def test_a_forged_record_of_another_shape_is_no_result(key: str, value: object) -> None:
    record = phase("t") | {key: value}
    assert "malformed" in read(run(record)).problem
    del record[key]
    assert "malformed" in read(run(record)).problem
