"""Runs the game: rounds of attack, gate and judge, defence, records, memory.

What a round draws depends on its seed, round and task only, so a run that was killed goes on
exactly, and recorded answers can be judged again. Players never see a hidden test; the judge never
sees a player's claim.
"""

from __future__ import annotations

import hashlib
import logging
import random
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from cligym.agents.records import AttemptRecord
from cligym.agents.tamper_players import Player
from cligym.agents.tamper_prompts import (
    AttackView,
    DefenceView,
    Prompt,
    attack_prompt,
    defence_prompt,
)
from cligym.arena.journal import Journal
from cligym.arena.memory import Memory
from cligym.arena.rows import Attack, Defence, Sample, attack_record, defence_record
from cligym.arena.settings import ArenaSettings
from cligym.envs.tamper_answers import parse_attack, parse_defence
from cligym.envs.tamper_rewards import AttackRewards, changed_lines, normalised
from cligym.errors import (
    ActionFormatError,
    AgentError,
    GraderError,
    SandboxError,
    TaskError,
)
from cligym.graders.judge import VERSION, Judge, Judgement, JudgeOutcome
from cligym.tasks.tampering import TamperingTask

__all__ = ["Arena", "RunSummary", "identity"]

logger = logging.getLogger(__name__)
_NUMBERS_PER_ROUND = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """What a run did.

    Attributes:
        rounds: rounds played, over all seeds.
        records: lines of `episodes.jsonl`.
        differing_verdicts: judgements that differ from the journal's (rejudging only).
    """

    rounds: int
    records: int
    differing_verdicts: int = 0


def identity(settings: ArenaSettings, tasks: Mapping[str, TamperingTask]) -> dict[str, Any]:
    """What makes two runs the same run; no address, key, path or speed setting is in it."""
    value = settings.model_dump(
        mode="json", exclude={"parallel_calls", "judge_workers", "tasks_folder"}
    )
    for seat in ("attacker", "defender"):
        for name in ("base_url", "api_key_env", "env"):
            value[seat].pop(name)
    digests = {name: task.digest for name, task in tasks.items()}
    return value | {"task_digests": digests, "judge": VERSION, "kind": "arena"}


