"""Plays one attempt of an agent in `CLIGymHardened-v0` and writes down what happened."""

from __future__ import annotations

import math
from typing import Any, Protocol

from cligym import __version__
from cligym.agents.records import BASH_TOOL, AttemptRecord
from cligym.constants import SUBMIT
from cligym.envs.hardened import CLIGymHardenedEnv
from cligym.envs.repair_episode import AttemptOutcome, RepairEpisode

__all__ = ["Agent", "play_attempt"]


class Agent(Protocol):
    """Who acts: reads an observation, answers with a command or `cligym.SUBMIT`."""

    name: str

    def act(self, observation: str) -> str:
        """The next action."""


def play_attempt(
    env: CLIGymHardenedEnv, agent: Agent, *, task_id: str, attempt: int, seed: int
) -> AttemptRecord:
    """Plays one attempt to its end; the record is complete, also after an infra error.

    Args:
        env: the environment; its episode stays open until the next reset or close.
        agent: who acts.
        task_id: the task.
        attempt: number of this attempt on the task, from 0.
        seed: recorded; a scripted agent does not use it.

    Raises:
        CLIGymError: the box did not start (a caller records that as an infra error).
    """
    observation, _ = env.reset(seed=seed, options={"task_id": task_id})
    messages: list[dict[str, Any]] = [{"role": "user", "content": observation}]
    done = False
    while not done:
        action = agent.act(observation)
        observation, _, terminated, truncated, _ = env.step(action)
        done = terminated or truncated
        if action != SUBMIT:
            messages += bash_turn(action, observation)
    episode, outcome = env.episode, env.outcome
    assert episode is not None and outcome is not None  # the episode has just ended
    return _record(env, episode, outcome, agent.name, attempt, seed, messages)


def bash_turn(command: str, observation: str) -> list[dict[str, Any]]:
    """A call of the bash tool and its result, as chat messages."""
    call = {"type": "function", "function": {"name": "bash", "arguments": {"command": command}}}
    return [
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "name": "bash", "content": observation},
    ]


def _record(
    env: CLIGymHardenedEnv,
    episode: RepairEpisode,
    outcome: AttemptOutcome,
    agent: str,
    attempt: int,
    seed: int,
    messages: list[dict[str, Any]],
) -> AttemptRecord:
    task, images = episode.prepared.task, episode.prepared.images
    main = outcome.verdicts.get(env.graders[0])
    return AttemptRecord(
        cligym_version=__version__,
        env_id="CLIGymHardened-v0",
        task_id=task.task_id,
        task_digest=task.digest,
        repository=task.repository,
        licence=task.licence,
        split=task.split,
        gold_digest=images.gold.digest,
        damaged_digest=images.damaged.digest,
        certificate=episode.prepared.certificate.status,
        backend=env.bench.backend.name,
        id_range=env.bench.backend.keeper.has_id_range,
        agent=agent,
        attempt=attempt,
        seed=seed,
        messages=messages,
        tools=[BASH_TOOL],
        commands=[
            {"command": c.command, "exit_code": c.exit_code, "timed_out": c.timed_out}
            for c in episode.commands
        ],
        end_reason=outcome.end_reason.value,
        passed=main.passed if main else None,
        reward=main.reward if main and not math.isnan(main.reward) else None,
        grader={"name": main.grader, "version": main.version} if main else None,
        verdicts={
            name: {k: v for k, v in verdict.to_json().items() if k != "seconds"}
            | {"seconds": dict(verdict.seconds)}
            for name, verdict in outcome.verdicts.items()
        },
        change_set=outcome.change_set_digest,
        infra_error=outcome.infra_error or None,
        seconds={name: round(value, 4) for name, value in outcome.seconds.items()},
    )
