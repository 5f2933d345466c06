"""FECN in the slides' topologies: TCP, symmetric, large, bursty, hot spot, and its overhead."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from penstock.result import Result
from penstock.scenario import Scenario
from penstock.studies.reproduce import Context, Outcome

from . import alternatives, figures, pictures, variants
from .figures import FIRST_RATES, LABELS, SINK, Figures, reaches
from .measure import CORE, HOT, allowed, port, queue, rates
from .pictures import Series

NO_FECN = {"host.rate_limiters": None, "switch.queue_managers": None}
LONG_LOOP = {"topology.star.delay": "75 us", "switch.latency": "50 us"}
LONGER_LOOP = {"topology.star.delay": "100 us", "switch.latency": "50 us"}
REPORTED = {"none": (556, 1780.78, 16634, 59.11, 2.49), "FECN": (6970, 127.63, 16630, 59.16, 2.35)}
"""The slides' transactions per second and mean times (us) of SR1 and SR2, and mean rate of ST (Gb/s)."""
ALSO_REPORTED = {"none": ("2%", "99.9%", 50_008), "FECN": ("99%", "99.9%", 0)}
"""The slides' fairness index, link utilization, and dropped frames."""


def run(context: Context) -> list[Outcome]:
    """All experiments."""
    context.say("TCP with and without FECN")
    outcomes = [*tcp(context)]
    context.say("the symmetric topology")
    outcomes += symmetric(context)
    context.say("a hundred sources, steady and bursty")
    outcomes += [large(context), victim(context), bursty(context)]
    context.say("the hot spot")
    outcomes += [*hot_spots(context)]
    context.say("the first rate, buffers")
    outcomes += [sensitivity(context), buffers(context)]
    context.say("tags by count, two intervals, other controls of the queue")
    outcomes += variants.run(context)
    context.say("other values of open parameters")
    alternatives.run(context)
    return outcomes


def changed(context: Context, file: str, changes: Mapping[str, Any]) -> Scenario:
    """A scenario of the study with changed keys."""
    scenario = context.scenario(file)
    for key, value in changes.items():
        scenario = scenario.with_value(key, value)
    return scenario


def tcp(context: Context) -> Iterator[Outcome]:
    """J1: the slides' two tables, and their fairness index."""
    longer = {"simulation.duration": "1 s"}
    none, fecn = changed(context, "tcp", longer | NO_FECN), changed(context, "tcp", longer)

    def measure(seed: int) -> Figures:
        return figures.tcp(none.run(seed=seed), fecn.run(seed=seed))

    found = context.over_seeds(measure, "J1", "J1-jain")
    means = {name: sum(of[name] for of in found) / len(found) for name in found[0]}
    rows = []
    for name, theirs in REPORTED.items():
        ours = [means[f"{name}_{label}"] for label in LABELS]
        index, link, losses = (means[f"{name}_{what}"] for what in ("jain", "used", "lost"))
        for label, of, others in (
            (name, ours, (f"{index:.0%}", f"{link:.1%}", losses)),
            (f"{name}, as reported", theirs, ALSO_REPORTED[name]),
        ):
            texts = (f"{value:,.{digits}f}" for value, digits in zip(of, (0, 2, 0, 2, 2), strict=True))
            rows.append((label, *texts, *others[:2], f"{others[2]:,.0f}"))
    context.save_table(
        "tcp",
        "FECN with TCP flows",
        ("control", "SR1 /s", "SR1 us", "SR2 /s", "SR2 us", "ST Gb/s", "Jain of ST", "link", "drops"),
        rows,
        note=f"Transactions per second, and their mean time; means of {len(found)} seeds. The source's "
        "Jain's index is of other flows.",
    )
    yield context.judge("J1", found)
    yield context.judge("J1-jain", found)


def draw(context: Context, result: Result, name: str, title: str, *, cover: bool = False) -> str:
    """The three slides of a symmetric or large topology."""
    sink = SINK if "symmetric" in name else CORE
    figure = pictures.three(
        title,
        rates(result),
        port(result, sink),
        queue(result, f"{sink}/0"),
        10 / len(rates(result)),
    )
    return context.save_figure(figure, name, cover=cover)


def symmetric(context: Context) -> list[Outcome]:
    """J2, J3, and J10, which counts the tags of J2."""
    near, far = context.scenario("symmetric"), changed(context, "symmetric", LONG_LOOP)

    def measure(seed: int) -> tuple[Result, Result]:
        return near.run(seed=seed), far.run(seed=seed)

    runs = context.over_seeds(measure, "J2", "J3", "J10")
    found = [figures.symmetric(*pair) | figures.overhead(pair[0]) for pair in runs]
    short = draw(
        context, runs[0][0], "symmetric", "Four sources converge to their share in ten intervals", cover=True
    )
    long = draw(context, runs[0][1], "symmetric-long-delay", "A control loop of 400 us has little effect")
    return [
        context.judge("J2", found, pictures=[short]),
        context.judge("J3", found, pictures=[long]),
        context.judge("J10", found, also=f"{found[0]['tags_share']:.1e} of all bytes sent (seed 1)"),
    ]


