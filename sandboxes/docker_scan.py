"""Reads a stopped container's upper folder, in a process of its own (the walk changes folders).

Started by `docker_capture.py` as `python -I -S`; prints the scan as JSON and writes the tree as a
tar stream. Standard library and sibling modules only.
"""

from __future__ import annotations

import json
import os
import sys

from cligym.sandboxes.entry import encode_path
from cligym.sandboxes.tree_scan import ScanLimits, TreeScan, scan_tree
from cligym.sandboxes.tree_tar import pack_tar

__all__ = ["main"]

_ENGINE_FOLDERS = (b"dev/", b"proc/", b"sys/")
_ENGINE_FILES = (b"dev", b"proc", b"sys", b".dockerenv")
_INIT = (b"sbin/docker-init", b"usr/sbin/docker-init")
"""Where the engine's init is mounted: an empty file of the engine's making."""


def main(upper: str, tar_fd: str, limits: str) -> None:
    """Scans, packs and prints."""
    root = os.open(upper, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    scan = scan_tree(root, ScanLimits(**json.loads(limits)), mark="trusted.overlay.")
    _forget_the_engines(scan)
    if any(os.path.basename(path).startswith(b".wh.") for path in scan.changed):
        scan.oversized = scan.oversized or "a name that begins with .wh., which no layer can hold"
    if not scan.oversized:
        with open(int(tar_fd), "wb") as stream:
            pack_tar(scan, root, stream)
    value = {
        "changed": [[encode_path(path), entry.to_json()] for path, entry in scan.changed.items()],
        "whiteouts": [encode_path(path) for path in scan.whiteouts],
        "opaque": [encode_path(path) for path in scan.opaque],
        "oversized": scan.oversized,
    }
    json.dump(value, sys.stdout, separators=(",", ":"))


def _forget_the_engines(scan: TreeScan) -> None:
    def ours(path: bytes) -> bool:
        entry = scan.changed.get(path)
        if path in _INIT and entry is not None and entry.size == 0:
            return False
        return path not in _ENGINE_FILES and not path.startswith(_ENGINE_FOLDERS)

    scan.changed = {path: entry for path, entry in scan.changed.items() if ours(path)}
    scan.whiteouts = {path for path in scan.whiteouts if ours(path)}
    scan.opaque = {path for path in scan.opaque if ours(path)}
