"""Importing cligym starts nothing, writes nothing, reads no setting and takes no heavy package."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import gymnasium
import pytest

import cligym

_SOURCE = str(Path(cligym.__file__).parents[1])
_ROOMS = ["agents", "arena", "configs", "envs", "graders", "sandboxes", "tasks", "training"]
_HEAVY = {
    "accelerate", "datasets", "docker", "matplotlib", "openai", "oras", "pandas", "peft",
    "pettingzoo", "pyarrow", "pydantic", "ray", "scipy", "tokenizers", "torch", "transformers",
    "trl", "typer", "rich",
}  # fmt: skip

# Runs in a child: notes what an import does, by audit events and by watching os.environ.
_WATCH = """
import json, os, sys
sys.path.insert(0, sys.argv[1])
events, reads = [], []
STARTS = ("subprocess.", "os.system", "os.fork", "os.posix_spawn", "os.exec", "os.spawn", "pty.",
          "socket.", "os.mkdir", "os.rename", "os.remove", "os.link", "os.symlink", "os.truncate",
          "signal.", "tempfile.", "shutil.")

def hook(event, args):
    if event == "open":
        mode, flags = args[1], args[2]
        if (mode and set(mode) & set("wax+")) or (flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)):
            events.append(f"open for writing {args[0]!r}")
    elif event.startswith(STARTS):
        events.append(event)

def watched(self, key, _old=type(os.environ).__getitem__):
    frame = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__") in ("os", "collections.abc"):
        frame = frame.f_back
    name = frame.f_globals.get("__name__", "") if frame else ""
    if name.partition(".")[0] == "cligym":
        reads.append(f"{name} read {key}")
    return _old(self, key)

import gymnasium.envs.registration  # what Gymnasium itself does is not ours to answer for
type(os.environ).__getitem__ = watched
sys.addaudithook(hook)
for name in json.loads(sys.argv[2]):
    __import__(name)
taken = sorted({m.partition(".")[0] for m in sys.modules})
print(json.dumps({"events": events, "reads": reads, "taken": taken}))
"""


def _watch(names: list[str], tmp_path: Path) -> dict[str, Any]:
    command = [sys.executable, "-I", "-B", "-W", "error", "-c", _WATCH, _SOURCE, json.dumps(names)]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert run.stderr == ""
    result: dict[str, Any] = json.loads(run.stdout)
    return result


def test_importing_cligym_has_no_effects(tmp_path: Path) -> None:
    seen = _watch(["cligym", *(f"cligym.{room}" for room in _ROOMS)], tmp_path)
    assert seen["events"] == []
    assert seen["reads"] == []
    assert _HEAVY.isdisjoint(seen["taken"])
    assert list(tmp_path.iterdir()) == []


def test_the_watcher_sees_effects(tmp_path: Path) -> None:
    """The test above can fail: an import that does everything wrong is noticed."""
    package = tmp_path / "cligym"
    package.mkdir()
    (package / "__init__.py").write_text(
        "import os, pydantic\nopen('made', 'w').close()\n"
        "os.environ.get('HOME')\nos.system('true')\n"
    )
    command = [sys.executable, "-I", "-B", "-c", _WATCH, str(tmp_path), '["cligym"]']
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    seen = json.loads(run.stdout)
    assert "open for writing 'made'" in seen["events"]
    assert "os.system" in seen["events"]
    assert seen["reads"] == ["cligym read HOME"]
    assert "pydantic" in seen["taken"]


@pytest.mark.parametrize("name", ["cligym", *(f"cligym.{room}" for room in _ROOMS)])
def test_all_names_what_can_be_seen(name: str) -> None:
    """Submodules become attributes when something imports them; they are not counted."""
    module = importlib.import_module(name)
    visible = {
        key
        for key, value in vars(module).items()
        if not key.startswith("_")
        and key != "annotations"
        and not isinstance(value, types.ModuleType)
    }
    listed = set(module.__all__) - {"__version__"}
    lazy = listed - visible if hasattr(module, "__getattr__") else set()
    assert listed - lazy == visible
    for key in lazy:
        getattr(module, key)


def test_the_root_stays_small() -> None:
    assert len(cligym.__all__) <= 25


@pytest.mark.parametrize(
    "env_id", ["CLIGymHardened-v0", "CodeTamperAttacker-v0", "CodeTamperDefender-v0"]
)
def test_ids_are_registered_without_a_step_limit(env_id: str) -> None:
    spec = gymnasium.spec(env_id)
    assert spec.max_episode_steps is None
    assert isinstance(spec.entry_point, str)
    cligym.register_envs()  # a second time changes nothing and warns of nothing
    assert gymnasium.spec(env_id) is spec


def test_submit_is_no_text() -> None:
    assert len(cligym.SUBMIT) == 1
    assert not cligym.SUBMIT.isprintable()
    assert not cligym.SUBMIT.isspace()
