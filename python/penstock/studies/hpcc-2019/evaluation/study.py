"""HPCC compared with DCTCP, DCQCN, TIMELY and Swift: slowdowns by message size, and incasts."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from penstock.plots.style import style
from penstock.result import Result
from penstock.running.many import run_many
from penstock.scenario import Scenario
from penstock.studies.comparing import factor
from penstock.studies.marks import red_marks
from penstock.studies.reproduce import Context, Outcome

HPCC, DCTCP, DCQCN, TIMELY, SWIFT = "HPCC", "DCTCP", "DCQCN+w", "TIMELY+w", "Swift"
BARE = "DCQCN"
FIRST = "TIMELY+w, ACKs first"
"""Configuration of the authors' script, which sends acknowledgements before data."""
_TRIP = {"base_rtt": "12.3 us"}
"""Longest round trip of the fabric without queueing, as in the authors' runs."""
_WINDOW = {"window": "bdp", **_TRIP}
_DCQCN = {"control": {"dcqcn": {"preset": "hpcc"}}, "cnp_gap": "0 s"}
_TIMELY = {"control": {"timely": {"delta": "100 Mb/s", "min_rate": "1 Gb/s"}}, **_WINDOW}
CONTROLS: Mapping[str, Mapping[str, Any]] = {
    HPCC: {
        "control": {"hpcc": {"eta": 0.99, "max_stage": 0, "ai_rate": "50 Mb/s", "min_rate": "1 Gb/s"}},
        **_TRIP,
    },
    DCTCP: {"control": "dctcp", **_WINDOW},
    DCQCN: {**_DCQCN, **_WINDOW},
    TIMELY: _TIMELY,
    SWIFT: {"control": "swift"},
    BARE: _DCQCN,
    FIRST: {**_TIMELY, "ack_priority": 7},
}
COLORS = {
    HPCC: "#CC79A7",
    DCTCP: "#E69F00",
    DCQCN: "#1f77b4",
    TIMELY: "#009E73",
    SWIFT: "#777777",
    BARE: "#9ecae1",
    FIRST: "#8fd3b6",
}
OTHERS = (DCQCN, TIMELY)
SOURCE = (HPCC, DCTCP, DCQCN, TIMELY)
"""Controls that the source compares."""
SIZES = {"web_search": "web search", "fb_hadoop": "Hadoop"}
LOADS = (0.3, 0.5)


@dataclass(frozen=True)
class Times:
    """Load ends at `stop_us`; messages that start from `first_us` to `last_us` are measured."""

    first_us: float
    last_us: float
    stop_us: float

    def shortened(self, share: float) -> Times:
        """The times scaled by `share`."""
        return Times(share * self.first_us, share * self.last_us, share * self.stop_us)


TIMES = {"web_search": Times(2000, 5000, 7000), "fb_hadoop": Times(1000, 2500, 3000)}
"""Times by size distribution."""
BURST_TIMES = Times(2500, 4500, 5000)
"""Times for bursts; the sixty messages of a burst take 2.4 ms."""
LINKS = {16: 2, 64: 4}
"""Links between two hosts of the same switch (16 hosts), and of the same pod (64 hosts); otherwise 6."""
LINK_NS = 1000
DRAIN_US = 16_000
Span = tuple[float, float]
SHORT, LONG, TINY = 30_000, 5_000_000, 1_000
WEB_SLOW: Mapping[str, tuple[float, float, float]] = {
    HPCC: (1.5, 2.7, 4.0),
    DCQCN: (2.95, 3.2, 3.85),
    TIMELY: (2.95, 3.3, 3.85),
    DCTCP: (2.6, 3.2, 4.2),
}
WEB_SIZES = ((10_000, SHORT), (100_000, 300_000), (1_000_000, 3_000_000))
"""Message sizes of `WEB_SLOW`, the 95th percentile at load 0.3 in the source."""
TINY_SLOW: Mapping[str, tuple[float, float]] = {
    HPCC: (1.5, 2.7),
    DCQCN: (2.75, 6.7),
    TIMELY: (2.8, 6.4),
    DCTCP: (2.45, 5.3),
}
"""Slowdowns in the source for Hadoop messages up to 1 kB: 95th percentile at load 0.3, 99th at load 0.5."""
BINS = (0, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000, 5_000_000, 100_000_000)


