"""Completion time of a block that many hosts send at once, by number of hosts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

from matplotlib.figure import Figure

from penstock.plots.style import INK, Label, label_right, style
from penstock.result import Result
from penstock.scenario import Scenario
from penstock.studies.reproduce import Context, Outcome

BLOCK_BYTES = 1_000_000
FAN_INS = (8, 16, 32, 64, 128, 256)
RATE_BPS = 1e9
SEGMENT_BYTES, HEADER_BYTES, LINE_BYTES = 1460, 62, 20
SLOW, FAST = "200 ms", "1 ms"

Changes = Mapping[str, Any]


@dataclass(frozen=True)
class Scheme:
    """Minimum timeout of TCP, with changes to its options and to the scenario."""

    timer: str
    tcp: Changes
    changes: Changes
    color: str


MARKS: Changes = {"switch.queue_managers": [{"step": {"threshold": "20 frames"}}]}
SCHEMES = {
    "drops, 200 ms": Scheme(SLOW, {}, {}, "#D55E00"),
    "drops, 1 ms": Scheme(FAST, {}, {}, "#E69F00"),
    "ECN, 200 ms": Scheme(SLOW, {"ecn": "rfc3168"}, MARKS, "#CC79A7"),
    "DCTCP, 200 ms": Scheme(SLOW, {"preset": "datacenter"}, MARKS, "#0072B2"),
    "PFC": Scheme(SLOW, {}, {"switch.buffer": None, "flow_control": {"pfc": {}}}, "#009E73"),
}


@dataclass(frozen=True)
class Run:
    """Completion time, lost frames and timeouts of one run."""

    completion_s: float
    dropped: int
    timeouts: int

    @classmethod
    def of(cls, result: Result) -> Run:
        """Reads a result; the completion time is infinite if a connection does not finish."""
        ends = [row["completed_ns"] for row in result.rows("connections")]
        last = math.inf if any(end is None for end in ends) else max(ends) / 1e9
        dropped = sum(row["frames"] for row in result.rows("drops"))
        return cls(last, dropped, sum(row["timeouts"] for row in result.rows("connections")))


Runs = Mapping[str, Mapping[int, list[Run]]]


def run(context: Context) -> list[Outcome]:
    """All experiments."""
    base = context.scenario("incast")
    seeds = range(1, 3 if context.quick else 11)
    runs: dict[str, dict[int, list[Run]]] = {}
    for name, scheme in SCHEMES.items():
        context.say(name)
        runs[name] = {
            hosts: [Run.of(arranged(base, scheme, hosts).run(seed=seed)) for seed in seeds]
            for hosts in FAN_INS
        }
    cover = context.save_figure(picture(runs), "fan-in", cover=True)
    table(context, runs)
    return [
        collapse(context, runs["drops, 200 ms"], [cover]),
        never_slow(context, "F-2", runs["drops, 1 ms"]),
        with_marks(context, "F-3", runs["ECN, 200 ms"], fast=16, slow=256),
        with_marks(context, "F-4", runs["DCTCP, 200 ms"], fast=32, slow=128),
        never_slow(context, "F-5", runs["PFC"]),
    ]


def arranged(base: Scenario, scheme: Scheme, hosts: int) -> Scenario:
    """The scenario with this scheme and number of sending hosts."""
    timers = {"min_timeout": scheme.timer, "initial_timeout": scheme.timer}
    tcp = {"initial_window": "2 frames", "send_jitter": "10 us", **timers, **scheme.tcp}
    changes = {
        "topology.star.hosts": hosts + 1,
        "flows.parts.from": f"h1..h{hosts}",
        "flows.parts.limit": f"{BLOCK_BYTES // hosts} B",
        "flows.parts.source": {"tcp": tcp},
        **scheme.changes,
    }
    scenario = base
    for key, value in changes.items():
        scenario = scenario.with_value(key, value)
    return scenario


def ideal_s(hosts: int) -> float:
    """Transmission time of a block on the link to the requesting host, in seconds."""
    part = BLOCK_BYTES // hosts
    overhead = math.ceil(part / SEGMENT_BYTES) * (HEADER_BYTES + LINE_BYTES)
    return hosts * (part + overhead) * 8 / RATE_BPS


def stretch(runs: Mapping[int, list[Run]]) -> dict[int, float]:
    """Median completion time by number of hosts, relative to the ideal."""
    return {hosts: median(one.completion_s for one in of) / ideal_s(hosts) for hosts, of in runs.items()}


def listed(runs: Mapping[int, list[Run]]) -> str:
    """Median completion times, as text."""
    times = (f"{median(one.completion_s for one in of) * 1e3:.4g} ms" for of in runs.values())
    return ", ".join(f"{hosts} hosts {time}" for hosts, time in zip(runs, times, strict=True))


def collapse(context: Context, runs: Mapping[int, list[Run]], pictures: list[str]) -> Outcome:
    """F-1."""
    first = min(one.completion_s for hosts in FAN_INS if hosts >= 32 for one in runs[hosts])
    goodput_mbps = BLOCK_BYTES * 8 / first / 1e6
    return context.judge(
        "F-1",
        {"completion_min_ms": first * 1e3, "goodput_max_mbps": goodput_mbps},
        measured=f"{listed(runs)}; goodput with 32 hosts and more at most {goodput_mbps:.0f} Mb/s",
        pictures=pictures,
    )


def with_marks(
    context: Context, experiment: str, runs: Mapping[int, list[Run]], *, fast: int, slow: int
) -> Outcome:
    """F-3 and F-4: timeouts and completion time with `fast` hosts, completion time with `slow`."""
    times = stretch(runs)
    timeouts = {hosts: sum(one.timeouts for one in of) for hosts, of in runs.items()}
    without = ", ".join(str(hosts) for hosts, number in timeouts.items() if not number)
    return context.judge(
        experiment,
        {"timeouts": timeouts[fast], "stretch": times[fast], "stretch_collapsed": times[slow]},
        measured=f"{listed(runs)}; no timeout with {without or 'none'} hosts",
    )


def never_slow(context: Context, experiment: str, runs: Mapping[int, list[Run]]) -> Outcome:
    """F-2 and F-5."""
    lost = sum(one.dropped for of in runs.values() for one in of)
    figures = {"frames_lost": lost, "stretch_max": max(stretch(runs).values())}
    return context.judge(experiment, figures, also=listed(runs))


def table(context: Context, runs: Runs) -> None:
    """Completion times, losses and timeouts."""
    rows = []
    for name, of_scheme in runs.items():
        for hosts, of in of_scheme.items():
            times = sorted(one.completion_s * 1e3 for one in of)
            spread = f"{times[0]:.4g} to {times[-1]:.4g}"
            lost, timeouts = (median(getattr(one, what) for one in of) for what in ("dropped", "timeouts"))
            row = (name, str(hosts), f"{median(times):.4g}", spread, f"{ideal_s(hosts) * 1e3:.4g}")
            rows.append((*row, f"{lost:g}", f"{timeouts:g}"))
    columns = ("scheme", "hosts", "completion (ms)", "all seeds", "ideal (ms)", "frames lost", "timeouts")
    context.save_table(
        "fan-in", "Completion time of a block of 1 MB", columns, rows, note="Medians over seeds."
    )


def picture(runs: Runs) -> Figure:
    """Completion time against fan-in."""
    with style():
        figure = Figure(figsize=(7.2, 4.2))
        axes = figure.subplots()
        axes.set_title("Incast of one block of 1 MB over a link of 1 Gb/s")
        labels = []
        for nth, (name, of_scheme) in enumerate(runs.items()):
            color = SCHEMES[name].color
            # Slightly offset, so that overlapping curves are visible.
            places = [hosts * 1.03 ** (nth - 2) for hosts in of_scheme]
            times = [[one.completion_s * 1e3 for one in of] for of in of_scheme.values()]
            middle = [median(of) for of in times]
            lowest, highest = [min(of) for of in times], [max(of) for of in times]
            axes.fill_between(places, lowest, highest, color=color, alpha=0.15, linewidth=0)
            axes.plot(places, middle, color=color, marker="o", markersize=4)
            labels.append(Label(middle[-1], name, color))
        axes.plot(FAN_INS, [ideal_s(hosts) * 1e3 for hosts in FAN_INS], color=INK, linestyle=":", linewidth=1)
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set_xticks(FAN_INS, [str(hosts) for hosts in FAN_INS])
        axes.minorticks_off()
        axes.set_xlabel("number of sending hosts (dotted: transmission time of the block)")
        axes.set_ylabel("completion time of the block (ms)")
        label_right(axes, labels)
    return figure
