"""ETS under the criteria of a conformance laboratory."""

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
"""Percentages for changing loads: a round takes 25 us, so a quarter of a millisecond has ten rounds."""
TOLERANCE = 0.10
PORT = "sw.8->h8"
STEPS = 8
"""Duration of changing loads in milliseconds."""


@dataclass(frozen=True)
class Shares:
    """Link time of each class, as shares of the link time of all ETS classes."""

    got: Mapping[int, float]
    wanted: Mapping[int, float]
    used: float
    """Utilization of the link."""

    @property
    def off(self) -> float:
        """The largest relative deviation."""
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
        sizes(context, mixed),
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


def silent(scenario: Scenario, classes: Sequence[int]) -> Scenario:
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


WARMUP_S = 2e-3


def shares(result: Result, percentages: Sequence[int]) -> Shares:
    """Shares of the classes that have traffic."""
    rates = link_time(result)
    total, whole = sum(rates.values()), sum(percentages[c] for c in rates)
    used = next(row["utilisation"] for row in result.rows("ports") if row["port"] == PORT)
    return Shares(
        {c: rate / total for c, rate in rates.items()}, {c: percentages[c] / whole for c in rates}, used
    )


def overload(context: Context, single: Result) -> Outcome:
    """E-1."""
    found = shares(single, PERCENTAGES)
    rows = [
        (str(c), f"{PERCENTAGES[c]} %", f"{100 * got:.3f} %", f"{100 * (got / found.wanted[c] - 1):+.2f} %")
        for c, got in sorted(found.got.items())
    ]
    columns = ("class", "percentage", "measured", "deviation")
    context.save_table("overload", "Eight classes, frames of 1522 B, eightfold overload", columns, rows)
    return context.outcome(
        "E-1",
        measured=f"largest deviation {found.off:.2%}, link used {found.used:.2%}",
        passed=found.off <= TOLERANCE and found.used >= 0.99,
    )


def sizes(context: Context, mixed: Result) -> Outcome:
    """E-2."""
    found = shares(mixed, PERCENTAGES)
    return context.outcome(
        "E-2",
        measured=f"largest deviation {found.off:.2%}, link used {found.used:.2%}",
        passed=found.off <= TOLERANCE,
    )


def tables(context: Context, scenario: Scenario) -> Outcome:
    """E-3."""
    draw = np.random.default_rng(1)
    found = {}
    for _ in range(6 if context.quick else 20):
        cuts = sorted(int(cut) for cut in draw.choice(np.arange(1, 100), 7, replace=False))
        table = tuple(high - low for low, high in zip((0, *cuts), (*cuts, 100), strict=True))
        found[table] = shares(with_percentages(scenario, table).run(), table).off
    worst = max(found, key=lambda table: found[table])
    return context.outcome(
        "E-3",
        measured=f"{len(found)} tables; largest deviation {found[worst]:.2%}, with {worst}",
        passed=found[worst] <= TOLERANCE,
    )


def idle(context: Context, scenario: Scenario) -> Outcome:
    """E-4."""
    draw = np.random.default_rng(2)
    counts = draw.integers(2, 7, 4 if context.quick else 12)
    several = [[int(c) for c in draw.choice(8, count, replace=False)] for count in counts]
    sets = [[c] for c in range(8)] + several + [[0, 1, 2, 3, 4, 5, 6]]
    found = {tuple(sorted(s)): shares(silent(scenario, s).run(), PERCENTAGES) for s in sets}
    worst = max(found, key=lambda s: found[s].off)
    used = min(one.used for one in found.values())
    return context.outcome(
        "E-4",
        measured=f"{len(found)} sets; largest deviation {found[worst].off:.2%}, with classes "
        f"{', '.join(map(str, worst))} idle; link used at least {used:.2%}",
        passed=found[worst].off <= TOLERANCE and used >= 0.99,
    )


def light(context: Context, scenario: Scenario) -> Outcome:
    """E-5."""
    changed = scenario.with_value("flows.p7.source", {"constant": {"rate": "1 Gb/s"}})
    result = changed.run()
    rates = link_time(result)
    rest = {c: rate for c, rate in rates.items() if c != 7}
    whole, total = sum(PERCENTAGES[c] for c in rest), sum(rest.values())
    off = max(abs(rate / total / (PERCENTAGES[c] / whole) - 1) for c, rate in rest.items())
    own = next(row["throughput_bps"] for row in result.rows("flows") if row["class"] == 7) / 1e9
    return context.outcome(
        "E-5",
        measured=f"the light class gets {own:.2%} of its offer, the others deviate by at most {off:.2%}",
        passed=own >= 0.995 and off <= TOLERANCE,
    )


