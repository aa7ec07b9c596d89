"""A space of Unicode texts: Gymnasium's own `Text` refuses most of what a shell prints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

import numpy as np
from gymnasium.spaces import Space
from gymnasium.vector.utils.shared_memory import (
    create_shared_memory,
    read_from_shared_memory,
    write_to_shared_memory,
)

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


# So that `AsyncVectorEnv` works as users make it, with shared memory: a slot per environment holds
# the text's length and its code points.


class _SharedTexts(Sequence[str]):
    """The texts as they are now: the vector environment reads once and copies after each step."""

    def __init__(self, slots: np.ndarray[Any, np.dtype[np.uint32]]) -> None:
        self._slots = slots

    def __len__(self) -> int:
        return len(self._slots)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[str, ...]: ...
    def __getitem__(self, index: int | slice) -> str | tuple[str, ...]:
        if isinstance(index, slice):
            return tuple(self[place] for place in range(*index.indices(len(self))))
        slot = self._slots[index]
        points = slot[1 : 1 + int(slot[0])].astype("<u4")
        return str(points.tobytes().decode("utf-32-le", "surrogatepass"))

    def __deepcopy__(self, memo: dict[int, Any]) -> tuple[str, ...]:
        return tuple(self)


@create_shared_memory.register(UnicodeText)
def _create(space: UnicodeText, n: int = 1, ctx: Any = None) -> Any:
    return ctx.Array("I", n * (space.max_length + 1))


@write_to_shared_memory.register(UnicodeText)
def _write(space: UnicodeText, index: int, value: str, shared_memory: Any) -> None:
    slot = _slots(space, shared_memory)[index]
    points = np.frombuffer(value.encode("utf-32-le", "surrogatepass"), dtype="<u4")
    slot[0] = len(points)
    slot[1 : 1 + len(points)] = points


@read_from_shared_memory.register(UnicodeText)
def _read(space: UnicodeText, shared_memory: Any, n: int = 1) -> _SharedTexts:
    return _SharedTexts(_slots(space, shared_memory)[:n])


def _slots(space: UnicodeText, shared_memory: Any) -> np.ndarray[Any, np.dtype[np.uint32]]:
    array = np.frombuffer(shared_memory.get_obj(), dtype=np.uint32)
    return array.reshape(-1, space.max_length + 1)
