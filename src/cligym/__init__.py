"""cligym: honest Gymnasium environments for terminal agents.

`import cligym` registers the environment ids; it imports no model library, starts no process and
reads no setting. Next to read: `cligym.errors`, then the rooms in the order of `ARCHITECTURE.md`.
"""

from __future__ import annotations

from gymnasium.envs.registration import register as _register
from gymnasium.envs.registration import registry as _registry

from cligym.constants import SUBMIT
from cligym.errors import (
    ActionFormatError,
    AgentError,
    BuildError,
    CLIGymError,
    ConfigError,
    DependencyError,
    EpisodeError,
    GraderError,
    ImageError,
    ModelCallError,
    SandboxDestroyedError,
    SandboxError,
    SandboxStartError,
    SandboxTimeoutError,
    SandboxUnavailableError,
    TaskError,
)

__all__ = [
    "SUBMIT",
    "ActionFormatError",
    "AgentError",
    "BuildError",
    "CLIGymError",
    "ConfigError",
    "DependencyError",
    "EpisodeError",
    "GraderError",
    "ImageError",
    "ModelCallError",
    "SandboxDestroyedError",
    "SandboxError",
    "SandboxStartError",
    "SandboxTimeoutError",
    "SandboxUnavailableError",
    "TaskError",
    "__version__",
    "register_envs",
]

__version__ = "0.1.0"

_ENTRY_POINTS = {
    "CLIGymHardened-v0": "cligym.envs.hardened:CLIGymHardenedEnv",
    "CodeTamperAttacker-v0": "cligym.envs.code_tamper:CodeTamperAttackerEnv",
    "CodeTamperDefender-v0": "cligym.envs.code_tamper:CodeTamperDefenderEnv",
}


def register_envs() -> None:
    """Makes the environment ids known to Gymnasium, as strings; runs when cligym is imported.

    No `max_episode_steps`: Gymnasium's TimeLimit would end an episode without grading it.
    """
    for env_id, entry_point in _ENTRY_POINTS.items():
        if env_id not in _registry:
            _register(id=env_id, entry_point=entry_point)


register_envs()
