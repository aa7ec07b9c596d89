"""A run's folder: what was asked for, one line an attempt, and resuming after a kill.

<run>/run.json         the run's identity: no port, path, clock or secret in it
<run>/episodes.jsonl   one `AttemptRecord` a line, appended as attempts end
<run>/verified.jsonl   attempts that passed `hardened`, as training rows
"""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any

from cligym.agents.records import AttemptRecord, read_records
from cligym.errors import ConfigError
from cligym.sandboxes.atomic_file import try_file_lock, write_atomically

__all__ = ["RunStore", "finished_keys", "verified_row"]


class RunStore:
    """The append-only store of one run; one process at a time, many threads.

    Args:
        folder: made when missing.
        identity: what was asked for; a run is resumed only by the same.

    Raises:
        ConfigError: the folder holds another run, or another process writes to it.
    """

    def __init__(self, folder: Path, identity: dict[str, Any]) -> None:
        self.folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
            lock = try_file_lock(folder / ".lock")
        except OSError as error:
            raise ConfigError(f"cannot use run folder {folder}: {error.strerror}") from error
        if lock is None:
            raise ConfigError(
                f"another process writes to {folder}; wait for it or use another --out"
            )
        self._lock_fd = lock
        self._lock = threading.Lock()
        self._check_identity(identity)
        self.records = self._recover()
        self._file = (folder / "episodes.jsonl").open("ab")

    def _check_identity(self, identity: dict[str, Any]) -> None:
        path = self.folder / "run.json"
        wanted = json.loads(json.dumps(identity))
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            write_atomically(path, json.dumps(wanted, indent=1, sort_keys=True).encode())
            return
        except ValueError as error:
            raise ConfigError(f"{path} is damaged; use another --out") from error
        changed = sorted(k for k in {*found, *wanted} if found.get(k) != wanted.get(k))
        if changed:
            raise ConfigError(
                f"{self.folder} holds a run with other settings ({', '.join(changed)} differ); "
                "use another --out, or the same settings to resume it"
            )

    def _recover(self) -> dict[tuple[str, str, int], AttemptRecord]:
        """What an earlier process finished; a torn line and infra errors are run again."""
        path = self.folder / "episodes.jsonl"
        if not path.exists():
            return {}
        kept = {r.key: r for r in read_records(path) if r.infra_error is None}
        lines = b"".join(record.to_line() for record in kept.values())
        if lines != path.read_bytes():
            write_atomically(path, lines)
        return kept

    def add(self, record: AttemptRecord) -> None:
        """Appends a record; on disk when this returns."""
        with self._lock:
            self._file.write(record.to_line())
            self._file.flush()
            os.fsync(self._file.fileno())
            self.records[record.key] = record

    def write_verified(self) -> int:
        """Writes `verified.jsonl` in the order of attempts; how many rows."""
        rows = [
            verified_row(self.records[key])
            for key in sorted(self.records)
            if self.records[key].passed
            and (self.records[key].grader or {}).get("name") == "hardened"
        ]
        text = "".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows)
        write_atomically(self.folder / "verified.jsonl", text.encode())
        return len(rows)

    def close(self) -> None:
        """Closes the files and lets the folder go; idempotent."""
        if self._lock_fd >= 0:
            self._file.close()
            os.close(self._lock_fd)
            self._lock_fd = -1


_VERIFIED_FIELDS = (
    "schema_version",
    "task_id",
    "task_digest",
    "repository",
    "licence",
    "split",
    "attempt",
    "seed",
    "agent",
    "model",
    "grader",
    "passed",
    "reward",
    "messages",
    "tools",
    "chat_template_kwargs",
    "tokens",
    "token_turns",
    "chat_template_sha256",
    "end_reason",
)


def verified_row(record: AttemptRecord) -> dict[str, Any]:
    """The training row of an attempt: a TRL conversation with its tools, licence and verdict."""
    value = record.model_dump()
    return {name: value[name] for name in _VERIFIED_FIELDS} | {"commands": len(record.commands)}


def finished_keys(folder: Path) -> set[tuple[str, str, int]]:
    """Attempts that a run folder holds already, for a progress bar; empty when there is none."""
    path = folder / "episodes.jsonl"
    if not path.exists():
        return set()
    return {record.key for record in read_records(path) if record.infra_error is None}
