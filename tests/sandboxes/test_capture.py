"""Capture and replay: what changed, exactly, and the same state again from it."""

from __future__ import annotations

import platform
from typing import Any

import pytest

from cligym.errors import SandboxError
from cligym.sandboxes.base import SandboxSpec
from cligym.sandboxes.entry import ChangeSet, Entry, Kind
from cligym.sandboxes.image import Image
from cligym.sandboxes.namespace import NamespaceBackend
from tests.sandboxes.contract import Boxes, output

_SETXATTR = {"x86_64": 188, "aarch64": 5}.get(platform.machine(), 188)
_PERL_SETXATTR = (
    "setx() { perl -e '($p, $n, $v) = @ARGV; $v = pack q(H*), $v; "
    f'syscall({_SETXATTR}, $p, $n, $v, length $v, 0) == 0 or die qq($!)\' "$@"; }}\n'
)
# Everything about a root that a change set holds, read by a box about itself.
_DESCRIBE = (
    "cd /; find . -xdev -path ./root/scratch -prune -o -printf '%p %y %m %U %G %l ' "
    "\\( -type f -exec sha256sum -b {} \\; -o -printf '\\n' \\) | "
    "grep -v '^./proc\\|^./sys\\|^./dev'"
)


def changes_of(box: Any, *commands: str) -> ChangeSet:
    """Runs commands, which must work, and captures."""
    for command in commands:
        result = box.run(command, timeout_s=60)
        assert result.exit_code == 0, (command, result.output)
    with box.capture() as capture:
        assert not capture.oversized
        changes = capture.changes
        assert isinstance(changes, ChangeSet)
        return changes


def test_nothing_done_is_no_change(box: Any) -> None:
    assert not changes_of(
        box, "cat /etc/passwd > /dev/null; ls -R /etc > /dev/null; echo > /dev/null"
    )


@pytest.mark.parametrize(
    "command",
    [
        "touch /etc/passwd",
        "cp -p /etc/passwd /tmp/p; cat /tmp/p > /etc/passwd; rm /tmp/p",
        "chmod 600 /etc/passwd; chmod 644 /etc/passwd",
        "mv /etc/passwd /etc/x; mv /etc/x /etc/passwd",
        "touch /etc/new; rm /etc/new",
        "touch -d 2001-01-01 /etc",
        "mkdir /root/x; rmdir /root/x",
        "echo >> /etc/hosts; echo x > /etc/hostname; echo > /etc/resolv.conf",
        "touch /dev/shm/x; mkdir /dev/shm/y",
        "mv /etc/apt /etc/apt2; mv /etc/apt2 /etc/apt",
        "cp -a /etc/apt /tmp/apt; rm -r /etc/apt; cp -a /tmp/apt /etc/; rm -r /tmp/apt",
    ],
)
def test_what_ends_as_it_was_is_no_change(box: Any, command: str) -> None:
    changes = changes_of(box, command)
    assert not changes, changes.to_json()


def test_new_changed_and_deleted_files(box: Any) -> None:
    changes = changes_of(
        box, "printf new > /root/new; printf x >> /etc/motd; rm /etc/issue; chmod 640 /etc/group"
    )
    assert set(changes.changed) == {b"root/new", b"etc/motd", b"etc/group"}
    assert changes.deleted == {b"etc/issue"}
    new = changes.changed[b"root/new"]
    assert (new.kind, new.mode, new.uid, new.gid, new.size) == (Kind.FILE, 0o644, 0, 0, 3)
    assert new.digest == "11507a0e2f5e69d5dfa40a62a1bd7b6ee57e6bcd85c67c9b8431b36fff21c437"
    assert changes.changed[b"etc/group"].mode == 0o640


def test_a_deleted_folder_is_every_path_below_it(boxes: Boxes, box: Any) -> None:
    with boxes.start() as other:
        listing = output(other, "cd /; find etc/apt")
    assert changes_of(box, "rm -r /etc/apt") == ChangeSet(
        {}, frozenset(line.encode() for line in listing.splitlines())
    )


