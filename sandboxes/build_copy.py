"""Reads a `COPY`: which sources, to where, owned by whom."""

from __future__ import annotations

import os
import posixpath
from dataclasses import replace

from cligym.errors import BuildError
from cligym.sandboxes.build_context import BuildContext
from cligym.sandboxes.build_scope import BuildScope
from cligym.sandboxes.build_steps import find_owner
from cligym.sandboxes.copy_plan import CopyPlan, Ownership
from cligym.sandboxes.dockerfile import Instruction
from cligym.sandboxes.entry import Kind
from cligym.sandboxes.heredoc import heredoc_of_word
from cligym.sandboxes.image import Image
from cligym.sandboxes.namespace import NamespaceBackend

__all__ = ["plan_copy"]


def plan_copy(
    instruction: Instruction,
    scope: BuildScope,
    backend: NamespaceBackend,
    image: Image,
    context: BuildContext,
) -> CopyPlan:
    """What a `COPY` writes over `image`.

    Raises:
        BuildError: a source does not exist or leads out of the context, the destination cannot
            take it, or an owner or mode is unknown.
    """
    owner = _ownership(instruction, scope, backend, image)
    plan = CopyPlan(root=backend.store.manifest(image), owner=owner)
    *sources, last = instruction.words
    target = _target(scope.expand(instruction, last), image.config.workdir)
    heredocs = list(instruction.heredocs)
    found_many = len(sources) > 1
    for word in sources:
        marker = heredoc_of_word(word) if heredocs else None
        if marker is not None:
            heredoc = heredocs.pop(0)
            text = heredoc.chomped() if marker.chomp else heredoc.content
            if marker.expand:
                text = scope.expand_text(instruction, text)
            content = text.encode("utf-8", "surrogateescape")
            plan.add_text(_place(plan, target, marker.name, found_many), content)
            continue
        name = scope.expand(instruction, word)
        matches = context.find(name)
        if not matches:
            raise BuildError(f"source {name!r} matches nothing in the build context")
        many = found_many or len(matches) > 1
        for source in matches:
            if source.entry.kind is Kind.DIRECTORY:
                plan.add_source(source, target.rstrip("/") or "/", context)
            else:
                place = _place(plan, target, os.path.basename(source.name), many)
                plan.add_source(source, place, context)
    return plan


def _place(plan: CopyPlan, target: str, name: str, many: bool) -> str:
    """Where one file goes: into the target when that is a folder, else in its place."""
    if target.endswith("/") or plan.is_folder(target):
        return f"{target.rstrip('/')}/{name}"
    if many:
        raise BuildError("several sources need a destination that ends with /")
    return target


def _target(text: str, workdir: str) -> str:
    """The destination as an absolute path; a slash at its end stays."""
    is_folder = text.endswith(("/", "/.")) or text in ("", ".", "..")
    path = "/" + posixpath.normpath(posixpath.join("/", workdir, text)).lstrip("/")
    return path.rstrip("/") + "/" if is_folder else path


def _ownership(
    instruction: Instruction, scope: BuildScope, backend: NamespaceBackend, image: Image
) -> Ownership:
    owner = Ownership()
    if chown := scope.expand(instruction, instruction.flags.get("chown", "")):
        owner = find_owner(backend, image, chown)
    if chmod := scope.expand(instruction, instruction.flags.get("chmod", "")):
        try:
            mode = int(chmod, 8)
        except ValueError:
            mode = -1
        if not 0 <= mode <= 0o7777:
            raise BuildError(f"--chmod={chmod} is no octal mode")
        owner = replace(owner, mode=mode)
    return owner
