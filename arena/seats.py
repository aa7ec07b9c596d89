"""Makes the players that the settings name."""

from __future__ import annotations

import os
from collections.abc import Mapping

from cligym.agents.tamper_players import Player, ScriptedAttacker, ScriptedDefender
from cligym.agents.tamper_remote_players import CommandPlayer, ServerPlayer
from cligym.arena.settings import ArenaSettings, SeatSettings
from cligym.errors import ConfigError
from cligym.graders.judge import Judge
from cligym.sandboxes.namespace import NamespaceBackend
from cligym.tasks.tampering import TamperingTask

__all__ = ["make_attacker", "make_defender"]


def make_attacker(settings: ArenaSettings, backend: NamespaceBackend, judge: Judge) -> Player:
    """The attacker.

    Raises:
        ConfigError: the seat lacks a setting.
    """
    if settings.attacker.player == "scripted":
        sees = settings.attacker_sees_public_tests
        return ScriptedAttacker(judge.tasks, judge.passes_public if sees else None)
    return _remote("attacker", settings.attacker, backend)


def make_defender(
    settings: ArenaSettings, backend: NamespaceBackend, tasks: Mapping[str, TamperingTask]
) -> Player:
    """The defender.

    Raises:
        ConfigError: the seat lacks a setting.
    """
    if settings.defender.player == "scripted":
        return ScriptedDefender(tasks)
    return _remote("defender", settings.defender, backend)


def _remote(seat: str, settings: SeatSettings, backend: NamespaceBackend) -> Player:
    if settings.player == "command":
        if not settings.command or not settings.image:
            raise ConfigError(f"{seat}: a command player needs `command` and `image`")
        return CommandPlayer(
            backend,
            backend.store.get(settings.image),
            settings.command,
            env_names=settings.env,
            timeout_s=settings.timeout_s,
        )
    if not settings.model or not settings.base_url:
        raise ConfigError(f"{seat}: a model player needs `model` and `base_url`")
    key = settings.api_key_env
    if key and key not in os.environ:
        raise ConfigError(f"{seat}: the environment variable {key} is not set")
    return ServerPlayer(
        name=settings.model,
        base_url=settings.base_url,
        api_key=os.environ[key] if key else "",
        temperature=settings.temperature,
        max_tokens=settings.max_tokens,
        timeout_s=settings.timeout_s,
    )
