"""QCN and FECN beside fluid models, by sources and round trip: where a loop is stable."""

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
COLOURS = ("#0072B2", "#009E73", "#E69F00", "#D55E00")
SLOPES = (0.02, 0.04, 0.1, 0.2)
"""Of linear queue control; there is a warning from 0.029 on."""


@dataclass(frozen=True)
class Scheme:
    """A control, and where it is looked at.

    Attributes
    ----------
    point, reaction : Mapping
        Keys of its two parts.
    set_point : float
        In packets.
    sources, trips_us : tuple
        All pairs are run.
    end_ms : float
        The second half is measured.
    """

    name: str
    point: Mapping[str, Any]
    reaction: Mapping[str, Any]
    set_point: float
    sources: tuple[int, ...]
    trips_us: tuple[int, ...]
    end_ms: float
    model: Callable[[int, float, float], tuple[Series, Series]]


QCN = Scheme(
    "qcn", {}, {"time_reset": "10 s"}, 26_000 / FRAME, (2, 4, 8, 32), (10, 50, 150, 300, 500), 160, models.qcn
)
"""Without its timer, which the model does not have."""
FECN = Scheme("fecn", {}, {}, 16, (2, 8, 32), (10, 400, 1000, 1500, 2000), 100, models.fecn)


@dataclass(frozen=True)
class Loop:
    """What became of a loop in the second half of its time.

    Attributes
    ----------
    used : float
        Share of the link.
    queue, swing : float
        Mean and standard deviation, in packets.
    settled_ms : float
        When what arrives over a millisecond was last off by more than 5 % of the link.
    """

    used: float
    queue: float
    swing: float
    settled_ms: float

    def is_stable(self, scheme: Scheme) -> bool:
        """Whether the link is full and the queue swings by a third of its set point at most."""
        return self.used >= 0.99 and self.swing <= scheme.set_point / 3

    @classmethod
    def of_model(cls, queues: Series, arriving: Series) -> Loop:
        """Of a fluid."""
        half = len(queues) // 2
        out = models.carried(queues, arriving)
        per_ms = 1000 // models.STEP_US
        means = arriving[: len(arriving) // per_ms * per_ms].reshape(-1, per_ms).mean(axis=1)
        return cls(
            float(out[half:].mean()), float(queues[half:].mean()), float(queues[half:].std()), _settled(means)
        )

    @classmethod
    def of_result(cls, result: Result) -> Loop:
        """Of a simulation whose warm-up is half of its time."""
        [queue] = [row for row in result.rows("queues") if row["port"].endswith("->h0") and row["class"] == 0]
        [port] = [row for row in result.rows("ports") if row["port"].endswith("->h0")]
        times, longest = result.series("queue_frames", f"{port['port']}/0")
        limiters = result.all_series("limiter_rate_bps").values()
        rates = np.sum([values for _, values in limiters], axis=0) / LINE_BPS
        means = rates[: len(rates) // 5 * 5].reshape(-1, 5).mean(axis=1)
        return cls(
            float(port["utilisation"]),
            float(queue["queue_bytes_mean"]) / FRAME,
            float(longest[len(times) // 2 :].std()),
            _settled(means),
        )


def _settled(means: Series) -> float:
    off = np.flatnonzero(np.abs(means - 1) > 0.05)
    return float(off[-1] + 1) if len(off) else 0.0


Pairs = Mapping[tuple[int, int], tuple[Loop, Loop]]
"""By sources and round trip: the simulation, the model."""


def run(context: Context) -> list[Outcome]:
    """All experiments."""
    found: dict[str, Pairs] = {}
    for scheme in (QCN, FECN):
        context.say(scheme.name)
        found[scheme.name] = {
            (count, trip): (
                simulated(context, scheme, count, trip),
                Loop.of_model(*scheme.model(count, trip, scheme.end_ms)),
            )
            for count in scheme.sources
            for trip in scheme.trips_us
        }
    table(context, found)
    cover = context.save_figure(picture(found), "stability", cover=True)
    return [
        alike(context, found["qcn"], cover),
        at_rest(context, "S-2", QCN, found["qcn"]),
        at_rest(context, "S-3", FECN, found["fecn"]),
        too_long(context, found["fecn"]),
        settling(context, found["fecn"]),
        steep(context),
    ]


def simulated(
    context: Context, scheme: Scheme, sources: int, trip_us: int, point: Mapping[str, Any] | None = None
) -> Loop:
    """So many sources, at this round trip."""
    changes: dict[str, Any] = {
        "topology.star.hosts": sources + 1,
        "topology.star.delay": f"{trip_us / 4:g} us",
        "flows.f.from": f"h1..h{sources}",
        "simulation.duration": f"{scheme.end_ms} ms",
        "simulation.warmup": f"{scheme.end_ms / 2} ms",
        "switch.queue_managers": [{scheme.name: dict(scheme.point if point is None else point)}],
        "host.rate_limiters": {scheme.name: dict(scheme.reaction)},
    }
    scenario = context.scenario("senders")
    for key, value in changes.items():
        scenario = scenario.with_value(key, value)
    return Loop.of_result(scenario.run(seed=1))


def alike(context: Context, pairs: Pairs, cover: str) -> Outcome:
    """S-1."""
    other = [key for key, (ours, model) in pairs.items() if ours.is_stable(QCN) != model.is_stable(QCN)]
    stable = [trip for (_, trip), (_, model) in pairs.items() if model.is_stable(QCN)]
    named = ", ".join(f"{sources} sources at {trip} us" for sources, trip in other) or "none"
    return context.outcome(
        "S-1",
        measured=f"of {len(pairs)} loops the model has {len(stable)} at rest, at {max(stable)} us at most; "
        f"the simulation says otherwise of: {named}",
        passed=not other,
        note=context.study.experiment("S-1").not_met,
        pictures=[cover],
    )


def at_rest(context: Context, id: str, scheme: Scheme, pairs: Pairs) -> Outcome:
    """S-2 and S-3."""
    loops = [ours for ours, model in pairs.values() if model.is_stable(scheme)]
    queues = [ours.queue / scheme.set_point for ours in loops]
    return context.outcome(
        id,
        measured=f"{len(loops)} loops: link at least {min(ours.used for ours in loops):.1%}, mean queue "
        f"{min(queues):.2f} to {max(queues):.2f} of the set point",
        passed=all(ours.used >= 0.99 for ours in loops) and all(abs(queue - 1) <= 0.25 for queue in queues),
        note=context.study.experiment(id).not_met,
    )


def too_long(context: Context, pairs: Pairs) -> Outcome:
    """S-4."""
    used = {
        trip: [pair for (_, at), pair in pairs.items() if at == trip]
        for trip in FECN.trips_us
        if trip >= 1000
    }
    told = "; ".join(
        f"{trip} us: {min(ours.used for ours, _ in of):.0%} to {max(ours.used for ours, _ in of):.0%} (model "
        f"{min(model.used for _, model in of):.0%} to {max(model.used for _, model in of):.0%})"
        for trip, of in used.items()
    )
    beyond = [loop.used for trip, of in used.items() if trip >= 1500 for pair in of for loop in pair]
    return context.outcome("S-4", measured=told, passed=max(beyond) <= 0.9)


def settling(context: Context, pairs: Pairs) -> Outcome:
    """S-5."""
    times = {
        key: (ours.settled_ms, model.settled_ms) for key, (ours, model) in pairs.items() if key[1] <= 400
    }
    return context.outcome(
        "S-5",
        measured=", ".join(
            f"{sources} sources at {trip} us {ours:.0f} ms ({model:.0f})"
            for (sources, trip), (ours, model) in times.items()
        ),
        passed=all(abs(ours - model) <= 2 for ours, model in times.values()),
    )


def steep(context: Context) -> Outcome:
    """S-6."""
    rows, agree = [], []
    for slope in SLOPES:
        ours = simulated(context, FECN, 8, 10, {"queue_control": "linear", "slope": slope})
        model = Loop.of_model(*models.fecn(8, 10, FECN.end_ms, slope))
        agree.append(ours.is_stable(FECN) == model.is_stable(FECN))
        rows.append((f"{slope}", *shown(ours), *shown(model)))
    context.save_table(
        "slopes", "Linear queue control by its slope, 8 sources at 10 us", ("slope", *HEADS), rows
    )
    told = ", ".join(f"{row[0]} {row[3]} ({row[6]})" for row in rows)
    return context.outcome(
        "S-6",
        measured=f"swing in packets (model): {told}",
        passed=all(agree),
        note="the warning begins at 0.029, where a loop swings whose sources all take over a rate at once; "
        "they do so one after the other, which damps it.",
    )


HEADS = ("link (%)", "queue", "swing", "model: link (%)", "queue", "swing")


def shown(loop: Loop) -> tuple[str, str, str]:
    """Three cells."""
    return f"{100 * loop.used:.1f}", f"{loop.queue:.1f}", f"{loop.swing:.1f}"


def table(context: Context, found: Mapping[str, Pairs]) -> None:
    """All loops."""
    context.save_table(
        "loops",
        "QCN and FECN by sources and round trip",
        ("control", "sources", "round trip (us)", *HEADS),
        [
            (name.upper(), str(sources), str(trip), *shown(ours), *shown(model))
            for name, pairs in found.items()
            for (sources, trip), (ours, model) in pairs.items()
        ],
        note="Second half of each run; queues in packets. Swing: standard deviation, of the simulation that "
        "of the most in 200 us.",
    )


def picture(found: Mapping[str, Pairs]) -> Figure:
    """A column a control: link and queue against the round trip; simulation solid, model dashed."""
    with style():
        figure = Figure(figsize=(9.0, 5.6), layout="constrained")
        axes = figure.subplots(2, 2, sharex="col", sharey="row")
        for column, (name, pairs) in enumerate(found.items()):
            link, queue = axes[0, column], axes[1, column]
            link.set_title(name.upper())
            counts = sorted({sources for sources, _ in pairs})
            for sources, colour in zip(counts, COLOURS, strict=False):
                trips = [trip for count, trip in pairs if count == sources]
                for which, line in ((0, "-"), (1, "--")):
                    loops = [pairs[sources, trip][which] for trip in trips]
                    look = {"color": colour, "linestyle": line, "marker": "o", "markersize": 3.5}
                    link.plot(trips, [100 * loop.used for loop in loops], **look)
                    queue.plot(trips, [max(0.1, loop.swing) for loop in loops], **look)
            handles = [Line2D([], [], color=colour) for _, colour in zip(counts, COLOURS, strict=False)]
            handles += [Line2D([], [], color=INK, linestyle=line) for line in ("-", "--")]
            names = [*(f"{count} sources" for count in counts), "simulation", "model"]
            link.legend(handles, names, loc="lower left", frameon=False)
            queue.set_xscale("log")
            queue.set_yscale("log")
            queue.set_xlabel("round trip (us)")
        axes[0, 0].set_ylabel("link carries (%)")
        axes[1, 0].set_ylabel("queue swings (packets)")
    return figure
