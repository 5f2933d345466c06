"""Converts shares of classes to the form of other programs' schedulers."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction


def percentages(weights: Mapping[int, int]) -> dict[int, int]:
    """Weights as whole percentages of at least 1 that sum to 100, by the largest-remainder method."""
    exact = {number: Fraction(100 * weight, sum(weights.values())) for number, weight in weights.items()}
    shares = {number: max(int(share), 1) for number, share in exact.items()}
    while (over := sum(shares.values()) - 100) != 0:
        step = -1 if over > 0 else 1
        free = [number for number in shares if shares[number] + step >= 1]
        shares[max(free, key=lambda number: step * (exact[number] - shares[number]))] += step
    return shares