def drawn(context: Context, id: str, file: str, title: str) -> tuple[list[Result], str]:
    """Runs of a scenario, one a seed, and the picture of the first."""
    scenario = context.scenario(file)
    runs = context.over_seeds(lambda seed: scenario.run(seed=seed), id)
    return runs, draw(context, runs[0], file, title)


def large(context: Context) -> Outcome:
    """J4."""
    runs, image = drawn(context, "J4", "large", "A hundred sources that start at once")
    found = [figures.large(result) for result in runs]
    longest = max(of["large_longest"] for of in found)
    return context.judge("J4", found, also=f"longest queue {longest:.0f} packets", pictures=[image])


def victim(context: Context) -> Outcome:
    """J5."""
    pause, fecn = changed(context, "victim", NO_FECN), context.scenario("victim")

    def measure(seed: int) -> Figures:
        return figures.victim(pause.run(seed=seed), fecn.run(seed=seed))

    found = context.over_seeds(measure, "J5")
    first = found[0]
    return context.judge(
        "J5",
        found,
        also=f"{first['victim_pauses']:.0f} pauses to {first['victim_fecn_pauses']:.0f} (seed 1)",
    )


def bursty(context: Context) -> Outcome:
    """J6."""
    runs, image = drawn(context, "J6", "bursty", "A hundred bursty sources")
    found = [figures.bursty(result) for result in runs]
    sent = sum(row["frames_sent"] for row in runs[0].rows("flows"))
    longest = max(of["bursty_longest"] for of in found)
    return context.judge(
        "J6",
        found,
        also=f"of {sent:,} frames (seed 1); longest queue {longest:.0f} packets",
        pictures=[image],
    )


def hot_spots(context: Context) -> Iterator[Outcome]:
    """J7 and J8: the hot spot, with short and long delay."""
    for key, name, file, changes, title in (
        ("J7", "hot", "hot-spot", {}, "A link whose rate falls to a tenth, shared by nine flows"),
        ("J8", "hot_far", "hot-spot-long-delay", LONGER_LOOP, "The hot spot with a feedback delay of 500 us"),
    ):
        scenario = changed(context, "hot-spot", changes)

        def measure(
            seed: int, scenario: Scenario = scenario, name: str = name
        ) -> tuple[Result | None, Figures]:
            result = scenario.run(seed=seed)
            return result if seed == 1 else None, figures.hot(result, name)

        runs = context.over_seeds(measure, key)
        [first] = [result for result, _ in runs if result is not None]
        nine = {
            row["flow"]: rates(first)[row["flow"]]
            for row in first.rows("flows")
            if row["destination"] == "h0"
        }
        figure = pictures.hot_spot(
            title, port(first, "h2.0->sw"), port(first, HOT), nine, queue(first, f"{HOT}/0")
        )
        yield context.judge(key, [of for _, of in runs], pictures=[context.save_figure(figure, file)])


def sensitivity(context: Context) -> Outcome:
    """J9."""
    scenarios = {}
    for first in FIRST_RATES:
        changes = {
            "switch.queue_managers": [{"fecn": {"expected_sources": first}}],
            "host.rate_limiters.fecn.initial_share": 1 / first,
            "simulation.duration": "40 ms",
            "flows.stops.stop": None,
            "probes.bin": "100 us",
            **{f"flows.{name}.source": {"constant": {"rate": "5 Gb/s"}} for name in ("stays", "stops")},
        }
        scenarios[first] = changed(context, "symmetric", changes)

    def measure(seed: int) -> dict[int, dict[str, Series]]:
        return {first: allowed(scenario.run(seed=seed)) for first, scenario in scenarios.items()}

    runs = context.over_seeds(measure, "J9")
    times = [{first: reaches(series) - 5 for first, series in of.items()} for of in runs]
    one_of_four = {first: next(iter(series.values())) for first, series in runs[0].items()}
    image = context.save_figure(pictures.sensitivity(one_of_four, times[0]), "sensitivity")
    return context.judge(
        "J9",
        [figures.slope(of) for of in times],
        also=", ".join(f"N0 = {first}: {time:.1f} ms" for first, time in times[0].items()) + " (seed 1)",
        pictures=[image],
    )


def buffers(context: Context) -> Outcome:
    """J11."""
    enough = context.scenario("buffer").run(seed=1)
    tight = changed(context, "buffer", {"switch.buffer.queue": "26.5 kB"}).run(seed=1)
    found = figures.buffers(enough, tight)
    return context.judge("J11", [found], also=f"longest queue {found['room_longest_kb']:.1f} kB")
