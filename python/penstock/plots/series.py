"""Time series of one or several results on common axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from penstock.errors import ArgumentError
from penstock.library import suggestion

from .style import MORE_COLORS, Margins, colors, label_right, stack, style, time_scale
from .style import Label as Named
from .sweeps import scale_of

if TYPE_CHECKING:
    from penstock.measurements import Measurements

MOST_LINES = 12
_AROUND = Margins(left=0.75, right=1.2, top=0.35, between=0.45, bottom=0.5)


def series(
    results: Measurements | Mapping[str, Measurements], metric: str, entities: Sequence[str] | None = None
) -> Figure:
    """Draws a panel per result and a line per entity. An entity has the same color in all panels.

    Parameters
    ----------
    results : Result, or mapping of titles to results
        Results to draw.
    metric : str
        Name of the metric, such as ``"flow_throughput_bps"``; see ``penstock explain series``.
    entities : sequence of str, optional
        Flows, ports or queues. Default: the largest 12.

    Raises
    ------
    ArgumentError
        If there are no results, or none of them has a series of an entity.
    UnknownNameError
        If there is no such metric.
    """
    named = dict(results) if isinstance(results, Mapping) else {results.name: results}
    if not named:
        raise ArgumentError("results is empty; expected at least one result")
    curves = {title: result.all_series(metric) for title, result in named.items()}
    known = list(dict.fromkeys(entity for found in curves.values() for entity in found))
    for entity in entities or ():
        if entity not in known:
            raise ArgumentError(
                f"no result has a series {metric!r} of {entity!r}; {suggestion(entity, known)}"
            )
    largest = {name: max(float(c[name][1].sum()) for c in curves.values() if name in c) for name in known}
    shown = list(entities) if entities else sorted(known, key=largest.__getitem__, reverse=True)[:MOST_LINES]
    # Colors follow the order of the result, so that a flow has the same color in every picture.
    with style():
        palette = [*colors(), *MORE_COLORS]
        color = {name: palette[at % len(palette)] for at, name in enumerate(known)}
        end = max(float(result.run["simulated_s"]) * 1e9 for result in named.values())
        along = time_scale(end)
        every = [
            values
            for found in curves.values()
            for name in shown
            if name in found
            for values in [found[name][1]]
        ]
        most = max((float(values.max()) for values in every if len(values)), default=0.0)
        unit = next((one for one in ("bps", "bytes", "ns") if metric.endswith(one)), "")
        scale = scale_of(unit, [most])
        figure, panels = stack(7.0, [1.9] * len(named), _AROUND)
        for axes, (title, found) in zip(panels, curves.items(), strict=True):
            labels = []
            for name in shown:
                if name in found:
                    times, values = found[name]
                    # The last value lasts until the end of the run.
                    until = max(float(named[title].run["simulated_s"]) * 1e9, float(times[-1]))
                    edges, steps = np.append(times, until), np.append(values, values[-1])
                    axes.step(edges / along.size, steps / scale.size, where="post", color=color[name])
                    tail = values[-max(1, len(values) // 10) :] / scale.size
                    labels.append(Named(float(np.mean(tail)), name, color[name]))
            axes.set_xlim(0, end / along.size)
            axes.set_ylim(0, 1.05 * most / scale.size or 1.0)
            axes.set_ylabel(
                f"{metric.removesuffix('_' + unit).replace('_', ' ')} ({scale.unit})".replace(" ()", "")
            )
            axes.set_title(title)
            label_right(axes, labels)
        panels[-1].set_xlabel(f"time ({along.unit})")
        return figure
