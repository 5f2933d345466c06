"""ETS (IEEE 802.1Q) under the criteria of a conformance laboratory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from penstock.result import Result
from penstock.scenario import Scenario
from penstock.scenario.keys import DrrKeys
from penstock.studies.reproduce import Context, Outcome

from . import picture

LINK_BPS = 10e9
OVERHEAD = 20
PERCENTAGES = (2, 3, 5, 10, 15, 15, 20, 30)
EVEN = (5, 5, 10, 10, 15, 15, 20, 20)
"""Percentages for changing loads. A round takes 25 us, so 250 us hold ten rounds."""
PORT = "sw.8->h8"
WARMUP_S = 2e-3
STEPS = 8
"""Duration of changing loads in ms."""


@dataclass(frozen=True)
class Shares:
    """Link time of each class, as shares of the link time of all ETS classes."""

    got: Mapping[int, float]
    wanted: Mapping[int, float]
    used: float
    """Link utilization, 0 to 1."""

    @property
    def off(self) -> float:
        """Largest relative deviation."""
        return max(abs(self.got[c] / self.wanted[c] - 1) for c in self.wanted)


def run(context: Context) -> list[Outcome]:
    """All experiments."""
    scenario = context.scenario("overload")
    context.say("eight classes")
    mixed = scenario.run()
    single = one_size(scenario).run()
    context.say("random percentages, idle classes")
    outcomes = [
        overload(context, single),
        context.judge("E-2", {"deviation": shares(mixed, PERCENTAGES).off}),
        tables(context, scenario),
        idle(context, scenario),
        light(context, scenario),
    ]
    context.say("changing loads")
    changed = changing(scenario).run()
    cover = context.save_figure(picture.kept(shares(mixed, PERCENTAGES), changed, EVEN), "kept", cover=True)
    return [
        *outcomes,
        loads(context, changed, cover),
        before(context, scenario),
        worked_example(context),
        in_frames(context, scenario, mixed),
    ]


def with_percentages(scenario: Scenario, percentages: Sequence[int]) -> Scenario:
    """The scenario with other percentages."""
    classes = [{"queues": [queue], "percent": percent} for queue, percent in enumerate(percentages)]
    return scenario.with_value("switch.scheduler.ets.classes", classes)


def one_size(scenario: Scenario) -> Scenario:
    """All frames of 1522 B."""
    for queue in range(8):
        scenario = scenario.with_value(f"flows.p{queue}.frame", "1522 B")
    return scenario


def without_flows(scenario: Scenario, classes: Sequence[int]) -> Scenario:
    """The scenario without the flows of some classes."""
    flows = [flow for flow in scenario.to_dict()["flows"] if flow["priority"] not in classes]
    return scenario.with_value("flows", flows)


def link_time(result: Result) -> dict[int, float]:
    """Bits per second on the wire by class, including line overhead."""
    span = result.run["simulated_s"] - WARMUP_S
    return {
        row["class"]: row["throughput_bps"] + row["frames_delivered"] * OVERHEAD * 8 / span
        for row in result.rows("flows")
    }


def shares(result: Result, percentages: Sequence[int]) -> Shares:
    """Shares of the classes that have traffic."""
    rates = link_time(result)
    total, whole = sum(rates.values()), sum(percentages[c] for c in rates)
    used = next(row["utilisation"] for row in result.rows("ports") if row["port"] == PORT)
    return Shares(
        {c: rate / total for c, rate in rates.items()}, {c: percentages[c] / whole for c in rates}, used
    )


def overload(context: Context, single: Result) -> Outcome:
    """E-1, eightfold overload."""
    found = shares(single, PERCENTAGES)
    rows = [
        (str(c), f"{PERCENTAGES[c]} %", f"{100 * got:.3f} %", f"{100 * (got / found.wanted[c] - 1):+.2f} %")
        for c, got in sorted(found.got.items())
    ]
    columns = ("class", "configured", "measured", "deviation")
    context.save_table(
        "overload", "Share of link time: eight classes, 1522-B frames, eightfold overload", columns, rows
    )
    return context.judge("E-1", {"deviation": found.off, "utilization": found.used})


def tables(context: Context, scenario: Scenario) -> Outcome:
    """E-3, random percentages."""
    draw = np.random.default_rng(1)
    found = {}
    for _ in range(6 if context.quick else 20):
        cuts = sorted(int(cut) for cut in draw.choice(np.arange(1, 100), 7, replace=False))
        table = tuple(high - low for low, high in zip((0, *cuts), (*cuts, 100), strict=True))
        found[table] = shares(with_percentages(scenario, table).run(), table).off
    worst = max(found, key=lambda table: found[table])
    return context.judge(
        "E-3", {"deviation": found[worst]}, also=f"{len(found)} tables, the largest deviation with {worst}"
    )


def idle(context: Context, scenario: Scenario) -> Outcome:
    """E-4, idle classes."""
    draw = np.random.default_rng(2)
    counts = draw.integers(2, 7, 4 if context.quick else 12)
    several = [[int(c) for c in draw.choice(8, count, replace=False)] for count in counts]
    sets = [[c] for c in range(8)] + several + [[0, 1, 2, 3, 4, 5, 6]]
    found = {tuple(sorted(s)): shares(without_flows(scenario, s).run(), PERCENTAGES) for s in sets}
    worst = max(found, key=lambda s: found[s].off)
    figures = {"deviation": found[worst].off, "utilization": min(one.used for one in found.values())}
    also = f"{len(found)} sets, the largest deviation with idle classes: {', '.join(map(str, worst))}"
    return context.judge("E-4", figures, also=also)


def light(context: Context, scenario: Scenario) -> Outcome:
    """E-5, a class that offers less than its share."""
    changed = scenario.with_value("flows.p7.source", {"constant": {"rate": "1 Gb/s"}})
    result = changed.run()
    rates = link_time(result)
    rest = {c: rate for c, rate in rates.items() if c != 7}
    whole, total = sum(PERCENTAGES[c] for c in rest), sum(rest.values())
    off = max(abs(rate / total / (PERCENTAGES[c] / whole) - 1) for c, rate in rest.items())
    own = next(row["throughput_bps"] for row in result.rows("flows") if row["class"] == 7) / 1e9
    return context.judge("E-5", {"carried": own, "deviation": off})


def changing(scenario: Scenario) -> Scenario:
    """One frame size per class; the set of active classes changes every millisecond."""
    changed = with_percentages(scenario, EVEN).with_value("probes.bin", "250 us")
    changed = changed.with_value("simulation.duration", f"{STEPS} ms").with_value("simulation.warmup", None)
    for c, size in enumerate((1522, 64, 256, 128, 1024, 512, 1522, 1522)):
        steps, on = [], active_in(0)[c]
        for step in range(1, STEPS):
            if active_in(step)[c] != on:
                on = not on
                steps.append({"at": f"{step} ms", "start" if on else "stop": True})
        begins = steps if active_in(0)[c] else [{"at": "0 ms", "stop": True}, *steps]
        changed = changed.with_value(f"flows.p{c}.frame", f"{size} B")
        changed = changed.with_value(f"flows.p{c}.script", begins)
    return changed


def active_in(step: int) -> list[bool]:
    """Active classes in a millisecond, the same in every run; all classes in the first one."""
    draw = np.random.default_rng(100 + step)
    active = [step == 0 or bool(draw.random() < 0.6) for _ in range(8)]
    return active if sum(active) >= 2 else [True] * 8


def loads(context: Context, result: Result, cover: str) -> Outcome:
    """E-6, changing loads."""
    found, worst = 0.0, ""
    parts = picture.parts(result)
    for step in range(STEPS):
        wanted = {c: EVEN[c] for c, on in enumerate(active_in(step)) if on}
        for quarter in range(1, 4):
            at = step * 4 + quarter
            for c, percent in wanted.items():
                off = abs(parts[c][at] / (percent / sum(wanted.values())) - 1)
                if off > found:
                    found, worst = off, f"class {c} at {at * 0.25:g} ms"
    return context.judge(
        "E-6",
        {"deviation": found},
        also=f"{STEPS * 3} intervals of 250 us, the largest: {worst}",
        pictures=[cover],
    )


def before(context: Context, scenario: Scenario) -> Outcome:
    """E-7, strict and credit-shaped classes before ETS."""
    percentages = (5, 10, 15, 20, 20, 30)
    classes: list[dict[str, object]] = [
        {"queues": [queue], "percent": percent} for queue, percent in enumerate(percentages)
    ]
    classes += [{"queues": [6], "idle_slope": "2 Gb/s"}, {"queues": [7], "strict": True}]
    changed = scenario.with_value("switch.scheduler.ets.classes", classes)
    result = changed.with_value("flows.p7.source", {"constant": {"rate": "1 Gb/s"}}).run()
    rates = link_time(result)
    strict = next(row["throughput_bps"] for row in result.rows("flows") if row["class"] == 7) / 1e9
    total = sum(rates[c] for c in range(6))
    off = max(abs(rates[c] / total * 100 / percent - 1) for c, percent in enumerate(percentages))
    figures = {"strict_carried": strict, "shaped_to_slope": rates[6] / 2e9, "deviation": off}
    return context.judge("E-7", figures, also=f"the ETS classes share {total / 1e9:.2f} Gb/s")


def worked_example(context: Context) -> Outcome:
    """E-8, the DRR example."""
    scenario = Scenario(duration="5 ms", warmup="1 ms").topology.star(hosts=4, rate="10 Gb/s", phy="none")
    drr: DrrKeys = {"quanta": ["128 B"] * 3, "accounted_length": "frame"}
    scenario = scenario.switch(queues=[0, 1, 2, 2, 2, 2, 2, 2], scheduler={"drr": drr}).flow_control.pfc()
    for queue, size in enumerate((64, 128, 256)):
        scenario = scenario.flow(
            f"q{queue + 1}", from_=f"h{queue}", to="h3", priority=queue, frame=f"{size} B", source="greedy"
        )
    sent = [row["frames_delivered"] for row in scenario.run().rows("flows")]
    off = {"q1_frames_off": abs(sent[0] - 4 * sent[2]), "q2_frames_off": abs(sent[1] - 2 * sent[2])}
    return context.judge("E-8", off, measured=f"{sent[0]:,} : {sent[1]:,} : {sent[2]:,} frames")


def in_frames(context: Context, scenario: Scenario, mixed: Result) -> Outcome:
    """E-9, frame bytes instead of link time."""
    by_frame = scenario.with_value("switch.scheduler.ets.accounted_length", "frame").run()
    off = {name: frame_deviation(result) for name, result in (("wire", mixed), ("frame", by_frame))}
    rows = [
        (str(c), f"{PERCENTAGES[c]} %", f"{off['wire'][c]:+.1%}", f"{off['frame'][c]:+.1%}") for c in range(8)
    ]
    columns = ("class", "configured", 'accounted_length = "wire"', 'accounted_length = "frame"')
    context.save_table(
        "frames", "Deviation from the percentage in bytes of frames, sizes as in overload.toml", columns, rows
    )
    largest = max(abs(value) for value in off["frame"].values())
    return context.judge("E-9", {"small_frames_deviation": off["wire"][1], "deviation": largest})


def frame_deviation(result: Result) -> dict[int, float]:
    """Relative deviation of each class from its percentage, in bytes of frames."""
    rates = {row["class"]: row["throughput_bps"] for row in result.rows("flows")}
    return {c: rate / sum(rates.values()) * 100 / PERCENTAGES[c] - 1 for c, rate in rates.items()}