def changing(scenario: Scenario) -> Scenario:
    """Frames of one size per class; the set of active classes changes every millisecond."""
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
    """The active classes in a millisecond: identical in every run, all of them in the first."""
    draw = np.random.default_rng(100 + step)
    active = [step == 0 or bool(draw.random() < 0.6) for _ in range(8)]
    return active if sum(active) >= 2 else [True] * 8


def loads(context: Context, result: Result, cover: str) -> Outcome:
    """E-6."""
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
    return context.outcome(
        "E-6",
        measured=f"{STEPS * 3} quarters; largest deviation {found:.2%} ({worst})",
        passed=found <= TOLERANCE,
        pictures=[cover],
    )


def before(context: Context, scenario: Scenario) -> Outcome:
    """E-7."""
    percentages = (5, 10, 15, 20, 20, 30)
    classes: list[dict[str, object]] = [
        {"queues": [queue], "percent": percent} for queue, percent in enumerate(percentages)
    ]
    classes += [{"queues": [6], "idle_slope": "2 Gb/s"}, {"queues": [7], "strict": True}]
    changed = scenario.with_value("switch.scheduler.ets.classes", classes)
    result = changed.with_value("flows.p7.source", {"constant": {"rate": "1 Gb/s"}}).run()
    rates = link_time(result)
    strict = next(row["throughput_bps"] for row in result.rows("flows") if row["class"] == 7) / 1e9
    shaped = rates[6] / 2e9
    total = sum(rates[c] for c in range(6))
    off = max(abs(rates[c] / total * 100 / percent - 1) for c, percent in enumerate(percentages))
    return context.outcome(
        "E-7",
        measured=f"strict {strict:.2%} of its offer, shaped {shaped:.2%} of its slope, ETS classes share "
        f"{total / 1e9:.2f} Gb/s with at most {off:.2%} deviation",
        passed=strict >= 0.995 and abs(shaped - 1) <= 0.01 and off <= TOLERANCE,
    )


def worked_example(context: Context) -> Outcome:
    """E-8."""
    scenario = Scenario(duration="5 ms", warmup="1 ms").topology.star(hosts=4, rate="10 Gb/s", phy="none")
    drr: DrrKeys = {"quanta": ["128 B"] * 3, "accounted_length": "frame"}
    scenario = scenario.switch(queues=[0, 1, 2, 2, 2, 2, 2, 2], scheduler={"drr": drr}).flow_control.pfc()
    for queue, size in enumerate((64, 128, 256)):
        scenario = scenario.flow(
            f"q{queue + 1}", from_=f"h{queue}", to="h3", priority=queue, frame=f"{size} B", source="greedy"
        )
    sent = [row["frames_delivered"] for row in scenario.run().rows("flows")]
    near = abs(sent[0] - 4 * sent[2]) <= 4 and abs(sent[1] - 2 * sent[2]) <= 2
    return context.outcome("E-8", measured=f"{sent[0]:,} : {sent[1]:,} : {sent[2]:,} frames", passed=near)


def in_frames(context: Context, scenario: Scenario, mixed: Result) -> Outcome:
    """E-9."""
    by_frame = scenario.with_value("switch.scheduler.ets.accounted_length", "frame").run()
    off = {name: frame_deviation(result) for name, result in (("wire", mixed), ("frame", by_frame))}
    rows = [
        (str(c), f"{PERCENTAGES[c]} %", f"{off['wire'][c]:+.1%}", f"{off['frame'][c]:+.1%}") for c in range(8)
    ]
    columns = ("class", "percentage", 'accounted_length = "wire"', 'accounted_length = "frame"')
    context.save_table(
        "frames", "Deviation counted in bytes of frames, kinds of frames as in overload.toml", columns, rows
    )
    largest = max(abs(value) for value in off["frame"].values())
    return context.outcome(
        "E-9",
        measured=f"64-B frames {off['wire'][1]:+.1%} when the wire is accounted; at most {largest:.2%} "
        "when frames are",
        passed=off["wire"][1] < -TOLERANCE and largest <= TOLERANCE,
    )


def frame_deviation(result: Result) -> dict[int, float]:
    """Relative deviation of each class's share of the bytes of frames."""
    rates = {row["class"]: row["throughput_bps"] for row in result.rows("flows")}
    return {c: rate / sum(rates.values()) * 100 / PERCENTAGES[c] - 1 for c, rate in rates.items()}
