"""The Debian mirrors that this machine's apt is set up for, as far as they carry Debian itself."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cligym.errors import ImageError

__all__ = ["SUITES", "AptMirrors", "apt_transport_options", "find_mirrors"]

SUITES = {"main": "bookworm", "updates": "bookworm-updates", "security": "bookworm-security"}
"""What a mirror is for -> the suite that is taken from it."""

_CODENAMES = "bullseye|bookworm|trixie|forky|sid|stable|oldstable|testing|unstable"
_SUITE = re.compile(rf"(?:{_CODENAMES})(?P<part>-updates|-security|/updates)?/?")
_PARTS = {None: "main", "-updates": "updates", "-security": "security", "/updates": "security"}
_ONE_LINE = re.compile(r"\s*deb\s+(?:\[[^]]*\]\s+)?(?P<uri>\S+)\s+(?P<suite>\S+)\s+(?P<rest>.*)")
_TRANSPORT = re.compile(r'^Acquire::(?:http|https|ftp|socks5h|Retries)\S*\s+"[^"]*";$')


@dataclass(frozen=True, slots=True, kw_only=True)
class AptMirrors:
    """Where Debian comes from.

    Attributes:
        uris: part (a key of `SUITES`) -> URI; "main" is always there.
    """

    uris: dict[str, str]

    def lines(self) -> list[str]:
        """The sources in the one-line format."""
        return [f"deb {uri} {SUITES[part]} main" for part, uri in self.uris.items()]


def find_mirrors(apt: Path = Path("/etc/apt")) -> AptMirrors:
    """Reads the sources that apt is configured with.

    A machine with another release of Debian will do: its archive holds this release as well.

    Raises:
        ImageError: no source is one of Debian's main archive.
    """
    found: dict[str, str] = {}
    for path in [apt / "sources.list", *sorted((apt / "sources.list.d").glob("*"))]:
        try:
            text = path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        pairs = _deb822(text) if path.suffix == ".sources" else _one_line(text)
        for uri, suite in pairs:
            match = _SUITE.fullmatch(suite)
            if match is not None and uri.startswith(("http://", "https://")):
                found.setdefault(_PARTS[match["part"]], uri.rstrip("/"))
    if "main" not in found:
        raise ImageError(
            f"no Debian mirror is configured under {apt}; add one (a line `deb URI bookworm main`) "
            "or import an image archive instead"
        )
    return AptMirrors(uris={part: found[part] for part in SUITES if part in found})


def apt_transport_options() -> list[str]:
    """Proxies, certificates and retries from apt's configuration, one statement each."""
    if shutil.which("apt-config") is None:
        return []
    done = subprocess.run(
        ["apt-config", "dump"], capture_output=True, text=True, check=False, timeout=30
    )
    return [line for line in done.stdout.splitlines() if _TRANSPORT.match(line)]


def _one_line(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        match = _ONE_LINE.match(line.partition("#")[0])
        if match is not None and "main" in match["rest"].split():
            yield match["uri"], match["suite"]


def _deb822(text: str) -> Iterator[tuple[str, str]]:
    clean = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    for stanza in re.split(r"\n\s*\n", clean):
        fields: dict[str, str] = {}
        for line in re.sub(r"\n[ \t]+", " ", stanza).splitlines():
            name, colon, value = line.partition(":")
            if colon:
                fields[name.strip().lower()] = value.strip()
        enabled = fields.get("enabled", "yes").lower() not in ("no", "false", "0")
        binary = "deb" in fields.get("types", "").split()
        if enabled and binary and "main" in fields.get("components", "").split():
            for uri in fields.get("uris", "").split():
                for suite in fields.get("suites", "").split():
                    yield uri, suite
