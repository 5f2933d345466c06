"""TIMELY, its patched form and DCQCN at one full link: fixed points, stability, jitter and short messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

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
DECAY_MS = 62.5
"""Time constant: in a round trip of 62.5 us, w beta e = 0.5 x 0.008 x 0.25 of a difference decays."""


@dataclass(frozen=True)
class Rest:
    """Measures of a full link after its flows have settled."""

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
    def of(cls, result: Result) -> Rest:
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
    context.say("two flows from two beginnings")
    pairs = {(name, start): pair(context, name, start) for name in TIMELY for start in STARTS}
    context.say("more flows")
    rests = {many: several(context, many) for many in MANY}
    context.say("a loop of 85 us, and marks at either end of the queue")
    loops = {many: loop(context, many) for many in LOOPS}
    ends = {at: loop(context, 10, "1 us", at) for at in ("dequeue", "enqueue")}
    context.say("jitter")
    jitters = {
        (name, late): jitter(context, name, late) for name in (PATCHED, MARKED) for late in (False, True)
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
        **{f"{PATCHED}, {many} flows": one for many, one in rests.items()},
        **{f"{MARKED}, {many} flows, loop of 85 us": one for many, one in loops.items()},
        **{f"{MARKED}, 10 flows, marks at the {at}": one for at, one in ends.items()},
        **{f"{name}, {'with' if late else 'without'} jitter": one for (name, late), one in jitters.items()},
    }
    context.save_table("links", "All full links", COLUMNS, [row(name, one) for name, one in links.items()])
    figure = picture(pairs, rests, jitters, messages)
    cover = context.save_figure(figure, "ecn-or-delay", cover=True)
    return [
        *of_pairs(context, pairs, [cover]),
        *of_rests(context, rests),
        *of_marks(context, loops, ends, jitters),
        of_messages(context, messages),
    ]


def timely(name: str, rate_gbps: float | None = None) -> Mapping[str, Any]:
    """Keys of queue pairs, starting at a given rate or at line rate."""
    first = {} if rate_gbps is None else {"initial_rate": f"{rate_gbps:g} Gb/s"}
    return {"control": {"timely": {**TIMELY[name], **first}}}


def pair(context: Context, name: str, start: tuple[int, int]) -> Rest:
    """Two flows with these initial rates."""
    scenario = context.scenario("pair")
    for flow, rate in zip(("first", "second"), start, strict=True):
        scenario = scenario.with_value(f"flows.{flow}.source", {"rdma": timely(name, rate)})
    return Rest.of(scenario.run(seed=1))


def several(context: Context, many: int) -> Rest:
    """Flows of the patched form, all starting at their fair share."""
    scenario = context.scenario("several").with_value("topology.star.hosts", many + 1)
    scenario = scenario.with_value("flows.all.from", f"h1..h{many}")
    keys = timely(PATCHED, LINK_GBPS / many)
    return Rest.of(scenario.with_value("flows.all.source", {"rdma": keys}).run(seed=1))


def marked(scenario: Scenario, at: str = "dequeue") -> Scenario:
    """The scenario with marking at this end of the queues."""
    return scenario.with_value(
        "switch.queue_managers", [{"classes": [3], **red_marks("5 kB", "200 kB", 0.01, at=at)}]
    )


def loop(context: Context, many: int, delay: str = "21250 ns", at: str = "dequeue") -> Rest:
    """Flows of DCQCN at 40 Gb/s, with links of this delay."""
    scenario = marked(context.scenario("loop"), at).with_value("topology.star.hosts", many + 1)
    scenario = scenario.with_value("topology.star.delay", delay)
    for flow, hosts in (("early", f"h1..h{many // 2}"), ("late", f"h{many // 2 + 1}..h{many}")):
        scenario = scenario.with_value(f"flows.{flow}.from", hosts)
        scenario = scenario.with_value(f"flows.{flow}.source", {"rdma": dict(DCQCN)})
    return Rest.of(scenario.run(seed=1))


def jitter(context: Context, name: str, late: bool) -> Rest:
    """Two flows; if `late`, their feedback waits behind bursts."""
    scenario = context.scenario("jitter")
    for flow in ("first", "second"):
        keys = DCQCN if name == MARKED else timely(PATCHED, LINK_GBPS / 2)
        scenario = scenario.with_value(f"flows.{flow}.source", {"rdma": dict(keys)})
    if name == MARKED:
        scenario = marked(scenario)
    if not late:
        scenario = scenario.with_value("transfers", None)
    return Rest.of(scenario.run(seed=1))


def short(context: Context, name: str, load: float, seed: int) -> np.ndarray:
    """Completion times of short messages in us, at this load of the link."""
    scenario = context.scenario("sizes")
    scenario = scenario.with_value("transfers.search.arrivals", {"poisson": {"load": load / SENDERS}})
    keys = {"queue_pairs": "each", **(DCQCN if name == MARKED else timely(PATCHED))}
    scenario = scenario.with_value("transfers.search.over", {"rdma": keys})
    rows = (marked(scenario) if name == MARKED else scenario).run(seed=seed).rows("transfers")
    times = [row["completion_ns"] or np.inf for row in rows if row["bytes"] <= SHORT_BYTES]
    return np.array(times) / 1e3


COLUMNS = ("link", "slowest (Gb/s)", "fastest (Gb/s)", "Jain", "queue (KB)", "deviation (KB)")


def jain(values: Sequence[float]) -> float:
    """Jain's index."""
    found = np.array(values)
    return float(found.sum() ** 2 / (len(found) * (found**2).sum()))


