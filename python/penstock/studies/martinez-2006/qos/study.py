"""Quality of service with credits, virtual channels and two schedulers: Table 2 and Figures 1 to 5."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass

from penstock.qos.admission import Broker, Refused, ports_of, rates_of
from penstock.qos.arbitration import distances
from penstock.result import Result
from penstock.running.many import ManyProgress, run_many
from penstock.scenario import Scenario
from penstock.studies.reproduce import Context, Outcome

from . import figures, pictures
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
from .measure import Measured, Point, interval, per_class, turns

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
    outcomes += judged(context, curves, extent)
    outcomes.append(admission(context, classes, extent, curves, overloaded))
    return outcomes


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
    # Rounded, because the shares of Table 2 have no exact binary representation.
    sums = {
        name: round(sum(getattr(own, key) for own in known.values()), 9)
        for name, key in (("weights", "weight"), ("least_load", "least"), ("most_load", "most"))
    }
    context.scenario("fabric").with_value("switch.scheduler", settings["DTable"]).check()
    names = {channel: name for name, channel in at.items()}
    rows = [
        (str(nth), " ".join(names[key] for key in entries[nth : nth + 16])) for nth in range(0, ENTRIES, 16)
    ]
    context.save_table("table", "The arbitration table", ("from entry", "classes"), rows)
    wrong = sum(
        entries.count(at[name]) != own.entries or apart[at[name]] > own.distance
        for name, own in known.items()
    )
    return context.judge(
        "RT2",
        {"entries": len(entries), "wrong_classes": wrong, **sums},
        measured=f"{len(entries)} entries; distances "
        f"{', '.join(f'{name} {apart[at[name]]}' for name in known)}; weights {sums['weights']:g} of the "
        f"link; load {sums['least_load']:g} to {sums['most_load']:g}",
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
        shown = ", ".join(f"{size}: {last[size]:.4f}" for size in SIZES)
        yield context.judge(key, [{"off": off}], also=f"shares {shown}", pictures=(figure,))


def deficits(context: Context) -> Outcome:
    """R6: turns of a deficit table, read from the frames on the link."""
    base = with_scheduler(context.scenario("four-sizes"), "dtable")
    for nth in range(len(SIZES)):
        base = base.with_value(f"flows.{nth}.frame", {"uniform": {"min": "64 B", "max": "2176 B"}})
    log = {"what": "frames", "which": "sw.4->h4", "start": "2 ms", "max_rows": 100_000}
    base = base.with_value("probes", [log])
    entries = base.to_dict()["switch"]["scheduler"]["dtable"]["entries"]

    def measure(seed: int) -> figures.Figures:
        rows = base.run(seed=seed).rows("frames")
        found = turns([(row["priority"], row["bytes"]) for row in rows if row["event"] == "sent"], entries)
        return {key: float(value) for key, value in asdict(found).items()}

    return context.judge("R6", context.over_seeds(measure, "R6"))


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
    keys += [(name, extent.loads[-1], seed, CALLS) for name in SCHEDULERS for seed in seeds]

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
        name: {of: [runs[name, extent.loads[-1], seed, CALLS][of] for seed in seeds] for of in classes}
        for name in SCHEDULERS
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


def judged(context: Context, curves: pictures.Curves, extent: Extent) -> Iterator[Outcome]:
    """R2 to R5: Figures 2 to 5, over the replications."""
    found = []
    for nth in range(extent.replications):
        points = {
            name: {load: {of: runs[nth] for of, runs in point.items()} for load, point in loads.items()}
            for name, loads in curves.items()
        }
        found.append(figures.overview(points) | figures.compared(points, extent.bars))
    for key, picture in (
        ("R2", "figure-2"),
        ("R2-voice", "figure-2"),
        ("R2-background", "figure-2"),
        ("R3", "figure-3"),
        ("R3-longest", "figure-3"),
        ("R4", "figure-4"),
        ("R5", "figure-5"),
    ):
        yield context.judge(key, found, pictures=(f"{picture}.png",))


def admission(
    context: Context,
    classes: Mapping[str, Class],
    extent: Extent,
    curves: pictures.Curves,
    overloaded: Mapping[str, Point],
) -> Outcome:
    """R7: with more calls, admission control accepts as many as in Table 2; without it, all are accepted."""
    context.say("admission control")
    accepted, requested, refused = request_calls(context, classes, extent)
    wanted, last = classes["VO"].connections, extent.loads[-1]
    found = [
        {
            "least_accepted": min(accepted) / wanted,
            "most_accepted": max(accepted) / wanted,
            "admitted_ms": max(curves[name][last]["VO"][nth].worst_us for name in SCHEDULERS) / 1e3,
            "without_ms": min(overloaded[name]["VO"][nth].worst_us for name in SCHEDULERS) / 1e3,
        }
        for nth in range(extent.replications)
    ]
    return context.judge(
        "R7",
        found,
        also=f"{sum(accepted):,} of {requested:,} calls accepted, the first refused for {refused.port} by "
        f"{refused.lacks_bps:,} b/s",
    )


def request_calls(
    context: Context, classes: Mapping[str, Class], extent: Extent
) -> tuple[list[int], int, Refused]:
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
    accepted, requested, first = dict.fromkeys(senders, 0), 0, list[Refused]()
    counts = {row["name"]: row["source"]["streams"]["count"] for row in calls}
    for nth in range(CALLS * max(counts.values())):
        for (name, _), ports in paths.items():
            flow, _, sender = name.partition("[")
            if nth >= CALLS * counts[flow]:
                continue
            requested += 1
            answer = broker.request(f"{name} {nth}", ports, voice.priority, bits(voice.each))
            if isinstance(answer, Refused):
                first.append(answer)
            else:
                accepted[sender] += 1
    return list(accepted.values()), requested, first[0]
