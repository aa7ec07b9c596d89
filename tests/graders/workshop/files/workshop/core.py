"""Prices and totals."""

import json
import pathlib


def prices() -> dict[str, int]:
    """The price of each thing."""
    text = pathlib.Path(__file__).with_name("prices.json").read_text()
    found: dict[str, int] = json.loads(text)
    return found


def total(names: list[str]) -> int:
    """What these things cost together."""
    known = prices()
    return sum(known[name] for name in names)


def discount(amount: int, percent: int) -> int:
    """The amount less some percent, rounded down."""
    return amount * (100 - percent) // 100
