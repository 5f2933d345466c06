"""Two control laws of path rate control, by number of sources and round trip."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from matplotlib.figure import Figure

from penstock.plots.style import style
from penstock.result import Result
from penstock.studies.reproduce import Context, Outcome

SOURCES = (2, 8, 32, 128)
ROUND_TRIPS_US = (1, 10, 50, 100, 200, 500)
LAWS = ("scaled", "fixed")
LINE = 1e10
BUFFER, TARGET, INTERVAL_S = 65_536, 0.16, 40e-6
EQUAL_GAIN, LENGTH_GAIN = 0.01, 0.226
COLORS = ("#0072B2", "#009E73", "#E69F00", "#D55E00")


@dataclass(frozen=True)
class Run:
    """Measures of one run after the warm-up."""

    used: float
    """Utilization by data frames of the capacity that request messages leave."""
    jain: float
    queue_mean: float
    """Mean queue in bytes."""
    queue_max: float

    @classmethod
    def of(cls, result: Result, sources: int) -> Run:
        """Reads a result."""
        rates = [row["throughput_bps"] for row in result.rows("flows")]
        left = 1 - sources * 84 * 8 / (8 * INTERVAL_S) / LINE
        queues = [row for row in result.rows("queues") if row["port"].endswith("->h0")]
        [queue] = [row for row in queues if row["class"] == 0]
        return cls(
            used=sum(rates) * 1520 / 1500 / LINE / left,
            jain=sum(rates) ** 2 / (len(rates) * sum(rate**2 for rate in rates)),
            queue_mean=queue["queue_bytes_mean"],
            queue_max=queue["queue_bytes_max"],
        )


Runs = Mapping[tuple[str, int, int], Run]


def run(context: Context) -> list[Outcome]:
    """All experiments."""
    runs: dict[tuple[str, int, int], Run] = {}
    for law in LAWS:
        context.say(law)
        for sources in SOURCES:
            for trip in ROUND_TRIPS_US:
                runs[law, sources, trip] = Run.of(loop(context, law, sources, trip), sources)
    table(context, runs)
    cover = context.save_figure(picture(runs), "laws", cover=True)
    return judged(context, runs, cover)


def loop(context: Context, law: str, sources: int, trip_us: int) -> Result:
    """Result of the scenario with this law, number of sources and round trip."""
    changes = {
        "topology.star.hosts": sources + 1,
        "topology.star.delay": f"{trip_us / 4:g} us",
        "flows.f.from": f"h1..h{sources}",
        "host.rate_limiters.prc.law": law,
    }
    scenario = context.scenario("loop")
    for key, value in changes.items():
        scenario = scenario.with_value(key, value)
    if context.quick:
        scenario = scenario.with_value("simulation.duration", "130 ms")
    return scenario.run(seed=1)


def rest(sources: int, trip_us: int) -> float:
    """Queue of the law "scaled" at equilibrium, in bytes, as a closed form."""
    loop_s = trip_us * 1e-6 + 4 * 67.2e-9 + INTERVAL_S
    return TARGET * BUFFER + EQUAL_GAIN / LENGTH_GAIN * math.log(sources) * loop_s * LINE / 8


def judged(context: Context, runs: Runs, cover: str) -> list[Outcome]:
    """All experiments, from the runs of both laws."""
    scaled = {key: one for key, one in runs.items() if key[0] == "scaled"}
    off = max(abs(one.queue_mean / rest(sources, trip) - 1) for (_, sources, trip), one in scaled.items())
    fixed = {trip: [runs["fixed", sources, trip].used for sources in SOURCES] for trip in ROUND_TRIPS_US}
    least, where = min((one.jain, key) for key, one in scaled.items())
    return [
        context.judge(
            "P-1", {"used": min(one.used for one in scaled.values()), "queue_off": off}, pictures=[cover]
        ),
        context.judge(
            "P-2",
            {
                "used_short": min(
                    runs["fixed", sources, trip].used for sources in (2, 8) for trip in (1, 10, 50)
                ),
                "used_long": max(max(of) for trip, of in fixed.items() if trip >= 200),
            },
            measured=", ".join(f"{trip} us {min(of):.1%} to {max(of):.1%}" for trip, of in fixed.items()),
        ),
        context.judge("P-3", {"jain": least}, also=f"with {where[1]} sources and {where[2]} us"),
    ]


def table(context: Context, runs: Runs) -> None:
    """Table of all runs."""
    context.save_table(
        "laws",
        "Two control laws by number of sources and round trip",
        (
            "law",
            "sources",
            "round trip (us)",
            "link (%)",
            "Jain",
            "mean queue (KiB)",
            "max. queue (KiB)",
            "closed form (KiB)",
        ),
        [
            (
                law,
                str(sources),
                str(trip),
                f"{100 * one.used:.2f}",
                f"{one.jain:.3f}",
                f"{one.queue_mean / 1024:.1f}",
                f"{one.queue_max / 1024:.1f}",
                f"{rest(sources, trip) / 1024:.1f}" if law == "scaled" else "",
            )
            for (law, sources, trip), one in runs.items()
        ],
        note="Link: utilization of the capacity that request messages leave. Closed form: of the mean queue.",
    )


def picture(runs: Runs) -> Figure:
    """Link and queue by round trip, a column for each law."""
    with style():
        figure = Figure(figsize=(8.4, 5.6), layout="constrained")
        axes = figure.subplots(2, len(LAWS), sharex=True, sharey="row")
        for column, law in enumerate(LAWS):
            link, queue = axes[0, column], axes[1, column]
            link.set_title({"scaled": "gains scaled by the loop time", "fixed": "fixed gains"}[law])
            for sources, color in zip(SOURCES, COLORS, strict=True):
                of = [runs[law, sources, trip] for trip in ROUND_TRIPS_US]
                style_of = {"color": color, "marker": "o", "markersize": 4, "label": f"{sources} sources"}
                link.plot(ROUND_TRIPS_US, [100 * one.used for one in of], **style_of)
                means, ends = [one.queue_mean / 1024 for one in of], [one.queue_max / 1024 for one in of]
                queue.plot(ROUND_TRIPS_US, means, **style_of)
                queue.fill_between(ROUND_TRIPS_US, means, ends, color=color, alpha=0.15, linewidth=0)
            queue.set_xscale("log")
            queue.set_yscale("log")
            queue.set_xticks(ROUND_TRIPS_US, [str(trip) for trip in ROUND_TRIPS_US])
            queue.minorticks_off()
            queue.set_xlabel("round trip (us)")
        axes[0, 0].set_ylabel("link utilization (%)")
        axes[1, 0].set_ylabel("queue: mean to maximum (KiB)")
        axes[0, 0].legend(loc="lower left", frameon=False)
    return figure
