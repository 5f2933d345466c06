"""Distributions of the occupancy of queues, ports, memories and counters."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from penstock import arrow
from penstock.errors import InputError
from penstock.measurements import of_result
from penstock.units import count

from .style import FAINT, Margins, colors, size_scale, stack, style

if TYPE_CHECKING:
    from penstock.measurements import Measurements

MAX_LINES = 6
"""Maximum number of entities per kind, by mean occupancy."""
_KINDS = {
    "queue": "queues",
    "port": "ports",
    "class": "classes per node",
    "memory": "node memories",
    "counter": "ingress counters",
}
_AROUND = Margins(left=0.7, right=0.3, top=0.4, between=0.95, bottom=0.55)


@of_result
def occupancies(result: Measurements) -> Figure:
    """Draws a panel for each kind with the complementary distribution of occupancy over time.

    Raises
    ------
    InputError
        If no occupancy was recorded.
    """
    table = result.table("occupancies")
    table = table.filter(arrow.call("equal", table["unit"], "B"))
    found = set(pc.unique(table["kind"]).to_pylist())
    kinds = [kind for kind in _KINDS if kind in found]
    if not kinds:
        raise InputError(f'{result.name}: no occupancy was recorded; add what = "occupancy" to [[probes]]')
    with style():
        figure, panels = stack(6.4, [2.2] * len(kinds), _AROUND)
        for axes, kind in zip(panels, kinds, strict=True):
            names = _fullest(table.filter(arrow.call("equal", table["kind"], kind)))
            _draw(axes, result, names[:MAX_LINES])
            axes.set_title(_KINDS[kind], loc="left")
            if len(names) > MAX_LINES:
                text = f"the {MAX_LINES} fullest of {count(len(names))}"
                axes.set_title(text, loc="right", fontsize=8, fontweight="normal", color=FAINT)
        return figure


def _draw(axes: Axes, result: Measurements, names: list[str]) -> None:
    curves = {name: result.cdf("occupancy_bytes", name) for name in names}
    most = max(float(levels[-1]) for levels, _ in curves.values())
    scale = size_scale(most)
    for (name, (levels, shares)), color in zip(curves.items(), colors(), strict=False):
        above = np.concatenate(([1.0], 1.0 - shares))
        levels = np.concatenate(([0.0], levels / scale.size))
        axes.step(levels, above, where="post", color=color, linewidth=1.2, label=name)
    axes.set_xlim(0, max(1.0, most / scale.size))
    axes.set_ylim(0, 1)
    axes.set_ylabel("share of time above")
    axes.set_xlabel(f"occupancy ({scale.unit})")
    axes.legend(loc="upper right")


def _fullest(table: pa.Table) -> list[str]:
    """Entities in order of mean occupancy. Those that were always empty are omitted unless all were."""
    held = pc.multiply(pc.cast(table["from"], pa.float64()), table["time_ns"])
    sums = arrow.sums_by(table.append_column("held", held), ["entity"], "held")
    order = arrow.sort(sums, [("held_sum", "descending"), ("entity", "ascending")])
    used = order.filter(arrow.call("greater", order["held_sum"], 0.0))
    return [str(name) for name in (used if used.num_rows else order)["entity"].to_pylist()]
