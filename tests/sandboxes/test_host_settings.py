"""What a build takes from this machine: mirrors, certificates, proxies, pip's settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from cligym.errors import ImageError
from cligym.sandboxes.apt_mirrors import find_mirrors
from cligym.sandboxes.host_settings import SITE, apt_settings, network_settings

DEB822 = """\
# a comment
Types: deb deb-src
URIs: http://mirror.example/debian/
Suites: bookworm bookworm-updates
Components: main contrib

Types: deb
URIs: http://off.example/debian-security
Suites: bookworm-security
Components: main
Enabled: no

Types: deb
URIs:
 https://sec.example/debian-security
Suites: bookworm-security
Components: main

Types: deb
URIs: https://tool.example/apt
Suites: nodistro
Components: main
"""


@pytest.fixture
def apt(tmp_path: Path) -> Path:
    (tmp_path / "sources.list.d").mkdir()
    return tmp_path


def test_deb822_sources(apt: Path) -> None:
    (apt / "sources.list.d/debian.sources").write_text(DEB822)
    assert find_mirrors(apt).uris == {
        "main": "http://mirror.example/debian",
        "updates": "http://mirror.example/debian",
        "security": "https://sec.example/debian-security",
    }


def test_one_line_sources_of_another_release(apt: Path) -> None:
    (apt / "sources.list").write_text(
        "# deb http://commented.example/debian bookworm main\n"
        "deb-src http://source.example/debian trixie main\n"
        "deb http://third.example/apt cloud-sdk-bookworm main\n"
        "deb [arch=amd64 signed-by=/k.gpg] http://mirror.example/debian trixie main\n"
    )
    mirrors = find_mirrors(apt)
    assert mirrors.lines() == ["deb http://mirror.example/debian bookworm main"]


def test_no_mirror_is_one_clear_line(apt: Path) -> None:
    (apt / "sources.list").write_text("deb http://x.example/ubuntu jammy main\n")
    with pytest.raises(ImageError, match="no Debian mirror") as caught:
        find_mirrors(apt)
    assert "\n" not in str(caught.value)


def test_certificates_are_read_and_their_variables_point_inside(tmp_path: Path) -> None:
    bundle = tmp_path / "site-ca.pem"
    bundle.write_text("certificate")
    settings = network_settings({"REQUESTS_CA_BUNDLE": str(bundle), "SSL_CERT_FILE": "/none"})
    assert settings.files[f"{SITE}/ca-bundle.crt"] == b"certificate"
    assert f"{SITE}/ca-bundle.crt" in settings.files[settings.env["WGETRC"]].decode()
    assert settings.env["SSL_CERT_FILE"] == settings.env["PIP_CERT"] == f"{SITE}/ca-bundle.crt"
    assert str(tmp_path) not in str(settings.env)


def test_only_listed_variables_pass(tmp_path: Path) -> None:
    settings = network_settings(
        {
            "https_proxy": "http://proxy.example",
            "PIP_INDEX_URL": "http://index.example",
            "PIP_TARGET": "/elsewhere",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "HOME": "/home/me",
            "PIP_FIND_LINKS": f"{tmp_path} https://links.example/x",
        }
    )
    passed = {k: v for k, v in settings.env.items() if SITE not in v or k == "PIP_FIND_LINKS"}
    assert passed == {
        "https_proxy": "http://proxy.example",
        "PIP_INDEX_URL": "http://index.example",
        "PIP_FIND_LINKS": f"{SITE}/links-0 https://links.example/x",
    }
    assert settings.folders == {f"{SITE}/links-0": tmp_path}


def test_images_with_sources_keep_them() -> None:
    settings = apt_settings(network_settings({}), sources=False)
    assert b"SourceList" not in settings.files[f"{SITE}/apt.conf"]
    assert not any("mirrors" in path for path in settings.files)
