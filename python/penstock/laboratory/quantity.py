"""Quantities of scenario files as exact numbers: what "20 KiB" is, half of it, and the way back to text.

Source: the units of `crates/units/src/parse.rs`. Not modelled: cross products, such as a size over a rate.
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
"""Each dimension with its units; the first is the smallest, of which a scenario has whole numbers."""

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
"""Digits of a number, at most: 2^64 ps has twenty."""


@dataclass(frozen=True)
class Quantity:
    """An exact amount of a dimension.

    Attributes
    ----------
    amount : Fraction
        In the smallest unit of the dimension: picoseconds, bits a second, bytes, millimetres, ppb, frames.
    dimension : str
        A key of `UNITS`.
    unit : str
        The unit that it was written in, which it is printed in where that is exact; 1 KiB equals 1024 B.
    """

    amount: Fraction
    dimension: str
    unit: str = field(compare=False)

    @classmethod
    def read(cls, text: str) -> Quantity | None:
        """The quantity that a text is; ``None`` if it is none."""
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
        """The nearest one that a scenario can have: a whole number of the smallest unit; halves to even."""
        return Quantity(Fraction(round(self.amount)), self.dimension, self.unit)

    def __str__(self) -> str:
        """The text in a scenario file: in its unit if few digits suffice, otherwise in the smallest unit."""
        whole = self.rounded().amount
        thousandths = whole / UNITS[self.dimension][self.unit] * 10**_DECIMALS
        if thousandths.denominator == 1:
            digits = Decimal(thousandths.numerator).scaleb(-_DECIMALS)
            return f"{_plain(digits)} {self.unit}"
        return f"{whole} {next(iter(UNITS[self.dimension]))}"

    def in_tables(self) -> tuple[float, str]:
        """Its amount as result tables have it, and the word for the unit, such as ns, bps or bytes."""
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
        raise ArgumentError(f"{self} and {other} do not go together: expected two of one unit")


def number(value: object) -> Fraction:
    """A plain number, exactly as it is written."""
    if isinstance(value, bool) or not isinstance(value, int | float | Fraction):
        raise ArgumentError(f"{value} is not a plain number")
    if isinstance(value, float) and not math.isfinite(value):
        raise ArgumentError(f"{value} is not a finite number")
    return Fraction(repr(value)) if isinstance(value, float) else Fraction(value)


def value_of(value: Any) -> Any:
    """A value of a scenario for calculations: text with a unit is a `Quantity`."""
    found = Quantity.read(value) if isinstance(value, str) else None
    return value if found is None else found


def text_of(value: Any) -> Any:
    """A calculated value as a scenario has it: whole numbers stay whole, quantities are text.

    Raises
    ------
    ArgumentError
        If it has more digits than any scenario.
    """
    amount = value.amount if isinstance(value, Quantity) else value
    if isinstance(amount, int | Fraction) and abs(amount) >= 10**MOST_DIGITS:
        raise ArgumentError(f"a value of more than {MOST_DIGITS} digits is too large")
    if isinstance(value, Quantity):
        return str(value)
    if isinstance(value, Fraction):
        return value.numerator if value.denominator == 1 else float(value)
    return value


def _divisor(value: Fraction) -> Fraction:
    if value == 0:
        raise ArgumentError("a division by zero")
    return value


def _plain(value: Decimal) -> str:
    text = f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
