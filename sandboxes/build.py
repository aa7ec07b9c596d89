"""Builds an image from a Dockerfile: each instruction that changes files makes a layer.

Builds use this machine's network and its settings for it; neither is left in the image
(`build_site.py`). Files come from the context folder only. Episodes have no network: whatever a
Dockerfile wants from outside, it has to fetch here.
"""

from __future__ import annotations

import logging
import os
import posixpath
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from cligym.errors import ImageError, boundary
from cligym.sandboxes.base_image import BASE_NAME, base
from cligym.sandboxes.build_cache import BuildCache, CachedStep, cache_key
from cligym.sandboxes.build_context import BuildContext
from cligym.sandboxes.build_copy import plan_copy
from cligym.sandboxes.build_scope import BuildScope
from cligym.sandboxes.build_steps import RunStep, apply_plan, find_owner
from cligym.sandboxes.copy_plan import CopyPlan
from cligym.sandboxes.dockerfile import Dockerfile, Instruction, Op, parse_dockerfile
from cligym.sandboxes.host_settings import network_settings
from cligym.sandboxes.image import Image, ImageConfig
from cligym.sandboxes.image_names import canonical_name
from cligym.sandboxes.namespace import NamespaceBackend

__all__ = ["BuildEvent", "StepState", "build"]

logger = logging.getLogger(__name__)


class StepState(StrEnum):
    """What a build event tells."""

    STARTED = "started"
    CACHED = "cached"
    DONE = "done"


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildEvent:
    """One line of a build's progress.

    Attributes:
        number: which instruction, from 1.
        total: how many there are.
        title: the instruction's first line.
        state: started, found in the cache, or done.
        seconds: how long it took; 0 when it has just started.
    """

    number: int
    total: int
    title: str
    state: StepState
    seconds: float = 0.0


def build(
    text: str,
    backend: NamespaceBackend,
    *,
    context: Path | None = None,
    args: Mapping[str, str] | None = None,
    use_cache: bool = True,
    progress: Callable[[BuildEvent], None] | None = None,
    timeout_s: float = 3600.0,
) -> Image:
    """Builds a Dockerfile; the image is stored, without a name.

    Args:
        text: the Dockerfile.
        backend: where its `RUN`s run, and whose store takes the layers.
        context: folder that `COPY` takes files from; None is an empty one.
        args: values for its `ARG`s.
        use_cache: False runs everything again.
        progress: called when an instruction starts and ends.
        timeout_s: how long the whole build may take.

    Raises:
        BuildError: the Dockerfile cannot be read or an instruction failed; nothing is left of it.
        ImageError: the image of `FROM` is not in the store.
    """
    dockerfile = parse_dockerfile(text)
    builder = _Builder(dockerfile, backend, BuildContext(context), dict(args or {}), use_cache)
    builder.deadline = time.monotonic() + timeout_s
    total = len(dockerfile.body) + 1
    report = progress or (lambda event: None)
    with boundary(ImageError, "the build stopped"), backend.store.building():
        for number, instruction in enumerate((dockerfile.base, *dockerfile.body), start=1):
            title, started = instruction.title, time.monotonic()
            event = BuildEvent(number=number, total=total, title=title, state=StepState.STARTED)
            report(event)
            state = StepState.CACHED if builder.step(instruction) else StepState.DONE
            report(replace(event, state=state, seconds=time.monotonic() - started))
        if builder.scope.unused:
            logger.warning("build arguments without an ARG: %s", ", ".join(builder.scope.unused))
        return backend.store.put(builder.image)


