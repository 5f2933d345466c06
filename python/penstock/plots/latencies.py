"""End-to-end latency of flows as complementary distributions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from penstock.analysis.latencies import tails
from penstock.errors import InputError
from penstock.measurements import of_result
from penstock.units import count, duration

from .style import FAINT, Margins, colors, stack, style

if TYPE_CHECKING:
    from penstock.measurements import Measurements

_AROUND = Margins(left=0.75, right=0.3, top=0.4, between=0.95, bottom=0.55)


@of_result
def latencies(result: Measurements) -> Figure:
    """Draws the latency distributions of the slowest flows on logarithmic axes, which show the tails.

    Parameters
    ----------
    result : Result
        With a table ``latencies``.

    Raises
    ------
    InputError
        If no latency was recorded.
    """
    if result.table("latencies").num_rows == 0:
        raise InputError(f'{result.name}: no latency was recorded; add what = "latency" to [[probes]]')
    found = tails(result)
    with style():
        figure, (axes,) = stack(6.4, [2.8], _AROUND)
        least = 1.0
        for (name, above), color in zip(found.above.items(), colors(), strict=False):
            ends = found.ends_ns[name]
            # No frame is above the last value: its step ends the line.
            inner = above > 0
            least = min([least, *above[inner]])
            axes.step(
                np.append(ends[inner], ends[-1]),
                np.append(above[inner], above[inner][-1] if inner.any() else 1.0),
                where="post",
                color=color,
                linewidth=1.2,
                label=name,
            )
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_ylim(0.8 * least, 1.1)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: duration(value)))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:g} %"))
        axes.set_ylabel("share of frames above")
        axes.set_xlabel("latency")
        axes.set_title("latency", loc="left")
        if found.flows > len(found.above):
            text = f"the {len(found.above)} slowest of {count(found.flows)} flows"
            axes.set_title(text, loc="right", fontsize=8, fontweight="normal", color=FAINT)
        axes.legend(loc="lower left")
        return figure
