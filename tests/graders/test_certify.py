"""Which tasks are refused and why, and what a certificate proves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from cligym.graders.certify import certify, make_certificate
from cligym.sandboxes.namespace import NamespaceBackend

pytestmark = pytest.mark.userns

DAMAGE = "sed -i 's/100 - percent/100 + percent/' /testbed/workshop/core.py"
GIT = "cd /testbed && git checkout -q workshop/core.py"


@pytest.mark.parametrize(
    ("damage", "ids", "kind"),
    [
        ("chmod 600 /opt/v1/version", ("tests/test_core.py::test_discount",), "vacuous"),
        ("rm -rf /testbed/.git", ("tests",), "no-residue"),
        (DAMAGE, ("tests/test_core.py::test_gone",), "gold-fails"),
    ],
    ids=["vacuous", "no residue", "gold fails"],
)
def test_refused(broken: Callable[..., Any], damage: str, ids: tuple[str, ...], kind: str) -> None:
    certificate = broken(damage, *ids).certificate
    assert certificate.status == "refused"
    assert [problem.kind for problem in certificate.problems] == [kind]


def test_damage_only_in_the_environment_is_refused(
    broken: Callable[..., Any], backend: NamespaceBackend
) -> None:
    task = broken(DAMAGE)
    config = replace(task.images.gold.config, env=(*task.images.gold.config.env, ("X", "1")))
    images = replace(task.images, damaged=replace(task.images.gold, config=config))
    certificate = make_certificate(task.task, images, backend)
    assert [problem.kind for problem in certificate.problems] == ["no-residue"]
    assert certificate.damage_in_env == ["X"]


def test_hint_files_and_deleted_notes_are_inert_and_data_is_not(broken: Callable[..., Any]) -> None:
    task = broken(
        f"{DAMAGE}; echo 'see /opt' > /root/hint.txt; rm /opt/v1/version; mkdir -p /srv/a/b "
        "&& echo x > /srv/a/b/c.txt; rm /opt/v2/assets/logo.txt; rm -r /testbed/.git/hooks; "
        "cp /testbed/workshop/core.py /root/core.bak"
    )
    classes = {record.path: record.damage_class for record in task.certificate.damage}
    assert classes["testbed/workshop/core.py"] == "required"
    assert classes["root/hint.txt"] == "inert"
    assert classes["opt/v1/version"] == "inert"
    assert classes["srv/a/b/c.txt"] == "inert"
    assert classes["opt/v2/assets/logo.txt"] == "required"
    mend = "sed -i 's/100 + percent/100 - percent/' /testbed/workshop/core.py; "
    logo = "echo logo > /opt/v2/assets/logo.txt; chown 7:7 /opt/v2/assets/logo.txt; "
    assert task.verdict(mend + logo).passed
    assert not task.verdict(mend).passed
    assert task.verdict(mend + logo + "rm /root/hint.txt; echo one > /opt/v1/version").passed
    assert not task.verdict(mend + logo + "echo changed > /root/hint.txt").passed


FORGE = (
    "cd /tmp && sed 's/{old}/{new}/' {source} > forged.py && ! cmp -s forged.py {source} "
    "&& /opt/miniconda3/envs/testbed/bin/python -c "
    "\"import py_compile as p; p.compile('forged.py', cfile='{cfile}', "
    "dfile='x', invalidation_mode=p.PycInvalidationMode.UNCHECKED_HASH)\" "
    "&& rm forged.py"
)
CORE = FORGE.format(
    old="100 - percent",
    new="100 + percent",
    source="/testbed/workshop/core.py",
    cfile="/testbed/workshop/__pycache__/core.cpython-311.pyc",
)
STATISTICS = FORGE.format(
    old="n % 2 == 1",
    new="n % 2 == 0",
    source="/usr/lib/python3.11/statistics.py",
    cfile="/usr/lib/python3.11/__pycache__/statistics.cpython-311.pyc",
)


def test_forged_bytecode_is_required_and_honest_bytecode_is_not(
    broken: Callable[..., Any],
) -> None:
    honest = "/opt/miniconda3/envs/testbed/bin/python -m py_compile /testbed/workshop/__init__.py"
    task = broken(f"{honest} && {CORE} && {STATISTICS}")
    classes = {record.path: record.damage_class for record in task.certificate.damage}
    folder = "testbed/workshop/__pycache__"
    assert classes[f"{folder}/__init__.cpython-311.pyc"] == "inert"
    assert classes[f"{folder}/core.cpython-311.pyc"] == "required"
    assert classes["usr/lib/python3.11/__pycache__/statistics.cpython-311.pyc"] == "required"
    mine = f"rm /{folder}/core.cpython-311.pyc; "
    library = "/usr/bin/python3.11 -m py_compile /usr/lib/python3.11/statistics.py"
    assert not task.verdict(mine).passed  # gold's own bytecode must not be judged in its place
    assert not task.verdict(library).passed
    verdict = task.verdict(mine + library)
    assert verdict.passed, verdict.reasons


def with_scripts(task: Any, oracle: str, **wrong: str) -> Any:
    return replace(task.task, oracle=oracle, wrong=wrong)


def test_proven(broken: Callable[..., Any], backend: NamespaceBackend) -> None:
    task = broken(DAMAGE)
    stub = "echo 'discount = lambda a, p: 150 if p == 25 else 90' >> /testbed/workshop/core.py"
    found = make_certificate(
        with_scripts(task, GIT, nothing="true", stub=stub), task.images, backend
    )
    assert found.status == "proven" and not found.problems
    assert found.checks["wrong answer stub fails"] and found.checks["oracle passes"]


def test_an_oracle_that_fails_and_a_wrong_answer_that_passes(
    broken: Callable[..., Any], backend: NamespaceBackend
) -> None:
    task = broken(DAMAGE)
    found = make_certificate(with_scripts(task, "true", right=GIT), task.images, backend)
    assert found.status == "usable"
    assert [problem.kind for problem in found.problems] == ["oracle-fails", "wrong-passes"]


def test_what_a_certified_oracle_leaves_is_right_for_everybody(
    broken: Callable[..., Any], backend: NamespaceBackend
) -> None:
    task = broken(DAMAGE)
    other = (
        "sed -i 's/amount \\* (100 + percent)/amount * (200 - percent - 100)/' "
        "/testbed/workshop/core.py"
    )
    assert not task.verdict(other).passed
    proven = with_scripts(task, other)
    certificate = make_certificate(proven, task.images, backend)
    assert certificate.status == "proven", certificate.problems
    again = replace(task, task=proven, certificate=certificate)
    assert again.verdict(other).passed and again.verdict(GIT).passed
    assert not again.verdict("true").passed


def test_a_certificate_is_made_once(broken: Callable[..., Any], backend: NamespaceBackend) -> None:
    task = broken(DAMAGE)
    first = certify(task.task, task.images, backend, again=True)
    assert certify(task.task, task.images, backend) == first
