"""A block that many hosts send at once: completion time by number of hosts."""

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
    """Behavior of a switch with a full queue, and the reaction of hosts."""

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
    """Measures of one run."""

    completion_s: float
    dropped: int
    timeouts: int

    @classmethod
    def of(cls, result: Result) -> Run:
        """Time until the last host's data are acknowledged; infinite if one never finishes."""
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
        short_timer(context, runs["drops, 1 ms"]),
        ecn(context, runs["ECN, 200 ms"]),
        dctcp(context, runs["DCTCP, 200 ms"]),
        pfc(context, runs["PFC"]),
    ]


def arranged(base: Scenario, scheme: Scheme, hosts: int) -> Scenario:
    """The scenario with this number of sending hosts, and one scheme."""
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
    """The median completion time, relative to the ideal one."""
    return {hosts: median(one.completion_s for one in of) / ideal_s(hosts) for hosts, of in runs.items()}


def listed(runs: Mapping[int, list[Run]]) -> str:
    """The median completion times, as text."""
    times = (f"{median(one.completion_s for one in of) * 1e3:.4g} ms" for of in runs.values())
    return ", ".join(f"{hosts} hosts {time}" for hosts, time in zip(runs, times, strict=True))


def collapse(context: Context, runs: Mapping[int, list[Run]], pictures: list[str]) -> Outcome:
    """F-1."""
    slow = [one.completion_s for hosts in FAN_INS if hosts >= 32 for one in runs[hosts]]
    return context.outcome(
        "F-1",
        measured=f"{listed(runs)}; goodput with 32 hosts and more at most "
        f"{BLOCK_BYTES * 8 / min(slow) / 1e6:.0f} Mb/s",
        passed=min(slow) >= 0.2 and BLOCK_BYTES * 8 / min(slow) <= RATE_BPS / 10,
        pictures=pictures,
    )


def short_timer(context: Context, runs: Mapping[int, list[Run]]) -> Outcome:
    """F-2."""
    times = stretch(runs)
    return context.outcome(
        "F-2",
        measured=f"{listed(runs)}; at most {max(times.values()):.2f} times the ideal",
        passed=max(times[hosts] for hosts in FAN_INS) <= 2,
    )


def ecn(context: Context, runs: Mapping[int, list[Run]]) -> Outcome:
    """F-3."""
    return spares(context, "F-3", runs, fast=16, slow=256)


def dctcp(context: Context, runs: Mapping[int, list[Run]]) -> Outcome:
    """F-4."""
    return spares(context, "F-4", runs, fast=32, slow=128)


def spares(
    context: Context, experiment: str, runs: Mapping[int, list[Run]], *, fast: int, slow: int
) -> Outcome:
    """No timeout and nearly the ideal time with `fast` hosts, at least ten times the ideal with `slow`."""
    times = stretch(runs)
    spared = [hosts for hosts, of in runs.items() if not any(one.timeouts for one in of)]
    return context.outcome(
        experiment,
        measured=f"{listed(runs)}; no timeout with {', '.join(map(str, spared)) or 'none'} hosts",
        passed=fast in spared and times[fast] <= 1.1 and times[slow] >= 10,
    )


def pfc(context: Context, runs: Mapping[int, list[Run]]) -> Outcome:
    """F-5."""
    times = stretch(runs)
    dropped = sum(one.dropped for of in runs.values() for one in of)
    return context.outcome(
        "F-5",
        measured=f"{listed(runs)}; {dropped} frames lost; at most {max(times.values()):.3f} times the ideal",
        passed=not dropped and max(times.values()) <= 1.1,
    )


def table(context: Context, runs: Runs) -> None:
    """Completions, losses and timeouts."""
    rows = []
    for name, of_scheme in runs.items():
        for hosts, of in of_scheme.items():
            times = sorted(one.completion_s * 1e3 for one in of)
            spread = f"{times[0]:.4g} to {times[-1]:.4g}"
            lost, silent = (median(getattr(one, what) for one in of) for what in ("dropped", "timeouts"))
            row = (name, str(hosts), f"{median(times):.4g}", spread, f"{ideal_s(hosts) * 1e3:.4g}")
            rows.append((*row, f"{lost:g}", f"{silent:g}"))
    columns = ("scheme", "hosts", "completion (ms)", "all seeds", "ideal (ms)", "frames lost", "timeouts")
    context.save_table(
        "fan-in", "Until a block of 1 MB is complete", columns, rows, note="Medians of the seeds."
    )


def picture(runs: Runs) -> Figure:
    """Completion time against fan-in."""
    with style():
        figure = Figure(figsize=(7.2, 4.2))
        axes = figure.subplots()
        axes.set_title("One block of 1 MB from n hosts at once, over a link of 1 Gb/s")
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
        axes.set_xlabel("hosts that send at once (dotted: the time of the frames on the link)")
        axes.set_ylabel("until the block is complete (ms)")
        label_right(axes, labels)
    return figure
