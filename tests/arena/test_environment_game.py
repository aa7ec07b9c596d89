"""The worked example: scripted players break and repair a small image."""

from __future__ import annotations

import re

import pytest

from cligym.arena.environment_game import (
    EnvironmentAttack,
    EnvironmentDefence,
    EnvironmentRound,
    RoundOutcome,
    play_environment_round,
)
from cligym.sandboxes.build import build
from cligym.sandboxes.namespace import NamespaceBackend
from cligym.tasks.images import starter_gold

pytestmark = pytest.mark.userns

NAME = "cligym-test/environment-game:1"
GOLD = """FROM cligym/base:1
RUN mkdir -p /testbed/tests
RUN cat > /testbed/maths.py <<'EOF'
def add(a, b):
    return a + b


def twice(a):
    return 2 * a
EOF
RUN cat > /testbed/tests/test_maths.py <<'EOF'
import sys
sys.path.insert(0, "/testbed")
import maths


def test_add():
    assert maths.add(2, 3) == 5


def test_twice():
    assert maths.twice(4) == 8
EOF
RUN cp /testbed/maths.py /opt/maths-backup.py
"""
TESTS = ("tests/test_maths.py::test_add", "tests/test_maths.py::test_twice")
BREAK = "sed -i 's/a + b/a - b/' /testbed/maths.py"


@pytest.fixture(scope="module")
def gold(backend: NamespaceBackend) -> str:
    starter_gold("cligym/base:1", backend)
    backend.store.tag(build(GOLD, backend), NAME)
    return NAME


def play(
    backend: NamespaceBackend,
    defence: EnvironmentDefence,
    *,
    script: str = BREAK,
    failing: tuple[str, ...] = TESTS[:1],
) -> EnvironmentRound:
    attack = EnvironmentAttack(script=script, failing=failing)
    return play_environment_round(NAME, TESTS, attack, defence, backend)


def test_a_real_repair_wins(backend: NamespaceBackend, gold: str) -> None:
    played = play(backend, EnvironmentDefence(repair="cp /opt/maths-backup.py /testbed/maths.py"))
    assert played.outcome is RoundOutcome.REPAIRED, played.reason
    assert played.damage == ("/testbed/maths.py",)


def test_a_repair_that_only_fools_the_tests_loses(backend: NamespaceBackend, gold: str) -> None:
    cheat = "sed -i 's/== 5/== -1/' /testbed/tests/test_maths.py"
    played = play(backend, EnvironmentDefence(repair=cheat))
    assert played.outcome is RoundOutcome.EVADED
    assert played.verdict is not None
    assert not played.verdict.passed


def test_naming_the_damage_counts(backend: NamespaceBackend, gold: str) -> None:
    named = EnvironmentDefence(named=("/testbed/maths.py",))
    assert play(backend, named).outcome is RoundOutcome.NAMED
    everything = tuple(f"/etc/{number}" for number in range(20))
    vague = EnvironmentDefence(named=("/testbed/maths.py", *everything))
    assert play(backend, vague).outcome is RoundOutcome.EVADED


@pytest.mark.parametrize(
    ("script", "failing", "words"),
    [
        ("true", TESTS[:1], "no-residue|vacuous"),
        ("exit 3", TESTS[:1], "script failed"),
        (BREAK, TESTS, "declared otherwise"),
        (BREAK, TESTS[1:], "declared otherwise"),
        (BREAK, (), "declares no failing test"),
        (BREAK, ("tests/test_other.py::test_x",), "declares no failing test"),
    ],
    ids=["nothing", "fails", "says too much", "says the wrong one", "says none", "other test"],
)
def test_the_gate_holds_the_attacker_to_its_word(
    backend: NamespaceBackend, gold: str, script: str, failing: tuple[str, ...], words: str
) -> None:
    played = play(backend, EnvironmentDefence(), script=script, failing=failing)
    assert played.outcome is RoundOutcome.REJECTED
    assert re.search(words, played.reason), played.reason
