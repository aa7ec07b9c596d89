"""A space of Unicode texts: Gymnasium's own `Text` refuses most of what a shell prints."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.spaces import Space

__all__ = ["UnicodeText"]

_SAMPLE_ALPHABET = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 .,-_éß✓漢"
_SAMPLE_CHARACTERS = 24


class UnicodeText(Space[str]):
    """Every text of bounded length.

    Args:
        max_length: most characters.
        min_length: fewest characters.
        seed: seed of `sample`.
    """

    def __init__(
        self, max_length: int, *, min_length: int = 0, seed: int | np.random.Generator | None = None
    ) -> None:
        super().__init__(dtype=str, seed=seed)
        self.max_length = max_length
        self.min_length = min_length

    @property
    def is_np_flattenable(self) -> bool:
        """Texts have no array form."""
        return False

    def sample(self, mask: Any | None = None, probability: Any | None = None) -> str:
        """A short text of letters, digits and a few characters beyond ASCII."""
        if mask is not None or probability is not None:
            raise ValueError("a space of texts takes neither a mask nor probabilities")
        longest = min(self.max_length, max(_SAMPLE_CHARACTERS, self.min_length))
        length = int(self.np_random.integers(max(1, self.min_length), longest + 1))
        letters = self.np_random.integers(0, len(_SAMPLE_ALPHABET), size=length)
        return "".join(_SAMPLE_ALPHABET[index] for index in letters)

    def contains(self, x: Any) -> bool:
        """True for a text within the bounds."""
        return isinstance(x, str) and self.min_length <= len(x) <= self.max_length

    def __repr__(self) -> str:
        return f"UnicodeText({self.max_length}, min_length={self.min_length})"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, UnicodeText)
            and self.max_length == other.max_length
            and self.min_length == other.min_length
        )

    def __hash__(self) -> int:
        return hash((self.min_length, self.max_length))
