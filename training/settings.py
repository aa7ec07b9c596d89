"""Settings of the training scripts: shipped file < own file < command line; no unknown keys."""

from __future__ import annotations

import argparse
import types
import typing
from collections.abc import Mapping, Sequence
from enum import StrEnum
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from cligym.errors import ConfigError

__all__ = ["Settings", "add_flags", "load_settings", "read_yaml"]


class Settings(BaseModel):
    """Base of a script's settings; each field's description is its help text."""

    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=())

    def to_yaml(self) -> str:
        """Writes the settings as YAML that `load_settings` reads back."""
        return yaml.safe_dump(self.model_dump(mode="json"), sort_keys=False)


S = TypeVar("S", bound=Settings)


def load_settings(
    kind: type[S], *, shipped: str, config: Path | None, flags: Mapping[str, Any]
) -> S:
    """Merges the shipped file, an own file and the command line, in this order.

    Args:
        kind: the settings' class.
        shipped: name of the shipped file in `configs/`.
        config: an own file, or None.
        flags: what the command line gave; None values are ignored.

    Raises:
        ConfigError: a file cannot be read, a key is unknown, or a value is wrong.
    """
    text = (resources.files("cligym.configs") / shipped).read_text(encoding="utf-8")
    merged = _parse_yaml(text, where=shipped)
    if config is not None:
        merged |= read_yaml(config)
    merged |= {key: value for key, value in flags.items() if value is not None}
    try:
        return kind.model_validate(merged)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        raise ConfigError(f"setting {name!r}: {first['msg']}; see configs/{shipped}") from error


def read_yaml(path: Path) -> dict[str, Any]:
    """Reads a YAML file that holds one mapping.

    Raises:
        ConfigError: the file cannot be read or holds something else.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"cannot read settings {path}: {error.strerror}") from error
    return _parse_yaml(text, where=str(path))


def _parse_yaml(text: str, *, where: str) -> dict[str, Any]:
    """Parses one YAML mapping; an empty file is an empty mapping."""
    try:
        loaded = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ConfigError(f"{where} is no YAML: {' '.join(str(error).split())}") from error
    if loaded is None:
        return {}
    if not isinstance(loaded, dict):
        raise ConfigError(f"{where} holds no mapping of settings, found {type(loaded).__name__}")
    return loaded


def add_flags(parser: argparse.ArgumentParser, kind: type[Settings]) -> None:
    """Adds `--some-setting` for every field; absent flags are None and change nothing."""
    for name, info in kind.model_fields.items():
        flag = "--" + name.replace("_", "-")
        options: dict[str, Any] = {"dest": name, "default": None, "help": info.description}
        bare = _without_none(info.annotation)
        if bare is bool:
            options["action"] = argparse.BooleanOptionalAction
        elif typing.get_origin(bare) in (tuple, list):
            options["nargs"] = "+"
        elif isinstance(bare, type) and issubclass(bare, StrEnum):
            options["choices"] = [member.value for member in bare]
        parser.add_argument(flag, **options)


def _without_none(annotation: Any) -> Any:
    """Strips `| None` from a field's type."""
    if isinstance(annotation, types.UnionType) or typing.get_origin(annotation) is typing.Union:
        rest: Sequence[Any] = [
            part for part in typing.get_args(annotation) if part is not types.NoneType
        ]
        return rest[0] if len(rest) == 1 else annotation
    return annotation
