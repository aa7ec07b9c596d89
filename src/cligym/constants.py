"""The few fixed values that callers of cligym write down themselves."""

from __future__ import annotations

__all__ = ["SUBMIT"]

SUBMIT = "\x04"
"""The action that ends an episode: a control character (end of transmission), so that no command
text, printed file or model answer can ever be mistaken for it."""
