"""What a build needs from this machine to reach the network, and must not leave in an image.

Read from the environment when a build starts: certificates, proxies, pip's index settings, and
apt's mirrors. Files get a path below `SITE`, which exists only while a `RUN` runs.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cligym.errors import ImageError
from cligym.sandboxes.apt_mirrors import SUITES, apt_transport_options, find_mirrors

__all__ = ["SITE", "HostSettings", "apt_settings", "network_settings"]

SITE = "/.cligym-build"
"""Folder that holds this machine's files during a `RUN`; nothing below it is ever kept."""

_BUNDLE = f"{SITE}/ca-bundle.crt"
_BUNDLE_VARIABLES = (
    "SSL_CERT_FILE",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "PIP_CERT",
    "GIT_SSL_CAINFO",
    "NODE_EXTRA_CA_CERTS",
    "CARGO_HTTP_CAINFO",
)
_SYSTEM_BUNDLES = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt")
_PASSED_ON = (
    *("http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "no_proxy"),
    *("HTTP_PROXY", "HTTPS_PROXY", "FTP_PROXY", "ALL_PROXY", "NO_PROXY"),
    *("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_TRUSTED_HOST", "PIP_PROXY", "PIP_NO_INDEX"),
    *("PIP_DEFAULT_TIMEOUT", "PIP_TIMEOUT", "PIP_RETRIES", "PIP_DISABLE_PIP_VERSION_CHECK"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class HostSettings:
    """Variables, and files and folders below `SITE`, for the time of a `RUN`.

    Attributes:
        env: variables.
        files: path -> content.
        folders: path -> folder of this machine whose files are copied there.
    """

    env: Mapping[str, str]
    files: Mapping[str, bytes]
    folders: Mapping[str, Path]


def network_settings(environ: Mapping[str, str]) -> HostSettings:
    """Certificates, proxies and pip's settings of this machine.

    Args:
        environ: this process's environment.
    """
    env = {name: environ[name] for name in _PASSED_ON if environ.get(name)}
    files: dict[str, bytes] = {}
    bundle = _bundle(environ)
    if bundle is not None:
        files[_BUNDLE] = bundle
        env |= dict.fromkeys(_BUNDLE_VARIABLES, _BUNDLE)
        env["WGETRC"] = f"{SITE}/wgetrc"  # wget knows no variable for certificates
        files[env["WGETRC"]] = f"ca_certificate = {_BUNDLE}\n".encode()
    links: list[str] = []
    folders: dict[str, Path] = {}
    for number, link in enumerate(environ.get("PIP_FIND_LINKS", "").split()):
        if "://" in link and not link.startswith("file://"):
            links.append(link)
        elif (folder := Path(link.removeprefix("file://"))).is_dir():
            folders[f"{SITE}/links-{number}"] = folder
            links.append(f"{SITE}/links-{number}")
    if links:
        env["PIP_FIND_LINKS"] = " ".join(links)
    return HostSettings(env=env, files=files, folders=folders)


def apt_settings(settings: HostSettings, *, sources: bool) -> HostSettings:
    """The same with apt's settings added.

    Mirrors are named by a file (`mirror+file:`), so that the lists and caches that apt writes do
    not carry their host's name.

    Args:
        settings: what `network_settings` gave.
        sources: True for an image that has no sources of its own.
    """
    files = dict(settings.files)
    lines = [*apt_transport_options(), 'APT::Sandbox::User "root";']
    if _BUNDLE in files:
        lines = [line for line in lines if not re.search(r"::CaInfo\b|::CaPath\b", line)]
        lines.append(f'Acquire::https::CaInfo "{_BUNDLE}";')
    if sources:
        try:
            uris = find_mirrors().uris
        except ImageError:
            uris = {}  # not needed unless apt is used, which then says that it has no sources
        for part, uri in uris.items():
            files[f"{SITE}/mirrors/{part}"] = f"{uri}\n".encode()
        text = "".join(f"deb mirror+file:{SITE}/mirrors/{p} {SUITES[p]} main\n" for p in uris)
        files[f"{SITE}/sources.list"] = text.encode()
        lines.append(f'Dir::Etc::SourceList "{SITE}/sources.list";')
    files[f"{SITE}/apt.conf"] = ("\n".join(lines) + "\n").encode()
    return HostSettings(
        env={**settings.env, "APT_CONFIG": f"{SITE}/apt.conf"},
        files=files,
        folders=settings.folders,
    )


def _bundle(environ: Mapping[str, str]) -> bytes | None:
    """The certificates this machine trusts: the first bundle that can be read."""
    named = [environ[name] for name in _BUNDLE_VARIABLES if environ.get(name)]
    for path in (*named, *_SYSTEM_BUNDLES):
        try:
            if os.path.isfile(path):
                return Path(path).read_bytes()
        except OSError:
            continue
    return None
