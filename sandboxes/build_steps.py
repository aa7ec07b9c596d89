"""The instructions that change files: `RUN` in a box with network, `COPY` and `WORKDIR` without."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass

from cligym.errors import BuildError, ImageError, SandboxDestroyedError, SandboxError
from cligym.sandboxes.base import GIB, CaptureLimits, ExecResult, Limits, SandboxSpec
from cligym.sandboxes.build_site import SCRIPT_PATH, lay_site, without_site
from cligym.sandboxes.copy_plan import CopyPlan, Ownership
from cligym.sandboxes.dockerfile import Instruction
from cligym.sandboxes.entry import ChangeSet
from cligym.sandboxes.host_settings import HostSettings
from cligym.sandboxes.image import Image
from cligym.sandboxes.namespace import NamespaceBackend
from cligym.sandboxes.run_argv import run_process
from cligym.sandboxes.tar_writer import TreeWriter

__all__ = ["OUTPUT_CHARACTERS", "RunStep", "apply_plan", "find_owner", "printable"]

OUTPUT_CHARACTERS = 4000
"""How much of a failed `RUN`'s output its error carries."""

_CAPTURE = CaptureLimits(files=5_000_000, bytes_on_disk=64 * GIB, depth=2000)
_MAX_ACCOUNT_BYTES = 4 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStep:
    """One `RUN`.

    Attributes:
        instruction: the instruction.
        args: `ARG` values in scope.
        settings: this machine's network settings.
        timeout_s: how long it may take.
    """

    instruction: Instruction
    args: Mapping[str, str]
    settings: HostSettings
    timeout_s: float

    def apply(self, backend: NamespaceBackend, image: Image) -> Image:
        """Runs it on `image`; the image after it.

        Raises:
            BuildError: it failed, ran too long or wrote too much.
        """
        store, config = backend.store, image.config
        if config.user not in ("", "0", "root") and not backend.keeper.has_id_range:
            raise self.instruction.error(
                f"USER {config.user} cannot run here: this account has no range of ids "
                "(see /etc/subuid)"
            )
        process = run_process(self.instruction, config.shell, SCRIPT_PATH)
        site = lay_site(store, image, self.settings, process.script)
        spec = SandboxSpec(image=site.image, limits=_limits(), network=True)
        with backend.start(spec) as sandbox:
            try:
                result = sandbox.execute(
                    process.argv,
                    env={**site.env, **self.args, **dict(config.env)},
                    cwd=config.workdir,
                    user=config.user,
                    timeout_s=self.timeout_s,
                    output_limit_bytes=16 * OUTPUT_CHARACTERS,
                )
            except SandboxDestroyedError as error:
                raise self.instruction.error(f"its box was destroyed: {error}") from error
            except SandboxError as error:
                raise self.instruction.error(f"did not start: {error}") from error
            self._check(result)
            capture = sandbox.capture(_CAPTURE)
        with capture:
            if capture.oversized:
                raise self.instruction.error(f"writes too much: {capture.oversized}")
            return store.extend(image, capture.release(), without_site(capture.changes))

    def _check(self, result: ExecResult) -> None:
        if result.exit_code == 0 and not result.timed_out:
            return
        end = f"exit status {result.exit_code}"
        if result.timed_out:
            end = f"no end within {self.timeout_s:.0f} s"
        raise BuildError(
            f"Dockerfile line {self.instruction.line}: {end}: {self.instruction.title}",
            line=self.instruction.line,
            exit_code=result.exit_code,
            output=printable(result.output)[-OUTPUT_CHARACTERS:],
        )


def apply_plan(backend: NamespaceBackend, image: Image, plan: CopyPlan) -> Image:
    """Writes what a plan says as a layer over `image`."""
    if not plan.entries:
        return image
    store = backend.store
    with tempfile.TemporaryFile() as archive:
        with TreeWriter(archive) as writer:
            for path, entry in sorted(plan.entries.items()):
                writer.add(path, entry, plan.contents.get(path, b""))
        with store.layers.unpacked(archive) as tree:
            found = backend.keeper.walk(tree).changed
            changed = {
                path: found[path] for path in plan.entries if plan.root.get(path) != found[path]
            }
            return store.extend(image, tree, ChangeSet(changed))


def find_owner(backend: NamespaceBackend, image: Image, text: str) -> Ownership:
    """Ids of `user`, `user:group`, `uid` or `uid:gid` in an image.

    Raises:
        BuildError: the image has no such user or group.
    """
    user, _, group = text.partition(":")
    accounts = _accounts(backend, image, b"etc/passwd")
    uid = gid = _number(user)
    if user in accounts:
        uid = int(accounts[user][2])
        gid = int(accounts[user][3])
    elif uid is None and user:
        raise BuildError(f"the image has no user {user!r}")
    if group:
        groups = _accounts(backend, image, b"etc/group")
        gid = int(groups[group][2]) if group in groups else _number(group)
        if gid is None:
            raise BuildError(f"the image has no group {group!r}")
    return Ownership(uid=uid or 0, gid=gid or 0)


def printable(output: bytes) -> str:
    """Untrusted output as text that a terminal shows and does not obey."""
    text = output.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
    return "".join(char if char.isprintable() or char in "\n\t" else "\ufffd" for char in text)


def _accounts(backend: NamespaceBackend, image: Image, path: bytes) -> dict[str, list[str]]:
    try:
        data = backend.read_file(image, path, limit_bytes=_MAX_ACCOUNT_BYTES)
    except ImageError:
        return {}
    rows = [line.split(":") for line in data.decode("utf-8", "replace").splitlines()]
    return {row[0]: row for row in rows if len(row) >= 4 and row[2].isdigit()}


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() else None


def _limits() -> Limits:
    memory_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return Limits(
        memory_bytes=memory_bytes * 3 // 4,
        pids=8192,
        cpus=float(os.cpu_count() or 1),
        disk_bytes=64 * GIB,
    )
