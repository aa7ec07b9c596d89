"""Both back ends give the same change set for the same commands on the same image."""

from __future__ import annotations

from typing import Any

import pytest

from cligym.sandboxes.base import SandboxSpec
from cligym.sandboxes.docker import DockerBackend
from cligym.sandboxes.entry import ChangeSet
from cligym.sandboxes.image import Image
from cligym.sandboxes.namespace import NamespaceBackend
from cligym.tasks.images import build_task_images
from cligym.tasks.load import load_tasks

pytestmark = [pytest.mark.docker, pytest.mark.userns, pytest.mark.xdist_group("docker")]

_COMMANDS = """
rm -r /etc/apt /var/lib/dpkg/info; mkdir /etc/apt; echo new > /etc/apt/sources.list
rm /etc/motd; ln -s nowhere /etc/motd; rm /etc/issue; mkdir /etc/issue; touch /etc/group
mkfifo -m 600 /root/fifo; mkdir -p /root/a/b/c; chown -R 5:6 /root/a; chmod 4755 /usr/bin/true
ln /etc/passwd /root/link; echo x >> /root/link; touch /root/$'x\\ny' /tmp/t /run/r
mv /usr/share/perl5 /usr/share/p5; rm /bin; ln -s usr/bin /bin; chmod 600 /etc/hosts
""".strip().splitlines()


def _changes(backend: Any, image: Image, commands: list[str]) -> ChangeSet:
    with backend.start(SandboxSpec(image=image)) as box:
        for command in commands:
            box.run(command, timeout_s=120)
        with box.capture() as capture:
            assert not capture.oversized
            changes = capture.changes
            assert isinstance(changes, ChangeSet)
            return changes


def test_the_same_commands_leave_the_same_changes(
    backend: NamespaceBackend, docker_backend: DockerBackend, base_image: Image
) -> None:
    ours = _changes(backend, base_image, _COMMANDS)
    theirs = _changes(docker_backend, base_image, _COMMANDS)
    assert ours.to_json() == theirs.to_json()
    assert ours.digest == theirs.digest


@pytest.mark.slow
@pytest.mark.parametrize("task", load_tasks("starter"), ids=lambda task: str(task.task_id))
def test_a_starter_task_is_the_same_on_both(
    backend: NamespaceBackend, docker_backend: DockerBackend, task: Any
) -> None:
    damaged = build_task_images(task, backend).damaged
    commands = [task.oracle or "true"]
    ours = _changes(backend, damaged, commands)
    theirs = _changes(docker_backend, damaged, commands)
    assert ours
    assert ours.to_json() == theirs.to_json()
