"""What a box cannot see, reach or do; docs/threat-model.md names the test of each line."""

from __future__ import annotations

import os
import platform
import socket
import subprocess
import tarfile
import threading
from pathlib import Path
from typing import Any

import pytest

from cligym.sandboxes.base import SandboxSpec
from cligym.sandboxes.image import Image
from cligym.sandboxes.namespace import NamespaceBackend
from tests.sandboxes.contract import Boxes, output

_DOCKER_CAPABILITIES = 0x00000000A80425FB
_X86 = platform.machine() == "x86_64"


_ENGINE_ALLOWS = {  # what a container of Docker 20.10 may, beyond ours (docs/threat-model.md)
    "mknod /root/x b 8 0",  # but not open it
    "mkdir /sys/fs/cgroup/x",
    "echo 0 > /proc/1/oom_score_adj",
    "io_uring_setup",
    "vsock",
}


def _only_namespace(boxes: Boxes, reason: str) -> None:
    if boxes.name == "docker":
        pytest.xfail(f"a container of Docker: {reason}")


def _status(box: Any) -> dict[str, str]:
    lines = output(box, "cat /proc/self/status").splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def _host_pid_of(box: Any, marker: str) -> int:
    """Host pid of a process of the box with `marker` in its arguments."""
    box.run(f"sleep {marker} & sleep 0.1")
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if path.read_bytes() == f"sleep\0{marker}\0".encode():
                return int(path.parent.name)
        except OSError:
            continue
    raise AssertionError("not found on the host")


def test_root_of_a_box_is_not_root_of_the_host(boxes: Boxes, box: Any) -> None:
    _only_namespace(boxes, "its root is the host's root")
    assert output(box, "id -u") == "0\n"
    pid = _host_pid_of(box, "7771")
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    ids = next(line for line in lines if line.startswith("Uid:")).split()[1:]
    assert "0" not in ids
    assert str(os.getuid()) not in ids


def test_no_capability_beyond_dockers_default(box: Any) -> None:
    status = _status(box)
    for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert int(status[name], 16) & ~_DOCKER_CAPABILITIES == 0, name
    assert int(status["CapEff"], 16) == _DOCKER_CAPABILITIES


def test_no_new_privileges_and_a_seccomp_filter(box: Any) -> None:
    status = _status(box)
    assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2")


def test_a_setuid_program_gives_nothing(box: Any) -> None:
    box.run("cp /usr/bin/id /tmp/id; chmod 4755 /tmp/id")
    result = box.execute(["/tmp/id", "-u"], env={}, user="nobody")
    assert result.output == b"65534\n"


@pytest.mark.parametrize(
    "command",
    [
        "unshare -U true",
        "unshare -Ur true",
        "unshare -m true",
        "unshare -n true",
        "unshare -p true",
        "unshare -i true",
        "unshare -u true",
        "unshare -C true",
        "unshare -Urm sh -c 'mount -t tmpfs x /mnt'",
        "mount -t tmpfs x /mnt",
        "mount --bind /etc /mnt",
        "mount -o remount,rw /proc/sys",
        "mount -t proc x /mnt",
        "umount /proc",
        "umount -l /dev",
        "nsenter -t 1 -m true",
        "nsenter -t $$ -n true",
        "hostname other",
        "mknod /root/x b 8 0",
        "dmesg",
        "swapon /dev/zero",
        "echo 1 > /proc/sys/kernel/panic",
        "echo b > /proc/sysrq-trigger",
        "echo core > /proc/sys/kernel/core_pattern",
        "echo x > /sys/kernel/uevent_helper",
        "mkdir /sys/fs/cgroup/x",
        "date -s 2001-01-01",
        "ulimit -c unlimited && test $(ulimit -c) = unlimited",
        "nice -n -5 true 2>&1 | grep -q . && false",
        "chroot / mount -t tmpfs x /mnt",
        "cat /proc/kcore",
        "cat /proc/1/environ",
        "cat /proc/1/maps",
        "ls /proc/1/fd/",
        "ls /proc/1/root/",
        "readlink /proc/1/exe",
        "readlink /proc/1/cwd",
        "echo 0 > /proc/1/oom_score_adj",
    ],
)
def test_what_a_box_may_not_do(boxes: Boxes, box: Any, command: str) -> None:
    if command in _ENGINE_ALLOWS or "/proc/1/" in command:
        _only_namespace(boxes, "it may")
    assert box.run(command).exit_code not in (0, None)


