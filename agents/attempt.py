"""Plays one attempt of an agent in `CLIGymHardened-v0` and writes down what happened."""

from __future__ import annotations

import math
from typing import Any, Protocol, runtime_checkable

from cligym import __version__
from cligym.agents.records import BASH_TOOL, AttemptRecord
from cligym.constants import SUBMIT
from cligym.envs.hardened import CLIGymHardenedEnv
from cligym.envs.repair_episode import AttemptOutcome, EndReason, RepairEpisode
from cligym.errors import AgentError

__all__ = ["Agent", "ReportingAgent", "play_attempt"]


class Agent(Protocol):
    """Who acts: reads an observation, answers with a command or `cligym.SUBMIT`."""

    name: str

    def act(self, observation: str) -> str:
        """The next action."""


@runtime_checkable
class ReportingAgent(Agent, Protocol):
    """An agent that keeps its own conversation and says why it stopped."""

    end_reason: str

    @property
    def model_seconds(self) -> float:
        """Wall time of its model calls."""

    def finish(self, observation: str | None) -> dict[str, Any]:
        """Its fields of the record; `observation` when the environment ended the attempt."""


def play_attempt(
    env: CLIGymHardenedEnv, agent: Agent, *, task_id: str, attempt: int, seed: int
) -> AttemptRecord:
    """Plays one attempt to its end; the record is complete, also after an infra error.

    Args:
        env: the environment; its episode stays open until the next reset or close.
        agent: who acts.
        task_id: the task.
        attempt: number of this attempt on the task, from 0.
        seed: recorded; who made the agent gave it the same.

    Raises:
        CLIGymError: the box did not start (a caller records that as an infra error).
    """
    observation, _ = env.reset(seed=seed, options={"task_id": task_id})
    messages: list[dict[str, Any]] = [{"role": "user", "content": observation}]
    done, action, failed = False, "", None
    while not done:
        try:
            action = agent.act(observation)
        except AgentError as error:  # the model's engine, not the model: nothing is graded
            failed = AttemptOutcome(
                end_reason=EndReason.INFRA_ERROR, infra_error=f"{type(error).__name__}: {error}"
            )
            break
        observation, _, terminated, truncated, _ = env.step(action)
        done = terminated or truncated
        if action != SUBMIT:
            messages += bash_turn(action, observation)
    episode, outcome = env.episode, failed or env.outcome
    assert episode is not None and outcome is not None  # the episode has just ended
    record = _record(env, episode, outcome, agent.name, attempt, seed, messages)
    if not isinstance(agent, ReportingAgent):
        return record
    said = agent.finish(observation if done and action != SUBMIT else None)
    if outcome.end_reason is EndReason.SUBMITTED:
        said["end_reason"] = agent.end_reason
    said["seconds"] = record.seconds | {"model": round(agent.model_seconds, 4)}
    return record.model_copy(update=said)


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
