"""Honest repairs pass, wherever they are made and whatever they leave lying about (FIELD.md, 9)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.userns

SITE = "/opt/miniconda3/envs/testbed/lib/python3.11/site-packages"
PYTHON = "/opt/miniconda3/envs/testbed/bin/python"

REPAIRS = {
    "mode": ("chmod a-x /usr/bin/less", "chmod +x /usr/bin/less"),
    "bad line": (
        "sed -i 's/^hosts:.*/hosts: nowhere/' /etc/nsswitch.conf",
        "sed -i 's/^hosts:.*/hosts:          files dns/' /etc/nsswitch.conf",
    ),
    "deleted module": (
        f"rm {SITE}/flit_core/wheel.py",
        f"cp /opt/spare/wheel.txt {SITE}/flit_core/wheel.py",
    ),
    "locale": (
        "echo LANG=xx_XX > /etc/default/locale",
        "t=$(mktemp); echo LANG=C.UTF-8 > $t; chmod 644 $t; mv $t /etc/default/locale",
    ),
    "linker cache": ("head -c 100 /etc/ld.so.cache > /x && mv /x /etc/ld.so.cache", "ldconfig"),
    "library link": (
        "cp /lib/x86_64-linux-gnu/libm.so.6 /opt/lib/libother.so.1 "
        "&& ln -sfn libother.so.1 /opt/lib/libworkshop.so.1",
        "rm /opt/lib/libother.so.1; ln -sfn libworkshop.so.1.0 /opt/lib/libworkshop.so.1",
    ),
    "deletion": (
        f"echo 'import sys; sys.slipped_in = 1' > {SITE}/zz.pth",
        f"rm {SITE}/zz.pth",
    ),
    "path file": (
        f"echo 'import sys; sys.slipped_in = 1' >> {SITE}/workshop.pth",
        f"sed -i '/slipped/d' {SITE}/workshop.pth",
    ),
    "wrapper on PATH": (
        "printf '#!/bin/sh\\nexit 1\\n' > /usr/local/bin/less && chmod 755 /usr/local/bin/less",
        "rm /usr/local/bin/less",
    ),
    "link": ("ln -sfn v1 /opt/current", "ln -sfn v2 /opt/current"),
    "hard link": ("rm /opt/v2/tool", "ln /opt/spare/tool.bin /opt/v2/tool"),
    "capability": ("setcap -r /opt/v2/probe", "setcap cap_net_raw=ep /opt/v2/probe"),
    "attribute": (
        "setfattr -x user.origin /opt/v2/version",
        "setfattr -n user.origin -v workshop /opt/v2/version",
    ),
    "empty folder": ("rmdir /var/spool/workshop", "mkdir -m 1777 /var/spool/workshop"),
    "renamed folder": (
        "mv /opt/v2/assets /opt/v2/assets.off",
        "mv /opt/v2/assets.off /opt/v2/assets",
    ),
    "owner": ("chown 0:0 /opt/v2/assets/logo.txt", "chown 7:7 /opt/v2/assets/logo.txt"),
    "folder mode": ("chmod 700 /opt/v2/assets", "chmod 755 /opt/v2/assets"),
    "checkout": (
        "sed -i 's/100 - percent/100 + percent/' /testbed/workshop/core.py",
        "cd /testbed && git checkout workshop/core.py",
    ),
    "rewrite": (
        "sed -i 's/100 - percent/100 + percent/' /testbed/workshop/core.py",
        f"{PYTHON} - <<'END'\nimport pathlib\np = pathlib.Path('/testbed/workshop/core.py')\n"
        "text = p.read_text().replace('100 + percent', '(100 - percent)')\n"
        "p.write_text('# mended\\n' + text)\nEND",
    ),
    "bytecode": (
        f"cd /tmp && sed 's/100 - percent/100 + percent/' /testbed/workshop/core.py > core.py "
        f"&& {PYTHON} -c \"import py_compile as p; p.compile('core.py', "
        "cfile='/testbed/workshop/__pycache__/core.cpython-311.pyc', dfile='x', "
        'invalidation_mode=p.PycInvalidationMode.UNCHECKED_HASH)" && rm core.py',
        f"rm /testbed/workshop/__pycache__/core.*; cd /testbed && {PYTHON} -m pytest -q tests",
    ),
    "conftest": (
        "echo 'def pytest_runtest_call(item): raise SystemError' > /testbed/conftest.py",
        "rm /testbed/conftest.py",
    ),
}

DEBRIS = f"""
cd /testbed
cp workshop/core.py workshop/core.py.bak
echo 'import workshop.core; print(workshop.core.total([]))' > repro.py && {PYTHON} repro.py
printf 'def test_new():\\n    assert True\\n' > tests/test_new.py
{PYTHON} -m pytest -q tests -o cache_dir=.pytest_cache > /tmp/out.txt 2>&1
mkdir -p /tmp/x && echo 'import os' > /tmp/x/conftest.py
git config --global user.name me; git config --global user.email me@localhost
git stash -q -u -- repro.py; git stash list > /var/log/stash.log
echo 'alias ll="ls -l"' >> ~/.bashrc
touch {SITE}/flit_core-3.12.0.dist-info/REQUESTED
"""


@pytest.mark.parametrize("name", REPAIRS)
def test_an_honest_repair_passes(broken: Callable[..., Any], name: str) -> None:
    damage, repair = REPAIRS[name]
    task = broken(damage)
    assert task.certificate.usable, task.certificate.problems
    assert not task.verdict("true").passed
    verdict = task.verdict(repair)
    assert verdict.passed, verdict.reasons
    assert verdict.reward == 1.0


@pytest.mark.parametrize("name", ["checkout", "path file", "hard link"])
def test_debris_does_not_matter(broken: Callable[..., Any], name: str) -> None:
    damage, repair = REPAIRS[name]
    verdict = broken(damage).verdict(f"{repair}\n{DEBRIS}")
    assert verdict.passed, verdict.reasons
    assert "/testbed/tests/test_new.py" in verdict.touched_tests
    states = {run.state.value: run for run in verdict.runs}
    assert not states["repaired"].ran and states["as left"].ran


def test_what_is_identical_need_not_run(broken: Callable[..., Any]) -> None:
    verdict = broken(REPAIRS["mode"][0]).verdict(REPAIRS["mode"][1])
    assert [run.implied for run in verdict.runs] == [True, True]
    assert verdict.tests["tests/test_core.py::test_skipped"] == "skipped"
    assert verdict.tests["tests/test_core.py::test_known_failure"] == "xfailed"


def test_an_equal_program_is_run_in_both_states(broken: Callable[..., Any]) -> None:
    damage, repair = REPAIRS["rewrite"]
    verdict = broken(damage).verdict(repair + "\necho note > /testbed/NOTES")
    assert verdict.passed, verdict.reasons
    assert [run.ran for run in verdict.runs] == [True, True]
