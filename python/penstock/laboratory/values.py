"""Values of a varied key: lists, ranges with units, ranges of whole numbers.

========================  ====================================================================
text                      values
========================  ====================================================================
``10 KiB, 40 KiB``        list of values, as in a scenario file; words need no quotes
``1..20``                 whole numbers, both ends included
``10 KiB:50 KiB:20 KiB``  steps of 20 KiB: 10, 30 and 50 KiB
``20 KiB:200 KiB:10``     10 equidistant values, both ends included
``1 KiB:1 MiB:11:log``    11 values with equal ratios, both ends included
``1 us:50 us``            continuous range, for a Latin hypercube or a search
========================  ====================================================================

Values are rounded to whole numbers of the smallest unit (bytes, picoseconds, b/s).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from penstock.errors import ArgumentError, TomlError
from penstock.library import toml

from .quantity import MOST_DIGITS, Quantity, number, text_of, value_of

MOST_VALUES = 1_000_000
_LONG_NUMBER = re.compile(rf"(?<![\w\"'])(?<!\d\.)[+-]?\d[\d_]{{{MOST_DIGITS},}}")
_WHOLE = re.compile(r"([+-]?\d+)\.\.([+-]?\d+)")


@dataclass(frozen=True)
class Span:
    """A continuous range.

    Attributes
    ----------
    low, high : Quantity or Fraction
        Ends with the same dimension; `low` is smaller.
    whole : bool
        True for whole numbers only.
    log : bool
        True if values are distributed uniformly on a logarithmic scale.
    """

    low: Quantity | Fraction
    high: Quantity | Fraction
    whole: bool = False
    log: bool = False

    def at(self, share: float) -> Any:
        """Returns the value at a fraction of the range from `low` (0) to `high` (1), as in a scenario."""
        low, high = _amount(self.low), _amount(self.high)
        if self.log and 0.0 < share < 1.0:
            ratio = math.log(high) - math.log(low)
            amount = Fraction(math.exp(math.log(low) + share * ratio))
        else:
            amount = low + Fraction(share) * (high - low)
        if isinstance(self.low, Quantity):
            return text_of(Quantity(amount, self.low.dimension, self.low.unit).rounded())
        return round(amount) if self.whole else float(amount)


Values = list[Any] | Span
"""Domain of a key: a list of values, or a range."""


def read(key: str, given: Any) -> Values:
    """Parses the values of a key from text, a list or a Python range.

    Raises
    ------
    ArgumentError
        If there are no values, or the text is invalid. The message contains the key.
    """
    listed = given_of(given)
    found: Values = _from_text(key, listed) if isinstance(listed, str) else listed
    if isinstance(found, list) and not found:
        raise ArgumentError(f"{key}: no values; expected at least one")
    return found


def given_of(given: Any) -> str | list[Any]:
    """Normalizes values to text or a list; a single value becomes a list of one."""
    if isinstance(given, str):
        return given
    if isinstance(given, Iterable) and not isinstance(given, Mapping | bytes):
        return [one.item() if hasattr(one, "item") else one for one in given]
    return [given]


def assignment(text: str, option: str) -> tuple[str, str]:
    """Splits ``KEY=VALUES`` into its two sides.

    Raises
    ------
    ArgumentError
        If there is no ``=``.
    """
    key, sign, values = text.partition("=")
    if not (sign and key.strip() and values.strip()):
        left = "NAME" if option == "--measure" else "KEY"
        raise ArgumentError(f'{option} {text}: expected {left}=..., such as "{EXAMPLES[option]}"')
    return key.strip(), values.strip()


EXAMPLES = {
    "--vary": "flow_control.pfc.xoff=20 KiB:200 KiB:10",
    "--set": "flow_control.pfc.xon=xoff / 2",
    "--measure": "p99=max(flows.latency_p99_ns)",
}


def _from_text(key: str, text: str) -> Values:
    if long := _LONG_NUMBER.search(text):
        raise ArgumentError(f"{key}: {long[0]} is too large; expected at most {MOST_DIGITS} digits")
    if match := _WHOLE.fullmatch(text.strip()):
        first, last = int(match[1]), int(match[2])
        if first > last:
            raise ArgumentError(f"{key}: {text} is descending; expected the smaller number first")
        _bounded(key, text, last - first + 1)
        return list(range(first, last + 1))
    parts = [part.strip() for part in text.split(":")]
    if len(parts) > 1 and all(map(_is_number, parts[:2])):
        return _range(key, text, parts)
    return [_literal(part) for part in _listed(key, text)]


def _range(key: str, text: str, parts: Sequence[str]) -> Values:
    """Parses ``FROM:TO``, ``FROM:TO:STEP`` and ``FROM:TO:NUMBER``, optionally followed by ``:log``."""
    log = parts[-1] == "log"
    ends, third = [value_of(_literal(part)) for part in parts[:2]], parts[2 : len(parts) - log]
    if len(parts) > 3 + log or len(third) > 1:
        raise ArgumentError(f"{key}: {text} has too many parts; expected FROM:TO:NUMBER or FROM:TO:STEP")
    try:
        low, high = (end if isinstance(end, Quantity) else number(end) for end in ends)
    except ArgumentError as error:
        raise ArgumentError(f"{key}: {text}: {error}") from None
    if isinstance(low, Quantity) != isinstance(high, Quantity) or not low <= high:
        raise ArgumentError(f"{key}: {text}: expected two numbers with the same unit, the smaller one first")
    if log and _amount(low) <= 0:
        raise ArgumentError(f"{key}: {text} starts at 0; expected a number above 0 for log")
    span = Span(low, high, whole=all(isinstance(end, int) for end in ends), log=log)
    if not third:
        return span
    if not _is_number(third[0]):
        raise ArgumentError(f'{key}: "{third[0]}" in {text} is neither a number of values nor a step')
    step = value_of(_literal(third[0]))
    if isinstance(step, Quantity):
        return _steps(key, text, span, step)
    if not isinstance(step, int) or step < 2:
        raise ArgumentError(f"{key}: {third[0]} in {text}: expected a whole number of at least 2 values")
    _bounded(key, text, step)
    found = [span.at(index / (step - 1)) if log else _between(span, index, step - 1) for index in range(step)]
    return list(dict.fromkeys(found))


def _between(span: Span, index: int, parts: int) -> Any:
    """Exact value at `index / parts` of the range."""
    low, high = span.low, span.high
    amount = _amount(low) + (_amount(high) - _amount(low)) * Fraction(index, parts)
    if isinstance(low, Quantity):
        return text_of(Quantity(amount, low.dimension, low.unit).rounded())
    return text_of(amount)


def _steps(key: str, text: str, span: Span, step: Quantity) -> list[Any]:
    if not isinstance(span.low, Quantity) or span.low.dimension != step.dimension or step.amount <= 0:
        raise ArgumentError(f"{key}: {text}: expected a step above zero with the unit of both ends")
    if span.log:
        raise ArgumentError(f"{key}: {text}: log needs a number of values, not a step")
    number_of = int((_amount(span.high) - span.low.amount) / step.amount) + 1
    _bounded(key, text, number_of)
    return [text_of(span.low + step * index) for index in range(number_of)]


def _amount(value: Quantity | Fraction) -> Fraction:
    return value.amount if isinstance(value, Quantity) else value


def _bounded(key: str, text: str, values: int) -> None:
    if values > MOST_VALUES:
        raise ArgumentError(f"{key}: {text} has {values:,} values; expected at most {MOST_VALUES:,}")


def _is_number(text: str) -> bool:
    return isinstance(_literal(text), int | float) or Quantity.read(text) is not None


def _listed(key: str, text: str) -> list[str]:
    """Splits text at commas outside brackets and quotes."""
    parts, depth, quote = [""], 0, ""
    for letter in text:
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "\"'":
            quote = letter
        elif letter in "[{":
            depth += 1
        elif letter in "]}":
            depth -= 1
        if letter == "," and not (depth or quote):
            parts.append("")
        else:
            parts[-1] += letter
    if not all(part.strip() for part in parts):
        raise ArgumentError(f"{key}: {text} has an empty value between commas")
    return [part.strip() for part in parts]


def _literal(text: str) -> Any:
    """Parses a TOML value; text that is not valid TOML stays text."""
    try:
        return toml(f"value = {text}")["value"]
    except TomlError:
        return text