_SYSCALLS = {  # x86_64 numbers
    "unshare": (272, "0x10000000"),
    "setns": (308, "0, 0"),
    "clone newuser": (56, "0x10000011, 0, 0, 0, 0"),
    "clone newns": (56, "0x20011, 0, 0, 0, 0"),
    "clone3": (435, "0, 0"),
    "mount": (165, "0, 0, 0, 0, 0"),
    "move_mount": (429, "0, 0, 0, 0, 0"),
    "fsopen": (430, "0, 0"),
    "open_tree": (428, "0, 0, 0"),
    "pivot_root": (155, "0, 0"),
    "bpf": (321, "0, 0, 0"),
    "keyctl": (250, "0, 0, 0, 0, 0"),
    "add_key": (248, "0, 0, 0, 0, 0"),
    "perf_event_open": (298, "0, 0, 0, 0, 0"),
    "userfaultfd": (323, "0"),
    "io_uring_setup": (425, "1, 0"),
    "open_by_handle_at": (304, "0, 0, 0"),
    "init_module": (175, "0, 0, 0"),
    "kexec_load": (246, "0, 0, 0, 0"),
    "reboot": (169, "0, 0, 0, 0"),
    "vsock": (41, "40, 1, 0"),
    "unknown": (999, "0"),
}


@pytest.mark.skipif(not _X86, reason="system calls by their x86_64 numbers")
@pytest.mark.parametrize("name", _SYSCALLS)
def test_system_calls_that_are_refused(boxes: Boxes, box: Any, name: str) -> None:
    if name in _ENGINE_ALLOWS:
        _only_namespace(boxes, "it may")
    number, arguments = _SYSCALLS[name]
    code = f"$r = syscall({number}, {arguments}); print $r, q( ), $!+0"
    result, _, error = output(box, f"perl -e '{code}'").partition(" ")
    assert result == "-1"
    assert int(error) in (1, 38)  # EPERM, ENOSYS


def test_ordinary_work_is_possible(box: Any) -> None:
    work = (
        "su nobody -s /bin/sh -c 'id -u'; chown 1:1 /tmp; stat -c %u:%g /tmp; chroot / /bin/true;"
        "perl -e 'use threads; print 1' 2>/dev/null; mkfifo /tmp/f && echo fifo;"
        "nice -n 5 echo nice; kill -0 $$ && echo kill; setpriv --reuid 3 --clear-groups id -u;"
        "echo 'print 6*7' | perl; (ulimit -n 64; echo limit); id -G nobody"
    )
    text = output(box, work).replace("1fifo", "fifo")
    assert text == "65534\n1:1\nfifo\nnice\nkill\n3\n42limit\n65534\n"


