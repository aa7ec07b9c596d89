"""The folder that `COPY` takes its files from; nothing outside it is ever read.

Links inside the context are copied as links. A path that leads through a link, or out of the
folder, is refused.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cligym.errors import BuildError
from cligym.sandboxes.dockerignore import DockerIgnore, pattern_regex
from cligym.sandboxes.entry import Entry, Kind

__all__ = ["BuildContext", "Source"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One path that a `COPY` names.

    Attributes:
        name: its path in the context, "" for the context itself.
        entry: type, mode and link target (owners are `COPY`'s business).
        path: where it is on this machine.
    """

    name: str
    entry: Entry
    path: Path


class BuildContext:
    """A context folder.

    Args:
        folder: the folder, or None for an empty context.

    Raises:
        BuildError: there is no such folder.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = None if folder is None else Path(os.path.realpath(folder))
        self._ignore = DockerIgnore()
        if self._folder is not None:
            if not self._folder.is_dir():
                raise BuildError(f"build context {folder} is not a folder")
            rules = self._folder / ".dockerignore"
            if rules.is_file() and not rules.is_symlink():
                self._ignore = DockerIgnore(rules.read_text(encoding="utf-8", errors="replace"))

    def find(self, pattern: str) -> list[Source]:
        """What a source argument names, sorted; [] when nothing matches.

        Raises:
            BuildError: the path leaves the context or leads through a link.
        """
        parts = [part for part in pattern.split("/") if part not in ("", ".")]
        if ".." in parts:
            raise BuildError(f"source {pattern!r} leads out of the build context")
        if self._folder is None:
            return []
        self._refuse_links(parts)
        names = [""]
        for part in parts:
            names = [found for name in names for found in self._matching(name, part)]
        return [self._source(name) for name in names if not name or not self._hidden(name)]

    def below(self, source: Source) -> Iterator[Source]:
        """Everything inside a folder of the context, parents before children."""
        names = [source.name]
        while names:
            name = names.pop()
            for child in reversed(self._children(name)):
                found = self._source(child)
                is_folder = found.entry.kind is Kind.DIRECTORY
                if is_folder:
                    names.append(child)
                if not self._ignore.ignores(child):
                    yield found

    def _refuse_links(self, parts: list[str]) -> None:
        """A folder that is named, not matched, must not be a link."""
        name = ""
        for part in parts[:-1]:
            name = f"{name}/{part}" if name else part
            if self._on_disk(name).is_symlink():
                raise BuildError(f"source {name!r} is a link; it is not followed")

    def _hidden(self, name: str) -> bool:
        """Ignored, and (for a folder) with nothing let back in."""
        if not self._ignore.ignores(name):
            return False
        found = self._source(name)
        return found.entry.kind is not Kind.DIRECTORY or not any(self.below(found))

    def _matching(self, name: str, part: str) -> list[str]:
        folder = self._on_disk(name)
        if folder.is_symlink() or not folder.is_dir():
            return []  # a pattern does not match through links
        wanted = pattern_regex(part)
        return [child for child in self._children(name) if wanted.fullmatch(child.split("/")[-1])]

    def _children(self, name: str) -> list[str]:
        prefix = f"{name}/" if name else ""
        return sorted(prefix + child for child in os.listdir(self._on_disk(name)))

    def _on_disk(self, name: str) -> Path:
        assert self._folder is not None  # an empty context has no names
        return self._folder / name

    def _source(self, name: str) -> Source:
        path = self._on_disk(name)
        status = path.lstat()
        if stat.S_ISLNK(status.st_mode):
            entry = Entry(kind=Kind.SYMLINK, mode=0o777, target=os.fsencode(os.readlink(path)))
        elif stat.S_ISDIR(status.st_mode):
            entry = Entry(kind=Kind.DIRECTORY, mode=stat.S_IMODE(status.st_mode))
        elif stat.S_ISREG(status.st_mode):
            entry = Entry(kind=Kind.FILE, mode=stat.S_IMODE(status.st_mode))
        else:
            raise BuildError(f"source {name!r} is neither file, folder nor link")
        return Source(name=name, entry=entry, path=path)
