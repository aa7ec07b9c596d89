"""The journal of a run: every answer and every judgement, one JSON line each, append-only.

A run that was killed goes on where its journal ends; `rejudge` reads the answers of one and judges
them again. Lines of infra errors are kept but never reused: what failed on our side is tried again.
"""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any

from cligym.errors import ConfigError
from cligym.sandboxes.atomic_file import try_file_lock, write_atomically

__all__ = ["Journal", "read_lines"]


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The JSON objects of a file of lines; a torn last line is passed over.

    Raises:
        ConfigError: another line is broken.
    """
    if not path.exists():
        return []
    lines = [line for line in path.read_bytes().split(b"\n") if line.strip()]
    values: list[dict[str, Any]] = []
    for number, line in enumerate(lines, start=1):
        try:
            value = json.loads(line)
        except ValueError as error:
            if number == len(lines):
                return values
            raise ConfigError(f"{path}, line {number}: not a JSON line") from error
        if not isinstance(value, dict):
            raise ConfigError(f"{path}, line {number}: not a JSON object")
        values.append(value)
    return values


class Journal:
    """The files of one run's folder; one process at a time, many threads.

    Args:
        folder: made when missing.
        identity: what was asked for; only the same may go on here.

    Raises:
        ConfigError: another process writes here, or the folder holds another run.
    """

    def __init__(self, folder: Path, identity: dict[str, Any]) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        lock = try_file_lock(folder / ".lock")
        if lock is None:
            raise ConfigError(f"another process writes to {folder}; use another --out")
        self._lock_fd = lock
        self._lock = threading.Lock()
        try:
            self._check(identity)
            self.path = folder / "journal.jsonl"
            lines = read_lines(self.path)
        except BaseException:
            os.close(lock)
            raise
        self.entries = {line["key"]: line for line in lines if line.get("error") is None}
        _cut_torn_line(self.path)
        self._file = self.path.open("ab")

    def _check(self, identity: dict[str, Any]) -> None:
        path = self.folder / "run.json"
        wanted = json.loads(json.dumps(identity))
        if not path.exists():
            write_atomically(path, json.dumps(wanted, indent=1, sort_keys=True).encode())
            return
        found = json.loads(path.read_text(encoding="utf-8"))
        changed = sorted(key for key in {*found, *wanted} if found.get(key) != wanted.get(key))
        if changed:
            raise ConfigError(
                f"{self.folder} holds a run with other settings ({', '.join(changed)} differ); "
                "use another --out, or the same settings to resume it"
            )

    def add(self, entry: dict[str, Any]) -> None:
        """Appends an entry (it has a `key`); on disk when this returns."""
        line = json.dumps(entry, separators=(",", ":")).encode() + b"\n"
        with self._lock:
            self._file.write(line)
            self._file.flush()
            os.fsync(self._file.fileno())
            if entry.get("error") is None:
                self.entries[entry["key"]] = entry

    def get(self, key: str) -> dict[str, Any] | None:
        """The entry of a key, or None."""
        with self._lock:
            return self.entries.get(key)

    def close(self) -> None:
        """Closes the file and lets the folder go; idempotent."""
        if self._lock_fd >= 0:
            self._file.close()
            os.close(self._lock_fd)
            self._lock_fd = -1


def _cut_torn_line(path: Path) -> None:
    """What a kill left of a line is cut off, so that the next line starts on its own."""
    if not path.exists():
        return
    data = path.read_bytes()
    end = data.rfind(b"\n") + 1
    if end != len(data):
        os.truncate(path, end)
