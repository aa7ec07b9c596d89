"""Short repair tasks, generated: a kind of damage, a file of a starter project, invented words.

Made for models too small for the starter pack. Each damage is one of three kinds with an invented
word in it, so that no remembered command fits another task; words and projects of the two splits
never meet. The tasks are certified like all others. They are written as task folders:

    write_family(Path("runs/procedural/train"), family("train", count=60, seed=0))
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import yaml

from cligym.errors import ConfigError
from cligym.tasks.test_ids import render_run_tests

__all__ = ["DamageKind", "Step", "Variant", "family", "write_family"]


class DamageKind(StrEnum):
    """What is broken."""

    MOVED = "moved"
    RENAMED = "renamed"
    BLOCKED = "blocked"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Target:
    """A file that can be damaged.

    Attributes:
        path: the file, below /testbed.
        module: its module.
        names: names in it that other modules or the tests import.
        tests: tests that fail when the file does.
    """

    path: str
    module: str
    names: tuple[str, ...]
    tests: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Project:
    """A starter project with its targets."""

    image: str
    licence: str
    split: str
    targets: tuple[_Target, ...]


def _targets(tests: Sequence[str], *rows: tuple[str, str, Sequence[str]]) -> tuple[_Target, ...]:
    """Targets of one project that share their tests."""
    return tuple(
        _Target(path=path, module=module, names=tuple(names), tests=tuple(tests))
        for path, module, names in rows
    )


_H11_TESTS = (
    "h11/tests/test_util.py::test_validate",
    "h11/tests/test_headers.py::test_has_100_continue",
)
_KEYS_TESTS = (
    "tests/test_keys.py::CacheKeysTest::test_hashkey",
    "tests/test_keys.py::CacheKeysTest::test_typedkey",
)
_FUNC_TESTS = (
    "tests/test_func.py::LRUDecoratorTest::test_decorator",
    "tests/test_func.py::LFUDecoratorTest::test_decorator",
)
_PTY_TESTS = (
    "tests/test_spawn.py::PtyTestCase::test_quick_spawn",
    "tests/test_preexec_fn.py::PreexecFns::test_preexec",
)

_PROJECTS = {
    "xmltodict": _Project(
        image="cligym/xmltodict:1.0.4",
        licence="MIT",
        split="train",
        targets=_targets(
            ("tests/test_xmltodict.py::test_minimal", "tests/test_xmltodict.py::test_list"),
            ("xmltodict.py", "xmltodict", ["parse"]),
        ),
    ),
    "python-dotenv": _Project(
        image="cligym/python-dotenv:1.2.4",
        licence="BSD-3-Clause",
        split="train",
        targets=_targets(
            ("tests/test_utils.py::test_to_cli_string",),
            ("src/dotenv/parser.py", "dotenv.parser", ["parse_stream"]),
            ("src/dotenv/variables.py", "dotenv.variables", ["parse_variables"]),
            ("src/dotenv/main.py", "dotenv.main", ["find_dotenv", "get_key", "unset_key"]),
        ),
    ),
    "dominate": _Project(
        image="cligym/dominate:2.9.1",
        licence="LGPL-3.0-or-later",
        split="train",
        targets=_targets(
            ("tests/test_dom_tag.py::test_clear", "tests/test_utils.py::test_container"),
            ("dominate/dom_tag.py", "dominate.dom_tag", ["get_current"]),
            ("dominate/document.py", "dominate.document", ["document"]),
            ("dominate/dom1core.py", "dominate.dom1core", ["dom1core"]),
        ),
    ),
    "h11": _Project(
        image="cligym/h11:0.16.0",
        licence="MIT",
        split="train",
        targets=_targets(
            _H11_TESTS,
            ("h11/_util.py", "h11._util", ["validate", "bytesify", "make_sentinel"]),
            ("h11/_headers.py", "h11._headers", ["normalize_and_validate"]),
            ("h11/_events.py", "h11._events", ["ConnectionClosed", "EndOfMessage"]),
            ("h11/_state.py", "h11._state", ["ConnectionState"]),
            ("h11/_receivebuffer.py", "h11._receivebuffer", ["ReceiveBuffer"]),
            ("h11/_abnf.py", "h11._abnf", ["field_name", "request_target"]),
        ),
    ),
    "cachetools": _Project(
        image="cligym/cachetools:8.0.2",
        licence="MIT",
        split="heldout",
        targets=(
            *_targets(
                _KEYS_TESTS,
                ("src/cachetools/keys.py", "cachetools.keys", ["hashkey", "typedkey"]),
            ),
            *_targets(
                _FUNC_TESTS,
                ("src/cachetools/func.py", "cachetools.func", ["lru_cache", "lfu_cache"]),
            ),
        ),
    ),
    "ptyprocess": _Project(
        image="cligym/ptyprocess:0.7.0",
        licence="ISC",
        split="heldout",
        targets=_targets(
            _PTY_TESTS,
            ("ptyprocess/util.py", "ptyprocess.util", ["PtyProcessError"]),
            ("ptyprocess/ptyprocess.py", "ptyprocess.ptyprocess", ["PtyProcess"]),
        ),
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One turn of the known repair: what a person would say, and the command."""

    say: str
    command: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """One generated task.

    Attributes:
        task_id: its name.
        project: the starter project.
        split: `train` or `heldout`.
        kind: what is broken.
        instruction: what the agent is told.
        damage: the shell line that breaks the gold image.
        faults: what is broken, in words, for people.
        tests: test ids.
        steps: the known repair, turn by turn.
        closing: what a person would say at the end.
    """

    task_id: str
    project: str
    split: str
    kind: DamageKind
    instruction: str
    damage: str
    faults: str
    tests: tuple[str, ...]
    steps: tuple[Step, ...]
    closing: str