class _Builder:
    """The state of one build."""

    def __init__(
        self,
        dockerfile: Dockerfile,
        backend: NamespaceBackend,
        context: BuildContext,
        args: dict[str, str],
        use_cache: bool,
    ) -> None:
        self._backend = backend
        self._context = context
        self._settings = network_settings(os.environ)
        self._cache = BuildCache(backend.store, enabled=use_cache)
        self.scope = BuildScope(dockerfile, args)
        self.image = Image(layers=())
        self.deadline = 0.0

    def step(self, instruction: Instruction) -> bool:
        """Carries out one instruction; True when its layer was remembered."""
        match instruction.op:
            case Op.FROM:
                self._from(instruction)
            case Op.RUN:
                return self._run(instruction)
            case Op.COPY:
                with instruction.naming():
                    plan = plan_copy(
                        instruction, self.scope, self._backend, self.image, self._context
                    )
                return self._apply(instruction, plan)
            case Op.WORKDIR:
                return self._workdir(instruction)
            case Op.ARG:
                self.scope.declare(instruction)
            case Op.ENV:
                self._env(instruction)
            case Op.USER:
                self._configure(user=self.scope.expand(instruction, instruction.words[0]))
            case Op.SHELL:
                self._configure(shell=instruction.words)
            case Op.CMD:
                self._configure(cmd=self._command(instruction))
            case Op.ENTRYPOINT:
                self._configure(entrypoint=self._command(instruction), cmd=())
            case Op.EXPOSE | Op.LABEL | Op.MAINTAINER | Op.STOPSIGNAL:
                pass  # says nothing about how the image behaves here
        return False

    def _from(self, instruction: Instruction) -> None:
        name = self.scope.expand_global(instruction, instruction.words[0])
        if not name:
            raise instruction.error(f"{instruction.words[0]!r} is empty here")
        store = self._backend.store
        if name == "scratch":
            self.image = Image(layers=())
        elif canonical_name(name) == BASE_NAME:
            self.image = base(store)
        else:
            # Registries will be asked here, with the reference as it was written.
            self.image = store.get(name)
        self.scope.env = dict(self.image.config.env)

    def _run(self, instruction: Instruction) -> bool:
        args = self.scope.args
        left_s = self.deadline - time.monotonic()
        if left_s <= 0:
            raise instruction.error("the build's time is over")
        run = RunStep(instruction=instruction, args=args, settings=self._settings, timeout_s=left_s)
        heredocs = [(heredoc.name, heredoc.content) for heredoc in instruction.heredocs]
        parts = (instruction.words, instruction.is_json, heredocs, sorted(args.items()))
        key = cache_key(self.image, Op.RUN.value, *parts)
        image = self.image
        return self._take(self._cache.step(image, key, lambda: run.apply(self._backend, image)))

    def _apply(self, instruction: Instruction, plan: CopyPlan) -> bool:
        image = self.image
        key = cache_key(image, instruction.op.value, plan.digest())
        return self._take(
            self._cache.step(image, key, lambda: apply_plan(self._backend, image, plan))
        )

    def _take(self, step: CachedStep) -> bool:
        self.image = step.image
        return step.cached

    def _workdir(self, instruction: Instruction) -> bool:
        path = self.scope.expand(instruction, instruction.words[0])
        workdir = posixpath.normpath(posixpath.join("/", self.image.config.workdir, path))
        self._configure(workdir="/" + workdir.lstrip("/"))
        with instruction.naming():
            owner = find_owner(self._backend, self.image, self.image.config.user)
            plan = CopyPlan(root=self._backend.store.manifest(self.image), owner=owner)
            plan.add_folder(workdir)
        return self._apply(instruction, plan) if plan.entries else False

    def _env(self, instruction: Instruction) -> None:
        words = instruction.words
        if len(words) % 2:
            raise instruction.error("needs NAME=VALUE")
        expanded = [self.scope.expand(instruction, word) for word in words]
        self.scope.env |= dict(zip(expanded[::2], expanded[1::2], strict=True))
        self._configure(env=tuple(self.scope.env.items()))

    def _command(self, instruction: Instruction) -> tuple[str, ...]:
        if instruction.is_json:
            return instruction.words
        return (*self.image.config.shell, *instruction.words)

    def _configure(self, **changes: object) -> None:
        config: ImageConfig = replace(self.image.config, **changes)  # type: ignore[arg-type]  # names checked by dataclasses
        self.image = replace(self.image, config=config)