def test_network_is_a_loopback_of_its_own(box: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert box.run(f"exec 3<>/dev/tcp/127.0.0.1/{port}").exit_code != 0
    assert output(box, "ls /sys/class/net") == "lo\n"
    assert box.run("exec 3<>/dev/tcp/1.1.1.1/53", timeout_s=10).exit_code != 0
    assert output(box, "tail -n +2 /proc/net/route | wc -l") == "0\n"
    listen = (
        "use Socket; socket(S, PF_INET, SOCK_STREAM, 0); bind(S, sockaddr_in(99, INADDR_LOOPBACK))"
        " or die; listen(S, 1); system(qw(bash -c), q(exec 3<>/dev/tcp/127.0.0.1/99 && echo in))"
    )
    assert output(box, f"perl -e '{listen}'") == "in\n"


def test_abstract_sockets_of_the_host_are_out_of_reach(box: Any) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        name = f"cligym-test-{os.getpid()}"
        server.bind(f"\0{name}")
        server.listen()
        server.settimeout(2)
        accepted: list[object] = []

        def accept() -> None:
            try:
                accepted.append(server.accept())
            except TimeoutError:
                pass

        thread = threading.Thread(target=accept)
        thread.start()
        code = (
            "use Socket; socket(S, PF_UNIX, SOCK_STREAM, 0) or die;"
            f'connect(S, pack("S a*", 1, qq(\\0{name}))) and print "in"'
        )
        assert "in" not in output(box, f"perl -e '{code}'")
        thread.join()
        assert not accepted


def test_nothing_of_the_host_is_visible(boxes: Boxes, box: Any) -> None:
    _only_namespace(boxes, "its mounts show where the engine keeps it")
    everything = output(
        box,
        "cat /proc/[0-9]*/mountinfo /proc/mounts /proc/self/cgroup /proc/[0-9]*/cmdline "
        "/proc/[0-9]*/comm /proc/[0-9]*/status /proc/self/uid_map; env; set; hostname; "
        "ls -la /proc/self/fd /proc/[0-9]*/cwd /proc/[0-9]*/exe /proc/[0-9]*/root",
    )
    words = [str(Path.home()), str(Path(__file__).parents[2]), socket.gethostname(), "cligym"]
    words += ["/tmp/", "pytest", "python", "keeper"]
    assert not [word for word in words if word in everything and word != "/root"]


def test_no_variable_of_the_host_gets_in(boxes: Boxes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLIGYM_TEST_SECRET", "s3cr3t")
    with boxes.start() as box:
        assert "s3cr3t" not in output(box, "env; cat /proc/[0-9]*/environ 2>/dev/null")
        assert "s3cr3t" not in str(box.execute(["/usr/bin/env"], env={}).output)


def test_processes_of_the_host_are_invisible(box: Any) -> None:
    pids = output(box, "ls /proc | grep '^[0-9]' | wc -l")
    assert int(pids) <= 6
    assert box.run(f"kill -0 {os.getpid()}").exit_code != 0 or os.getpid() < 10


def test_devices_are_the_harmless_ones(box: Any) -> None:
    names = output(box, "cd /dev; find . -type b -o -type c | sort").split()
    allowed = {"null", "zero", "full", "random", "urandom", "tty", "ptmx", "console"}
    assert {Path(name).name for name in names} <= allowed
    assert box.run("echo x > /dev/null && head -c 3 /dev/zero | wc -c").output == b"3\n"
    assert box.run("head -c 3 /dev/urandom | wc -c").output == b"3\n"


def test_sys_and_proc_settings_are_read_only(box: Any) -> None:
    mounts = [line.split() for line in output(box, "cat /proc/self/mounts").splitlines()]
    options = {fields[1]: fields[3].split(",") for fields in mounts}
    for path in ("/sys", "/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus"):
        if path in options:
            assert "ro" in options[path], path
    assert "nosuid" in options["/proc"] and "nodev" in options["/proc"]
    assert output(box, "find /proc/sys -type f -writable 2>/dev/null") == ""


def test_links_left_behind_lead_nowhere_outside(boxes: Boxes, box: Any, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("s3cr3t")
    for path in (tmp_path, *list(tmp_path.parents)[:3]):
        path.chmod(0o755)
    box.run(f"rm -rf /etc/apt; ln -s {tmp_path} /etc/apt; ln -s {secret} /root/a; ln -s / /root/r")
    box.run(
        "rm /etc/hosts /etc/resolv.conf; ln -s /proc/1/root/etc /root/up; ln -s ../../.. /root/u"
    )
    box.run("mkdir /root/d; rm -rf /srv; ln -s /root/../../../.. /srv")
    with box.capture() as capture:
        assert capture.changes.changed[b"root/a"].target == str(secret).encode()
        assert not any(b"secret" in path for path in capture.changes.changed)
        with boxes.start(overlays=(capture,)) as again:
            assert "s3cr3t" not in output(again, "cat /etc/apt/secret /root/a /root/r/etc/hostname")
        with (
            capture.subset([b"etc/apt", b"root/a"]) as part,
            boxes.start(overlays=(part,)) as again,
        ):
            assert "s3cr3t" not in output(again, "cat /etc/apt/secret /root/a")
    assert secret.read_text() == "s3cr3t"


@pytest.mark.userns
def test_an_image_with_links_at_our_mount_points(
    backend: NamespaceBackend, base_image: Image, tmp_path: Path
) -> None:
    archive = tmp_path / "links.tar"
    with tarfile.open(archive, "w") as tar:
        for name in ("etc", "proc", "dev", "sys"):
            member = tarfile.TarInfo(name)
            member.type, member.linkname = tarfile.SYMTYPE, "/tmp"
            tar.addfile(member)
    with open(archive, "rb") as file:
        layer = backend.store.layers.take_root(file)
    image = Image(layers=(*base_image.layers, layer))
    with backend.start(SandboxSpec(image=image)) as box:
        assert output(box, "readlink /etc; cat /tmp/hostname") == "/tmp\nsandbox\n"
        assert "/tmp" not in output(box, "readlink /proc /dev /sys; ls /proc/self/")
    assert not Path("/tmp/hostname").exists()


def test_files_on_the_host_belong_to_no_account_of_the_host(boxes: Boxes, box: Any) -> None:
    _only_namespace(boxes, "its root is the host's root")
    box.run("touch /root/marker-7772; chmod 4777 /root/marker-7772")
    listing = subprocess.run(
        ["find", "/tmp", "-name", "marker-7772", "-printf", "%U\\n"],
        capture_output=True,
        text=True,
        check=False,
    )
    for line in listing.stdout.split():
        assert int(line) >= 65536
