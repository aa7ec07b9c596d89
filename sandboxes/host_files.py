"""Files that belong to the engine: /etc/hosts, /etc/hostname and /etc/resolv.conf of a box."""

from __future__ import annotations

from pathlib import Path

__all__ = ["episode_files"]

_HOSTS = "127.0.0.1\tlocalhost sandbox\n::1\tlocalhost ip6-localhost ip6-loopback\n"


def episode_files(*, network: bool) -> dict[str, str]:
    """Path -> text; with `network` (builds only) the host's own names and resolver."""
    files = {"/etc/hosts": _HOSTS, "/etc/hostname": "sandbox\n", "/etc/resolv.conf": ""}
    if network:
        files["/etc/resolv.conf"] = _read("/etc/resolv.conf")
        files["/etc/hosts"] = _HOSTS + _read("/etc/hosts")
    return files


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
