"""Time series as step lines at the edges of their bins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.measurements import of_result

from .style import Scale, time_scale

if TYPE_CHECKING:
    from penstock.measurements import Curve, Measurements

Series = dict[str, "Curve"]

MAX_BINS = 120
"""Maximum number of bins along the axis; bins of a few frames would be noise."""


@of_result
def steps(result: Measurements, line: Curve, scale: Scale) -> tuple[Any, Any]:
    """Points of a step line; the last value lasts until the end of the run."""
    times, values = line
    edges = np.append(times, max(end_ns(result), float(times[-1]))) / time_scale(end_ns(result)).size
    return np.repeat(edges, 2)[1:-1], np.repeat(values / scale.size, 2)


@of_result
def width(result: Measurements, lines: Series) -> str:
    """Width of the bins, as text."""
    times = next(iter(lines.values()))[0]
    scale = time_scale(wide := float(times[1] - times[0]) if len(times) > 1 else end_ns(result))
    return f"{wide / scale.size:.3g} {scale.unit}"


@of_result
def end_ns(result: Measurements) -> float:
    """End of the run."""
    return float(result.run["simulated_s"]) * 1e9