def test_an_opaque_folder_is_expanded(boxes: Boxes, box: Any) -> None:
    with boxes.start() as other:
        below = output(other, "cd /; find etc/apt -mindepth 1").encode().split()
    changes = changes_of(box, "rm -r /etc/apt; mkdir -m 755 /etc/apt; touch /etc/apt/new")
    assert set(changes.changed) == {b"etc/apt/new"}
    assert changes.deleted == frozenset(below)


def test_a_moved_folder_is_deletions_and_additions(box: Any) -> None:
    changes = changes_of(box, "mv /etc/apt /etc/moved; touch /etc/moved/new")
    assert b"etc/apt" in changes.deleted and b"etc/apt/trusted.gpg.d" in changes.deleted
    assert changes.changed[b"etc/moved"].kind is Kind.DIRECTORY
    assert b"etc/moved/trusted.gpg.d" in changes.changed and b"etc/moved/new" in changes.changed


def test_kinds_flip(box: Any) -> None:
    changes = changes_of(
        box,
        "rm /etc/motd; ln -s ../nowhere /etc/motd",
        "rm /etc/issue; mkdir /etc/issue; touch /etc/issue/x",
        "rm -r /etc/apt; echo file > /etc/apt",
        "rm -r /etc/dpkg; ln -s apt /etc/dpkg; mkfifo /root/fifo; mkdir /root/empty",
    )
    changed = changes.changed
    assert changed[b"etc/motd"] == Entry(Kind.SYMLINK, 0o777, target=b"../nowhere")
    assert changed[b"etc/issue"].kind is Kind.DIRECTORY and b"etc/issue/x" in changed
    assert changed[b"etc/apt"].kind is Kind.FILE and b"etc/apt/trusted.gpg.d" in changes.deleted
    assert changed[b"etc/dpkg"].kind is Kind.SYMLINK and b"etc/dpkg/origins" in changes.deleted
    assert changed[b"root/fifo"] == Entry(Kind.FIFO, 0o644)
    assert changed[b"root/empty"] == Entry(Kind.DIRECTORY, 0o755)


def test_a_symlink_to_a_folder_replaced_and_followed(box: Any) -> None:
    changes = changes_of(box, "rm /bin; ln -s usr/sbin /bin; /usr/bin/touch /lib/new")
    assert changes.changed[b"bin"] == Entry(Kind.SYMLINK, 0o777, target=b"usr/sbin")
    assert set(changes.changed) == {b"bin", b"usr/lib/new"}


def test_owners_modes_and_special_bits(box: Any) -> None:
    changes = changes_of(
        box,
        "touch /root/a; chown 12:34 /root/a; chmod 6755 /root/a; mkdir -m 1777 /root/d",
        "chown 1000:1000 /etc/motd; chown -h 7:8 /etc/os-release; chmod u+s /etc/group",
    )
    assert (changes.changed[b"root/a"].uid, changes.changed[b"root/a"].gid) == (12, 34)
    assert changes.changed[b"root/a"].mode == 0o6755
    assert changes.changed[b"root/d"].mode == 0o1777
    assert changes.changed[b"etc/motd"].uid == 1000
    assert changes.changed[b"etc/os-release"].uid == 7
    assert changes.changed[b"etc/group"].mode == 0o4644


def test_attributes_and_capabilities(box: Any) -> None:
    capability = "0100000200200000000000000000000000000000"
    changes = changes_of(
        box,
        "touch /root/a /root/b",
        f"{_PERL_SETXATTR} setx /root/a user.note 00ff0a",
        f"{_PERL_SETXATTR} setx /root/b security.capability {capability}",
    )
    assert changes.changed[b"root/a"].xattrs == (("user.note", b"\0\xff\n"),)
    assert changes.changed[b"root/b"].xattrs == (
        ("security.capability", bytes.fromhex(capability)),
    )


