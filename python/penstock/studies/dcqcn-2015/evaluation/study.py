"""DCQCN as published: unfairness and victims of PFC, parking lot, incast and the fluid model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from penstock.plots.style import style
from penstock.result import Result
from penstock.scenario import Scenario
from penstock.studies.marks import red_marks
from penstock.studies.reproduce import Context, Outcome

SLOPE = red_marks("5 kB", "200 kB", 0.01)
STEP = red_marks("5 kB", "5001 B", 1.0)
PFC, DCQCN = "PFC alone", "DCQCN"
EXTRA = ("first", "second")
FULL = "sw.0->h0"
LOOPS_US = (4, 50, 85)
FLUID_KB: Mapping[int, tuple[tuple[float, bool], ...]] = {
    2: ((20.0, True), (20.0, True), (20.0, True)),
    4: ((42.0, True), (42.0, True), (42.0, False)),
    10: ((123.0, True), (123.0, True), (57.0, False)),
}
"""Mean queue of the fluid model in KB, and true if it is stable, by senders and loop of `LOOPS_US`."""
SETTLED_NS = 60e6
FIRST_NS = 1e6


@dataclass(frozen=True)
class Incast:
    """Measures of an incast after settling."""

    rates: tuple[float, ...]
    """Rates in Gb/s."""
    used: float
    mean_kb: float
    deviation_kb: float
    """Standard deviation of the queue, by its maximum in each 20 us."""
    lost: int
    paused_late: int
    """Number of pauses that begin after the first millisecond."""
    queue: tuple[np.ndarray, np.ndarray]

    @classmethod
    def of(cls, result: Result) -> Incast:
        """Reads a result."""
        queue = next(row for row in result.rows("queues") if row["port"] == FULL)
        times, lengths = result.series("queue_bytes", f"{FULL}/3")
        late = [row for row in result.rows("pauses") if row["start_ns"] >= FIRST_NS]
        return cls(
            rates=tuple(row["throughput_bps"] / 1e9 for row in result.rows("flows")),
            used=next(row["utilisation"] for row in result.rows("ports") if row["port"] == FULL),
            mean_kb=queue["queue_bytes_mean"] / 1e3,
            deviation_kb=float(lengths[times >= SETTLED_NS].std()) / 1e3,
            lost=sum(row["frames"] for row in result.rows("drops")),
            paused_late=len(late),
            queue=(times / 1e6, lengths / 1e3),
        )


def run(context: Context) -> list[Outcome]:
    """All experiments."""
    context.say("unfairness")
    shares = {name: rates(arranged(context, "unfairness", name).run(seed=1)) for name in (PFC, DCQCN)}
    context.say("victim flow")
    victims = {name: [victim(context, name, more) for more in range(3)] for name in (PFC, DCQCN)}
    context.say("parking lot")
    lots = {
        name: rates(arranged(context, "parking-lot", DCQCN, marks).run(seed=1))
        for name, marks in (("RED-like", SLOPE), ("step", STEP))
    }
    context.say("incast")
    incasts = {
        (many, loop): incast(context, many, loop)
        for many in (2, 4, 10)
        for loop in LOOPS_US
        if not context.quick or (many, loop) in ((2, 4), (4, 85))
    }
    sixteen = incast(context, 16, LOOPS_US[0])
    context.save_table(
        "fluid", "Queue of the fluid model and of the simulation", COLUMNS, list(rows(incasts)), note=NOTE
    )
    cover = context.save_figure(picture(shares, victims, lots, incasts), "dcqcn", cover=True)
    return [*judged(context, shares, victims, [cover]), *equilibria(context, lots, incasts, sixteen)]


def arranged(context: Context, name: str, control: str, marks: Mapping[str, Any] = SLOPE) -> Scenario:
    """A scenario with PFC alone, or with DCQCN and these marking thresholds."""
    scenario = context.scenario(name)
    if control == PFC:
        return scenario
    for flow in scenario.to_dict()["flows"]:
        source = {"rdma": {"control": {"dcqcn": {"preset": "paper"}}, "cnp_gap": "50 us"}}
        scenario = scenario.with_value(f"flows.{flow['name']}.source", source)
    return scenario.with_value("switch.queue_managers", [{"classes": [3], **marks}])


def rates(result: Result) -> dict[str, float]:
    """Rate of each flow in Gb/s."""
    return {row["flow"]: row["throughput_bps"] / 1e9 for row in result.rows("flows")}


def listed(of: Mapping[str, float]) -> str:
    """Rates of flows, as text."""
    return "Gb/s: " + ", ".join(f"{flow} {rate:.2f}" for flow, rate in of.items())


def victim(context: Context, control: str, more: int) -> float:
    """Rate of the victim in Gb/s, with this number of additional senders."""
    scenario = arranged(context, "victim", control)
    for name in EXTRA[more:]:
        # Starts too late for any of its frames to count.
        scenario = scenario.with_value(f"flows.{name}.start", "29999 us")
    return rates(scenario.run(seed=1))["victim"]


def incast(context: Context, many: int, loop_us: int) -> Incast:
    """An incast of this number of senders with this loop delay."""
    scenario = arranged(context, f"incast-{many}", DCQCN)
    return Incast.of(scenario.with_value("topology.star.delay", f"{250 * loop_us} ns").run(seed=1))


def jain(values: tuple[float, ...]) -> float:
    """Jain's index."""
    found = np.array(values)
    return float(found.sum() ** 2 / (len(found) * (found**2).sum()))


