"""Environment test of cligym's starter pack: accounts other than root can use python-dotenv."""

import subprocess
import sys

import pytest

NOBODY = 65534


@pytest.fixture
def env_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("shared") / "service.env"
    path.write_text("GREETING=hello\n")
    path.chmod(0o644)
    for folder in path.parents[:3]:
        folder.chmod(0o755)
    return path


def run_as_nobody(*words):
    found = subprocess.run(
        [sys.executable, *words],
        user=NOBODY,
        group=NOBODY,
        extra_groups=[],
        cwd="/",
        env={},
        capture_output=True,
        text=True,
    )
    assert found.returncode == 0, found.stderr
    return found.stdout


def test_library_serves_another_user(env_file):
    code = f"import dotenv; print(dotenv.dotenv_values({str(env_file)!r})['GREETING'])"
    assert run_as_nobody("-c", code) == "hello\n"


def test_command_serves_another_user(env_file):
    assert run_as_nobody("-m", "dotenv", "-f", str(env_file), "list") == "GREETING=hello\n"
