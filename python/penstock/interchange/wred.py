"""WRED as switches have it, from the keys of a queue manager."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from penstock.errors import InputError
from penstock.laboratory.quantity import Quantity

OF_WRED = {
    "weight": 1.0,
    "gentle": False,
    "mode": "frame",
    "spacing": "geometric",
    "counts": "without_frame",
    "at": "enqueue",
}
"""Keys of RED that WRED has no words for, and how it is; `min`, `max`, `max_probability` and `action`
it has."""


@dataclass(frozen=True)
class WredLine:
    """What frames of a color meet: thresholds in bytes, per cent at the upper one, and what happens."""

    least: int
    most: int
    percent: int
    drops: bool
    marks: bool


def wred_line(key: str, keys: Mapping[str, Any]) -> WredLine:
    """The line of keys of RED; `key` says where they are, for errors."""
    percent = Fraction(repr(keys["max_probability"])) * 100
    if percent.denominator != 1:
        raise InputError(
            f"{key}.max_probability is {keys['max_probability']}; whole per cent can be exported"
        )
    least, most = (whole_bytes(f"{key}.{name}", keys[name]) for name in ("min", "max"))
    action = keys["action"]
    return WredLine(least, most, int(percent), drops=action != "mark_only", marks=action != "drop")


def whole_bytes(key: str, text: object) -> int:
    """A size in bytes."""
    return whole_amount(key, text, "size", 1, "sizes in bytes")


def whole_amount(key: str, text: object, dimension: str, unit: int, accepted: str) -> int:
    """A whole number of a unit, of which the smallest has so many."""
    quantity = Quantity.read(text) if isinstance(text, str) else None
    if quantity is None or quantity.dimension != dimension or quantity.amount % unit:
        raise InputError(f"{key} is {text}; {accepted} can be exported")
    return int(quantity.amount // unit)
