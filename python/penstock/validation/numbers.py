"""Formats the numbers of a validation."""

from __future__ import annotations

import math

from .registry import Row


def value(number: float, *, exactly: bool) -> str:
    """Returns a value with five significant digits, or with all digits if `exactly` is true."""
    if exactly:
        return f"{round(number):,}"
    if number == 0 or not math.isfinite(number):
        return f"{number:g}"
    digits = max(4 - math.floor(math.log10(abs(number))), 0)
    return f"{number:,.{digits}f}"


def cells(row: Row) -> tuple[str, str, str, str, str]:
    """Returns theory, measurement, 99 % interval, difference, and probability of such a difference."""
    exactly = row.rule == "exact"
    spread, unit = row.interval, f" {row.unit}" if row.unit else ""
    random = spread.n > 1 and not exactly
    return (
        value(row.theory, exactly=exactly) + unit,
        value(row.mean, exactly=exactly) + unit,
        f"{value(spread.low, exactly=False)} … {value(spread.high, exactly=False)}" if random else "",
        "" if exactly else f"{100 * row.difference:+.2f} %",
        f"{row.probability:.2g}" if random and row.rule == "interval" else "",
    )


def rule(row: Row) -> str:
    """Returns a description of the rule that judges the row."""
    if row.rule == "exact":
        return "equal"
    if row.rule == "tolerance":
        return f"within {100 * row.limit:g} %"
    if row.rule == "bound":
        return f"bound, at least {100 * row.limit:g} % of it reached"
    return f"interval, half-width ≤ {100 * row.limit:g} %"
