"""The base image: what is in it, what is not, and what is said when it cannot be made."""

from __future__ import annotations

from pathlib import Path

import pytest

from cligym.errors import ImageError
from cligym.sandboxes import apt_mirrors, base_image
from cligym.sandboxes.apt_mirrors import find_mirrors
from cligym.sandboxes.base import SandboxSpec
from cligym.sandboxes.entry import Kind
from cligym.sandboxes.image import Image
from cligym.sandboxes.namespace import NamespaceBackend

pytestmark = pytest.mark.userns


def test_it_is_a_merged_usr_debian(backend: NamespaceBackend, base_image: Image) -> None:
    root = backend.store.manifest(base_image)
    assert root[b"bin"].target == b"usr/bin"
    assert root[b"usr/bin/apt-get"].kind is Kind.FILE
    assert root[b"usr/bin/su"].mode == 0o4755
    assert root[b"tmp"].mode == 0o1777
    release = backend.read_file(base_image, b"usr/lib/os-release")
    assert b"VERSION_CODENAME=bookworm" in release
    assert b"var/lib/dpkg/info/perl-base.list" in root
    assert b"var/lib/dpkg/info/perl.list" not in root  # usrmerge would have brought it


def test_it_is_slim(backend: NamespaceBackend, base_image: Image) -> None:
    assert sum(backend.store.size(layer) for layer in base_image.layers) < 90_000_000
    manuals = [path for path in backend.store.manifest(base_image) if b"share/man/man" in path]
    assert manuals == []


def test_nothing_of_this_site_is_in_it(backend: NamespaceBackend, base_image: Image) -> None:
    root = backend.store.manifest(base_image)
    assert b"etc/apt/sources.list" not in root
    assert [path for path in root if path.startswith(b"etc/apt/sources.list.d/")] == []
    assert [path for path in root if b"_dists_" in path] == []
    assert {root[b"etc/hostname"].size, root[b"etc/resolv.conf"].size} == {0}
    hosts = [uri.split("/")[2] for uri in find_mirrors().uris.values()]
    patterns = [word for host in hosts for word in ("-e", host)]
    with backend.start(SandboxSpec(image=base_image)) as sandbox:
        argv = ["grep", "-rFl", *patterns, "/etc", "/var", "/root"]
        result = sandbox.execute(argv, env=dict(base_image.config.env))
    assert (result.exit_code, result.output) == (1, b"")


def test_missing_mmdebstrap_is_one_clear_line(
    backend: NamespaceBackend, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ImageError, match="install mmdebstrap"):
        base_image.base(backend.store, "debian:other")
    assert "debian:other" not in backend.store.tags()


def test_unreachable_mirror_is_one_clear_line(
    backend: NamespaceBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    mirrors = apt_mirrors.AptMirrors(uris={"main": "http://127.0.0.1:9/debian"})
    monkeypatch.setattr(base_image, "find_mirrors", lambda: mirrors)
    with pytest.raises(ImageError, match="mmdebstrap failed") as caught:
        base_image.base(backend.store, "debian:other")
    assert "\n" not in str(caught.value)
    assert "debian:other" not in backend.store.tags()
