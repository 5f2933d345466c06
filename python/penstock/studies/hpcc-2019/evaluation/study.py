"""HPCC beside DCTCP, DCQCN, TIMELY and Swift: slowdowns of published sizes by message size, and incast."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from penstock.plots.style import style
from penstock.result import Result
from penstock.scenario import Scenario
from penstock.studies.marks import red_marks
from penstock.studies.reproduce import Context, Outcome

HPCC, DCTCP, DCQCN, TIMELY, SWIFT = "HPCC", "DCTCP", "DCQCN+w", "TIMELY+w", "Swift"
BARE = "DCQCN"
_TRIP = {"base_rtt": "8.3 us"}
"""The longest round trip of the fabric without queues, as in the authors' runs."""
_WINDOW = {"window": "bdp", **_TRIP}
_DCQCN = {"control": {"dcqcn": {"preset": "hpcc"}}, "cnp_gap": "0 s"}
CONTROLS: Mapping[str, Mapping[str, Any]] = {
    HPCC: {
        "control": {"hpcc": {"eta": 0.99, "max_stage": 0, "ai_rate": "50 Mb/s", "min_rate": "1 Gb/s"}},
        **_TRIP,
    },
    DCTCP: {"control": "dctcp", **_WINDOW},
    DCQCN: {**_DCQCN, **_WINDOW},
    TIMELY: {"control": {"timely": {"delta": "100 Mb/s", "min_rate": "1 Gb/s"}}, **_WINDOW},
    SWIFT: {"control": "swift"},
    BARE: _DCQCN,
}
COLOURS = {
    HPCC: "#CC79A7",
    DCTCP: "#E69F00",
    DCQCN: "#1f77b4",
    TIMELY: "#009E73",
    SWIFT: "#777777",
    BARE: "#9ecae1",
}
OTHERS = (DCQCN, TIMELY)
SOURCE = (HPCC, DCTCP, DCQCN, TIMELY)
"""Those of the source; Swift is beside them."""
SIZES = {"web_search": "web search", "fb_hadoop": "Hadoop"}
LOADS = (0.3, 0.5)
STOP_US = {"web_search": 2140, "fb_hadoop": 750}
"""Until which messages arrive, over the load: about 1,000 of web search, 5,000 of Hadoop."""
DRAIN_US = 16_000
SHORT, LONG, TINY = 30_000, 5_000_000, 1_000
WEB_KB: Mapping[str, tuple[float, float, float]] = {
    HPCC: (1.5, 2.7, 4.0),
    DCQCN: (2.95, 3.2, 3.85),
    TIMELY: (2.95, 3.3, 3.85),
    DCTCP: (2.6, 3.2, 4.2),
}
WEB_SIZES = ((10_000, SHORT), (100_000, 300_000), (1_000_000, 3_000_000))
"""Slowdowns of the source at the 95th percentile and load 0.3, for sizes between these."""
TINY_SLOW: Mapping[str, tuple[float, float]] = {
    HPCC: (1.5, 2.7),
    DCQCN: (2.75, 6.7),
    TIMELY: (2.8, 6.4),
    DCTCP: (2.45, 5.3),
}
"""Of messages up to 1 kB of Hadoop: 95th percentile at load 0.3, 99th at load 0.5."""
BINS = (0, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000, 5_000_000, 100_000_000)


@dataclass(frozen=True)
class Run:
    """Sizes in bytes and slowdowns of all messages of a run, infinite where one was not done."""

    sizes: np.ndarray
    slow: np.ndarray
    paused_us: float
    """All ports together."""
    longest_kb: float
    """The longest queue of a switch."""

    @classmethod
    def of(cls, result: Result) -> Run:
        """Reads a result."""
        rows = [row for row in result.rows("transfers") if row["name"].startswith("messages")]
        return cls(
            sizes=np.array([row["bytes"] for row in rows]),
            slow=np.array([row["slowdown"] or math.inf for row in rows]),
            paused_us=sum(row["paused_s"] for row in result.rows("ports")) * 1e6,
            longest_kb=max(
                row["queue_bytes_max"] for row in result.rows("queues") if not row["port"].startswith("h")
            )
            / 1e3,
        )

    def at(self, percent: float, least: int = 0, most: int = BINS[-1]) -> float:
        """A percentile of the slowdown of messages of these sizes; NaN without any."""
        found = self.slow[(self.sizes > least) & (self.sizes <= most)]
        return float(np.percentile(found, percent, method="higher")) if len(found) else math.nan


Runs = Mapping[tuple[str, float, str], Run]
Bursts = Mapping[str, Run]


def run(context: Context) -> list[Outcome]:
    """All experiments."""
    share = 0.05 if context.quick else 1.0
    runs: dict[tuple[str, float, str], Run] = {}
    for sizes in SIZES:
        for load in LOADS:
            for name in (*SOURCE, SWIFT):
                context.say(f"{SIZES[sizes]}, load {load:g}, {name}")
                runs[sizes, load, name] = messages(context, "messages", name, sizes, load, share)
    bursts = {}
    for name in CONTROLS:
        context.say(f"incast, {name}")
        bursts[name] = messages(context, "incast", name, "fb_hadoop", LOADS[0], 1.5 * share)
    context.save_table("slowdowns", "Slowdowns of all runs", COLUMNS, list(rows(runs, bursts)), note=NOTE)
    cover = context.save_figure(picture(runs, bursts), "hpcc", cover=True)
    return [*of_messages(context, runs, [cover]), *of_bursts(context, bursts)]


