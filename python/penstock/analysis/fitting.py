"""Lines through measured fair weights: formulas 6.1 and 6.2 of Hagen 2012 for a switch of one's own.

The source measures, for frames of several sizes, the weight that a queue needs beside one of large
frames, and fits two lines to it, one below a pivot and one above. `fit` does that for any baseline: for
every pivot between two sizes both lines are those of least squares, and the pivot with the smallest sum of
squares over all sizes counts::

    from penstock.analysis.fitting import fit

    lines = fit({68: 1.716, 128: 1.269, 256: 1.131, 512: 1.062, 1024: 1.022, 1522: 1.0})
    lines.weight(100)

Each line has two sizes at least. The pivot is where the lines cross, if they do so between the sizes that
they part, and otherwise in the middle of these.

Source: Hagen 2012, section 6.3, which says "line fitting" and "the least amount of deviation from the
original curve". That deviation is the sum of squares, and that the pivot is searched among all, are ours.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from penstock.errors import InputError

LEAST_SIZES = 4
"""Two lines through two points each."""


@dataclass(frozen=True)
class Line:
    """A weight that falls or rises with the size of frames.

    Attributes
    ----------
    slope : float
        Change of the weight a byte.
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
    """Two lines, and the size up to which the first holds.

    Attributes
    ----------
    small, large : Line
        Formula 6.1 and 6.2.
    pivot_bytes : float
        Up to it, inclusive, the first.
    rms : float
        Root of the mean square of what is between the lines and the baseline.
    worst : float
        The largest of these differences, without its sign.
    """

    small: Line
    large: Line
    pivot_bytes: float
    rms: float
    worst: float

    def weight(self, size: float) -> float:
        """The weight that the lines give frames of a size in bytes."""
        return (self.small if size <= self.pivot_bytes else self.large).at(size)


PUBLISHED = Lines(Line(-0.008, 2.276), Line(-8.555e-5, 1.106), 146.0, math.nan, math.nan)
"""The lines of the source, whose baseline it does not print."""


def fit(baseline: Mapping[int, float]) -> Lines:
    """Fits two lines to fair weights by the size of frames.

    Parameters
    ----------
    baseline : mapping
        Fair weight by size of frame in bytes, DA to FCS; at least four sizes.

    Returns
    -------
    Lines
        Those with the smallest sum of squares.

    Raises
    ------
    InputError
        If there are too few sizes, or a size or weight is not above 0.

    Examples
    --------
    Weights on two lines come back as these lines.

    >>> found = fit({64: 1.6, 100: 1.24, 300: 1.1, 800: 1.05, 1300: 1.0})
    >>> round(found.large.slope, 6), round(found.weight(800), 3)
    (-0.0001, 1.05)
    """
    points = sorted(baseline.items())
    for size, weight in points:
        if not (0 < size < math.inf and 0 < weight < math.inf):
            raise InputError(f"a weight of {weight:g} at {size:g} B; sizes and weights above 0 are accepted")
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
    """Reads lines ``SIZE,WEIGHT``; those that begin with # and a head without numbers are left out.

    Raises
    ------
    InputError
        If a line is something else, or a size comes twice; it names file and line.
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
