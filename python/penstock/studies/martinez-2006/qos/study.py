"""Quality of service by credits, virtual channels and two schedulers: Table 2 and Figures 1 to 5."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from penstock.qos.admission import Broker, Refused, ports_of, rates_of
from penstock.qos.arbitration import distances
from penstock.result import Result
from penstock.running.many import ManyProgress, run_many
from penstock.scenario import Scenario
from penstock.studies.reproduce import Context, Outcome

from . import pictures
from .classes import (
    BEST_EFFORT,
    ENTRIES,
    LINK_BPS,
    QOS,
    SCHEDULERS,
    Class,
    bits,
    channel_of,
    scenario,
    schedulers,
    table_2,
)
from .measure import MTU, Measured, Point, improvement, interval, mean, per_class, turns

BOUNDS_US = {"VO": 10_000.0, "VI": 100_000.0}
"""The latency that a class tolerates (IEEE 802.1D-2004)."""
SATURATED = 0.99
"""Share of its offered load below which a class is saturated."""
SIZES = ("64 B", "512 B", "1088 B", "2176 B")
CALLS = 4
"""Number of calls that request admission, relative to Table 2."""


@dataclass(frozen=True)
class Extent:
    """Amount of simulation."""

    levels: int
    loads: tuple[float, ...]
    bars: tuple[float, ...]
    replications: int
    times_ms: tuple[int, int]


FULL = Extent(3, (0.62, 0.70, 0.78, 0.85, 0.90, 0.95, 1.0), (0.70, 0.85, 1.0), 10, (10, 40))
QUICK = Extent(2, (0.62, 0.95, 1.0), (0.62, 0.95, 1.0), 2, (5, 30))


def run(context: Context) -> list[Outcome]:
    """All experiments."""
    extent = QUICK if context.quick else FULL
    classes = table_2()
    outcomes = [table(context, classes), *four_sizes(context), deficits(context)]
    context.say("seven classes over the loads")
    curves, overloaded = measured(context, classes, extent)
    draw(context, curves, extent)
    outcomes += [overview(context, curves, extent), *compared(context, curves, extent)]
    outcomes.append(admission(context, classes, extent, curves, overloaded))
    return [explained(context, outcome) for outcome in outcomes]


def explained(context: Context, outcome: Outcome) -> Outcome:
    """The outcome, with the reason why the paper's figure is not reproduced."""
    why = context.study.experiment(outcome.id).not_met
    return outcome if outcome.passed else replace(outcome, note=why)


def beside(scenarios: Sequence[Scenario], progress: ManyProgress) -> list[Result]:
    """Runs on threads, which, unlike processes, share the cache of an interrupted study."""
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        return run_many(scenarios, executor=threads, progress=progress)


def table(context: Context, classes: Mapping[str, Class]) -> Outcome:
    """RT2: Table 2 as input, and the arbitration table filled from it."""
    known = dict(classes)
    settings, at = schedulers(known), channel_of(known)
    entries = settings["DTable"]["dtable"]["entries"]
    apart = distances(entries)
    right = all(
        entries.count(at[name]) == own.entries and apart[at[name]] <= own.distance
        for name, own in known.items()
    )
    least, most = (sum(getattr(own, key) for own in known.values()) for key in ("least", "most"))
    weights = sum(own.weight for own in known.values())
    context.scenario("fabric").with_value("switch.scheduler", settings["DTable"]).check()
    names = {channel: name for name, channel in at.items()}
    rows = [
        (str(nth), " ".join(names[key] for key in entries[nth : nth + 16])) for nth in range(0, ENTRIES, 16)
    ]
    context.save_table("table", "The arbitration table", ("from entry", "classes"), rows)
    return context.outcome(
        "RT2",
        measured=f"{len(entries)} entries; distances "
        f"{', '.join(f'{name} {apart[at[name]]}' for name in known)}; weights {weights:g} of the link; load "
        f"{least:g} to {most:g}",
        passed=right
        and len(entries) == ENTRIES
        and abs(weights - 0.75) < 1e-9
        and abs(least - 0.5725) < 1e-9
        and abs(most - 1) < 1e-9,
    )


def with_scheduler(base: Scenario, kind: str) -> Scenario:
    """The scenario of Figure 1 with the table of Advanced Switching, or with the deficit table."""
    keys = base.to_dict()["switch"]["scheduler"]["vc_table"]
    return base.with_value("switch.scheduler", {kind: keys})