@dataclass(frozen=True)
class Run:
    """Messages, pauses and queues of a run."""

    times: Times
    begun_us: np.ndarray
    sizes: np.ndarray
    slow: np.ndarray
    """Slowdowns, infinite for unfinished messages."""
    paused_us: float
    """Sum of the paused time of all ports."""
    longest_kb: float
    """Longest queue of any switch port."""

    @classmethod
    def of(cls, result: Result, plain: Result, times: Times) -> Run:
        """Reads a result; `plain` is a run of the same messages in packets without telemetry."""
        rows = messages(result)
        return cls(
            times=times,
            begun_us=np.array([row["start_ns"] for row in rows]) / 1e3,
            sizes=np.array([row["bytes"] for row in rows]),
            slow=np.array([slowdown(*both) for both in zip(rows, messages(plain), strict=True)]),
            paused_us=sum(row["paused_s"] for row in result.rows("ports")) * 1e6,
            longest_kb=max(
                row["queue_bytes_max"] for row in result.rows("queues") if not row["port"].startswith("h")
            )
            / 1e3,
        )

    @property
    def counted(self) -> Span:
        """Interval in us in which measured messages start."""
        return self.times.first_us, self.times.last_us

    def begun(self, during: Span) -> np.ndarray:
        """Mask of the messages that start in an interval."""
        return (self.begun_us >= during[0]) & (self.begun_us < during[1])

    def at(self, percent: float, least: int = 0, most: int = BINS[-1], during: Span | None = None) -> float:
        """A percentile of the slowdown of messages of these sizes; NaN without any."""
        found = self.slow[(self.sizes > least) & (self.sizes <= most) & self.begun(during or self.counted)]
        return float(np.percentile(found, percent, method="higher")) if len(found) else math.nan


def messages(result: Result) -> list[dict[str, Any]]:
    """Messages of a result, without incasts."""
    return [row for row in result.rows("transfers") if row["name"].startswith("messages")]