COLUMNS = (
    "senders",
    "loop (us)",
    "fluid model (KB)",
    "fluid model",
    "mean (KB)",
    "deviation (KB)",
    "link (%)",
)
NOTE = "Means over the last 60 ms. Deviation: standard deviation of the queue, by its maximum in each 20 us."

Incasts = Mapping[tuple[int, int], Incast]


def rows(incasts: Incasts) -> list[tuple[str, ...]]:
    """One row per incast."""
    found: list[tuple[str, ...]] = []
    for (many, loop), one in incasts.items():
        fluid, stable = FLUID_KB[many][LOOPS_US.index(loop)]
        found.append(
            (
                str(many),
                str(loop),
                f"{fluid:.0f}",
                "stable" if stable else "oscillates",
                f"{one.mean_kb:.1f}",
                f"{one.deviation_kb:.1f}",
                f"{100 * one.used:.1f}",
            )
        )
    return found


def judged(
    context: Context,
    shares: Mapping[str, Mapping[str, float]],
    victims: Mapping[str, list[float]],
    pictures: list[str],
) -> list[Outcome]:
    """D-1 to D-4."""
    far = [abs(rate - 20 / 3) for flow, rate in shares[PFC].items() if flow != "near"]
    fair = tuple(shares[DCQCN].values())
    (none, one, two), kept = victims[PFC], victims[DCQCN]
    return [
        context.judge(
            "D-1",
            {"near_gbps": shares[PFC]["near"], "far_off_gbps": max(far)},
            measured=listed(shares[PFC]),
            pictures=pictures,
        ),
        context.judge(
            "D-2",
            {"off_gbps": max(abs(rate - 10) for rate in fair), "jain": jain(fair)},
            measured=f"{listed(shares[DCQCN])}; Jain {jain(fair):.4f}",
        ),
        context.judge(
            "D-3",
            {"one_to_none": one / none, "two_to_one": two / one, "two_to_none": two / none},
            measured="Gb/s: " + ", ".join(f"{rate:.2f}" for rate in victims[PFC]),
        ),
        context.judge(
            "D-4",
            {"least_to_none": min(kept) / kept[0]},
            measured="Gb/s: " + ", ".join(f"{rate:.2f}" for rate in kept),
        ),
    ]