def four_sizes(context: Context) -> Iterator[Outcome]:
    """R1a and R1b: Figure 1."""
    context.say("four sizes of frames")
    base = context.scenario("four-sizes")
    rates = [n / 20 for n in (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20)]
    kinds = {"AS table": "vc_table", "DTable": "dtable"}

    def at_rate(kind: str, rate: float) -> Scenario:
        changed = with_scheduler(base, kind)
        for nth in range(len(SIZES)):
            source = {"constant": {"rate": f"{round(rate * LINK_BPS)} b/s"}}
            changed = changed.with_value(f"flows.{nth}.source", source)
        return changed

    results = iter(
        beside([at_rate(kind, rate) for kind in kinds.values() for rate in rates], lambda *_: None)
    )
    shares: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for name in kinds:
        curves = shares.setdefault(name, {size: [] for size in SIZES})
        for rate in rates:
            for row in next(results).rows("flows"):
                curves[row["flow"]].append((rate, row["throughput_bps"] / LINK_BPS))
    figure = context.save_figure(pictures.sizes(shares), "figure-1")
    total = sum(int(size.split()[0]) for size in SIZES)
    for key, name in (("R1a", "AS table"), ("R1b", "DTable")):
        last = {size: shares[name][size][-1][1] for size in SIZES}
        wanted = {size: int(size.split()[0]) / total if key == "R1a" else 1 / len(SIZES) for size in SIZES}
        off = max(abs(last[size] / wanted[size] - 1) for size in SIZES)
        outcome = context.outcome(
            key,
            measured=f"shares {', '.join(f'{size}: {last[size]:.4f}' for size in SIZES)}; within {off:.2%}",
            passed=off <= (0.05 if key == "R1a" else 0.03),
            pictures=(figure,),
        )
        yield outcome


def deficits(context: Context) -> Outcome:
    """R6: the turns of a deficit table, read from the link."""
    base = with_scheduler(context.scenario("four-sizes"), "dtable")
    for nth in range(len(SIZES)):
        base = base.with_value(f"flows.{nth}.frame", {"uniform": {"min": "64 B", "max": "2176 B"}})
    log = {"what": "frames", "which": "sw.4->h4", "start": "2 ms", "max_rows": 100_000}
    base = base.with_value("probes", [log])
    frames = [
        (row["priority"], row["bytes"]) for row in base.run(seed=1).rows("frames") if row["event"] == "sent"
    ]
    found = turns(frames, base.to_dict()["switch"]["scheduler"]["dtable"]["entries"])
    return context.outcome(
        "R6",
        measured=f"{found.turns:,} turns: at most {found.longest} credits in one, deficits up to "
        f"{found.deficit}; {found.broken} that no deficit explains, {found.wrong} out of order",
        passed=found.turns >= 1000
        and found.longest <= 2 * MTU - 1
        and found.deficit < MTU
        and found.broken == 0
        and found.wrong == 0,
    )


def measured(
    context: Context, classes: Mapping[str, Class], extent: Extent
) -> tuple[pictures.Curves, Mapping[str, Point]]:
    """All points of the figures, and both schedulers without admission control at the highest load."""
    base, settings = context.scenario("fabric"), schedulers(dict(classes))

    def point(name: str, load: float, seed: int, calls: int = 1) -> Scenario:
        made = scenario(
            base,
            dict(classes),
            settings[name],
            load,
            levels=extent.levels,
            times_ms=extent.times_ms,
            calls=calls,
        )
        return made.with_value("simulation.seed", seed)

    seeds = range(1, extent.replications + 1)
    keys: list[tuple[str, float, int, int]] = [
        (name, load, seed, 1) for load in extent.loads for name in SCHEDULERS for seed in seeds
    ]
    keys += [(name, extent.loads[-1], 1, CALLS) for name in SCHEDULERS]

    def progress(done: int, all_runs: int) -> None:
        if done % 10 == 0:
            context.say(f"{done} of {all_runs} runs")

    hosts = base.to_dict()["topology"]["n_tree"]["k"] ** extent.levels
    runs: dict[tuple[str, float, int, int], dict[str, Measured]] = {}
    # One load at a time: a result with half a million connections is large.
    for load in extent.loads:
        context.say(f"load {load:g}")
        batch = [key for key in keys if key[1] == load]
        results = beside([point(*key) for key in batch], progress)
        runs.update(zip(batch, (per_class(result, hosts * LINK_BPS) for result in results), strict=True))
    curves: dict[str, dict[float, Point]] = {
        name: {
            load: {of: [runs[name, load, seed, 1][of] for seed in seeds] for of in classes}
            for load in extent.loads
        }
        for name in SCHEDULERS
    }
    overloaded: dict[str, Point] = {
        name: {of: [runs[name, extent.loads[-1], 1, CALLS][of]] for of in classes} for name in SCHEDULERS
    }
    return curves, overloaded