def row(name: str, one: Rest) -> tuple[str, ...]:
    """One row per link."""
    rates = (f"{min(one.rates):.2f}", f"{max(one.rates):.2f}", f"{jain(one.rates):.3f}")
    return (name, *rates, f"{one.mean_kb:.1f}", f"{one.swing_kb:.1f}")


def decay_ms(one: Rest) -> float:
    """Time constant of the convergence of two flows' rates, from means over 5 ms up to 90 ms."""
    first, second = one.flows.values()
    times = first[0]
    edges = np.arange(5.0, 95.0, 5.0)
    apart = [(first[1] - second[1])[(times >= at) & (times < at + 5)].mean() for at in edges]
    slope = np.polyfit(edges, np.log(np.abs(apart)), 1)[0]
    return float(-1 / slope)


Pairs = Mapping[tuple[str, tuple[int, int]], Rest]


def of_pairs(context: Context, pairs: Pairs, pictures: list[str]) -> list[Outcome]:
    """T-1 to T-4."""

    def told(name: str) -> str:
        return "; ".join(
            f"from {start[0]} and {start[1]} Gb/s: {one.rates[0]:.2f} and {one.rates[1]:.2f}"
            for (which, start), one in pairs.items()
            if which == name
        )

    original = [(start, pairs[ORIGINAL, start]) for start in STARTS]
    times, lengths = pairs[ORIGINAL, STARTS[0]].queue
    below = float((lengths[times >= SETTLED_NS / 1e6] < LINK_GBPS * T_LOW_US / 8).mean())
    uneven, even = (pairs[GRADIENT, start].rates for start in STARTS)
    fixed = pairs[PATCHED, STARTS[0]]
    decay = decay_ms(fixed)
    return [
        context.outcome(
            "T-1",
            measured=f"{told(ORIGINAL)}; the queue is below C T_low for {below:.0%} of the time",
            passed=all(
                abs(rate - began) <= 0.1 * began
                for start, one in original
                for rate, began in zip(one.rates, start, strict=True)
            ),
            pictures=pictures,
        ),
        context.outcome(
            "T-2",
            measured=told(GRADIENT),
            passed=uneven[0] >= 4 * uneven[1] and abs(even[0] / even[1] - 1) <= 0.01,
        ),
        context.outcome(
            "T-3",
            measured=f"{told(PATCHED)}; Jain {jain(fixed.rates):.3f}",
            passed=jain(fixed.rates) >= 0.99,
        ),
        context.outcome("T-4", measured=f"{decay:.1f} ms", passed=abs(decay / DECAY_MS - 1) <= 0.1),
    ]


def fixed_point_kb(many: int) -> float:
    """Equilibrium queue of the patched form in KB, by its formula."""
    return LINK_GBPS * T_LOW_US / 8 + many * SLOPE_KB


def of_rests(context: Context, rests: Mapping[int, Rest]) -> list[Outcome]:
    """T-5 and T-6."""
    slope = float(np.polyfit(list(rests), [one.mean_kb for one in rests.values()], 1)[0])
    return [
        context.outcome(
            "T-5",
            measured=", ".join(
                f"{many} flows {rests[many].mean_kb:.1f} KB, deviation {rests[many].swing_kb:.1f}"
                for many in (2, 10)
            ),
            passed=all(
                abs(rests[many].mean_kb / fixed_point_kb(many) - 1) <= 0.15 and rests[many].swing <= 0.1
                for many in (2, 10)
            ),
            note="A round trip without a queue is 6.7 us long, which the formula leaves out: 8.4 KB less.",
        ),
        context.outcome(
            "T-6",
            measured=f"{slope:.2f} KB a flow: "
            + ", ".join(f"{many} flows {one.mean_kb:.1f} KB" for many, one in rests.items()),
            passed=abs(slope / SLOPE_KB - 1) <= 0.05,
        ),
    ]


