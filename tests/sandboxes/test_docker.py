"""What only the Docker back end has: an engine to be cleaned up after, images to be put there."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from cligym.errors import SandboxError, SandboxStartError, SandboxUnavailableError
from cligym.sandboxes.base import Limits, SandboxSpec
from cligym.sandboxes.docker import DockerBackend
from cligym.sandboxes.image import Image
from cligym.sandboxes.namespace import NamespaceBackend
from tests.sandboxes.contract import output

pytestmark = [pytest.mark.docker, pytest.mark.xdist_group("docker")]

_DRIVER = """
import sys, time
from pathlib import Path
from cligym.sandboxes.base import SandboxSpec
from cligym.sandboxes.docker import DockerBackend
from cligym.sandboxes.namespace import NamespaceBackend
source = NamespaceBackend(home=Path(sys.argv[1]))
backend = DockerBackend(source, sys.argv[2])
box = backend.start(SandboxSpec(image=source.store.get("debian:bookworm-slim")))
box.run("setsid sleep 98766 & sleep 98766 &")
print(box._container, flush=True)
box.run("sleep 98766")
"""


def _wait(until: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not until():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_a_killed_driver_takes_its_containers_along(
    docker_backend: DockerBackend, engine: str, store_home: Path
) -> None:
    driver = subprocess.Popen(
        [sys.executable, "-c", _DRIVER, str(store_home), engine], stdout=subprocess.PIPE, text=True
    )
    assert driver.stdout is not None
    container = driver.stdout.readline().strip()
    api = docker_backend.api
    assert api.inspect_container(container)["State"]["Running"]
    driver.kill()
    driver.wait()
    driver.stdout.close()
    _wait(lambda: not api.inspect_container(container)["State"]["Running"])
    listing = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
    assert "sleep 98766" not in listing.stdout
    docker_backend.reap()
    assert container not in {row["Id"] for row in api.containers(all=True)}


def test_reaping_spares_the_boxes_of_living_drivers(
    docker_backend: DockerBackend, base_image: Image
) -> None:
    with docker_backend.start(SandboxSpec(image=base_image)) as box:
        docker_backend.reap()
        assert output(box, "echo here") == "here\n"


def test_nothing_stays_in_the_engine(docker_backend: DockerBackend, base_image: Image) -> None:
    api = docker_backend.api
    with docker_backend.start(SandboxSpec(image=base_image)) as box:
        box.run("echo x > /root/a")
        before = {row["Id"] for row in api.images()}
        with box.capture() as capture:
            over = SandboxSpec(image=base_image, overlays=(capture,))
            with docker_backend.start(over) as again:
                assert output(again, "cat /root/a") == "x\n"
    assert {row["Id"] for row in api.images()} == before
    assert not api.containers(all=True, filters={"label": "cligym"})


def test_limits_and_safety_options_reach_the_engine(
    docker_backend: DockerBackend, base_image: Image
) -> None:
    limits = Limits(memory_bytes=300 << 20, pids=77, cpus=1.5)
    with docker_backend.start(SandboxSpec(image=base_image, limits=limits)) as box:
        found = docker_backend.api.inspect_container(box._container)
    host = found["HostConfig"]
    assert (host["Memory"], host["MemorySwap"], host["PidsLimit"]) == (300 << 20, 300 << 20, 77)
    assert host["NanoCpus"] == 1_500_000_000
    assert host["NetworkMode"] == "none" and host["Init"] is True
    assert host["SecurityOpt"] == ["no-new-privileges"]
    assert not host["Privileged"] and not host["CapAdd"] and not host["Binds"]


def test_spawn_relays_the_standard_descriptors(
    docker_backend: DockerBackend, base_image: Image
) -> None:
    with docker_backend.start(SandboxSpec(image=base_image)) as box:
        in_read, in_write = os.pipe()
        out_read, out_write = os.pipe()
        process = box.spawn(["/usr/bin/tr", "a-z", "A-Z"], env={}, fds={0: in_read, 1: out_write})
        os.close(in_read)
        os.close(out_write)
        os.write(in_write, b"hello\n")
        os.close(in_write)
        with open(out_read, "rb") as answer:
            assert answer.read() == b"HELLO\n"
        assert process.wait(10) == 0
        sleeper = box.spawn(["/bin/sleep", "1000"], env={}, fds={})
        assert sleeper.wait(0.1) is None
        sleeper.kill()
        assert sleeper.wait(10) == 137
        with pytest.raises(SandboxError, match="descriptors 0 to 2"):
            box.spawn(["/bin/true"], env={}, fds={7: 1})


def test_files_of_an_image_as_an_overlay(
    docker_backend: DockerBackend, backend: NamespaceBackend, base_image: Image
) -> None:
    with backend.start(SandboxSpec(image=base_image)) as box:
        box.run("echo damaged > /etc/motd; echo extra > /etc/extra")
        with box.capture() as capture:
            damaged = backend.store.commit(base_image, capture.release(), capture.changes)
    overlay = docker_backend.overlay_from_image(
        base_image, [b"etc/motd"], over=damaged, deleted=[b"etc/extra"]
    )
    with overlay, docker_backend.start(SandboxSpec(image=damaged, overlays=(overlay,))) as box2:
        assert "damaged" not in output(box2, "cat /etc/motd; ls /etc/extra 2>&1 | head -c 3")


def test_captures_of_another_back_end_are_refused(
    docker_backend: DockerBackend, backend: NamespaceBackend, base_image: Image
) -> None:
    with backend.start(SandboxSpec(image=base_image)) as box, box.capture() as capture:
        with pytest.raises(SandboxStartError, match="another back end"):
            docker_backend.start(SandboxSpec(image=base_image, overlays=(capture,)))


def test_no_engine_is_one_clear_line(backend: NamespaceBackend, tmp_path: Path) -> None:
    with pytest.raises(SandboxUnavailableError) as caught:
        DockerBackend(backend, f"unix://{tmp_path}/none")
    assert "no Docker engine answers" in str(caught.value)
    assert "\n" not in str(caught.value)
