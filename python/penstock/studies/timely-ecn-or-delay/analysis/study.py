"""TIMELY, its patched form and DCQCN on one full link: fixed points, stability, jitter, short messages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import penstock as ps
from penstock.plots.style import style
from penstock.result import Result
from penstock.scenario import Scenario
from penstock.studies.marks import red_marks
from penstock.studies.reproduce import Context, Outcome

DCQCN: Mapping[str, Any] = {"control": {"dcqcn": {"preset": "paper"}}, "cnp_gap": "50 us", "cnp_priority": 3}
ORIGINAL, GRADIENT, PATCHED, MARKED = "TIMELY", "gradient alone", "patched TIMELY", "DCQCN"
COLORS = {ORIGINAL: "#d95f02", GRADIENT: "#9aa0a6", PATCHED: "#1b9e77", MARKED: "#1f77b4"}
TIMELY: Mapping[str, Mapping[str, Any]] = {
    ORIGINAL: {},
    GRADIENT: {"t_low": "1 us"},
    PATCHED: {"patched": True},
}
STARTS = ((9, 1), (5, 5))
"""Initial rates of two flows in Gb/s."""
MANY = (2, 5, 10, 20)
LOOPS = (2, 10, 64)
LOADS = (0.6, 0.8)
SENDERS = 10
SHORT_BYTES = 100_000
FULL = "sw.0->h0"
SETTLED_NS = 50e6
T_LOW_US, DELTA_MBPS, BETA, LINK_GBPS = 50.0, 10.0, 0.008, 10.0
SLOPE_KB = T_LOW_US * DELTA_MBPS / BETA / 8e3
"""Growth of the patched form's queue per flow."""


@dataclass(frozen=True)
class Settled:
    """Rates and queue of a full link after its flows have settled."""

    rates: tuple[float, ...]
    """Rates in Gb/s."""
    mean_kb: float
    swing_kb: float
    """Standard deviation of the longest queue in each 50 us."""
    queue: tuple[np.ndarray, np.ndarray]
    """Times in ms, and queue in KB."""
    flows: Mapping[str, tuple[np.ndarray, np.ndarray]]
    """Times in ms, and rates in Gb/s."""

    @classmethod
    def of(cls, result: Result) -> Settled:
        """Reads a result."""
        queue = next(row for row in result.rows("queues") if row["port"] == FULL and row["class"] == 3)
        times, lengths = result.series("queue_bytes", f"{FULL}/3")
        series = result.all_series("flow_throughput_bps")
        return cls(
            rates=tuple(
                row["throughput_bps"] / 1e9 for row in result.rows("flows") if row["destination"] == "h0"
            ),
            mean_kb=queue["queue_bytes_mean"] / 1e3,
            swing_kb=float(lengths[times >= SETTLED_NS].std()) / 1e3,
            queue=(times / 1e6, lengths / 1e3),
            flows={name: (at / 1e6, rate / 1e9) for name, (at, rate) in series.items()},
        )

    @property
    def swing(self) -> float:
        """Standard deviation relative to the mean."""
        return self.swing_kb / self.mean_kb


def run(context: Context) -> list[Outcome]:
    """All experiments."""
    context.say("two flows, by initial rates")
    pairs = {(name, start): pair(context, name, start) for name in TIMELY for start in STARTS}
    context.say("patched TIMELY, by number of flows")
    numbers = {many: several(context, many) for many in MANY}
    context.say("DCQCN with a loop of 85 us, and by place of marking")
    loops = {many: loop(context, many) for many in LOOPS}
    ends = {at: loop(context, 10, "1 us", at) for at in ("dequeue", "enqueue")}
    context.say("jitter")
    jitters = {
        (name, noisy): jitter(context, name, noisy) for name in (PATCHED, MARKED) for noisy in (False, True)
    }
    context.say("messages of web search")
    seeds = (1,) if context.quick else (1, 2, 3)
    loads = LOADS[:1] if context.quick else LOADS
    messages = {
        (name, load): np.concatenate([short(context, name, load, seed) for seed in seeds])
        for name in (PATCHED, MARKED)
        for load in loads
    }
    links = {
        **{f"{name}, from {start[0]} and {start[1]} Gb/s": one for (name, start), one in pairs.items()},
        **{f"{PATCHED}, {many} flows": one for many, one in numbers.items()},
        **{f"{MARKED}, {many} flows, loop of 85 us": one for many, one in loops.items()},
        **{f"{MARKED}, 10 flows, marks at the {at}": one for at, one in ends.items()},
        **{f"{name}, {'with' if noisy else 'without'} jitter": one for (name, noisy), one in jitters.items()},
    }
    context.save_table(
        "links", "Rates and queues of all runs", COLUMNS, [row(name, one) for name, one in links.items()]
    )
    figure = picture(pairs, numbers, jitters, messages)
    cover = context.save_figure(figure, "ecn-or-delay", cover=True)
    return [
        *of_pairs(context, pairs, [cover]),
        *of_numbers(context, numbers),
        *of_marks(context, loops, ends, jitters),
        of_messages(context, messages),
    ]


