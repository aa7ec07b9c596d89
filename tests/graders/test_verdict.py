"""The JSON form of a verdict, and of a certificate with names that are no UTF-8."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cligym.errors import TaskError
from cligym.graders.damage import Damage, DamageClass
from cligym.graders.prepared import damage_from_records, damage_records
from cligym.graders.verdict import Reason, State, StateRun, Verdict, shown
from cligym.sandboxes.entry import Entry, Kind
from cligym.tasks.certificate import Certificate, certificate_path


def test_documented_keys() -> None:
    run = StateRun(state=State.REPAIRED, ran=True, passed=False, tests={"a": "failed"}, seconds=1.5)
    reason = Reason(class_="residue", path=shown(b"etc/\xff"), detail="still there")
    verdict = Verdict(
        grader="hardened",
        version="1",
        passed=False,
        reasons=(reason,),
        runs=(run, StateRun(state=State.AS_LEFT, ran=False)),
        seconds={"total": 2.0},
    )
    found = json.loads(json.dumps(verdict.to_json()))
    assert found["reasons"] == [
        {"class": "residue", "path": "/etc/\udcff", "detail": "still there"}
    ]
    assert (found["passed"], found["reward"], found["grader"]) == (False, 0.0, "hardened")
    assert found["tests"] == {"a": "failed"}
    assert found["seconds"] == {"total": 2.0}


def damage() -> Damage:
    entry = Entry(kind=Kind.SYMLINK, mode=0o777, target=b"\xfe")
    return Damage(path=b"etc/\xff", class_=DamageClass.REQUIRED, gold=entry, damaged=None)


def test_a_certificate_survives_the_disk(tmp_path: Path) -> None:
    certificate = Certificate(
        grader_version="1",
        task_id="t",
        task_digest="sha256:1",
        gold_digest="sha256:2",
        damaged_digest="sha256:3",
        status="usable",
        damage=damage_records([damage()]),
        oracle_left={"etc/\udcff": None},
    )
    path = certificate_path(
        tmp_path, gold_digest="sha256:" + "2" * 64, damaged_digest="b", task_digest="c"
    )
    certificate.save(path)
    found = Certificate.load(path)
    assert found == certificate
    assert found is not None and damage_from_records(found.damage) == (damage(),)
    assert Certificate.load(tmp_path / "none.json") is None


@pytest.mark.parametrize("text", ["", "{", "{}", '{"schema_version": 99}'])
def test_a_foreign_file_is_no_certificate(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(TaskError, match="delete it"):
        Certificate.load(path)
