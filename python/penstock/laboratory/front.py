"""Pareto fronts of two measures, each minimized or maximized."""

from __future__ import annotations

from penstock.errors import InputError
from penstock.library import suggestion

from .plan import Plan

_DIRECTIONS = {"minimize": 1.0, "maximize": -1.0}

Front = list[tuple[str, float]]
"""Two measures with 1 to minimize or -1 to maximize."""


def measures_of(front: str, plan: Plan) -> Front:
    """Parses text such as ``"minimize latency_p99_ns, maximize throughput_bps"``.

    Raises
    ------
    InputError
        If the number of measures is not two, or one is not a measure of the plan.
    """
    known = [measure.name for measure in plan.measures]
    found = []
    for part in front.split(","):
        good, _, name = part.strip().partition(" ")
        if good not in _DIRECTIONS:
            raise InputError(
                f'"{part.strip()}" of a Pareto front: expected "minimize" or "maximize" and a measure, '
                'such as "minimize latency_p99_ns, maximize throughput_bps"'
            )
        if name.strip() not in known:
            raise InputError(f"no measure {name.strip()}; {suggestion(name.strip(), known)}")
        found.append((name.strip(), _DIRECTIONS[good]))
    if len(found) != 2:
        raise InputError(f"{front}: {len(found)} measures; expected two for a Pareto front")
    return found


def best_of(points: list[tuple[float, float]]) -> list[bool]:
    """True for each point that no other point dominates; both values are minimized."""
    return [
        not any(other[0] <= point[0] and other[1] <= point[1] and other != point for other in points)
        for point in points
    ]