def messages(context: Context, file: str, name: str, sizes: str, load: float, share: float) -> Run:
    """Messages of these sizes under a control."""
    scenario = controlled(context.scenario(file), name)
    stop = share * STOP_US[sizes] / load
    scenario = scenario.with_value("transfers.messages.sizes", sizes)
    scenario = scenario.with_value("transfers.messages.arrivals", {"poisson": {"load": load}})
    for entry in scenario.to_dict()["transfers"]:
        scenario = scenario.with_value(f"transfers.{entry['name']}.stop", f"{stop:.0f} us")
    return Run.of(scenario.with_value("simulation.duration", f"{stop + DRAIN_US:.0f} us").run(seed=1))


def controlled(scenario: Scenario, name: str) -> Scenario:
    """With this control, and the marks that it needs."""
    for entry in scenario.to_dict()["transfers"]:
        over = {"rdma": {"queue_pairs": "each", "mtu": "1000 B", **CONTROLS[name]}}
        scenario = scenario.with_value(f"transfers.{entry['name']}.over", over)
    if name not in (DCTCP, DCQCN, BARE):
        return scenario
    scenario = scenario.with_value("switch.queue_managers", [marks(name, 1)])
    return scenario.with_value("switches.spine*.queue_managers", [marks(name, 4)])


def marks(name: str, times: int) -> Mapping[str, Any]:
    """The marks of a switch whose links are so many times as fast as those of hosts."""
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
NOTE = "Slowdown: completion over that of the same message alone. Paused: all ports together."


def rows(runs: Runs, bursts: Bursts) -> list[tuple[str, ...]]:
    """One row a run."""
    found = [((SIZES[sizes], f"{load:g}", name), one) for (sizes, load, name), one in runs.items()]
    found += [(("Hadoop and incast", f"{LOADS[0]:g}", name), one) for name, one in bursts.items()]
    return [
        (
            *which,
            f"{len(one.sizes):,}",
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


def factor(value: float) -> str:
    """A slowdown in words."""
    if math.isnan(value):
        return "-"
    return f"{value:.2f}" if math.isfinite(value) else "not all done"


def ordered(of: Mapping[str, float]) -> bool:
    """Whether HPCC is below DCTCP, and that below the others."""
    return of[HPCC] < of[DCTCP] < min(of[name] for name in OTHERS)


def told(of: Mapping[str, float]) -> str:
    """A figure of all controls in words."""
    return ", ".join(f"{name} {factor(value)}" for name, value in of.items())


def slowdowns(
    runs: Runs, sizes: str, load: float, percent: float, least: int = 0, most: int = BINS[-1]
) -> dict[str, float]:
    """A percentile by control."""
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
        for name in WEB_KB
    }
    tiny = {
        name: (
            runs["fb_hadoop", LOADS[0], name].at(95, 0, TINY),
            runs["fb_hadoop", LOADS[1], name].at(99, 0, TINY),
        )
        for name in TINY_SLOW
    }
    return [
        context.outcome(
            "H-1",
            measured="; ".join(f"load {load:g}: {told(of)}" for load, of in web.items()),
            passed=all(ordered(of) for of in web.values()),
            pictures=pictures,
        ),
        context.outcome(
            "H-2",
            measured="; ".join(
                f"load {load:g}, p{percent}: {told(of)}" for (load, percent), of in hadoop.items()
            ),
            passed=all(ordered(of) for of in hadoop.values()),
        ),
        context.outcome("H-3", measured=told(long), passed=long[HPCC] == max(long[name] for name in SOURCE)),
        context.outcome("H-4", measured=listed(by_size), passed=near(by_size, WEB_KB)),
        context.outcome("H-5", measured=listed(tiny), passed=near(tiny, TINY_SLOW)),
    ]


def listed(of: Mapping[str, tuple[float, ...]]) -> str:
    """Several figures of each control in words."""
    return "; ".join(f"{name} {', '.join(factor(value) for value in values)}" for name, values in of.items())


def near(found: Mapping[str, tuple[float, ...]], source: Mapping[str, tuple[float, ...]]) -> bool:
    """Whether all are within 20 % of the source."""
    return all(
        abs(mine / theirs - 1) <= 0.2
        for name, values in source.items()
        for mine, theirs in zip(found[name], values, strict=True)
    )


def of_bursts(context: Context, bursts: Bursts) -> list[Outcome]:
    """H-6 and H-7."""
    short = {name: one.at(99, 0, SHORT) for name, one in bursts.items()}
    return [
        context.outcome(
            "H-6",
            measured=", ".join(f"{name} {one.paused_us:.0f} us" for name, one in bursts.items()),
            passed=bursts[HPCC].paused_us == 0 < bursts[BARE].paused_us,
        ),
        context.outcome(
            "H-7",
            measured=told(short),
            passed=short[HPCC] < min(short[name] for name in (BARE, *OTHERS)),
        ),
    ]


def picture(runs: Runs, bursts: Bursts) -> Figure:
    """Slowdowns over sizes: a panel each of sizes and load, and one of incast."""
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
                    color=COLOURS[name],
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
        figure.suptitle("64 hosts at 100 Gb/s")
    return figure
