"""Chooses the chat template of a training run, and names it."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Any

from cligym.errors import ConfigError
from cligym.training.chat_mask import template_digest

__all__ = ["OWN", "TRAINING", "choose_template", "name_template"]

OWN = "own"
TRAINING = "training"


def choose_template(tokenizer: Any, choice: str) -> str:
    """Sets the tokenizer's chat template and gives its name for messages.

    Args:
        tokenizer: a transformers tokenizer; changed in place unless `choice` is `own`.
        choice: `own` keeps the tokenizer's, `training` takes TRL's prefix-preserving twin of it,
            and anything else is the path of a Jinja file.

    Raises:
        ConfigError: the tokenizer has no template, TRL knows no twin, or the file cannot be read.
    """
    if choice == TRAINING:
        tokenizer.chat_template = _training_twin(tokenizer)
    elif choice != OWN:
        try:
            tokenizer.chat_template = Path(choice).read_text(encoding="utf-8")
        except OSError as error:
            raise ConfigError(
                f"chat_template is own, training or a file; cannot read {choice}: {error.strerror}"
            ) from error
    if not isinstance(tokenizer.chat_template, str):
        raise ConfigError("the tokenizer has no chat template; name a Jinja file as chat_template")
    return name_template(tokenizer.chat_template)


def name_template(template: str) -> str:
    """Names a template as TRL does where TRL ships it, and by its digest otherwise."""
    digest = f"sha256 {template_digest(template)[:12]}"
    for file in resources.files("trl.chat_templates").iterdir():
        if file.name.endswith(".jinja") and file.read_text(encoding="utf-8") == template:
            return f"{file.name.removesuffix('.jinja')} ({digest})"
    return digest


def _training_twin(tokenizer: Any) -> str:
    """Gives TRL's training template for this tokenizer's own."""
    from trl.chat_template_utils import get_training_chat_template

    try:
        twin = get_training_chat_template(tokenizer)
    except ValueError as error:
        raise ConfigError(f"TRL has no training twin of this chat template: {error}") from error
    return str(twin if twin is not None else tokenizer.chat_template)
