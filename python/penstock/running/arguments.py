"""Validation of arguments. Values are never rounded or ignored."""

from __future__ import annotations

import operator
from typing import Any

from penstock import _core
from penstock.errors import ArgumentError

MAX_SEED = 2**64 - 1
MAX_THREADS = 64
"""Maximum number of threads per run, as in the engine."""


def whole(name: str, value: Any, low: int, high: int, *, also: str = "") -> int:
    """Validates a whole number, including NumPy integers.

    Raises
    ------
    ArgumentError
        If `value` has another type or is out of range. The message names the argument.
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
    """Validates a seed; ``None`` stands for the seed of the scenario."""
    return None if value is None else whole("seed", value, 0, MAX_SEED)


def precision_of(value: Any) -> str:
    """Validates a precision at which jobs end, such as ``"5 % at 95 %"``.

    Raises
    ------
    ArgumentError
        If `value` has another form.
    """
    try:
        return _core.precision(value)
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"until: {error}") from None


def threads_of(value: Any) -> int | None:
    """Validates a number of threads; returns ``None`` for "auto", as the engine expects."""
    return (
        None
        if isinstance(value, str) and value == "auto"
        else whole("threads", value, 1, MAX_THREADS, also=', or "auto"')
    )
