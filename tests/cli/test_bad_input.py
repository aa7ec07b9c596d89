"""Bad input and a bad machine give one clear line, the right exit code, and leave nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cligym.envs.bench import Bench
from cligym.sandboxes.namespace import NamespaceBackend
from cligym.tasks.load import starter_folder

CLIGYM = [sys.executable, "-c", "from cligym.cli import main; import sys; sys.exit(main())"]
BAD_INPUT, INFRA = 2, 3


def run(
    *words: str, env: dict[str, str] | None = None, before: list[str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*(before or []), *CLIGYM, *words],
        env=os.environ | (env or {}),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def assert_one_line(done: subprocess.CompletedProcess[str], code: int, *words: str) -> None:
    errors = [line for line in done.stderr.splitlines() if "error" in line]
    assert done.returncode == code, done.stderr
    assert len(errors) == 1 and "Traceback" not in done.stderr
    assert all(word in errors[0] for word in words), errors[0]


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["grade", "nope", "--script", "/dev/null"], ["no task 'nope'", "cligym tasks list"]),
        (["grade", "x", "--tasks", "/no/where", "--script", "/dev/null"], ["/no/where"]),
        (["tasks", "show", "nope"], ["no task 'nope'"]),
        (["evaluate", "--agent", "oracel", "--out", "OUT"], ["unknown agent 'oracel'", "oracle"]),
        (
            ["evaluate", "--agent", "nop", "--grader", "hardend", "--out", "OUT"],
            ["no grader 'hardend'", "hardened"],
        ),
        (["evaluate", "--agent", "script:/no/file", "--out", "OUT"], ["/no/file"]),
    ],
    ids=["task", "source", "show", "agent", "grader", "script"],
)
def test_wrong_names(tmp_path: Path, words: list[str], parts: list[str]) -> None:
    out = tmp_path / "out"
    words = [str(out) if word == "OUT" else word for word in words]
    assert_one_line(run(*words, env={"CLIGYM_HOME": str(tmp_path / "home")}), BAD_INPUT, *parts)
    assert not out.exists() and not (tmp_path / "home").exists()


def test_an_unreadable_parquet_file(tmp_path: Path) -> None:
    path = tmp_path / "tasks.parquet"
    path.write_bytes(b"PAR1 but not really")
    assert_one_line(run("tasks", "list", "--tasks", str(path)), BAD_INPUT, "tasks.parquet")


@pytest.mark.userns
@pytest.mark.parametrize(
    ("dockerfile", "code", "words"),
    [
        ("FROM cligym/base:1\nFOO bar\n", BAD_INPUT, ["line 2", "FOO"]),
        ("FROM cligym/base:1\nRUN echo what went wrong; exit 7\n", INFRA, ["line 2", "status 7"]),
        ("FROM no/such:image\n", INFRA, ["no/such:image"]),
    ],
    ids=["unparsable", "failing", "no-image"],
)
def test_a_dockerfile_that_does_not_build(
    tmp_path: Path, store_home: Path, dockerfile: str, code: int, words: list[str]
) -> None:
    source = starter_folder() / "tasks" / "exit-statuses-get-lost"
    shutil.copytree(source, tmp_path / "broken")
    (tmp_path / "broken" / "Dockerfile").write_text(dockerfile)
    done = run(
        "grade", "broken", "--tasks", str(tmp_path), "--script", "/dev/null",
        env={"CLIGYM_HOME": str(store_home)},
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("cligym: error")]
    assert all(word in line for word in words), line
    if "exit 7" in dockerfile:
        assert "what went wrong" in done.stderr


@pytest.mark.userns
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to take user namespaces away")
def test_no_user_namespaces(tmp_path: Path) -> None:
    forbid = 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"'
    done = run(
        "evaluate", "--agent", "nop", "--out", str(tmp_path / "out"),
        env={"CLIGYM_HOME": str(tmp_path / "home"), "CLIGYM_SCRATCH": str(tmp_path)},
        before=["unshare", "--user", "--map-root-user", "sh", "-c", forbid, "sh"],
    )  # fmt: skip
    assert done.returncode == INFRA and "Traceback" not in done.stderr, done.stderr
    assert "user namespaces" in done.stderr
    assert not list(tmp_path.glob("cligym-*/*"))


@pytest.mark.userns
@pytest.mark.xdist_group("starter")
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to mount a small file system")
def test_a_full_disk(tmp_path: Path, store_home: Path, backend: NamespaceBackend) -> None:
    bench = Bench("starter", backend=backend)
    task_id = sorted(bench.tasks)[0]
    bench.prepare(task_id)
    small = tmp_path / "small"
    small.mkdir()
    fill = f"mount -t tmpfs -o size=64k tmpfs {small} && head -c 60k /dev/zero > {small}/x; "
    done = run(
        "evaluate", "--agent", "nop", "--task", task_id, "--out", str(small / "out"),
        env={"CLIGYM_HOME": str(store_home)},
        before=["unshare", "--mount", "sh", "-c", fill + 'exec "$@"', "sh"],
    )  # fmt: skip
    assert done.returncode == INFRA and "Traceback" not in done.stderr, done.stderr
    assert "No space left on device" in done.stderr