def timely(name: str, rate_gbps: float | None = None) -> Mapping[str, Any]:
    """Keys of queue pairs that start at a given rate, or at line rate."""
    first = {} if rate_gbps is None else {"initial_rate": f"{rate_gbps:g} Gb/s"}
    return {"control": {"timely": {**TIMELY[name], **first}}}


def pair(context: Context, name: str, start: tuple[int, int]) -> Settled:
    """Two flows with these initial rates."""
    scenario = context.scenario("pair")
    for flow, rate in zip(("first", "second"), start, strict=True):
        scenario = scenario.with_value(f"flows.{flow}.source", {"rdma": timely(name, rate)})
    return Settled.of(scenario.run(seed=1))


def several(context: Context, many: int) -> Settled:
    """Flows of the patched form, all starting at their fair share."""
    scenario = context.scenario("several").with_value("topology.star.hosts", many + 1)
    scenario = scenario.with_value("flows.all.from", f"h1..h{many}")
    keys = timely(PATCHED, LINK_GBPS / many)
    return Settled.of(scenario.with_value("flows.all.source", {"rdma": keys}).run(seed=1))


def marked(scenario: Scenario, at: str = "dequeue") -> Scenario:
    """The scenario with ECN marking at the enqueue or the dequeue."""
    return scenario.with_value(
        "switch.queue_managers", [{"classes": [3], **red_marks("5 kB", "200 kB", 0.01, at=at)}]
    )


def loop(context: Context, many: int, delay: str = "21250 ns", at: str = "dequeue") -> Settled:
    """DCQCN flows at 40 Gb/s over links with this delay."""
    scenario = marked(context.scenario("loop"), at).with_value("topology.star.hosts", many + 1)
    scenario = scenario.with_value("topology.star.delay", delay)
    for flow, hosts in (("early", f"h1..h{many // 2}"), ("late", f"h{many // 2 + 1}..h{many}")):
        scenario = scenario.with_value(f"flows.{flow}.from", hosts)
        scenario = scenario.with_value(f"flows.{flow}.source", {"rdma": dict(DCQCN)})
    return Settled.of(scenario.run(seed=1))


def jitter(context: Context, name: str, noisy: bool) -> Settled:
    """Two flows; with `noisy`, bursts delay their feedback."""
    scenario = context.scenario("jitter")
    for flow in ("first", "second"):
        keys = DCQCN if name == MARKED else timely(PATCHED, LINK_GBPS / 2)
        scenario = scenario.with_value(f"flows.{flow}.source", {"rdma": dict(keys)})
    if name == MARKED:
        scenario = marked(scenario)
    if not noisy:
        scenario = scenario.with_value("transfers", None)
    return Settled.of(scenario.run(seed=1))


def short(context: Context, name: str, load: float, seed: int) -> np.ndarray:
    """Completion times of short messages in us at this load."""
    scenario = context.scenario("sizes")
    scenario = scenario.with_value("transfers.search.arrivals", {"poisson": {"load": load / SENDERS}})
    keys = {"queue_pairs": "each", **(DCQCN if name == MARKED else timely(PATCHED))}
    scenario = scenario.with_value("transfers.search.over", {"rdma": keys})
    rows = (marked(scenario) if name == MARKED else scenario).run(seed=seed).rows("transfers")
    times = [row["completion_ns"] or np.inf for row in rows if row["bytes"] <= SHORT_BYTES]
    return np.array(times) / 1e3


COLUMNS = ("run", "slowest (Gb/s)", "fastest (Gb/s)", "Jain", "queue (KB)", "deviation (KB)")


def row(name: str, one: Settled) -> tuple[str, ...]:
    """Row of a run in the table."""
    rates = (f"{min(one.rates):.2f}", f"{max(one.rates):.2f}", f"{ps.jain(one.rates):.3f}")
    return (name, *rates, f"{one.mean_kb:.1f}", f"{one.swing_kb:.1f}")