def of_marks(
    context: Context,
    loops: Mapping[int, Rest],
    ends: Mapping[str, Rest],
    jitters: Mapping[tuple[str, bool], Rest],
) -> list[Outcome]:
    """T-7 to T-9."""
    swings = {many: one.swing for many, one in loops.items()}
    calm, late = jitters[PATCHED, False], jitters[PATCHED, True]
    marks, noisy = jitters[MARKED, False], jitters[MARKED, True]
    return [
        context.outcome(
            "T-7",
            measured="deviation over mean: "
            + ", ".join(f"{many} flows {swing:.2f}" for many, swing in swings.items()),
            passed=swings[10] >= 1.5 * max(swings[2], swings[64]),
        ),
        context.outcome(
            "T-8",
            measured="; ".join(
                f"{name}{', jitter' if noise else ''}: {one.mean_kb:.0f} KB, deviation {one.swing_kb:.1f}"
                for (name, noise), one in jitters.items()
            ),
            passed=noisy.swing_kb <= 1.2 * marks.swing_kb and calm.swing <= 0.05 and late.swing >= 0.25,
            note="Without jitter the queue of DCQCN swings more than that of patched TIMELY with it.",
        ),
        context.outcome(
            "T-9",
            measured="; ".join(
                f"at the {at}: {one.mean_kb:.0f} KB, deviation {one.swing_kb:.0f}" for at, one in ends.items()
            ),
            passed=ends["enqueue"].swing >= 1.5 * ends["dequeue"].swing,
        ),
    ]


Messages = Mapping[tuple[str, float], np.ndarray]
PERCENTILES = (50, 90, 99)


def of_messages(context: Context, messages: Messages) -> Outcome:
    """T-10."""
    found = {key: np.percentile(times, PERCENTILES) for key, times in messages.items()}
    return context.outcome(
        "T-10",
        measured="median, 90th and 99th percentile in us: "
        + "; ".join(
            f"load {load:g}, {name} {', '.join(f'{time:.0f}' for time in times)}"
            for (name, load), times in found.items()
        ),
        passed=all(
            (times[1:] < found[PATCHED, load][1:]).all()
            for (name, load), times in found.items()
            if name == MARKED
        ),
    )


def picture(
    pairs: Pairs, rests: Mapping[int, Rest], jitters: Mapping[tuple[str, bool], Rest], messages: Messages
) -> Figure:
    """Rates from 9 and 1 Gb/s; queues by number of flows; queues with jitter; short messages."""
    with style():
        figure = Figure(figsize=(11, 6.4), layout="constrained")
        shares, queues, late, times = figure.subplots(2, 2).flat
        draw_shares(shares, pairs)
        queues.plot(
            list(rests),
            [fixed_point_kb(many) for many in rests],
            color="black",
            linewidth=0.8,
            label="formula",
        )
        queues.plot(
            list(rests), [one.mean_kb for one in rests.values()], "o", color=COLORS[PATCHED], label=PATCHED
        )
        queues.set_title("the queue of the patched form")
        queues.set_xlabel("flows")
        queues.set_xticks(list(rests))
        queues.set_ylabel("KB")
        queues.set_ylim(bottom=0)
        queues.legend()
        draw_late(late, jitters)
        for (name, load), found in messages.items():
            times.plot(
                np.sort(found),
                np.arange(1, len(found) + 1) / len(found),
                color=COLORS[name],
                linestyle="-" if load == LOADS[0] else "--",
                label=f"{name}, load {load:g}",
            )
        times.set_xscale("log")
        times.set_title("messages up to 100 kB: share done within")
        times.set_xlabel("us")
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
    panel.set_title("two flows from 9 and 1 Gb/s")
    panel.set_xlabel("time (ms)")
    panel.set_ylabel("Gb/s")
    panel.legend()


def draw_late(panel: Axes, jitters: Mapping[tuple[str, bool], Rest]) -> None:
    """Queues over time, with jitter and without."""
    for (name, with_jitter), one in jitters.items():
        when, lengths = one.queue
        last = when >= 90
        panel.plot(
            when[last],
            lengths[last],
            color=COLORS[name],
            alpha=1.0 if with_jitter else 0.45,
            linewidth=1.0,
            linestyle="-" if with_jitter else "--",
            label=f"{name}, jitter" if with_jitter else name,
        )
    panel.set_title("the queue of two flows, feedback with jitter")
    panel.set_xlabel("time (ms)")
    panel.set_ylabel("KB")
    panel.set_ylim(0, 1.35 * panel.get_ylim()[1])
    panel.legend(ncols=2)