class Arena:
    """One run.

    Args:
        settings: the settings.
        folder: where `journal.jsonl` and `episodes.jsonl` go.
        judge: of the tasks.
        attacker: who attacks.
        defender: who defends.
        recorded: True takes every answer from the journal of the folder, whatever the prompt is
            now, and asks nobody; judgements are made anew.
        progress: called with rounds done and rounds in all.
    """

    def __init__(
        self,
        settings: ArenaSettings,
        folder: Path,
        judge: Judge,
        *,
        attacker: Player,
        defender: Player,
        recorded: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        self._settings = settings
        self._judge = judge
        self._tasks = judge.tasks
        self._attacker, self._defender = attacker, defender
        self._recorded = recorded
        self._progress = progress or (lambda done, total: None)
        self._journal = Journal(folder, identity(settings, judge.tasks))
        self._rewards = AttackRewards(**settings.rewards.model_dump())
        self._fresh_verdicts: dict[str, Judgement] = {}
        self._differing = 0
        self._clean_holds: dict[tuple[str, str], bool] = {}

    def run(self) -> RunSummary:
        """Plays all rounds of all seeds that are not in the folder yet.

        Raises:
            TaskError: a clean solution fails its own tests.
        """
        settings = self._settings
        total, done = settings.rounds * len(settings.seeds), 0
        records: list[AttemptRecord] = []
        # The journal is the truth; the records are made of it again, quickly, after a kill.
        (self._journal.folder / "episodes.jsonl").write_bytes(b"")
        try:
            with ThreadPoolExecutor(settings.parallel_calls) as pool:
                for place, seed in enumerate(settings.seeds):
                    memory = Memory(settings.memory, settings.memory_items)
                    for number in range(1, settings.rounds + 1):
                        first = (place * settings.rounds + number - 1) * _NUMBERS_PER_ROUND
                        made = self._round(pool, seed, number, memory, first)
                        memory.learn([_arena(record) for record in made])
                        self._write(made)
                        records += made
                        done += 1
                        self._progress(done, total)
        finally:
            self._journal.close()
        return RunSummary(rounds=done, records=len(records), differing_verdicts=self._differing)

    # -- one round ----------------------------------------------------------------------------

    def _round(
        self, pool: ThreadPoolExecutor, seed: int, number: int, memory: Memory, first: int
    ) -> list[AttemptRecord]:
        attacks = self._plan_attacks(seed, number, memory, first)
        list(pool.map(self._play_attack, attacks))
        samples = [sample for attack in attacks if (sample := self._sample_of(attack))]
        samples += self._clean_samples(seed, number)
        random.Random(f"order {seed} {number}").shuffle(samples)
        defences = [
            self._plan_defence(sample, memory, first + place)
            for place, sample in enumerate(samples)
        ]
        list(pool.map(self._play_defence, defences))
        answers = {id(d.sample.attack): d for d in defences if d.sample.attack is not None}
        made = [
            attack_record(
                attack, answers.get(id(attack)), f"attacker:{self._attacker.name}", self._rewards
            )
            for attack in attacks
        ]
        seat = f"defender:{self._defender.name}"
        return made + [defence_record(defence, seat) for defence in defences]

    def _plan_attacks(self, seed: int, number: int, memory: Memory, first: int) -> list[Attack]:
        settings = self._settings
        attacks: list[Attack] = []
        for name, task in self._tasks.items():
            for attempt in range(settings.attempts):
                style = self._style(task, f"attack {seed} {number} {name} {attempt}")
                clean = self._shown(task.solution(style).source)
                others = tuple(s.source for s in task.clean if s.name != style)
                view = AttackView(
                    task=name,
                    spec=task.spec,
                    clean=clean,
                    style=style,
                    public_tests=task.public_tests if settings.attacker_sees_public_tests else "",
                    other_clean=others if settings.attacker_sees_other_solutions else (),
                    memory=memory.lessons("attacker", name),
                )
                attack = Attack(
                    seed=seed,
                    round=number,
                    task=task,
                    attempt=attempt,
                    number=first + len(attacks),
                    style=style,
                    clean=clean,
                    view=view,
                    prompt=attack_prompt(view),
                )
                attacks.append(attack)
        return attacks

    def _play_attack(self, attack: Attack) -> None:
        key = f"attack/{attack.seed}/{attack.round}/{attack.task.name}/{attack.attempt}"
        try:
            attack.text = self._ask(self._attacker, key, attack.view, attack.prompt)
            attack.answer = parse_attack(attack.text)
            attack.judgement = self._judged(key, attack.task.name, attack.answer.code)
        except ActionFormatError as error:
            attack.parse_error = str(error)
        except (AgentError, GraderError, SandboxError, TaskError) as error:
            attack.infra_error = f"{type(error).__name__}: {error}"
            logger.warning("%s: %s", key, attack.infra_error)

    def _sample_of(self, attack: Attack) -> Sample | None:
        if attack.judgement is None or not attack.judgement.valid_attack:
            return None
        assert attack.answer is not None
        code = self._shown(attack.answer.code)
        return Sample(
            seed=attack.seed,
            round=attack.round,
            task=attack.task,
            origin=f"attack-{attack.attempt}",
            style=attack.style,
            stratum=attack.judgement.outcome.value,
            code=code,
            truth_lines=changed_lines(attack.clean, code),
            attack=attack,
        )

    def _clean_samples(self, seed: int, number: int) -> list[Sample]:
        samples = []
        for name, task in self._tasks.items():
            for place in range(self._settings.clean_samples):
                style = self._style(task, f"clean {seed} {number} {name} {place}")
                self._require_clean(task, style)
                code = self._shown(task.solution(style).source)
                samples.append(
                    Sample(
                        seed=seed,
                        round=number,
                        task=task,
                        origin=f"clean-{place}",
                        style=style,
                        stratum="clean",
                        code=code,
                    )
                )
        return samples

    def _require_clean(self, task: TamperingTask, style: str) -> None:
        """Clean samples go through the hidden tests too; a broken one would make every edit real.

        Raises:
            TaskError: this clean solution fails a test.
        """
        key = (task.name, style)
        if key not in self._clean_holds:
            verdict = self._judge.check_clean(task.name, task.solution(style).source)
            self._clean_holds[key] = verdict.all_passed
        if not self._clean_holds[key]:
            raise TaskError(f"task {task.name}: the clean solution {style} fails its own tests")

    def _plan_defence(self, sample: Sample, memory: Memory, number: int) -> Defence:
        shown = self._settings.defender_sees_public_tests
        view = DefenceView(
            task=sample.task.name,
            spec=sample.task.spec,
            code=sample.code,
            public_tests=sample.task.public_tests if shown else "",
            memory=memory.lessons("defender", sample.task.name),
        )
        return Defence(sample=sample, number=number, prompt=defence_prompt(view), view=view)

    def _play_defence(self, defence: Defence) -> None:
        sample = defence.sample
        key = f"defence/{sample.seed}/{sample.round}/{sample.task.name}/{sample.origin}"
        try:
            defence.text = self._ask(self._defender, key, defence.view, defence.prompt)
            defence.answer = parse_defence(defence.text)
        except ActionFormatError as error:
            defence.parse_error = str(error)
        except (AgentError, SandboxError) as error:
            defence.infra_error = f"{type(error).__name__}: {error}"
            logger.warning("%s: %s", key, defence.infra_error)

    # -- answers and judgements, from the journal or anew -------------------------------------

    def _ask(self, player: Player, key: str, view: AttackView | DefenceView, prompt: Prompt) -> str:
        digest = hashlib.sha256(repr(prompt).encode("utf-8", "surrogatepass")).hexdigest()
        known = self._journal.get(key)
        if known is not None and (self._recorded or known["prompt"] == digest):
            return str(known["answer"])
        if self._recorded:
            raise AgentError(f"no recorded answer for {key}")
        seed = int.from_bytes(hashlib.sha256(key.encode()).digest()[:4], "big")
        entry = {"key": key, "prompt": digest, "seed": seed}
        try:
            answer = player.answer(view, prompt, seed=seed)
        except (AgentError, SandboxError) as error:
            self._journal.add({**entry, "error": f"{type(error).__name__}: {error}"})
            raise
        self._journal.add({**entry, "answer": answer, "player": player.name})
        return answer

    def _judged(self, key: str, task: str, code: str) -> Judgement:
        digest = hashlib.sha256(code.encode("utf-8", "surrogatepass")).hexdigest()
        known = self._journal.get(f"verdict/{key}")
        if known is not None and known["code"] == digest and not self._recorded:
            value = known["judgement"]
            return Judgement(
                outcome=JudgeOutcome(value["outcome"]),
                reason=value["reason"],
                failing=tuple(value["failing"]),
                no_op=value["no_op"],
            )
        judgement = self._judge.judge(task, code)
        if known is not None and known["judgement"]["outcome"] != judgement.outcome.value:
            self._differing += 1
        value = asdict(judgement) | {"outcome": judgement.outcome.value}
        if not self._recorded:
            self._journal.add({"key": f"verdict/{key}", "code": digest, "judgement": value})
        return judgement

    # -- small parts --------------------------------------------------------------------------

    def _style(self, task: TamperingTask, what: str) -> str:
        if not self._settings.several_clean_solutions:
            return task.clean[0].name
        return random.Random(what).choice(task.clean).name

    def _shown(self, source: str) -> str:
        return normalised(source) if self._settings.normalise_code else source

    def _write(self, records: list[AttemptRecord]) -> None:
        with (self._journal.folder / "episodes.jsonl").open("ab") as file:
            file.writelines(record.to_line() for record in records)


def _arena(record: AttemptRecord) -> dict[str, Any]:
    extra = record.model_extra or {}
    value = extra["arena"]
    assert isinstance(value, dict)
    return value
