"""Validation of arguments: nothing is rounded or ignored."""

from __future__ import annotations

import operator
from typing import Any

from penstock import _core
from penstock.errors import ArgumentError

MAX_SEED = 2**64 - 1
MAX_THREADS = 64
"""For one run; the engine takes no more."""


def whole(name: str, value: Any, low: int, high: int, *, also: str = "") -> int:
    """A whole number, also one of NumPy.

    Raises
    ------
    ArgumentError
        If `value` is something else or out of range. The message names the argument.
    """
    expected = f"expected a whole number from {low} to {high}{also}"
    try:
        number = operator.index(value)
    except TypeError:
        raise ArgumentError(f"{name} is {value!r}; {expected}") from None
    if isinstance(value, bool) or not low <= number <= high:
        raise ArgumentError(f"{name} is {value!r}; {expected}")
    return number


def seed_of(value: Any) -> int | None:
    """A seed; ``None`` for that of the scenario."""
    return None if value is None else whole("seed", value, 0, MAX_SEED)


def precision_of(value: Any) -> str:
    """A precision at which jobs end, such as ``"5 % at 95 %"``.

    Raises
    ------
    ArgumentError
        If `value` is something else.
    """
    try:
        return _core.precision(value)
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"until: {error}") from None


def threads_of(value: Any) -> int | None:
    """A number of threads, as the engine takes it: ``None`` stands for "auto"."""
    return (
        None
        if isinstance(value, str) and value == "auto"
        else whole("threads", value, 1, MAX_THREADS, also=', or "auto"')
    )