@pytest.mark.parametrize("mark", ["opaque", "whiteout", "redirect", "metacopy", "origin", "upper"])
def test_marks_of_overlayfs_cannot_be_forged(boxes: Boxes, box: Any, mark: str) -> None:
    value = {"opaque": "79", "redirect": "2f657463"}.get(mark, "79")
    box.run("mkdir /root/d; touch /root/f", timeout_s=20)
    for path in ("/etc/apt", "/etc/motd", "/root/d", "/root/f"):
        box.run(f"{_PERL_SETXATTR} setx {path} user.overlay.{mark} {value}")
        box.run(f"{_PERL_SETXATTR} setx {path} trusted.overlay.{mark} {value}")
        box.run(f"{_PERL_SETXATTR} setx {path} user.overlay.overlay.{mark} {value}")
    inside = output(box, "ls /etc/apt; cat /etc/motd; ls -d /root/d /root/f")
    with box.capture() as capture:
        assert not capture.changes.deleted
        with boxes.start(overlays=(capture,)) as again:
            assert output(again, "ls /etc/apt; cat /etc/motd; ls -d /root/d /root/f") == inside


def test_device_nodes_and_whiteouts_cannot_be_made(box: Any) -> None:
    script = "for n in 'c 0 0' 'c 1 3' 'b 8 0' 'c 5 1'; do mknod /root/n $n && rm /root/n; done"
    assert not changes_of(box, f"{script}; mknod /etc/motd2 c 0 0; true").deleted


def test_hard_links(box: Any) -> None:
    changes = changes_of(box, "ln /etc/passwd /root/link; echo x >> /root/link")
    assert changes.changed[b"root/link"] == changes.changed[b"etc/passwd"]


def test_names_are_bytes(boxes: Boxes, box: Any) -> None:
    names = [b"a\nb", b"\xff\xfe", b"-rf", b" ", b"a'b\"c", b"\x1b[31m", b"$(touch x)", b"x" * 255]
    names += ["é".encode(), b"...", b"\\", b"*"]
    if boxes.name != "docker":  # there such a name is a mark: the capture is refused
        names += [b".wh.x", b".wh..wh..opq"]
    for name in names:
        text = "".join(f"\\x{byte:02x}" for byte in name)
        assert box.run(f"mkdir -p /root/n; touch -- \"/root/n/$(printf '{text}')\"").exit_code == 0
    changes = changes_of(box, "true")
    assert {path.removeprefix(b"root/n/") for path in changes.changed} == {*names, b"root/n"}


def test_a_sparse_file_is_read_by_extents(boxes: Boxes, box: Any) -> None:
    if boxes.name == "docker":
        pytest.xfail("layers of Docker hold no holes: such a file is oversized there")
    changes = changes_of(box, "truncate -s 4G /root/s; echo end >> /root/s")
    assert changes.changed[b"root/s"].size == 4 * 1024**3 + 4


_EVERYTHING = [
    "rm -r /etc/apt /var/lib/dpkg/info; mkdir /etc/apt; echo new > /etc/apt/sources.list",
    "mv /usr/share/zoneinfo /usr/share/zi || mv /usr/share/perl5 /usr/share/p5; true",
    "rm /etc/motd; ln -s nowhere /etc/motd; rm /etc/issue; mkdir /etc/issue",
    "mkfifo -m 600 /root/fifo; mkdir -p /root/a/b/c; touch /root/a/b/c/$'x\\ny' /tmp/t",
    "chown -R 5:6 /root/a; chmod 4755 /usr/bin/true; ln /etc/passwd /root/l; echo x >> /root/l",
    "rm -r /usr/games /media; mkdir /media; rm /bin; ln -s usr/bin /bin",
]


def _describe(box: Any) -> str:
    result = box.run(
        f"({_DESCRIBE}) > /dev/shm/all; sort /dev/shm/all | sha256sum; wc -l < /dev/shm/all",
        timeout_s=120,
    )
    assert result.exit_code == 0 and not result.timed_out
    return str(result.output.decode())


def test_replay_is_the_same_state(boxes: Boxes, box: Any) -> None:
    for command in _EVERYTHING:
        box.run(command, timeout_s=60)
    inside = _describe(box)
    with box.capture() as capture, boxes.start(overlays=(capture,)) as again:
        assert _describe(again) == inside
        assert not changes_of(again, "true")


