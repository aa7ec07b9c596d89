"""The base image `debian:bookworm-slim`, made once with mmdebstrap from this machine's mirror.

Like the image of that name: the essential packages and apt, no manuals, documentation or
translations, nothing started by package scripts. Nothing of this site is left in it: no mirror, no
resolver, no host name, no proxy; builds bring those along (`build_site.py`).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from cligym.errors import ImageError
from cligym.sandboxes.apt_mirrors import apt_transport_options, find_mirrors
from cligym.sandboxes.atomic_file import file_lock
from cligym.sandboxes.image import Image
from cligym.sandboxes.store import ImageStore

__all__ = ["BASE_NAME", "base"]

BASE_NAME = "debian:bookworm-slim"

_TIMEOUT_S = 1800.0
_MERGED_USR = Path("/usr/share/mmdebstrap/hooks/merged-usr")
_EXCLUDED = ("doc/*", "man/*", "info/*", "groff/*", "lintian/*", "linda/*", "locale/*")
_INCLUDED = ("doc/*/copyright", "locale/locale.alias")

# Runs on the finished folder ("$1"), before mmdebstrap's own cleaning (package lists, /run, /tmp).
# Never empty "$1/tmp" here: mmdebstrap keeps its apt configuration there, and without it the next
# apt-get would work on this machine's own lists.
_FINISH = r"""
set -eu
cd "$1"
rm -f etc/apt/apt.conf.d/99mmdebstrap etc/apt/sources.list
mv etc/dpkg/dpkg.cfg.d/99mmdebstrap etc/dpkg/dpkg.cfg.d/docker-slim
printf '%s\n' 'APT::Keep-Downloaded-Packages "false";' \
  'Binary::apt::APT::Keep-Downloaded-Packages "false";' \
  'Dir::Cache::pkgcache "";' 'Dir::Cache::srcpkgcache "";' 'Acquire::Languages "none";' \
  'DPkg::Post-Invoke { "rm -f /var/cache/apt/archives/*.deb /var/cache/apt/*.bin || true"; };' \
  > etc/apt/apt.conf.d/docker-slim
printf '#!/bin/sh\nexit 101\n' > usr/sbin/policy-rc.d
chmod 755 usr/sbin/policy-rc.d
: > etc/resolv.conf
: > etc/hostname
: > etc/machine-id
printf '127.0.0.1\tlocalhost\n' > etc/hosts
rm -rf var/cache/debconf/*-old var/lib/dpkg/*-old var/cache/apt/*.bin
rm -rf var/cache/apt/archives/*.deb var/log/apt/* var/log/*.log var/cache/ldconfig/aux-cache
rm -rf usr/share/doc-base/*
find usr/share/locale -mindepth 1 -maxdepth 1 -type d -exec rm -rf {} +
"""


def base(store: ImageStore, name: str = BASE_NAME) -> Image:
    """The base image; made now (about a minute) when the store does not have it.

    Raises:
        ImageError: mmdebstrap is missing or failed, or apt has no Debian mirror.
    """
    with file_lock(store.root / "base.lock"):  # others wait for the first instead of doing it too
        if name not in store.tags():
            with tempfile.TemporaryFile() as archive, store.building():
                _bootstrap(archive.fileno())
                layer = store.layers.take_root(archive)
                store.tag(Image(layers=(layer,)), name)
        return store.get(name)


def _bootstrap(output_fd: int) -> None:
    program = shutil.which("mmdebstrap")
    if program is None:
        raise ImageError("mmdebstrap is missing; install it (Debian: apt-get install mmdebstrap)")
    mirrors = find_mirrors()
    with tempfile.TemporaryDirectory(prefix="cligym-base-") as folder:
        hook = Path(folder) / "finish"
        hook.write_text(f"#!/bin/sh\n{_FINISH}", encoding="utf-8")
        hook.chmod(0o755)
        Path(folder).chmod(0o755)
        with open(Path(folder) / "log", "w+b") as log:
            done = subprocess.run(
                [program, *_options(hook), "bookworm", "-", *mirrors.lines()],
                stdin=subprocess.DEVNULL,
                stdout=output_fd,
                stderr=log,
                env={**os.environ, "LC_ALL": "C.UTF-8", "SOURCE_DATE_EPOCH": "1700000000"},
                timeout=_TIMEOUT_S,
                check=False,
            )
            log.seek(0)
            text = log.read().decode("utf-8", "replace")
    if done.returncode != 0:
        raise ImageError(f"mmdebstrap failed ({done.returncode}): {_reason(text)}")


def _options(hook: Path) -> list[str]:
    options = ["--variant=minbase", "--mode=auto", "--format=tar", "--skip=output/dev"]
    if _MERGED_USR.is_dir():  # else the package usrmerge does it, and brings all of perl
        options += [f"--hook-dir={_MERGED_USR}", "--include=usr-is-merged"]
    options += [f"--aptopt={statement}" for statement in apt_transport_options()]
    options += ['--aptopt=APT::Install-Recommends "false"']
    options += [f"--dpkgopt=path-exclude=/usr/share/{pattern}" for pattern in _EXCLUDED]
    options += [f"--dpkgopt=path-include=/usr/share/{pattern}" for pattern in _INCLUDED]
    options.append("--dpkgopt=force-unsafe-io")  # as there; a killed build leaves nothing anyway
    return [*options, f"--customize-hook={hook}"]


def _reason(log: str) -> str:
    errors = [line for line in log.splitlines() if line.startswith(("E:", "Err:", "W:"))]
    return " / ".join(errors[-3:]) or log.strip().rpartition("\n")[2]
