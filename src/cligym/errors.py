"""The one error tree of cligym: every error a caller can meet, and when.

    CLIGymError
    ├── ConfigError             (also ValueError)    bad option, unknown name, unreadable setting
    ├── TaskError               (also ValueError)    a task cannot be read or used as it stands
    ├── EpisodeError                                 calls in the wrong order (step before reset)
    ├── SandboxError                                 the sandbox failed, not the command in it
    │   ├── SandboxUnavailableError                  this machine cannot run this back end
    │   ├── SandboxStartError                        one sandbox did not start
    │   ├── SandboxDestroyedError                    the box is gone: its own processes ended it
    │   ├── SandboxTimeoutError (also TimeoutError)  *our* side of a sandbox call did not answer
    │   └── ImageError                               an image cannot be found, read, built or stored
    │       └── BuildError                           a Dockerfile cannot be parsed, or a RUN failed
    ├── GraderError                                  the grader failed: the attempt is unscored
    ├── AgentError
    │   ├── ModelCallError                           the model's server or process failed
    │   └── ActionFormatError                        an answer that is no action
    └── DependencyError         (also ImportError)   an extra or a program is missing

A command that fails is a *result* with an exit code, never an exception. An exception raised
while an attempt runs is an *infra error* (reward None) unless it is a `SandboxDestroyedError`,
which the agent caused itself and which is graded as it stands.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = [
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
    "boundary",
]


class CLIGymError(Exception):
    """Base of all errors that cligym raises on purpose; its text is one clear line."""


class ConfigError(CLIGymError, ValueError):
    """An option, a name or a settings file is wrong; nothing was started."""


class TaskError(CLIGymError, ValueError):
    """A task cannot be read, built or certified as it stands."""


class EpisodeError(CLIGymError):
    """An environment was used in the wrong order, for example `step` before `reset`."""


class SandboxError(CLIGymError):
    """The sandbox failed; the command that was running in it did not get a fair result."""


class SandboxUnavailableError(SandboxError):
    """This machine cannot run this back end; the text says what is missing."""


class SandboxStartError(SandboxError):
    """One sandbox did not start although the back end is available."""


class SandboxDestroyedError(SandboxError):
    """The box ended because of what ran in it; an agent's own doing, never an infra error."""


class SandboxTimeoutError(SandboxError, TimeoutError):
    """Our own supervisor did not answer in time (not: a command ran past its limit)."""


class ImageError(SandboxError):
    """An image or a layer cannot be found, read, stored or verified."""


class BuildError(ImageError):
    """A Dockerfile cannot be built.

    Attributes:
        line: 1-based line of the instruction in the Dockerfile, or None when unknown.
        exit_code: exit status of the failed RUN, or None when nothing ran.
        output: end of what the failed RUN printed (untrusted text), at most 4,000 characters.
    """

    def __init__(
        self,
        message: str,
        *,
        line: int | None = None,
        exit_code: int | None = None,
        output: str = "",
    ) -> None:
        super().__init__(message)
        self.line = line
        self.exit_code = exit_code
        self.output = output


class GraderError(CLIGymError):
    """A grader failed; the attempt stays unscored (reward None), never 0."""


class AgentError(CLIGymError):
    """An agent or its model failed."""


class ModelCallError(AgentError):
    """A model server or process did not give an answer; an infra error."""


class ActionFormatError(AgentError):
    """A model's answer holds no usable action; counted, shown to the model, never run."""


class DependencyError(CLIGymError, ImportError):
    """An optional package or program is missing; the text says what to install."""


@contextmanager
def boundary(error: type[CLIGymError], what: str) -> Iterator[None]:
    """Turns any foreign exception inside the block into `error`; ours pass unchanged.

    Args:
        error: the class to raise.
        what: what was being done, the first words of the message.

    Raises:
        CLIGymError: `error`, with the foreign exception as its cause.
    """
    try:
        yield
    except CLIGymError:
        raise
    except Exception as cause:  # the one place where foreign errors are sorted
        raise error(f"{what}: {type(cause).__name__}: {cause}") from cause
