"""Faults outside the box leave an attempt unscored; the agent's doings never do (FIELD.md, 15)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest

from cligym.errors import CLIGymError, GraderError, SandboxError
from cligym.graders.grade import grade, run_script
from cligym.sandboxes.base import CaptureLimits, ExecResult, SandboxSpec
from cligym.sandboxes.namespace import NamespaceBackend, NamespaceSandbox

pytestmark = pytest.mark.userns

DAMAGE = "sed -i 's/100 - percent/100 + percent/' /testbed/workshop/core.py"
REPAIR = "sed -i 's/100 + percent/(100 - percent)/' /testbed/workshop/core.py"
"""Equal as a program, not as bytes: the tests have to run."""


class _Killed(NamespaceSandbox):
    """A box whose supervisor is gone by the time that something runs in it."""

    def execute(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: str = "/",
        user: str = "",
        timeout_s: float = 300.0,
        channel: bool = False,
        output_limit_bytes: int = 1 << 20,
    ) -> ExecResult:
        self.close()
        return super().execute(argv, env=env, timeout_s=timeout_s, channel=channel)


class _KillingBackend(NamespaceBackend):
    def start(self, spec: SandboxSpec) -> NamespaceSandbox:
        sandbox = super().start(spec)
        sandbox.__class__ = _Killed
        return sandbox


def test_a_box_that_dies_while_grading_is_an_infra_error(
    broken: Callable[..., Any], backend: NamespaceBackend
) -> None:
    task = broken(DAMAGE)
    killing = _KillingBackend(home=backend.store.root.parent)
    with killing:
        capture = run_script(task.images, killing, REPAIR)
        with pytest.raises(SandboxError):
            grade(task.task, task.images, task.certificate, capture, killing)
    assert task.verdict(REPAIR).passed  # the attempt itself was fine


def test_a_run_past_its_limit_is_a_failure_unless_gold_is_as_slow(
    broken: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    task = broken(DAMAGE)
    slow = f"{REPAIR}; echo 'import time; time.sleep(30)' >> /testbed/workshop/__init__.py"
    monkeypatch.setattr("cligym.graders.pytest_run.TIME_FLOOR_S", 10.0)
    monkeypatch.setattr("cligym.graders.pytest_run.TIME_FACTOR", 0.0)
    verdict = task.verdict(slow)
    assert {reason.class_ for reason in verdict.reasons} == {"timeout"}
    monkeypatch.setattr("cligym.graders.pytest_run.TIME_FLOOR_S", 0.05)
    with pytest.raises(GraderError, match="gold image ran past"):
        task.verdict(REPAIR)


def test_a_destroyed_box_is_graded_as_it_stands(broken: Callable[..., Any]) -> None:
    task = broken(DAMAGE)
    assert not task.verdict("kill -9 -1").passed
    assert task.verdict(f"{REPAIR}; kill -9 -1; kill -9 $PPID").passed


def test_tests_that_end_their_box_fail(broken: Callable[..., Any]) -> None:
    end = "echo 'import os; os.kill(-1, 9)' >> /testbed/workshop/__init__.py"
    verdict = broken(DAMAGE).verdict(f"{REPAIR}; {end}")
    assert not verdict.passed
    assert {reason.class_ for reason in verdict.reasons} == {"tests"}


def test_an_oversized_change_set_is_a_failed_attempt(
    broken: Callable[..., Any], backend: NamespaceBackend
) -> None:
    task = broken(DAMAGE)
    sandbox = backend.start(SandboxSpec(image=task.images.damaged))
    sandbox.run(f"{REPAIR}; mkdir /many; cd /many; touch $(seq 1 200)")
    with sandbox.capture(CaptureLimits(files=100)) as capture:
        names = ("dataset", "published", "hardened")
        verdicts = grade(task.task, task.images, task.certificate, capture, backend, graders=names)
    assert [verdict.passed for verdict in verdicts] == [False] * 3
    assert {verdict.reasons[0].class_ for verdict in verdicts} == {"oversized"}


@pytest.mark.parametrize("missing", ["certificate", "other images", "refused"])
def test_without_a_fitting_certificate_there_is_no_verdict(
    broken: Callable[..., Any], backend: NamespaceBackend, missing: str
) -> None:
    task = broken(DAMAGE)
    certificate = {
        "certificate": None,
        "other images": task.certificate.model_copy(update={"gold_digest": "sha256:0"}),
        "refused": task.certificate.model_copy(update={"status": "refused"}),
    }[missing]
    with closing(run_script(task.images, backend, "true")) as capture, pytest.raises(GraderError):
        grade(task.task, task.images, certificate, capture, backend)


def test_a_lost_image_is_an_infra_error(
    broken: Callable[..., Any], backend: NamespaceBackend
) -> None:
    task = broken(DAMAGE)
    gone = replace(task.images.damaged, layers=(*task.images.damaged.layers, "sha256:" + "0" * 64))
    images = replace(task.images, damaged=gone)
    certificate = task.certificate.model_copy(update={"damaged_digest": gone.digest})
    with closing(run_script(task.images, backend, REPAIR)) as capture, pytest.raises(CLIGymError):
        grade(task.task, images, certificate, capture, backend)