def slowdown(row: Mapping[str, Any], plain: Mapping[str, Any]) -> float:
    """Slowdown as the authors define it: time until all data are acknowledged, over the ideal plain time."""
    until = row["acknowledged_ns"]
    if not until:
        return math.inf
    source, destination = (int(row[end].removeprefix("h")) for end in ("source", "destination"))
    links = next((links for hosts, links in LINKS.items() if source // hosts == destination // hosts), 6)
    return float(until / (plain["ideal_ns"] + links * LINK_NS))


Runs = Mapping[tuple[str, float, str], Run]
Bursts = Mapping[str, Run]


def run(context: Context) -> list[Outcome]:
    """All experiments."""
    share = 0.02 if context.quick else 1.0
    fabric = context.scenario("fabric")
    alone = fabric.with_value("transfers.incast", None)
    runs: dict[tuple[str, float, str], Run] = {}
    for sizes in SIZES:
        for load in LOADS:
            context.say(f"{SIZES[sizes]}, load {load:g}")
            loaded = with_messages(alone, sizes, load)
            for name, one in under(loaded, (*SOURCE, SWIFT, FIRST), TIMES[sizes].shortened(share)).items():
                runs[sizes, load, name] = one
    context.say("incast")
    bursts = under(with_messages(fabric, "fb_hadoop", LOADS[0]), CONTROLS, BURST_TIMES.shortened(share))
    context.save_table("slowdowns", "Slowdowns of all runs", COLUMNS, list(rows(runs, bursts)), note=NOTE)
    lasting(context, {name: runs["web_search", LOADS[1], name] for name in (*SOURCE, SWIFT, FIRST)})
    cover = context.save_figure(picture(runs, bursts), "hpcc", cover=True)
    return [*of_messages(context, runs, [cover]), *of_bursts(context, bursts)]


def with_messages(scenario: Scenario, sizes: str, load: float) -> Scenario:
    """The scenario with messages of these sizes at this load."""
    scenario = scenario.with_value("transfers.messages.sizes", sizes)
    return scenario.with_value("transfers.messages.arrivals", {"poisson": {"load": load}})


def under(scenario: Scenario, names: Iterable[str], times: Times) -> dict[str, Run]:
    """Runs of a scenario under each control. Threads, unlike processes, share the cache of runs."""
    scenario = scenario.with_value("simulation.duration", f"{times.stop_us + DRAIN_US:.0f} us")
    for entry in scenario.to_dict()["transfers"]:
        scenario = scenario.with_value(f"transfers.{entry['name']}.stop", f"{times.stop_us:.0f} us")
    scenarios = {name: controlled(scenario, name) for name in names}
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        results = run_many(scenarios.values(), executor=threads)
    of = dict(zip(scenarios, results, strict=True))
    return {name: Run.of(result, of[DCTCP], times) for name, result in of.items()}


def controlled(scenario: Scenario, name: str) -> Scenario:
    """The scenario with this control and its ECN marking."""
    for entry in scenario.to_dict()["transfers"]:
        over = {"rdma": {"queue_pairs": "each", "mtu": "1000 B", **CONTROLS[name]}}
        scenario = scenario.with_value(f"transfers.{entry['name']}.over", over)
    if name not in (DCTCP, DCQCN, BARE):
        return scenario
    scenario = scenario.with_value("switch.queue_managers", [marks(name, 4)])
    return scenario.with_value("switches.tor*.queue_managers", [marks(name, 1)])


def marks(name: str, times: int) -> Mapping[str, Any]:
    """Marking of a switch whose links are `times` times as fast as those of hosts."""
    if name == DCTCP:
        return {"classes": [3], "step": {"threshold": f"{300 * times} kB", "at": "dequeue"}}
    return {"classes": [3], **red_marks(f"{400 * times} kB", f"{1600 * times} kB", 0.2)}


COLUMNS = (
    "sizes",
    "load",
    "control",
    "messages",
    "≤ 1 kB p95",
    "≤ 30 kB p95",
    "≤ 30 kB p99",
    "100 to 300 kB p95",
    "1 to 3 MB p95",
    "≥ 5 MB p95",
    "longest queue (kB)",
    "paused (us)",
)
NOTE = (
    "Slowdown: time until the sender has received all acknowledgements, over that of the same message alone "
    "in packets without telemetry. Paused: sum over all ports."
)


def rows(runs: Runs, bursts: Bursts) -> list[tuple[str, ...]]:
    """One row per run."""
    found = [((SIZES[sizes], f"{load:g}", name), one) for (sizes, load, name), one in runs.items()]
    found += [(("Hadoop and incast", f"{LOADS[0]:g}", name), one) for name, one in bursts.items()]
    return [
        (
            *which,
            f"{one.begun(one.counted).sum():,}",
            factor(one.at(95, 0, TINY)),
            factor(one.at(95, 0, SHORT)),
            factor(one.at(99, 0, SHORT)),
            factor(one.at(95, 100_000, 300_000)),
            factor(one.at(95, 1_000_000, 3_000_000)),
            factor(one.at(95, LONG)),
            f"{one.longest_kb:.0f}",
            f"{one.paused_us:.0f}",
        )
        for which, one in found
    ]


def lasting(context: Context, runs: Mapping[str, Run]) -> None:
    """Table of slowdowns by start time, which shows whether the load is stationary."""
    ends = np.linspace(0, runs[HPCC].times.stop_us, 8)
    spans = list(pairwise(ends.tolist()))
    first, last = runs[HPCC].counted
    context.save_table(
        "lasting",
        f"95th percentile of the slowdown by start time, {SIZES['web_search']}, load {LOADS[1]:g}",
        ("control", "messages", *(f"{start / 1e3:g} to {end / 1e3:g} ms" for start, end in spans)),
        [
            (name, title, *(factor(one.at(95, *sizes, during=span)) for span in spans))
            for title, sizes in (("≤ 30 kB", (0, SHORT)), ("≥ 5 MB", (LONG, BINS[-1])))
            for name, one in runs.items()
        ],
        note=f"Messages that start from {first / 1e3:g} to {last / 1e3:g} ms are measured.",
    )


def margins(cases: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """Smallest ratios of DCTCP to HPCC, and of DCQCN or TIMELY to DCTCP."""
    of_both = [(of[DCTCP] / of[HPCC], min(of[name] for name in OTHERS) / of[DCTCP]) for of in cases]
    smallest = np.min(of_both, axis=0).tolist()
    return dict(zip(("dctcp_over_hpcc_min", "others_over_dctcp_min"), smallest, strict=True))


def listed(of: Mapping[str, float]) -> str:
    """A figure of each control, as text."""
    return ", ".join(f"{name} {factor(value)}" for name, value in of.items())


def slowdowns(
    runs: Runs, sizes: str, load: float, percent: float, least: int = 0, most: int = BINS[-1]
) -> dict[str, float]:
    """A percentile of the slowdown by control."""
    return {
        name: one.at(percent, least, most)
        for (which, at, name), one in runs.items()
        if (which, at) == (sizes, load)
    }


def of_messages(context: Context, runs: Runs, pictures: list[str]) -> list[Outcome]:
    """H-1 to H-5."""
    web = {load: slowdowns(runs, "web_search", load, 95, 0, SHORT) for load in LOADS}
    hadoop = {
        (load, percent): slowdowns(runs, "fb_hadoop", load, percent, 0, SHORT)
        for load in LOADS
        for percent in (95, 99)
    }
    long = slowdowns(runs, "web_search", LOADS[1], 95, LONG)
    by_size = {
        name: tuple(runs["web_search", LOADS[0], name].at(95, *sizes) for sizes in WEB_SIZES)
        for name in WEB_SLOW
    }
    tiny = {
        name: (
            runs["fb_hadoop", LOADS[0], name].at(95, 0, TINY),
            runs["fb_hadoop", LOADS[1], name].at(99, 0, TINY),
        )
        for name in TINY_SLOW
    }

    return [
        context.judge(
            "H-1",
            margins(web.values()),
            measured="; ".join(f"load {load:g}: {listed(of)}" for load, of in web.items()),
            pictures=pictures,
        ),
        context.judge(
            "H-2",
            margins(hadoop.values()),
            measured="; ".join(
                f"load {load:g}, p{percent}: {listed(of)}" for (load, percent), of in hadoop.items()
            ),
        ),
        context.judge(
            "H-3",
            {"slower_than_hpcc": sum(long[name] > long[HPCC] for name in SOURCE)},
            measured=listed(long),
        ),
        near(context, "H-4", by_size, WEB_SLOW),
        near(context, "H-5", tiny, TINY_SLOW),
    ]


def near(
    context: Context,
    experiment: str,
    found: Mapping[str, tuple[float, ...]],
    source: Mapping[str, tuple[float, ...]],
) -> Outcome:
    """Slowdowns by control compared with those of the source."""
    ratios = [np.divide(found[name], values) for name, values in source.items()]
    return context.judge(
        experiment,
        {"deviation_max": float(np.max(np.abs(np.subtract(ratios, 1))))},
        measured="; ".join(f"{name} {', '.join(map(factor, values))}" for name, values in found.items()),
    )


def of_bursts(context: Context, bursts: Bursts) -> list[Outcome]:
    """H-6 and H-7. Bursts occur every 375 us, so that a quick run has one at most."""
    short = {name: one.at(99, 0, SHORT) for name, one in bursts.items()}
    return [
        context.judge(
            "H-6",
            {"hpcc_paused_us": bursts[HPCC].paused_us, "dcqcn_paused_us": bursts[BARE].paused_us},
            measured=", ".join(f"{name} {one.paused_us:.0f} us" for name, one in bursts.items()),
        ),
        context.judge(
            "H-7",
            {"hpcc_over_best": short[HPCC] / min(short[name] for name in (BARE, *OTHERS))},
            measured=listed(short),
        ),
    ]


def picture(runs: Runs, bursts: Bursts) -> Figure:
    """Slowdowns by message size: a panel for each distribution and load, and one for incasts."""
    groups: list[tuple[str, Mapping[str, Run]]] = [
        (
            f"{SIZES[sizes]}, load {load:g}",
            {name: one for (which, at, name), one in runs.items() if (which, at) == (sizes, load)},
        )
        for sizes in SIZES
        for load in LOADS
    ]
    groups.append(("Hadoop 0.3, and incast", bursts))
    with style():
        figure = Figure(figsize=(14, 3.6), layout="constrained")
        for panel, (title, of) in zip(figure.subplots(1, len(groups), sharey=True), groups, strict=True):
            for name, one in of.items():
                slow = np.array([one.at(95, *ends) for ends in pairwise(BINS)])
                shown = np.isfinite(slow)
                panel.plot(
                    np.array(BINS[1:])[shown],
                    slow[shown],
                    "o-",
                    markersize=3,
                    color=COLORS[name],
                    label=name,
                )
            panel.set_xscale("log")
            panel.set_yscale("log")
            panel.set_title(title)
            panel.set_xlabel("messages up to (B)")
            panel.yaxis.set_major_formatter("{x:,g}")
        figure.axes[0].set_ylabel("slowdown, p95")
        figure.legend(
            *figure.axes[-1].get_legend_handles_labels(), loc="outside lower center", ncols=len(bursts)
        )
        figure.suptitle("320 hosts at 100 Gb/s")
    return figure