def decay_ms(one: Settled) -> float:
    """Time constant in ms at which the rates of two flows converge, from means over 5 ms up to 95 ms."""
    first, second = one.flows.values()
    times = first[0]
    edges = np.arange(5.0, 95.0, 5.0)
    apart = [(first[1] - second[1])[(times >= at) & (times < at + 5)].mean() for at in edges]
    slope = np.polyfit(edges, np.log(np.abs(apart)), 1)[0]
    return float(-1 / slope)


Pairs = Mapping[tuple[str, tuple[int, int]], Settled]


def listed(pairs: Pairs, name: str) -> str:
    """Rates of two flows by initial rates, as text."""
    return "; ".join(
        f"from {start[0]} and {start[1]} Gb/s: {one.rates[0]:.2f} and {one.rates[1]:.2f}"
        for (which, start), one in pairs.items()
        if which == name
    )


def of_pairs(context: Context, pairs: Pairs, pictures: list[str]) -> list[Outcome]:
    """T-1 to T-4."""
    deviations = [np.divide(pairs[ORIGINAL, start].rates, start) - 1 for start in STARTS]
    times, lengths = pairs[ORIGINAL, STARTS[0]].queue
    below = float((lengths[times >= SETTLED_NS / 1e6] < LINK_GBPS * T_LOW_US / 8).mean())
    uneven, even = (pairs[GRADIENT, start].rates for start in STARTS)
    index = ps.jain(pairs[PATCHED, STARTS[0]].rates)
    return [
        context.judge(
            "T-1",
            {"deviation_max": np.max(np.abs(deviations))},
            measured=f"{listed(pairs, ORIGINAL)}; the queue is below C T_low for {below:.0%} of the time",
            pictures=pictures,
        ),
        context.judge(
            "T-2",
            {"uneven_ratio": uneven[0] / uneven[1], "even_deviation": abs(even[0] / even[1] - 1)},
            measured=listed(pairs, GRADIENT),
        ),
        context.judge("T-3", {"jain": index}, measured=f"{listed(pairs, PATCHED)}; Jain {index:.3f}"),
        context.judge("T-4", {"decay_ms": decay_ms(pairs[PATCHED, STARTS[0]])}),
    ]


def fixed_point_kb(many: int) -> float:
    """Equilibrium queue of the patched form in KB, by its formula."""
    return LINK_GBPS * T_LOW_US / 8 + many * SLOPE_KB


def of_numbers(context: Context, numbers: Mapping[int, Settled]) -> list[Outcome]:
    """T-5 and T-6."""
    slope = float(np.polyfit(list(numbers), [one.mean_kb for one in numbers.values()], 1)[0])
    two_and_ten = {many: numbers[many] for many in (2, 10)}
    return [
        context.judge(
            "T-5",
            {
                "deviation_max": max(
                    abs(one.mean_kb / fixed_point_kb(many) - 1) for many, one in two_and_ten.items()
                ),
                "swing_max": max(one.swing for one in two_and_ten.values()),
            },
            measured="; ".join(
                f"{many} flows: {one.mean_kb:.1f} KB, deviation {one.swing_kb:.1f}"
                for many, one in two_and_ten.items()
            ),
            note="The formula neglects the unqueued round trip of 6.7 us. This makes queues 8.4 KB shorter.",
        ),
        context.judge(
            "T-6",
            {"slope_kb": slope},
            measured=f"{slope:.2f} KB per flow: "
            + ", ".join(f"{many} flows {one.mean_kb:.1f} KB" for many, one in numbers.items()),
        ),
    ]