def family(split: str, *, count: int, seed: int) -> list[Variant]:
    """Draws variants of a split, all different; equal arguments give equal tasks.

    Args:
        split: `train` or `heldout`.
        count: number of tasks.
        seed: seed of the draws.

    Raises:
        ConfigError: there is no project in that split.
    """
    projects = [name for name, project in _PROJECTS.items() if project.split == split]
    if not projects:
        raise ConfigError(f"procedural tasks are of split train or heldout, not {split!r}")
    places = [(name, target) for name in projects for target in _PROJECTS[name].targets]
    rng = random.Random(f"{split}|{seed}")
    words: set[str] = set()
    variants = []
    for number in range(count):
        kind = list(DamageKind)[number % len(DamageKind)]
        name, target = places[number // len(DamageKind) % len(places)]
        word = _new_word(rng, split, words)
        variants.append(_variant(kind, name, target, word, rng))
    return variants


def write_family(folder: Path, variants: Iterable[Variant]) -> list[Path]:
    """Writes the variants as task folders in the data set's form; gives their paths."""
    written = []
    for variant in variants:
        path = folder / variant.task_id
        path.mkdir(parents=True, exist_ok=True)
        for name, text in _files(variant).items():
            (path / name).write_text(text, encoding="utf-8")
        written.append(path)
    return written


def word_split(word: str) -> str:
    """The split an invented word belongs to: fixed by its hash, so the two never share one."""
    return "train" if hashlib.sha256(word.encode()).digest()[0] % 2 else "heldout"


def _new_word(rng: random.Random, split: str, taken: set[str]) -> str:
    """Invents a word of the split that is not taken."""
    while True:
        syllables = [rng.choice("bdfgklmnprstvz") + rng.choice("aeiou") for _ in range(3)]
        word = "".join(syllables) + rng.choice("knrstx")
        if word not in taken and word_split(word) == split:
            taken.add(word)
            return word


def _variant(
    kind: DamageKind, name: str, target: _Target, word: str, rng: random.Random
) -> Variant:
    """Breaks one file in one way."""
    match kind:
        case DamageKind.MOVED:
            return _moved(name, target, word, rng)
        case DamageKind.RENAMED:
            return _renamed(name, target, word, rng)
        case DamageKind.BLOCKED:
            return _blocked(name, target, word)


def _moved(name: str, target: _Target, word: str, rng: random.Random) -> Variant:
    """A file was put away under another name, in a folder that the task does not tell."""
    # A folder that exists already: a new one would be damage too, and mv alone no repair.
    folder = rng.choice(["/opt", "/srv", "/var/lib", "/usr/share"])
    return _make(
        DamageKind.MOVED,
        name,
        target,
        word,
        instruction=(
            f"Importing {target.module} fails: the file {target.path} is gone. It lies somewhere "
            f"under the name {word}.py. Please put it back."
        ),
        damage=f"mv {target.path} {folder}/{word}.py",
        faults=f"{target.path} was moved to {folder}/{word}.py.",
        steps=(
            Step(say="I look for the file.", command=f"find / -xdev -name {word}.py"),
            Step(say="I put it back.", command=f"mv {folder}/{word}.py {target.path}"),
        ),
        closing="The file is back in its place.",
    )


def _renamed(name: str, target: _Target, word: str, rng: random.Random) -> Variant:
    """A name was replaced throughout a file."""
    old = rng.choice(target.names)
    return _make(
        DamageKind.RENAMED,
        name,
        target,
        word,
        instruction=(
            f"Importing {target.module} fails: in {target.path} the name {old} was replaced by "
            f"{word}. Please undo that."
        ),
        damage=f"sed -i 's/\\b{old}\\b/{word}/g' {target.path}",
        faults=f"In {target.path} the name {old} reads {word}.",
        steps=(
            Step(
                say="I put the old name back.", command=f"sed -i 's/{word}/{old}/g' {target.path}"
            ),
        ),
        closing="The old name is back.",
    )


def _blocked(name: str, target: _Target, word: str) -> Variant:
    """A line that raises was added to a file."""
    return _make(
        DamageKind.BLOCKED,
        name,
        target,
        word,
        instruction=(
            f"Importing {target.module} fails with the words {word}: a line was added to "
            f"{target.path}. Please delete it."
        ),
        damage=f"echo 'raise ImportError(\"{word}\")' >> {target.path}",
        faults=f"{target.path} ends in a line that raises ImportError({word}).",
        steps=(Step(say="I delete the line.", command=f"sed -i '/{word}/d' {target.path}"),),
        closing="The line is gone.",
    )


def _make(
    kind: DamageKind,
    name: str,
    target: _Target,
    word: str,
    *,
    instruction: str,
    damage: str,
    faults: str,
    steps: tuple[Step, ...],
    closing: str,
) -> Variant:
    """Puts a variant together."""
    return Variant(
        task_id=f"{name}-{kind}-{word}",
        project=name,
        split=_PROJECTS[name].split,
        kind=kind,
        instruction=instruction,
        damage=damage,
        faults=faults,
        tests=target.tests,
        steps=steps,
        closing=closing,
    )


def _files(variant: Variant) -> dict[str, str]:
    """The files of a task's folder."""
    project = _PROJECTS[variant.project]
    head = {
        "instruction": variant.instruction + "\n",
        "repository": variant.project,
        "licence": project.licence,
        "split": variant.split,
        "faults": variant.faults,
    }
    script = "\n".join(["#!/bin/bash", "set -eu", *[step.command for step in variant.steps], ""])
    return {
        "task.yaml": yaml.safe_dump(head, sort_keys=False, width=100),
        # The project's history would undo any damage with one command that fits every task.
        "Dockerfile": f"FROM {project.image}\n\nRUN {variant.damage}\n\nRUN rm -rf /testbed/.git\n",
        "run-tests.sh": render_run_tests(variant.tests),
        "solution.sh": script,
    }
