"""Fits latency and bandwidth to measurements by size, and reports the error of each size.

The time of a message or collective of S bytes is modelled as a + S / B within a range of sizes. A range
corresponds to one protocol (eager, rendezvous; LL, LL128, Simple). The fit searches for the borders: it
considers all divisions into at most three ranges of at least three sizes each, and minimizes the sum of
squared relative errors. A further range is used only if the root mean square error exceeds 0.5 % and the
range more than halves the sum. Errors are relative, because sizes span many orders of magnitude.

Source: Hockney, "The communication challenge for MPP" (1994), for a + S / B; the search is Penstock's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.errors import InputError

LEAST_SIZES = 3
"""Minimum number of sizes in a range, to which two parameters are fitted."""
MOST_RANGES = 3
MOST_SIZES = 400
_GAIN = 0.5
_ENOUGH = 0.005
"""RMS relative error below which no further range is tried, because times have four digits."""


@dataclass(frozen=True)
class Range:
    """A line fitted to the times of neighbouring sizes.

    Attributes
    ----------
    first, last : int
        The smallest and the largest size of the range.
    latency_us : float
        Time of 0 bytes, at least 0.
    us_per_byte : float
        Time of each further byte.
    """

    first: int
    last: int
    latency_us: float
    us_per_byte: float

    def at(self, size: float) -> float:
        """Returns the time of a size in us."""
        return self.latency_us + size * self.us_per_byte

    @property
    def bytes_per_s(self) -> float:
        """Bandwidth in bytes per second; infinite if larger sizes take no longer."""
        return 1e6 / self.us_per_byte if self.us_per_byte > 0 else float("inf")


@dataclass(frozen=True)
class Fit:
    """All ranges in order, and the relative error of each size."""

    ranges: list[Range]
    errors: dict[int, float]

    def at(self, size: int) -> float:
        """Returns the time of a size in us, from the first range whose last size is not smaller."""
        return next((one for one in self.ranges if size <= one.last), self.ranges[-1]).at(size)

    @property
    def rms(self) -> float:
        """Root mean square of the relative errors."""
        return float((sum(one * one for one in self.errors.values()) / len(self.errors)) ** 0.5)

    @property
    def worst(self) -> tuple[int, float]:
        """The size with the largest error, and its error."""
        return max(self.errors.items(), key=lambda one: abs(one[1]))


def fit(times_us: dict[int, float], source: str) -> Fit:
    """Fits ranges to times by size.

    Raises
    ------
    InputError
        If there are fewer than three sizes, or a time is 0.
    """
    points = sorted(times_us.items())
    if len(points) < LEAST_SIZES:
        raise InputError(f"{source}: {len(points)} sizes; at least {LEAST_SIZES} are needed to fit a line")
    if len(points) > MOST_SIZES:
        raise InputError(f"{source}: {len(points):,} sizes; at most {MOST_SIZES} are fitted")
    if wrong := [size for size, time in points if not 0 < time < float("inf")]:
        raise InputError(f"{source}: the time of {wrong[0]} B is {times_us[wrong[0]]}; expected more than 0")
    found = _divided(points, 1)
    for count in range(2, min(MOST_RANGES, len(points) // LEAST_SIZES) + 1):
        if _square(points, found) < _ENOUGH**2 * len(points):
            break
        more = _divided(points, count)
        if _square(points, more) >= _GAIN * _square(points, found):
            break
        found = more
    whole = Fit(found, {})
    return Fit(found, {size: whole.at(size) / time - 1 for size, time in points})


def _divided(points: Sequence[tuple[int, float]], count: int) -> list[Range]:
    """Returns the best division into a given number of ranges."""
    if count == 1:
        return [_line(points)]
    best: list[Range] = []
    for border in range(LEAST_SIZES * (count - 1), len(points) - LEAST_SIZES + 1):
        tried = [*_divided(points[:border], count - 1), _line(points[border:])]
        if not best or _square(points, tried) < _square(points, best):
            best = tried
    return best


def _square(points: Sequence[tuple[int, float]], ranges: list[Range]) -> float:
    whole = Fit(ranges, {})
    return sum((whole.at(size) / time - 1) ** 2 for size, time in points)


def _line(points: Sequence[tuple[int, float]]) -> Range:
    """Returns the line with the least squared relative errors and nonnegative parameters."""
    rows = [(1 / time, size / time) for size, time in points]
    aa, ab, bb = sum(a * a for a, _ in rows), sum(a * b for a, b in rows), sum(b * b for _, b in rows)
    a, b = sum(a for a, _ in rows), sum(b for _, b in rows)
    determinant = aa * bb - ab * ab
    latency, slope = 0.0, b / bb
    if determinant > 1e-12 * aa * bb:
        latency, slope = (a * bb - b * ab) / determinant, (b * aa - a * ab) / determinant
    if slope < 0:
        latency, slope = a / aa, 0.0
    elif latency < 0:
        latency, slope = 0.0, b / bb
    return Range(points[0][0], points[-1][0], latency, slope)


@dataclass(frozen=True)
class HostCost:
    """Costs of a host in addition to the network, in LogGOPS terms.

    Attributes
    ----------
    overhead_us : float
        Overhead per message (o).
    overhead_ns_per_byte : float
        Overhead per byte (O).
    """

    overhead_us: float
    overhead_ns_per_byte: float


def host_cost(one: Range, factor: float, steps: int, latency_us: float, bytes_per_s: float) -> HostCost:
    """Returns the part of the measured times that a network with this latency and rate does not explain.

    Parameters
    ----------
    one : Range
        Times of a collective.
    factor : float
        Ratio of bus bandwidth to algorithm bandwidth.
    steps : int
        Number of messages in sequence.
    latency_us, bytes_per_s : float
        One-way latency of the network, and the rate of a link.
    """
    per_byte = one.us_per_byte * 1e3 / factor - 1e9 / bytes_per_s
    return HostCost(max(0.0, one.latency_us / steps - latency_us), max(0.0, per_byte))
