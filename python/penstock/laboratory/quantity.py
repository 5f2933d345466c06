"""Exact quantities of scenario files: parsing ("20 KiB"), arithmetic and formatting.

Source: the units in `crates/units/src/parse.rs`. Not modelled: compound units, such as a size over a rate.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any

from penstock.errors import ArgumentError

UNITS: dict[str, dict[str, int]] = {
    "time": {"ps": 1, "ns": 10**3, "us": 10**6, "ms": 10**9, "s": 10**12},
    "rate": {"b/s": 1, "kb/s": 10**3, "Mb/s": 10**6, "Gb/s": 10**9, "Tb/s": 10**12},
    "size": {
        "B": 1,
        "kB": 10**3,
        "KiB": 1 << 10,
        "MB": 10**6,
        "MiB": 1 << 20,
        "GB": 10**9,
        "GiB": 1 << 30,
        "TB": 10**12,
        "TiB": 1 << 40,
    },
    "length": {"mm": 1, "cm": 10, "m": 10**3, "km": 10**6},
    "tolerance": {"ppb": 1, "ppm": 10**3},
    "frames": {"frames": 1},
}
"""Units of each dimension. The first is the smallest; a scenario contains whole numbers of it."""

_IN_TABLES = {
    "time": ("ns", 10**3),
    "rate": ("bps", 1),
    "size": ("bytes", 1),
    "length": ("m", 10**3),
    "tolerance": ("ppm", 10**3),
    "frames": ("frames", 1),
}
_SAME = {"µs": "us", "frame": "frames"}
_TEXT = re.compile(r"\s*([+-]?(?:\d+(?:_\d+)*(?:\.(?:\d+(?:_\d+)*)?)?|\.\d+(?:_\d+)*))\s*([A-Za-zµ/]+)\s*")
_DECIMALS = 3
MOST_DIGITS = 40
"""Maximum number of digits: 2^64 ps has twenty."""


@dataclass(frozen=True)
class Quantity:
    """An exact amount with a dimension.

    Attributes
    ----------
    amount : Fraction
        In the smallest unit of the dimension: picoseconds, bits per second, bytes, millimetres, ppb, frames.
    dimension : str
        A key of `UNITS`.
    unit : str
        Original unit. Used for output if the result is exact there; does not affect equality.
    """

    amount: Fraction
    dimension: str
    unit: str = field(compare=False)

    @classmethod
    def read(cls, text: str) -> Quantity | None:
        """Parses a quantity; ``None`` if the text is not one."""
        match = _TEXT.fullmatch(text)
        if match is None:
            return None
        unit = _SAME.get(match[2], match[2])
        for dimension, units in UNITS.items():
            if unit in units:
                amount = Fraction(Decimal(match[1].replace("_", ""))) * units[unit]
                return cls(amount, dimension, unit)
        return None

    def rounded(self) -> Quantity:
        """Rounds to a whole number of the smallest unit, as scenarios require; ties to even."""
        return Quantity(Fraction(round(self.amount)), self.dimension, self.unit)

    def __str__(self) -> str:
        """Text for a scenario file: in the original unit if it needs few digits, else in the smallest."""
        whole = self.rounded().amount
        thousandths = whole / UNITS[self.dimension][self.unit] * 10**_DECIMALS
        if thousandths.denominator == 1:
            digits = Decimal(thousandths.numerator).scaleb(-_DECIMALS)
            return f"{_plain(digits)} {self.unit}"
        return f"{whole} {next(iter(UNITS[self.dimension]))}"

    def in_tables(self) -> tuple[float, str]:
        """Returns the amount in the unit of result tables, and the name of that unit, such as ns or bps."""
        word, size = _IN_TABLES[self.dimension]
        return float(self.amount / size), word

    def __add__(self, other: object) -> Quantity:
        return Quantity(self.amount + self._same(other), self.dimension, self.unit)

    def __sub__(self, other: object) -> Quantity:
        return Quantity(self.amount - self._same(other), self.dimension, self.unit)

    def __mul__(self, other: object) -> Quantity:
        return Quantity(self.amount * number(other), self.dimension, self.unit)

    __radd__ = __add__
    __rmul__ = __mul__

    def __rsub__(self, other: object) -> Quantity:
        return Quantity(self._same(other) - self.amount, self.dimension, self.unit)

    def __rtruediv__(self, other: object) -> Fraction:
        return self._same(other) / _divisor(self.amount)

    def __truediv__(self, other: object) -> Quantity | Fraction:
        if isinstance(other, Quantity):
            return self.amount / _divisor(self._same(other))
        return Quantity(self.amount / _divisor(number(other)), self.dimension, self.unit)

    def __neg__(self) -> Quantity:
        return Quantity(-self.amount, self.dimension, self.unit)

    def __lt__(self, other: object) -> bool:
        return self.amount < self._same(other)

    def __le__(self, other: object) -> bool:
        return self.amount <= self._same(other)

    def __gt__(self, other: object) -> bool:
        return self.amount > self._same(other)

    def __ge__(self, other: object) -> bool:
        return self.amount >= self._same(other)

    def _same(self, other: object) -> Fraction:
        if isinstance(other, Quantity) and other.dimension == self.dimension:
            return other.amount
        raise ArgumentError(f"{self} and {other} have different dimensions; expected equal ones")


def number(value: object) -> Fraction:
    """Returns the exact value of a plain number."""
    if isinstance(value, bool) or not isinstance(value, int | float | Fraction):
        raise ArgumentError(f"{value} is not a plain number")
    if isinstance(value, float) and not math.isfinite(value):
        raise ArgumentError(f"{value} is not a finite number")
    return Fraction(repr(value)) if isinstance(value, float) else Fraction(value)


def value_of(value: Any) -> Any:
    """Converts a scenario value for arithmetic: text with a unit becomes a `Quantity`."""
    found = Quantity.read(value) if isinstance(value, str) else None
    return value if found is None else found


def text_of(value: Any) -> Any:
    """Converts a computed value for a scenario: integers stay integers, quantities become text.

    Raises
    ------
    ArgumentError
        If it has too many digits.
    """
    amount = value.amount if isinstance(value, Quantity) else value
    if isinstance(amount, int | Fraction) and abs(amount) >= 10**MOST_DIGITS:
        raise ArgumentError(f"the value is too large: more than {MOST_DIGITS} digits")
    if isinstance(value, Quantity):
        return str(value)
    if isinstance(value, Fraction):
        return value.numerator if value.denominator == 1 else float(value)
    return value


def _divisor(value: Fraction) -> Fraction:
    if value == 0:
        raise ArgumentError("division by zero")
    return value


def _plain(value: Decimal) -> str:
    text = f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