def test_captures_stack(boxes: Boxes, box: Any) -> None:
    box.run("echo 1 > /root/a; echo 1 > /root/b; rm /etc/motd")
    with box.capture() as first:
        with boxes.start(overlays=(first,)) as second:
            changes = changes_of(second, "echo 2 > /root/b; rm /root/a; echo 2 > /etc/motd")
            assert set(changes.changed) == {b"root/b", b"etc/motd"}
            assert changes.deleted == {b"root/a"}


def test_subset_keeps_only_its_paths(boxes: Boxes, box: Any) -> None:
    box.run("echo 1 > /root/a; echo 1 > /root/b; rm -r /etc/apt; rm /etc/motd; echo x > /etc/issue")
    with box.capture() as capture:
        wanted = [b"root/a", *(p for p in capture.changes.deleted if p.startswith(b"etc/apt"))]
        with capture.subset(wanted) as part, boxes.start(overlays=(part,)) as again:
            assert set(part.changes.changed) == {b"root/a"}
            assert all(path.startswith(b"etc/apt") for path in part.changes.deleted)
            assert output(again, "ls /root /etc/apt 2>&1; ls /etc/motd") == (
                "ls: cannot access '/etc/apt': No such file or directory\n/root:\na\n/etc/motd\n"
            )


def test_subset_spares_a_folder_whose_content_stays(boxes: Boxes, box: Any) -> None:
    box.run("rm -r /etc/apt")
    with box.capture() as capture, capture.subset([b"etc/apt", b"etc/apt/sources.list.d"]) as part:
        assert b"etc/apt" not in part.changes.deleted
        with boxes.start(overlays=(part,)) as again:
            assert "trusted.gpg.d" in output(again, "ls /etc/apt")


def test_read(box: Any) -> None:
    box.run("echo secret > /root/a; ln -s /etc/shadow /root/link; mkfifo /root/fifo; mkdir /root/d")
    with box.capture() as capture:
        assert capture.read(b"root/a") == b"secret\n"
        for path in (b"root/link", b"root/fifo", b"root/d", b"root/none", b"../etc/passwd", b""):
            with pytest.raises(SandboxError):
                capture.read(path)
        with pytest.raises(SandboxError):
            capture.read(b"root/a", limit_bytes=3)


def test_a_name_that_layers_take_for_a_mark_is_refused_or_kept(boxes: Boxes, box: Any) -> None:
    box.run("echo x > /etc/.wh.motd")
    with box.capture() as capture:
        if boxes.name == "docker":
            assert ".wh." in capture.oversized
            return
        with boxes.start(overlays=(capture,)) as again:
            assert output(again, "cat /etc/.wh.motd; ls /etc/motd") == "x\n/etc/motd\n"


def test_an_oversized_capture_is_not_replayed(boxes: Boxes, box: Any) -> None:
    box.run("truncate -s 1T /root/x")
    with box.capture() as capture, pytest.raises(SandboxError, match="oversized"):
        boxes.start(overlays=(capture,))


@pytest.mark.userns
def test_files_of_an_image_as_an_overlay(backend: NamespaceBackend, base_image: Image) -> None:
    with backend.start(SandboxSpec(image=base_image)) as box:
        box.run("echo damaged > /etc/motd; rm /etc/issue; echo extra > /etc/extra")
        with box.capture() as capture:
            damaged = backend.store.commit(base_image, capture.release(), capture.changes)
    assert backend.read_file(damaged, b"etc/motd") == b"damaged\n"
    overlay = backend.overlay_from_image(
        base_image, [b"etc/motd", b"etc/issue"], over=damaged, deleted=[b"etc/extra"]
    )
    with overlay, backend.start(SandboxSpec(image=damaged, overlays=(overlay,))) as box:
        assert "damaged" not in output(box, "cat /etc/motd")
        assert output(box, "ls /etc/issue /etc/extra 2>/dev/null") == "/etc/issue\n"
    with pytest.raises(SandboxError):
        backend.read_file(damaged, b"etc/issue")