def equilibria(
    context: Context, lots: Mapping[str, Mapping[str, float]], incasts: Incasts, sixteen: Incast
) -> list[Outcome]:
    """D-5 to D-9."""
    slope, step = (lots[name]["f2"] for name in ("RED-like", "step"))
    pair = incasts[2, LOOPS_US[0]]
    two = {"off_gbps": max(abs(rate - 20) for rate in pair.rates), "queue_kb": pair.mean_kb}
    many = {"used": sixteen.used, "jain": jain(sixteen.rates), "queue_kb": sixteen.mean_kb}
    many |= {"lost": sixteen.lost, "paused_late": sixteen.paused_late}
    queues = "; ".join(
        f"{senders} senders, {loop} us: {one.mean_kb:.0f} KB, deviation {one.deviation_kb:.0f}"
        for (senders, loop), one in incasts.items()
    )
    return [
        context.judge("D-5", {"f2_gbps": slope}, measured=listed(lots["RED-like"])),
        context.judge("D-6", {"f2_gbps": step, "step_to_slope": step / slope}, measured=listed(lots["step"])),
        context.judge("D-7", two),
        context.judge("D-8", many),
        context.judge("D-9", against_fluid(incasts), measured=queues),
    ]


def against_fluid(incasts: Incasts) -> dict[str, float]:
    """Figures of D-9: queues where the fluid model is stable, and where it oscillates."""
    off: list[float] = []
    steady: list[float] = []
    unstable: list[float] = []
    for (many, loop), one in incasts.items():
        fluid, stable = FLUID_KB[many][LOOPS_US.index(loop)]
        (steady if stable else unstable).append(one.deviation_kb / one.mean_kb)
        off += [abs(one.mean_kb / fluid - 1)] if stable else []
    return {"queue_off": max(off), "deviation_stable": max(steady), "deviation_unstable": min(unstable)}


def picture(
    shares: Mapping[str, Mapping[str, float]],
    victims: Mapping[str, list[float]],
    lots: Mapping[str, Mapping[str, float]],
    incasts: Incasts,
) -> Figure:
    """Shares, the victim and the parking lot; below them the queue over time."""
    grey, blue = "#9aa0a6", "#1f77b4"
    colors = {PFC: grey, DCQCN: blue, "RED-like": blue, "step": "#d95f02"}
    with style():
        figure = Figure(figsize=(10, 6.2), layout="constrained")
        grid = figure.add_gridspec(2, 3)
        panels = [figure.add_subplot(grid[0, at]) for at in range(3)]
        groups: tuple[tuple[str, Mapping[str, Any], list[str], float | None], ...] = (
            ("four senders, one near", shares, list(shares[PFC]), 10.0),
            ("victim, by added senders", victims, ["0", "1", "2"], None),
            ("parking lot: f2 over both", lots, list(lots["RED-like"]), 20.0),
        )
        for panel, (title, values, labels, fair) in zip(panels, groups, strict=True):
            for at, (name, of) in enumerate(values.items()):
                heights = list(of.values()) if isinstance(of, Mapping) else of
                panel.bar(
                    np.arange(len(labels)) + 0.4 * at - 0.2, heights, 0.38, color=colors[name], label=name
                )
            if fair:
                panel.axhline(fair, color="black", linewidth=0.8, linestyle=":")
            panel.set_xticks(range(len(labels)), labels)
            panel.set_title(title)
            panel.set_ylabel("throughput (Gb/s)")
            panel.legend()
        below = figure.add_subplot(grid[1, :])
        many = max(many for many, _ in incasts)
        for (senders, loop), one in incasts.items():
            if senders == many:
                times, lengths = one.queue
                late = times >= SETTLED_NS / 1e6
                below.plot(times[late], lengths[late], linewidth=0.8, label=f"loop delay {loop} us")
        below.set_title(f"queue of {many} senders with DCQCN")
        below.set_xlabel("time (ms)")
        below.set_ylabel("queue (KB)")
        below.set_ylim(0, 1.2 * below.get_ylim()[1])
        below.legend(loc="upper right", ncols=3)
        figure.suptitle("DCQCN at 40 Gb/s")
    return figure
