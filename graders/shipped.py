"""Files that a package of the gold image ships, although gold itself does not have them.

Whoever makes an image may remove some; reinstalling the package, an honest repair, brings them
back. Read from gold's own records, which no agent can have touched.
"""

from __future__ import annotations

import hashlib

from cligym.graders.tree import TEXT_MAX_BYTES, ImageTree, Tree, resolve
from cligym.sandboxes.entry import Entry, Kind

__all__ = ["is_copy_of_gold", "is_shipped_by_gold"]

_INFO = b"var/lib/dpkg/info/"
_PACKAGED = (b"usr/lib/", b"usr/bin/", b"usr/sbin/", b"usr/share/", b"etc/", b"lib/", b"bin/")


def is_shipped_by_gold(path: bytes, entry: Entry, *, final: Tree, gold: ImageTree) -> bool:
    """Whether a Debian package that gold has installed ships exactly this.

    A regular file has the recorded checksum; a link leads to a file of the same package that is as
    gold has it.
    """
    if not path.startswith(_PACKAGED):
        return False  # where Debian puts nothing: saves reading every package's list
    line = b"/" + path
    for record in [
        name for name in gold.manifest if name.startswith(_INFO) and name.endswith(b".list")
    ]:
        listed = set(gold.read(record).split(b"\n"))
        if line not in listed:
            continue
        if entry.kind is Kind.SYMLINK:
            target = resolve(final, path)
            return (
                target is not None
                and b"/" + target in listed
                and gold.entry(target) is not None
                and final.entry(target) == gold.entry(target)
            )
        if entry.kind is not Kind.FILE or entry.size > TEXT_MAX_BYTES:
            return False
        sums = record.removesuffix(b".list") + b".md5sums"
        if gold.entry(sums) is None:
            return False
        digest = hashlib.md5(final.read(path), usedforsecurity=False).hexdigest()
        return digest.encode() + b"  " + path in gold.read(sums).split(b"\n")
    return False


def is_copy_of_gold(path: bytes, entry: Entry, gold: ImageTree) -> bool:
    """Whether gold has a file of the same name and bytes: a backup of a healthy environment."""
    name = path.rpartition(b"/")[2]
    return entry.kind is Kind.FILE and any(
        other.rpartition(b"/")[2] == name and _digest(gold, other) == entry.digest
        for other in gold.manifest
    )


def _digest(tree: ImageTree, path: bytes) -> str:
    entry = tree.entry(path)
    return entry.digest if entry is not None and entry.kind is Kind.FILE else ""
