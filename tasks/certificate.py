"""A task's executed admission: what was tried on its images, and what came out.

A certificate is keyed by image digests, never by Dockerfile text, and frozen: the graders read the
damage set, the test ids and their expected outcomes from it. `cligym.graders.certify` writes it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, PlainValidator

from cligym.errors import TaskError
from cligym.sandboxes.atomic_file import write_atomically

__all__ = ["Certificate", "CertifiedTests", "DamageRecord", "Problem", "certificate_path"]

_SHORT = 16


def _raw_text(value: object) -> str:
    """Any text, lone surrogates included: they stand for bytes of paths that are no UTF-8."""
    if not isinstance(value, str):
        raise ValueError("not a text")
    return value


RawText = Annotated[str, PlainValidator(_raw_text)]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Problem(_Model):
    """Why a task is not usable, or not proven."""

    kind: str
    """`gold-fails`, `vacuous`, `no-residue`, `oracle-fails`, `wrong-passes` …"""
    detail: RawText


class DamageRecord(_Model):
    """One path of the damage set."""

    path: RawText
    """As `encode_path` gives it, without a leading slash."""
    damage_class: str
    """A `cligym.graders.damage.DamageClass`."""
    gold: list[Any] | None
    """`Entry.to_json`, or None when the damage added the path."""
    damaged: list[Any] | None
    """`Entry.to_json`, or None when the damage deleted the path."""
    detail: RawText = ""


class CertifiedTests(_Model):
    """How the tests are run, and how they come out on gold."""

    interpreter: str
    """Absolute path of the Python that runs pytest."""
    program: str
    """Absolute path of gold's `pytest` script: what `sys.argv[0]` says to the tests."""
    python_version: str
    cache_tag: str
    pytest_version: str
    arguments: list[RawText]
    """After `pytest`: options, then ids as the task names them."""
    rootdir: str
    configuration: str
    """Absolute path of gold's configuration file; "" when gold has none."""
    workdir: str
    env: dict[RawText, RawText]
    """What gold's image and gold's own activation give, with the fixed list on top."""
    outcomes: dict[RawText, str]
    """Id -> outcome, the exact set that must come out again."""
    exit_code: int
    seconds: float
    """Wall time of gold's slower run."""


class Certificate(_Model):
    """What is known about one task on one pair of images."""

    schema_version: Literal[1] = 1
    grader_version: str
    task_id: str
    task_digest: str
    gold_digest: str
    damaged_digest: str
    status: Literal["refused", "usable", "proven"]
    problems: list[Problem] = []
    damage: list[DamageRecord] = []
    oracle_left: dict[RawText, list[Any] | None] = {}
    """Where a certified oracle left something else than gold's state: path -> entry."""
    damage_in_env: list[str] = []
    """Variables of the image configuration that the damage changed: no agent can mend those."""
    tests: CertifiedTests | None = None
    flake_rate: float = 0.0
    """Share of gold runs whose outcomes were not those of the first."""
    checks: dict[str, bool] = {}
    """Name of each executed check -> how it came out."""
    seconds: float = 0.0

    @property
    def usable(self) -> bool:
        """Whether attempts on this task may be rewarded."""
        return self.status != "refused"

    @staticmethod
    def load(path: Path) -> Certificate | None:
        """The certificate at `path`, or None when there is none.

        Raises:
            TaskError: the file is no certificate of this schema.
        """
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        try:
            return Certificate.model_validate(json.loads(text))
        except ValueError as error:
            raise TaskError(
                f"{path.name} is no certificate of this version; delete it to certify again"
            ) from error

    def save(self, path: Path) -> None:
        """Writes it whole or not at all."""
        path.parent.mkdir(parents=True, exist_ok=True)
        # Not pydantic's own writer: it refuses lone surrogates, which JSON can escape.
        write_atomically(path, json.dumps(self.model_dump(), indent=1).encode())


def certificate_path(
    home: Path, *, gold_digest: str, damaged_digest: str, task_digest: str
) -> Path:
    """Where the certificate of these images and this task lies under `CLIGYM_HOME`."""
    parts = [d.rpartition(":")[2][:_SHORT] for d in (gold_digest, damaged_digest, task_digest)]
    return home / "certificates" / ("-".join(parts) + ".json")
