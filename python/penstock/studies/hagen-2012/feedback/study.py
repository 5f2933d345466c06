"""Figure 7-1 of Hagen 2012: race between a pause and a congestion message."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial

from matplotlib.figure import Figure

from penstock.plots.style import PAUSE_COLOR, style
from penstock.result import Result
from penstock.scenario import Scenario
from penstock.studies.reproduce import Context, Outcome

COUNTS = (1, 2, 4, 8)
FAR = {"6.785 us": "one switch further", "50 us": "10 km further"}
RATES = ("6 Gb/s", "8 Gb/s", "10 Gb/s")
START_NS = 4e6
LINE_BPS = 0.999e10
"""Rate limiters below this rate have received a congestion message."""
VICTIMS, AGGRESSOR = "v", "a"
QUEUE_ALONE = "99 frames"
SLOWED_COLOR = "#0072B2"
TICKS_US = (20, 50, 100, 200, 500, 1000)

First = tuple[float, float]
"""Microseconds from the start of the aggressors to the first pause of a victim and the first rate cut."""


def run(context: Context) -> list[Outcome]:
    """All experiments."""
    loop = context.scenario("loop")
    found: dict[tuple[str, int], list[First]] = {}
    for delay in FAR:
        for count in COUNTS:
            context.say(f"{count} aggressors, {FAR[delay]}")
            scenario = crowd(loop, count, delay=delay)
            found[delay, count] = context.over_seeds(partial(timed, scenario), "H7-1", "H7-1-burst")
    table(context, found)
    cover = context.save_figure(picture(found), "figure-7-1", cover=True)
    near = next(iter(FAR))
    return [
        before(context, "H7-1", found[near, 1], [cover]),
        before(context, "H7-1-burst", found[near, max(COUNTS)], []),
        alone(context, loop),
    ]


def crowd(loop: Scenario, count: int, *, delay: str, rate: str = "10 Gb/s") -> Scenario:
    """The scenario with this number of aggressors, each behind its own switch."""
    text = loop.to_dict()
    explicit, flows = text["topology"]["explicit"], text["flows"]
    *others, inner, outer = explicit["links"]
    *victims, aggressor = flows
    numbers = range(1, count + 1)
    source = {"constant": {**aggressor["source"]["constant"], "rate": rate}}
    links = [
        *others,
        *({**inner, "between": [f"s{n}", "sw"]} for n in numbers),
        *({**outer, "between": [f"a{n}", f"s{n}"], "delay": delay} for n in numbers),
    ]
    return (
        loop.with_value("topology.explicit.hosts", ["v1", "v2", "sink", *(f"a{n}" for n in numbers)])
        .with_value("topology.explicit.switches", ["sw", *(f"s{n}" for n in numbers)])
        .with_value("topology.explicit.links", links)
        .with_value(
            "flows",
            [*victims, *({**aggressor, "name": f"a{n}", "from": f"a{n}", "source": source} for n in numbers)],
        )
    )


def timed(scenario: Scenario, seed: int) -> First:
    """First pause and first rate reduction with one seed."""
    return first(scenario.run(seed=seed))


def first(result: Result) -> First:
    """Times at which a victim is first paused and an aggressor first slows down; infinite if never."""
    pauses = [row["start_ns"] for row in result.rows("pauses") if row["port"].startswith(VICTIMS)]
    slower = [
        times[rates < LINE_BPS].min()
        for name, (times, rates) in result.all_series("limiter_rate_bps").items()
        if name.startswith(AGGRESSOR) and (rates < LINE_BPS).any()
    ]
    paused, reported = (min(each, default=math.inf) for each in (pauses, slower))
    return (float(paused) - START_NS) / 1e3, (float(reported) - START_NS) / 1e3


def share(firsts: Sequence[First]) -> float:
    """Share of the runs in which a victim is paused first."""
    return sum(paused < reported for paused, reported in firsts) / len(firsts)


def median(values: Sequence[float]) -> str:
    """The median in microseconds, as text."""
    middle = sorted(values)[len(values) // 2]
    return f"{middle:.0f} us" if math.isfinite(middle) else "more than 4 ms"


def before(context: Context, id: str, firsts: Sequence[First], pictures: Sequence[str]) -> Outcome:
    """H7-1 and H7-1-burst."""
    paused, reported = zip(*firsts, strict=True)
    return context.judge(
        id,
        [{"victim_first": float(one < other)} for one, other in firsts],
        also=f"medians: first pause of a victim after {median(paused)}, first rate reduction of an aggressor "
        f"after {median(reported)}",
        pictures=pictures,
    )


def alone(context: Context, loop: Scenario) -> Outcome:
    """H7-1-loss."""
    context.say("congestion notification alone")
    near = next(iter(FAR))
    lossy = loop.with_value("flow_control", "off").with_value("switch.buffer", {"queue": QUEUE_ALONE})
    lossy = lossy.with_value("simulation.warmup", "4 ms").probes(bin="off")

    def measure(seed: int) -> dict[tuple[str, int], float]:
        return {
            (rate, count): lost(crowd(lossy, count, delay=near, rate=rate).run(seed=seed))
            for rate in RATES
            for count in COUNTS
        }

    seeds = context.over_seeds(measure, "H7-1-loss")
    found = {key: [of[key] for of in seeds] for key in seeds[0]}
    context.save_table(
        "loss",
        "Frames lost by QCN without PFC, of those sent within 4 ms",
        ("each aggressor sends", *(numbered(count) for count in COUNTS)),
        [(rate, *(f"{max(found[rate, count]):.2%}" for count in COUNTS)) for rate in RATES],
        note="Maximum over the seeds.",
    )
    return context.judge("H7-1-loss", [{"most": max(of.values())} for of in seeds])


def lost(result: Result) -> float:
    """Share of the sent frames that were lost."""
    flows = result.rows("flows")
    return float(sum(row["frames_dropped"] for row in flows) / sum(row["frames_sent"] for row in flows))


def numbered(count: int) -> str:
    """A number of aggressors as a heading."""
    return f"{count} aggressor" + "s" * (count > 1)


def table(context: Context, found: Mapping[tuple[str, int], Sequence[First]]) -> None:
    """Table of pauses and rate reductions, by number of aggressors and distance."""
    rows = []
    for (delay, count), firsts in found.items():
        paused, reported = zip(*firsts, strict=True)
        rows.append((delay, f"{count}", median(paused), median(reported), f"{share(firsts):.0%}"))
    context.save_table(
        "first",
        "First pause of a victim and first rate reduction, after the start of the aggressors",
        (
            "link of the aggressor",
            "aggressors",
            "victim paused",
            "aggressor slower",
            "victim first",
        ),
        rows,
        note="Medians over the seeds; the last column is the share of seeds with a victim paused first.",
    )


def picture(found: Mapping[tuple[str, int], Sequence[First]]) -> Figure:
    """Each run as two dots, a column per number of aggressors, a panel per distance."""
    with style():
        figure = Figure(figsize=(9.0, 3.8), layout="constrained")
        panels = figure.subplots(1, len(FAR), sharey=True)
        for panel, (delay, far) in zip(panels, FAR.items(), strict=True):
            for at, count in enumerate(COUNTS):
                paused, reported = zip(*found[delay, count], strict=True)
                for side, times, color, label in (
                    (-0.15, paused, PAUSE_COLOR, "a victim is paused"),
                    (0.15, reported, SLOWED_COLOR, "an aggressor reduces its rate"),
                ):
                    seen = [time for time in times if math.isfinite(time)]
                    places = [at + side] * len(seen)
                    named = label if at == 0 else None
                    panel.plot(places, seen, "o", color=color, alpha=0.5, markersize=5, label=named)
                    if len(seen) < len(times):
                        never = f"{len(times) - len(seen)} never"
                        panel.annotate(
                            never, (at + side, 0.85 * TICKS_US[-1]), ha="center", color=color, fontsize=8
                        )
            panel.set_xlim(-0.5, len(COUNTS) - 0.5)
            panel.set_xticks(range(len(COUNTS)), [f"{count}" for count in COUNTS])
            panel.set_xlabel("aggressors")
            panel.set_title(far)
            panel.set_yscale("log")
            panel.set_ylim(TICKS_US[0], TICKS_US[-1])
            panel.set_yticks(TICKS_US, [f"{tick}" for tick in TICKS_US])
            panel.minorticks_off()
        panels[0].set_ylabel("time after the aggressors start (us)")
        handles, labels = panels[-1].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=2)
        figure.suptitle("First pause by the next switch, first rate reduction by a congestion message")
    return figure
