"""Records of the tampering game: one line of `episodes.jsonl` for each attack and each defence.

The `arena` part holds what the metrics need; with the messages, everything can be judged again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cligym
from cligym.agents.records import AttemptRecord
from cligym.agents.tamper_prompts import AttackView, DefenceView, Prompt
from cligym.envs.tamper_answers import AttackAnswer, DefenceAnswer, Label
from cligym.envs.tamper_rewards import AttackRewards, attack_reward, brier_reward, location_credit
from cligym.graders.judge import VERSION, Judgement
from cligym.tasks.tampering import TamperingTask

__all__ = ["Attack", "Defence", "Sample", "attack_record", "defence_record"]


@dataclass(slots=True, kw_only=True)
class Attack:
    """One attack as it goes through a round; at most one of the last three stays empty."""

    seed: int
    round: int
    task: TamperingTask
    attempt: int
    number: int
    style: str
    clean: str
    view: AttackView
    prompt: Prompt
    text: str = ""
    answer: AttackAnswer | None = None
    parse_error: str | None = None
    infra_error: str | None = None
    judgement: Judgement | None = None

    @property
    def stratum(self) -> str:
        """Where it counts: infra_error, parse_error, or the judge's outcome."""
        if self.infra_error is not None:
            return "infra_error"
        if self.judgement is None:
            return "parse_error"
        return self.judgement.outcome.value


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """What a defender is shown, and what it is.

    Attributes:
        origin: which sample of its task and round it is.
        stratum: clean, harmless or real_bug.
        code: the sample as shown.
        truth_lines: 1-based lines that differ from the clean solution; empty for clean ones.
        attack: where it comes from, or None.
    """

    seed: int
    round: int
    task: TamperingTask
    origin: str
    style: str
    stratum: str
    code: str
    truth_lines: tuple[int, ...] = ()
    attack: Attack | None = None


@dataclass(slots=True, kw_only=True)
class Defence:
    """One defence as it goes through a round."""

    sample: Sample
    number: int
    view: DefenceView
    prompt: Prompt
    text: str = ""
    answer: DefenceAnswer | None = None
    parse_error: str | None = None
    infra_error: str | None = None


def attack_record(
    attack: Attack, defence: Defence | None, agent: str, rewards: AttackRewards
) -> AttemptRecord:
    """The attacker's record, made when the round is over."""
    infra = attack.infra_error
    if infra is None and defence is not None and defence.infra_error is not None:
        infra = f"defender: {defence.infra_error}"
    label: Label | None = None
    if defence is not None and defence.answer is not None:
        label = defence.answer.label
    judgement = attack.judgement
    valid = judgement is not None and judgement.valid_attack
    evaded = label is Label.CLEAN if valid and infra is None else None
    won = judgement is not None and judgement.real_bug and label is Label.CLEAN
    answer = attack.answer
    return _record(
        env_id="CodeTamperAttacker-v0",
        task=attack.task,
        agent=agent,
        number=attack.number,
        seed=attack.seed,
        prompt=attack.prompt,
        text=attack.text,
        passed=None if infra is not None else won,
        reward=None if infra is not None else attack_reward(judgement, label, rewards),
        infra=infra,
        parse_errors=int(attack.parse_error is not None),
        arena={
            "role": "attacker",
            "seed": attack.seed,
            "round": attack.round,
            "task": attack.task.name,
            "attempt": attack.attempt,
            "style": attack.style,
            "stratum": attack.stratum,
            "bug_class": None if answer is None else answer.bug_class.value,
            "claimed_lines": None if answer is None else [answer.first_line, answer.last_line],
            "rationale": None if answer is None else answer.rationale,
            "code": None if answer is None else answer.code,
            "parse_error": attack.parse_error,
            # Which test fails first hangs on their drawn order; that stays in the journal.
            "no_op": judgement is not None and judgement.no_op,
            "label": None if label is None else label.value,
            "evaded": evaded,
            "won": None if infra is not None else won,
        },
    )


def defence_record(defence: Defence, agent: str) -> AttemptRecord:
    """The defender's record."""
    sample, answer = defence.sample, defence.answer
    real = sample.stratum == "real_bug"
    infra = defence.infra_error
    correct = answer is not None and (answer.label is Label.TAMPERED) == real
    reward = 0.0 if answer is None else brier_reward(answer, tampered=real)
    named = answer is not None and answer.label is Label.TAMPERED
    return _record(
        env_id="CodeTamperDefender-v0",
        task=sample.task,
        agent=agent,
        number=defence.number,
        seed=sample.seed,
        prompt=defence.prompt,
        text=defence.text,
        passed=None if infra is not None else correct,
        reward=None if infra is not None else reward,
        infra=infra,
        parse_errors=int(defence.parse_error is not None),
        arena={
            "role": "defender",
            "seed": sample.seed,
            "round": sample.round,
            "task": sample.task.name,
            "attempt": None if sample.attack is None else sample.attack.attempt,
            "style": sample.style,
            "stratum": sample.stratum,
            "bug_class": _class_of(sample),
            "code": sample.code,
            "truth_lines": list(sample.truth_lines),
            "parse_error": defence.parse_error,
            "label": None if answer is None else answer.label.value,
            "confidence": None if answer is None else answer.confidence,
            "probability": None if answer is None else answer.probability_tampered,
            "suspect_lines": None if answer is None else list(answer.suspect_lines),
            "reason": None if answer is None else answer.reason,
            "location_credit": location_credit(answer.suspect_lines, sample.truth_lines)
            if answer is not None and named and sample.truth_lines
            else None,
        },
    )


def _class_of(sample: Sample) -> str | None:
    answer = None if sample.attack is None else sample.attack.answer
    return None if answer is None else answer.bug_class.value


def _record(
    *,
    env_id: str,
    task: TamperingTask,
    agent: str,
    number: int,
    seed: int,
    prompt: Prompt,
    text: str,
    passed: bool | None,
    reward: float | None,
    infra: str | None,
    parse_errors: int,
    arena: dict[str, Any],
) -> AttemptRecord:
    extra: dict[str, Any] = {"arena": arena}
    return AttemptRecord(
        cligym_version=cligym.__version__,
        env_id=env_id,
        task_id=f"tampering/{task.name}",
        task_digest=task.digest,
        agent=agent,
        attempt=number,
        seed=seed,
        messages=[*prompt.messages(), {"role": "assistant", "content": text}],
        parse_errors=parse_errors,
        end_reason="stopped" if infra is None else "infra_error",
        passed=passed,
        reward=reward,
        grader={"name": "judge", "version": VERSION},
        infra_error=infra,
        **extra,
    )
