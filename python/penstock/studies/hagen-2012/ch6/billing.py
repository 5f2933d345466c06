"""Accounted lengths of frames in a switch, and the resulting fair weights in closed form.

With deficit round robin the accounted lengths of busy queues are in the ratio of their weights. A stream of
frames of x bytes, of which c(x) are accounted and m(x) count as throughput, has the throughput weight * m(x)
/ c(x). It equals that of a stream with frames of B bytes if

    weight(x) / weight(B) = (c(x) / m(x)) / (c(B) / m(B)).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

HEADER_BYTES, LINE_BYTES = 18, 20
LARGE_BYTES = 1522
BINS = (68, 128, 256, 512, 1024)
"""Sizes of the frame counters of the source's switch, section 6.3."""
PIVOT_BYTES = 146
REPORTED = {68: 1.72, 256: 1.08}
REPORTED_MIX = 1.39
"""All fair weights printed in the source, section 6.2.3; the last one for 68 B and 256 B in one queue."""

Metric = Literal["payload", "frame"]
METRICS: tuple[Metric, ...] = ("payload", "frame")
_BASIS = {"payload": -HEADER_BYTES, "frame": 0, "wire": LINE_BYTES}


def formula(size: int) -> float:
    """Formulas 6.1 (up to 146 B) and 6.2: the lines that the source fitted to its measurements."""
    return -0.008 * size + 2.276 if size <= PIVOT_BYTES else -8.555e-5 * size + 1.106


def published(size: int) -> float:
    """The source's weight at one of its sizes: the printed measurement, otherwise the fitted line."""
    return REPORTED.get(size, formula(size))


def counted(metric: Metric, size: float) -> float:
    """Bytes of a frame that count as throughput."""
    return size - HEADER_BYTES if metric == "payload" else size


@dataclass(frozen=True)
class Billing:
    """The accounted length of a frame: payload, frame or wire bytes, rounded up to whole cells.

    Attributes
    ----------
    accounts : str
        ``"payload"`` (L - 18), ``"frame"`` (L) or ``"wire"`` (L + 20).
    cell : int
        Bytes of a memory cell; 0 for no rounding.
    extra : int
        Additional bytes per frame.
    """

    accounts: Literal["payload", "frame", "wire"]
    cell: int = 0
    extra: int = 0

    @property
    def name(self) -> str:
        """A description."""
        base = {"payload": "payload, L - 18", "frame": "frame, L", "wire": "wire, L + 20"}[self.accounts]
        return f"{base}, in cells of {self.cell} B" if self.cell else base

    def bytes(self, size: int) -> int:
        """Accounted bytes of a frame of `size` bytes."""
        plain = size + _BASIS[self.accounts] + self.extra
        return -(-plain // self.cell) * self.cell if self.cell else plain

    def weight(self, metric: Metric, size: int, large: int = LARGE_BYTES) -> float:
        """The fair weight of frames of `size` bytes beside `large` ones."""
        cost = self.bytes(size) / counted(metric, size)
        return cost / (self.bytes(large) / counted(metric, large))

    def mixed_weight(self, metric: Metric, one: int, other: int, *, by_load: bool) -> float:
        """Fair weight of a queue with two sizes, half of the frames each or half of the bytes each."""
        share = other / (one + other) if by_load else 0.5
        accounted = share * self.bytes(one) + (1 - share) * self.bytes(other)
        counts = share * counted(metric, one) + (1 - share) * counted(metric, other)
        return accounted / counts / (self.bytes(LARGE_BYTES) / counted(metric, LARGE_BYTES))

    def worst(self, metric: Metric) -> float:
        """Largest relative deviation of its fair weights from the source, at the source's five sizes."""
        return max(abs(self.weight(metric, size) / published(size) - 1) for size in BINS)

    def keys(self) -> dict[str, Any]:
        """Scheduler keys of this accounting rule."""
        return {
            "accounted_length": self.accounts,
            "cell": f"{self.cell} B",
            "per_frame": f"{self.extra} B",
        }


WIRE = Billing("wire")
WIRE_AND_4 = Billing("wire", extra=4)
"""24 B per frame, 4 more than the text states; three printed figures imply this value."""
CANDIDATES = (
    Billing("payload"),
    Billing("frame"),
    WIRE,
    Billing("wire", 64),
    Billing("wire", 40),
)
"""No overhead, line overhead, and cells: of 64 B, a common size, and of 40 B, the best fit."""


def best_cells(metric: Metric, most: int = 256) -> list[tuple[int, float]]:
    """Every cell size up to `most` bytes with its deviation from the source, the best first."""
    found = [(cell, Billing("wire", cell).worst(metric)) for cell in range(4, most + 1, 4)]
    return sorted(found, key=lambda one: one[1])


def needed_overhead(metric: Metric, size: int, weight: float) -> float:
    """Accounted bytes beyond the frame that make `weight` fair: the k of c(x) = x + k."""

    def distance(k: float) -> float:
        return (size + k) / counted(metric, size) / (
            (LARGE_BYTES + k) / counted(metric, LARGE_BYTES)
        ) - weight

    return _root(distance, -50.0, 1_000.0)


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    while high - low > 1e-9:
        middle = (low + high) / 2
        low, high = (middle, high) if (function(middle) > 0) == (function(low) > 0) else (low, middle)
    return (low + high) / 2