def of_marks(
    context: Context,
    loops: Mapping[int, Settled],
    ends: Mapping[str, Settled],
    jitters: Mapping[tuple[str, bool], Settled],
) -> list[Outcome]:
    """T-7 to T-9."""
    swings = {many: one.swing for many, one in loops.items()}
    return [
        context.judge(
            "T-7",
            {f"ten_over_{many}": swings[10] / swings[many] for many in (2, 64)},
            measured="deviation over mean: "
            + ", ".join(f"{many} flows {swing:.2f}" for many, swing in swings.items()),
        ),
        context.judge(
            "T-8",
            {
                "dcqcn_growth": jitters[MARKED, True].swing_kb / jitters[MARKED, False].swing_kb - 1,
                "timely_swing": jitters[PATCHED, False].swing,
                "timely_swing_jitter": jitters[PATCHED, True].swing,
            },
            measured="; ".join(
                f"{name}{', jitter' if noisy else ''}: {one.mean_kb:.0f} KB, deviation {one.swing_kb:.1f}"
                for (name, noisy), one in jitters.items()
            ),
            note="Without jitter the queue of DCQCN swings more than that of patched TIMELY with it.",
        ),
        context.judge(
            "T-9",
            {"enqueue_over_dequeue": ends["enqueue"].swing / ends["dequeue"].swing},
            measured="; ".join(
                f"at the {at}: {one.mean_kb:.0f} KB, deviation {one.swing_kb:.0f}" for at, one in ends.items()
            ),
        ),
    ]


Messages = Mapping[tuple[str, float], np.ndarray]
PERCENTILES = (50, 90, 99)


def of_messages(context: Context, messages: Messages) -> Outcome:
    """T-10."""
    found = {key: np.percentile(times, PERCENTILES) for key, times in messages.items()}
    loads = {load for _, load in found}
    tails = [found[MARKED, load][1:] / found[PATCHED, load][1:] for load in loads]
    return context.judge(
        "T-10",
        {"dcqcn_over_timely_max": np.max(tails)},
        measured="median, 90th and 99th percentile in us: "
        + "; ".join(
            f"load {load:g}, {name} {', '.join(f'{time:.0f}' for time in times)}"
            for (name, load), times in found.items()
        ),
    )


def picture(
    pairs: Pairs,
    numbers: Mapping[int, Settled],
    jitters: Mapping[tuple[str, bool], Settled],
    messages: Messages,
) -> Figure:
    """Rates over time, queues by number of flows, queues with jitter, and short messages."""
    with style():
        figure = Figure(figsize=(11, 6.4), layout="constrained")
        shares, queues, jittered, times = figure.subplots(2, 2).flat
        draw_shares(shares, pairs)
        flows, kb = list(numbers), [one.mean_kb for one in numbers.values()]
        queues.plot(flows, list(map(fixed_point_kb, flows)), color="black", linewidth=0.8, label="formula")
        queues.plot(flows, kb, "o", color=COLORS[PATCHED], label=PATCHED)
        queues.set_title("queue of patched TIMELY")
        queues.set_xlabel("flows")
        queues.set_xticks(flows)
        queues.set_ylabel("KB")
        queues.set_ylim(bottom=0)
        queues.legend()
        draw_jitter(jittered, jitters)
        for (name, load), found in messages.items():
            times.plot(
                np.sort(found),
                np.arange(1, len(found) + 1) / len(found),
                color=COLORS[name],
                linestyle="-" if load == LOADS[0] else "--",
                label=f"{name}, load {load:g}",
            )
        times.set_xscale("log")
        times.set_title("completion times of messages up to 100 kB")
        times.set_xlabel("us")
        times.set_ylabel("share")
        times.legend()
        figure.suptitle("ECN or delay")
    return figure


def draw_shares(panel: Axes, pairs: Pairs) -> None:
    """Rates over time."""
    for name in TIMELY:
        for at, (when, rate) in enumerate(pairs[name, STARTS[0]].flows.values()):
            means = rate[: len(rate) // 40 * 40].reshape(-1, 40).mean(axis=1)
            panel.plot(
                when[: 40 * len(means) : 40],
                means,
                color=COLORS[name],
                label="" if at else name,
                linewidth=1.2,
            )
    panel.set_title("two flows that start at 9 and 1 Gb/s")
    panel.set_xlabel("time (ms)")
    panel.set_ylabel("Gb/s")
    panel.legend()


def draw_jitter(panel: Axes, jitters: Mapping[tuple[str, bool], Settled]) -> None:
    """Queues over time, with jitter and without."""
    for (name, noisy), one in jitters.items():
        when, lengths = one.queue
        last = when >= 90
        panel.plot(
            when[last],
            lengths[last],
            color=COLORS[name],
            alpha=1.0 if noisy else 0.45,
            linewidth=1.0,
            linestyle="-" if noisy else "--",
            label=f"{name}, jitter" if noisy else name,
        )
    panel.set_title("queue of two flows, with and without jitter")
    panel.set_xlabel("time (ms)")
    panel.set_ylabel("KB")
    panel.set_ylim(0, 1.35 * panel.get_ylim()[1])
    panel.legend(ncols=2)
