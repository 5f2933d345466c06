"""Fits lines to measured fair weights: formulas 6.1 and 6.2 of Hagen 2012, for any switch.

The source measures the weight that a queue needs to compete with a queue of large frames, for several frame
sizes. It fits two lines: one below a pivot and one above. `fit` does this for any baseline. It fits both
lines
by least squares for every pivot between two sizes, and selects the pivot with the smallest sum of squares::

    from penstock.analysis.fitting import fit

    lines = fit({68: 1.716, 128: 1.269, 256: 1.131, 512: 1.062, 1024: 1.022, 1522: 1.0})
    lines.weight(100)

Each line covers at least two sizes. The pivot is the intersection of the lines if it lies between the sizes
next to it, and otherwise the midpoint of those sizes.

Source: Hagen 2012, section 6.3, which says "line fitting" and "the least amount of deviation from the
original curve". Least squares and the search over all pivots are choices of this implementation.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from penstock.errors import InputError

LEAST_SIZES = 4
"""Minimum number of sizes: two lines with two points each."""


@dataclass(frozen=True)
class Line:
    """Weight as a linear function of the frame size.

    Attributes
    ----------
    slope : float
        Change of the weight per byte.
    intercept : float
        The weight at 0 B.
    """

    slope: float
    intercept: float

    def at(self, size: float) -> float:
        """The weight at a size in bytes."""
        return self.slope * size + self.intercept


@dataclass(frozen=True)
class Lines:
    """Two lines and the size at which they meet.

    Attributes
    ----------
    small, large : Line
        Formulas 6.1 and 6.2.
    pivot_bytes : float
        Largest size, inclusive, for which `small` applies.
    rms : float
        Root mean square of the differences between lines and baseline.
    worst : float
        Maximum absolute difference.
    """

    small: Line
    large: Line
    pivot_bytes: float
    rms: float
    worst: float

    def weight(self, size: float) -> float:
        """Returns the fair weight of frames with this size in bytes."""
        return (self.small if size <= self.pivot_bytes else self.large).at(size)


PUBLISHED = Lines(Line(-0.008, 2.276), Line(-8.555e-5, 1.106), 146.0, math.nan, math.nan)
"""Lines published in the source, which does not print their baseline."""


def fit(baseline: Mapping[int, float]) -> Lines:
    """Fits two lines to fair weights by frame size.

    Parameters
    ----------
    baseline : mapping
        Fair weight by frame size in bytes (DA to FCS); at least four sizes.

    Returns
    -------
    Lines
        The pair of lines with the smallest sum of squares.

    Raises
    ------
    InputError
        If there are fewer than four sizes, or a size or weight is not above 0.

    Examples
    --------
    Weights on two lines yield these lines.

    >>> found = fit({64: 1.6, 100: 1.24, 300: 1.1, 800: 1.05, 1300: 1.0})
    >>> round(found.large.slope, 6), round(found.weight(800), 3)
    (-0.0001, 1.05)
    """
    points = sorted(baseline.items())
    for size, weight in points:
        if not (0 < size < math.inf and 0 < weight < math.inf):
            raise InputError(f"weight {weight:g} at {size:g} B; expected sizes and weights above 0")
    if len(points) < LEAST_SIZES:
        raise InputError(f"{len(points)} sizes; two lines need at least {LEAST_SIZES}")
    candidates = [_parted(points, at) for at in range(2, len(points) - 1)]
    return min(candidates, key=lambda lines: lines.rms)


def _parted(points: Sequence[tuple[int, float]], at: int) -> Lines:
    small, large = _least_squares(points[:at]), _least_squares(points[at:])
    below, above = points[at - 1][0], points[at][0]
    pivot = (below + above) / 2
    if small.slope != large.slope:
        crossing = (large.intercept - small.intercept) / (small.slope - large.slope)
        if below <= crossing < above:
            pivot = crossing
    away = [(small if place < at else large).at(size) - weight for place, (size, weight) in enumerate(points)]
    rms = math.sqrt(math.fsum(one * one for one in away) / len(away))
    return Lines(small, large, pivot, rms, max(map(abs, away)))


def _least_squares(points: Sequence[tuple[int, float]]) -> Line:
    count = len(points)
    mean_x = math.fsum(x for x, _ in points) / count
    mean_y = math.fsum(y for _, y in points) / count
    square = math.fsum((x - mean_x) ** 2 for x, _ in points)
    slope = math.fsum((x - mean_x) * (y - mean_y) for x, y in points) / square
    return Line(slope, mean_y - slope * mean_x)


def read_baseline(text: str, name: str) -> dict[int, float]:
    """Reads lines ``SIZE,WEIGHT``. Skips comments (#) and a header line.

    Raises
    ------
    InputError
        If a line has another form or repeats a size; the message names file and line.
    """
    found: dict[int, float] = {}
    for number, line in enumerate(text.splitlines(), 1):
        bare = line.strip()
        if not bare or bare.startswith("#") or (not found and not any(map(str.isdigit, bare))):
            continue
        try:
            size, weight = (part.strip() for part in bare.split(","))
            point = int(size.removesuffix("B").strip()), float(weight)
        except ValueError:
            raise InputError(f"{name}:{number}: {bare!r}; expected SIZE,WEIGHT, such as 68,1.72") from None
        if point[0] in found:
            raise InputError(f"{name}:{number}: {point[0]} B comes twice; expected each size once")
        found[point[0]] = point[1]
    return found
