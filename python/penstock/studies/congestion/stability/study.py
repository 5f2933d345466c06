"""Stability of QCN and FECN by number of sources and loop delay, compared with models."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from penstock.plots.style import INK, style
from penstock.result import Result
from penstock.studies.reproduce import Context, Outcome

from . import models
from .models import Series

FRAME, WIRE, LINE_BPS = 1500, 1520 / 1500, 1e10
COLORS = ("#0072B2", "#009E73", "#E69F00", "#D55E00")
SLOPES = (0.02, 0.04, 0.1, 0.2)
"""Slopes of linear queue control. The scenario check warns from 0.029 on."""

Model = Callable[[int, float, float], tuple[Series, Series]]


@dataclass(frozen=True)
class Scheme:
    """A congestion control, and the ranges to examine.

    Attributes
    ----------
    scenario : str
        Scenario to run.
    links : int
        Links of a control loop: QCN messages come from the switch, FECN tags from the receiver.
    changes : Mapping
        Scenario keys and their values.
    set_point : float
        Set point in packets.
    sources, loops_us : tuple
        Numbers of sources and loop delays; all combinations run.
    begin_ms : float
        Start of the measurement in the simulation.
    end_ms : float
        Duration of a model run; the second half is measured.
    models : tuple
        Models, the fluid model first.
    """

    name: str
    scenario: str
    links: int
    changes: Mapping[str, Any]
    set_point: float
    sources: tuple[int, ...]
    loops_us: tuple[int, ...]
    begin_ms: float
    end_ms: float
    models: tuple[Model, ...]


QCN = Scheme(
    name="qcn",
    scenario="disturbed",
    links=2,
    changes={},
    set_point=26_000 / FRAME,
    sources=(2, 4, 8, 32),
    loops_us=(50, 100, 150, 200, 250, 300, 350, 400, 500),
    begin_ms=700,
    end_ms=400,
    models=(models.qcn, models.qcn_sampled),
)
"""QCN without its timer, which the models do not have."""
FECN = Scheme(
    name="fecn",
    scenario="senders",
    links=4,
    changes={
        "simulation.duration": "100 ms",
        "simulation.warmup": "50 ms",
        "switch.queue_managers": [{"fecn": {}}],
        "host.rate_limiters": {"fecn": {}},
    },
    set_point=16,
    sources=(2, 8, 32),
    loops_us=(10, 400, 800, 1000, 1100, 1250, 1500, 2000),
    begin_ms=50,
    end_ms=100,
    models=(models.fecn,),
)
STARTS_US = (5, 25, 50, 100, 150, 200, 300, 500)
"""Loop delays for four sources that start at line rate."""
START_MS = 400


@dataclass(frozen=True)
class Loop:
    """Measures of a control loop in the second half of a run.

    Attributes
    ----------
    used : float
        Utilization of the link.
    queue, deviation : float
        Mean and standard deviation of the queue, in packets.
    settled_ms : float
        Last time at which arrivals, averaged over 1 ms, deviated by more than 5 % from the link rate.
    """

    used: float
    queue: float
    deviation: float
    settled_ms: float

    def is_stable(self, scheme: Scheme) -> bool:
        """Returns true if the link is full and the queue deviates by at most a third of its set point."""
        return self.used >= 0.99 and self.deviation <= scheme.set_point / 3

    @classmethod
    def of_model(cls, queues: Series, arriving: Series) -> Loop:
        """Measures of a fluid model."""
        half = len(queues) // 2
        out = models.carried(queues, arriving)
        per_ms = 1000 // models.STEP_US
        means = arriving[: len(arriving) // per_ms * per_ms].reshape(-1, per_ms).mean(axis=1)
        return cls(
            float(out[half:].mean()), float(queues[half:].mean()), float(queues[half:].std()), _settled(means)
        )

    @classmethod
    def of_result(cls, result: Result, begin_ms: float) -> Loop:
        """Measures of a simulation with a warm-up until `begin_ms`."""
        [queue] = [row for row in result.rows("queues") if row["port"].endswith("->h0") and row["class"] == 0]
        [port] = [row for row in result.rows("ports") if row["port"].endswith("->h0")]
        times, longest = result.series("queue_frames", f"{port['port']}/0")
        rates = total_rate(result)
        means = rates[: len(rates) // 5 * 5].reshape(-1, 5).mean(axis=1)
        return cls(
            float(port["utilisation"]),
            float(queue["queue_bytes_mean"]) / FRAME,
            float(longest[times >= begin_ms * 1e6].std()),
            _settled(means),
        )


def total_rate(result: Result) -> Series:
    """Sum of the rates of all limiters every 200 us, as a share of the link rate."""
    limiters = result.all_series("limiter_rate_bps").values()
    return np.asarray(np.sum([values for _, values in limiters], axis=0) / LINE_BPS)


def _settled(means: Series) -> float:
    off = np.flatnonzero(np.abs(means - 1) > 0.05)
    return float(off[-1] + 1) if len(off) else 0.0


Pairs = Mapping[tuple[int, int], tuple[Loop, ...]]
"""Loops by number of sources and loop delay: the simulation, then the models."""


def run(context: Context) -> list[Outcome]:
    """All experiments."""
    found: dict[str, Pairs] = {}
    for scheme in (QCN, FECN):
        context.say(scheme.name)
        # The simulation of one QCN loop takes seconds.
        counts = (4,) if context.quick and scheme is QCN else scheme.sources
        found[scheme.name] = {
            (count, loop): (
                simulated(context, scheme, count, loop),
                *(Loop.of_model(*model(count, loop, scheme.end_ms)) for model in scheme.models),
            )
            for count in counts
            for loop in scheme.loops_us
        }
    table(context, found)
    cover = context.save_figure(picture(found), "stability", cover=True)
    return [
        stability(context, found["qcn"], cover),
        equilibrium(context, "S-2", QCN, found["qcn"]),
        equilibrium(context, "S-3", FECN, found["fecn"]),
        long_loops(context, found["fecn"]),
        settling(context, found["fecn"]),
        steep(context),
        limits(context, found),
        starts(context),
    ]


def simulated(
    context: Context, scheme: Scheme, sources: int, loop_us: int, changes: Mapping[str, Any] | None = None
) -> Loop:
    """Measures of the simulation with this number of sources and this loop delay."""
    result = varied(context, scheme, sources, loop_us, scheme.changes if changes is None else changes)
    return Loop.of_result(result, scheme.begin_ms)


def varied(
    context: Context, scheme: Scheme, sources: int, loop_us: int, changes: Mapping[str, Any]
) -> Result:
    """Result of the scenario of a control with changed keys."""
    scenario = context.scenario(scheme.scenario)
    keys: dict[str, Any] = {
        "topology.star.hosts": sources + 1,
        "topology.star.delay": f"{loop_us / scheme.links:g} us",
        "flows.f.from": f"h1..h{sources}",
    }
    if scheme is QCN:
        keys |= {"topology.star.hosts": sources + 2, "flows.interlude.from": f"h{sources + 1}"}
    for key, value in (keys | dict(changes)).items():
        scenario = scenario.with_value(key, value)
    return scenario.run(seed=1)


def stability(context: Context, pairs: Pairs, cover: str) -> Outcome:
    """S-1, stability of QCN."""
    others = [
        [key for key, loops in pairs.items() if loops[0].is_stable(QCN) != loops[which].is_stable(QCN)]
        for which in (1, 2)
    ]
    fluid, sampled = (
        ", ".join(f"{sources} sources at {loop} us" for sources, loop in of) or "none" for of in others
    )
    figures = {"unlike_fluid": len(others[0]), "unlike_sampled": len(others[1])}
    also = f"{len(pairs)} loops in total; fluid model: {fluid}; sampled model: {sampled}"
    return context.judge("S-1", figures, also=also, pictures=[cover])


def equilibrium(context: Context, id: str, scheme: Scheme, pairs: Pairs) -> Outcome:
    """S-2 and S-3, link and queue where the fluid model is stable."""
    loops = [ours for ours, fluid, *_ in pairs.values() if fluid.is_stable(scheme)]
    queues = [ours.queue / scheme.set_point for ours in loops]
    used = min(ours.used for ours in loops)
    figures = {"used": used, "shortest_queue": min(queues), "longest_queue": max(queues)}
    return context.judge(id, figures, also=f"{len(loops)} loops")


def long_loops(context: Context, pairs: Pairs) -> Outcome:
    """S-4, loops that are too long for FECN."""
    used = {
        loop: [pair for (_, at), pair in pairs.items() if at == loop]
        for loop in FECN.loops_us
        if loop >= 1000
    }
    text = "; ".join(
        f"{loop} us: {min(ours.used for ours, _ in of):.0%} to {max(ours.used for ours, _ in of):.0%} (model "
        f"{min(model.used for _, model in of):.0%} to {max(model.used for _, model in of):.0%})"
        for loop, of in used.items()
    )
    beyond = [one.used for loop, of in used.items() if loop >= 1500 for pair in of for one in pair]
    return context.judge("S-4", {"used": max(beyond)}, measured=text)


def settling(context: Context, pairs: Pairs) -> Outcome:
    """S-5, settling time of FECN."""
    times = {
        key: (ours.settled_ms, model.settled_ms) for key, (ours, model) in pairs.items() if key[1] <= 400
    }
    text = ", ".join(
        f"{sources} sources at {loop} us {ours:.0f} ms (model {model:.0f} ms)"
        for (sources, loop), (ours, model) in times.items()
    )
    off = max(abs(ours - model) for ours, model in times.values())
    return context.judge("S-5", {"settling_off_ms": off}, measured=text)


def steep(context: Context) -> Outcome:
    """S-6, steep queue control of FECN."""
    rows, unlike = [], 0
    for slope in SLOPES:
        point = {"queue_control": "linear", "slope": slope}
        changes = {**FECN.changes, "switch.queue_managers": [{"fecn": point}]}
        ours = simulated(context, FECN, 8, 10, changes)
        model = Loop.of_model(*models.fecn(8, 10, FECN.end_ms, slope))
        unlike += ours.is_stable(FECN) != model.is_stable(FECN)
        rows.append((f"{slope}", *shown(ours), *shown(model)))
    context.save_table(
        "slopes", "FECN with linear queue control: 8 sources, loop delay 10 us", ("slope", *HEADS), rows
    )
    text = ", ".join(f"{row[0]} {row[3]} ({row[6]})" for row in rows)
    return context.judge(
        "S-6",
        {"unlike_model": unlike},
        also=f"standard deviation of the queue in packets (model) by slope: {text}",
        note="The scenario check warns from a slope of 0.029 on. From there the queue oscillates if all "
        "sources adopt a new rate at once. They adopt it one after the other, which damps the oscillation.",
    )


def limits(context: Context, found: Mapping[str, Pairs]) -> Outcome:
    """S-7, stability limits."""
    rows, apart = [], 0
    for scheme in (QCN, FECN):
        pairs = found[scheme.name]
        for sources in sorted({count for count, _ in pairs}):
            ends = [limit(scheme, pairs, sources, which) for which in range(len(scheme.models) + 1)]
            rows.append((scheme.name.upper(), str(sources), *map(str, ends), *("-" * (3 - len(ends)))))
            # For QCN the sampled model, which has the same mechanisms as the simulation.
            apart = max(apart, abs(scheme.loops_us.index(ends[0]) - scheme.loops_us.index(ends[-1])))
    context.save_table(
        "limits",
        "Stability limit: longest loop delay in us with a steady queue and a link utilization of 99 %",
        ("control", "sources", "simulation", "fluid model", "sampled model"),
        rows,
    )
    text = "; ".join(
        f"{name} {count}: {ours} ({fluid}, {sampled})" for name, count, ours, fluid, sampled in rows
    )
    measured = f"limit in us by sources (fluid model, sampled model): {text}"
    return context.judge("S-7", {"steps_apart": apart}, measured=measured)


def limit(scheme: Scheme, pairs: Pairs, sources: int, which: int) -> int:
    """The longest loop delay up to which all loops are stable."""
    found = scheme.loops_us[0]
    for loop in scheme.loops_us:
        if not pairs[sources, loop][which].is_stable(scheme):
            break
        found = loop
    return found


def starts(context: Context) -> Outcome:
    """S-8, QCN sources that start at line rate."""
    rows, lost, lowest = [], {}, {}
    for loop in STARTS_US:
        cells = []
        for timer in ("10 s", "15 ms"):
            rates = from_line_rate(context, loop, timer)
            idle, low = float(np.maximum(0, 1 - rates).sum()) / 5, float(rates.min())
            cells += [f"{idle:.1f}", f"{100 * low:.1f}"]
            if timer == "10 s":
                lost[loop], lowest[loop] = idle, low
        fluid = models.qcn(4, loop, START_MS, at_line_rate=True)[1]
        rows.append(
            (str(loop), *cells, f"{np.maximum(0, 1 - fluid).sum() * 2e-3:.1f}", f"{100 * fluid.min():.1f}")
        )
    context.save_table(
        "starts",
        f"Four QCN sources that start at line rate: the first {START_MS} ms",
        (
            "loop (us)",
            "lost (ms)",
            "min. (%)",
            "with timer: lost (ms)",
            "min. (%)",
            "fluid model: lost (ms)",
            "min. (%)",
        ),
        rows,
        note="Lost: unused capacity, as time of the whole link. Min.: minimum of the total rate, as a share "
        "of the link rate. The fluid model has no timer.",
    )
    text = ", ".join(f"{loop} us {lost[loop]:.0f} ms" for loop in STARTS_US)
    figures = {
        "lost_short_ms": max(lost[loop] for loop in STARTS_US if loop <= 25),
        "lost_long_ms": min(lost[loop] for loop in STARTS_US if loop >= 150),
    }
    least = min(rate for loop, rate in lowest.items() if loop >= 150)
    measured = f"lost without the timer: {text}; the total rate falls to {least:.1%} of the link rate"
    return context.judge("S-8", figures, measured=measured)


def from_line_rate(context: Context, loop_us: int, timer: str) -> Series:
    """Sum of the rates of four sources that start at line rate, with this period of the QCN timer."""
    changes = {
        "topology.star.hosts": 5,
        "topology.star.delay": f"{loop_us / 2:g} us",
        "flows.f.from": "h1..h4",
        "simulation.duration": f"{START_MS} ms",
        "host.rate_limiters": {"qcn": {"time_reset": timer}},
    }
    scenario = context.scenario("senders")
    for key, value in changes.items():
        scenario = scenario.with_value(key, value)
    return total_rate(scenario.run(seed=1))


HEADS = ("link (%)", "queue", "deviation", "model: link (%)", "queue", "deviation")


def shown(loop: Loop) -> tuple[str, str, str]:
    """Cells of a loop: link, queue and its standard deviation."""
    return f"{100 * loop.used:.1f}", f"{loop.queue:.1f}", f"{loop.deviation:.1f}"


def table(context: Context, found: Mapping[str, Pairs]) -> None:
    """Table of all loops."""
    context.save_table(
        "loops",
        "QCN and FECN by number of sources and loop delay",
        ("control", "sources", "loop (us)", *HEADS, "sampled model: link (%)", "queue", "deviation"),
        [
            (name.upper(), str(sources), str(loop), *cells(all_of))
            for name, pairs in found.items()
            for (sources, loop), all_of in pairs.items()
        ],
        note="Queue: mean in packets. Deviation: standard deviation of the queue; in the simulation, of its "
        "maximum in each 200 us.",
    )


def cells(loops: tuple[Loop, ...]) -> tuple[str, ...]:
    """Cells of the simulation and of one or two models."""
    entries = [cell for loop in loops for cell in shown(loop)]
    return (*entries, *("-" * (9 - len(entries))))


def picture(found: Mapping[str, Pairs]) -> Figure:
    """Link and queue by loop delay, a column for each control; simulation solid, fluid model dashed."""
    with style():
        figure = Figure(figsize=(9.0, 5.6), layout="constrained")
        axes = figure.subplots(2, 2, sharex="col", sharey="row")
        for column, (name, pairs) in enumerate(found.items()):
            link, queue = axes[0, column], axes[1, column]
            link.set_title(name.upper())
            counts = sorted({sources for sources, _ in pairs})
            for sources, color in zip(counts, COLORS, strict=False):
                loops = [loop for count, loop in pairs if count == sources]
                for which, line in ((0, "-"), (1, "--")):
                    of = [pairs[sources, loop][which] for loop in loops]
                    look = {"color": color, "linestyle": line, "marker": "o", "markersize": 3.5}
                    link.plot(loops, [100 * one.used for one in of], **look)
                    queue.plot(loops, [max(0.1, one.deviation) for one in of], **look)
            handles = [Line2D([], [], color=color) for _, color in zip(counts, COLORS, strict=False)]
            handles += [Line2D([], [], color=INK, linestyle=line) for line in ("-", "--")]
            names = [*(f"{count} sources" for count in counts), "simulation", "fluid model"]
            link.legend(handles, names, loc="lower left", frameon=False)
            queue.set_xscale("log")
            queue.set_yscale("log")
            queue.set_xlabel("loop delay (us)")
        axes[0, 0].set_ylabel("link utilization (%)")
        axes[1, 0].set_ylabel("std. dev. of the queue (packets)")
    return figure