def draw(context: Context, curves: pictures.Curves, extent: Extent) -> None:
    """Figures 2 to 5, and their values as a table."""
    context.save_figure(pictures.overview(curves), "figure-2", cover=True)
    context.save_figure(pictures.comparison(curves, QOS, "Control and QoS classes"), "figure-3")
    context.save_figure(pictures.comparison(curves, BEST_EFFORT, "Best effort"), "figure-4")
    context.save_figure(pictures.improvements(curves, extent.bars), "figure-5")
    rows = [
        (
            scheduler,
            f"{load:g}",
            name,
            *(
                f"{one.mean:.5g} ± {one.half_width:.2g}"
                for one in (interval(point, name, value) for value in ("offered", *pictures.VALUES))
            ),
        )
        for scheduler, points in curves.items()
        for load, point in points.items()
        for name in (*QOS, *BEST_EFFORT)
    ]
    columns = ("scheduler", "load", "class", "offered", "throughput", "mean us", "longest us")
    context.save_table(
        "points", "All points of figures 2 to 5", columns, rows, note="Means and 90 % intervals."
    )


def overview(context: Context, curves: pictures.Curves, extent: Extent) -> Outcome:
    """R2: Figure 2."""
    points = [(name, load, curves[name][load]) for name in SCHEDULERS for load in extent.loads]
    least = min(mean(p, of, "throughput") / mean(p, of, "offered") for _, _, p in points for of in QOS)
    worst = {of: max(one.worst_us for _, _, p in points for one in p[of]) for of in BOUNDS_US}
    last = [curves[name][extent.loads[-1]] for name in SCHEDULERS]
    got = [[mean(p, of, "throughput") for of in BEST_EFFORT] for p in last]

    def saturates(name: str) -> float:
        def share(load: float) -> float:
            point = curves[name][load]
            sums = [sum(mean(point, of, key) for of in BEST_EFFORT) for key in ("throughput", "offered")]
            return sums[0] / sums[1]

        return next((load for load in extent.loads if share(load) < SATURATED), 2.0)

    begins = {name: saturates(name) for name in SCHEDULERS}
    bursty = all(
        mean(p, one, "mean_us") > mean(p, other, "mean_us")
        for _, _, p in points
        for one, other in (("NC", "VO"), ("VI", "CL"))
    )
    return context.outcome(
        "R2",
        measured=f"control and QoS get at least {least:.2%}; best effort saturates at "
        f"{', '.join(f'{load:g} ({name})' for name, load in begins.items())} and then gets "
        f"{'; '.join(' '.join(f'{share:.4f}' for share in shares) for shares in got)}; longest VO "
        f"{worst['VO'] / 1e3:.2f} ms, VI {worst['VI'] / 1e3:.1f} ms; NC > VO and VI > CL "
        f"{'everywhere' if bursty else 'not everywhere'}",
        passed=least >= 0.995
        and all(one[0] > one[1] > one[2] for one in got)
        and all(0.8 <= load <= 0.95 for load in begins.values())
        and all(worst[of] < BOUNDS_US[of] for of in BOUNDS_US)
        and bursty,
        pictures=("figure-2.png",),
    )


def compared(context: Context, curves: pictures.Curves, extent: Extent) -> Iterator[Outcome]:
    """R3 to R5: MinBW compared with DTable."""

    def better(load: float, of: str, value: str) -> float:
        return improvement(curves["MinBW"][load], curves["DTable"][load], of, value)

    def average(loads: tuple[float, ...], of: str, value: str) -> float:
        return sum(better(load, of, value) for load in loads) / len(loads)

    def told(loads: tuple[float, ...], names: tuple[str, ...], value: str) -> str:
        return ", ".join(f"{of} {average(loads, of, value):+.1%}" for of in names)

    high = tuple(load for load in extent.loads if load >= 0.85)
    means = {of: average(high, of, "mean_us") for of in QOS}
    worst = {of: average(high, of, "worst_us") for of in QOS}
    yield context.outcome(
        "R3",
        measured=f"lower under MinBW, loads from 0.85: mean {told(high, QOS, 'mean_us')}; longest "
        f"{told(high, QOS, 'worst_us')}",
        passed=min(means["NC"], means["VO"], means["VI"]) > 0
        and -0.15 < means["CL"] < 0
        and min(worst["NC"], worst["VO"]) > 0,
        pictures=("figure-3.png",),
    )
    top = tuple(load for load in extent.loads if load >= 0.95)
    effort = {of: average(top, of, "mean_us") for of in BEST_EFFORT}
    yield context.outcome(
        "R4",
        measured=f"lower under MinBW, loads from 0.95: mean {told(top, BEST_EFFORT, 'mean_us')}",
        passed=abs(effort["EE"]) < 0.15 and effort["BE"] < 0 and effort["BK"] < 0,
        pictures=("figure-4.png",),
    )
    bars = {load: {of: better(load, of, "mean_us") for of in (*QOS, *BEST_EFFORT)} for load in extent.bars}
    control = [bars[load]["NC"] for load in extent.bars]
    longest = [better(load, "NC", "worst_us") for load in extent.bars]
    yield context.outcome(
        "R5",
        measured="; ".join(
            f"load {load:g}: " + ", ".join(f"{of} {share:+.0%}" for of, share in row.items())
            for load, row in bars.items()
        ),
        passed=min(control) >= 0.10
        and all(row["NC"] == max(row.values()) for row in bars.values())
        and all(one > other for one, other in zip(control, longest, strict=True))
        and all(bars[extent.bars[-1]][of] < 0 for of in ("CL", "BE", "BK")),
        pictures=("figure-5.png",),
    )


def admission(
    context: Context,
    classes: Mapping[str, Class],
    extent: Extent,
    curves: pictures.Curves,
    overloaded: Mapping[str, Point],
) -> Outcome:
    """R7: with more calls, admission control accepts those of Table 2; without it, all are accepted."""
    context.say("asking for admission")
    accepted, asked, refused = ask(context, classes, extent)
    wanted = classes["VO"].connections
    hosts = len(accepted)
    at_most = max(curves[name][extent.loads[-1]]["VO"][0].worst_us for name in SCHEDULERS)
    without = {name: overloaded[name]["VO"][0].worst_us / 1e3 for name in SCHEDULERS}
    return context.outcome(
        "R7",
        measured=f"{sum(accepted):,} of {asked:,} calls accepted, {min(accepted):,} to {max(accepted):,} "
        f"a host; "
        f"the first refused for {refused.port} by {refused.lacks_bps:,} b/s; longest VO "
        f"{at_most / 1e3:.2f} ms with admission control, without it "
        f"{', '.join(f'{ms:.1f} ms ({name})' for name, ms in without.items())}",
        passed=accepted == [wanted] * hosts and at_most < BOUNDS_US["VO"] and min(without.values()) > 10.0,
    )


def ask(context: Context, classes: Mapping[str, Class], extent: Extent) -> tuple[list[int], int, Refused]:
    """Number of accepted calls per host; number of requests; the first refusal.

    Hosts request in turn, for one pair after the other.
    """
    voice = classes["VO"]
    base = scenario(
        context.scenario("fabric"),
        dict(classes),
        schedulers(dict(classes))["MinBW"],
        extent.loads[0],
        levels=extent.levels,
        times_ms=(0, 1),
    )
    calls = [row for row in base.to_dict()["flows"] if row["name"].startswith("VO-")]
    result = base.with_value("flows", calls).with_value("simulation.duration", "1 us").run()
    broker = Broker(rates_of(result), {voice.priority: voice.most})
    paths = ports_of(result)
    senders = sorted({name.partition("[")[2] for name, _ in paths})
    accepted, asked, first = dict.fromkeys(senders, 0), 0, list[Refused]()
    counts = {row["name"]: row["source"]["streams"]["count"] for row in calls}
    for nth in range(CALLS * max(counts.values())):
        for (name, _), ports in paths.items():
            flow, _, sender = name.partition("[")
            if nth >= CALLS * counts[flow]:
                continue
            asked += 1
            answer = broker.ask(f"{name} {nth}", ports, voice.priority, bits(voice.each))
            if isinstance(answer, Refused):
                first.append(answer)
            else:
                accepted[sender] += 1
    return list(accepted.values()), asked, first[0]
