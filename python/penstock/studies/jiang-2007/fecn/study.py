"""FECN in the slides' topologies: TCP, symmetric, large, bursty, hot spot, and its overhead."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from penstock.result import Result
from penstock.scenario import Scenario
from penstock.studies.reproduce import Context, Outcome

from . import alternatives, pictures
from .measure import (
    CORE,
    HOT,
    Array,
    active,
    allowed,
    jain,
    longest,
    lost,
    mean,
    pauses,
    port,
    queue,
    rates,
    settles,
    together,
)

SINK = "sw.4->h4"
NO_FECN = {"host.rate_limiters": None, "switch.queue_managers": None}
FIRST_RATES = (20, 40, 80, 100)
REPORTED = {"none": (556, 1780.78, 16634, 59.11, 2.49), "FECN": (6970, 127.63, 16630, 59.16, 2.35)}
"""The slides' transactions per second and mean times (us) of SR1 and SR2, and mean rate of ST (Gb/s)."""
ALSO_REPORTED = {"none": ("2%", "99.9%", 50_008), "FECN": ("99%", "99.9%", 0)}
"""The slides' fairness index, link utilization, and dropped frames."""


def run(context: Context) -> list[Outcome]:
    """All experiments."""
    context.say("TCP with and without FECN")
    outcomes = [*tcp(context)]
    context.say("the symmetric topology")
    near = context.scenario("symmetric").run()
    outcomes += [symmetric(context, near), long_delay(context, near)]
    context.say("a hundred sources, steady and bursty")
    outcomes += [large(context), victim(context), bursty(context)]
    context.say("the hot spot")
    outcomes += [hot_spot(context), far_hot_spot(context)]
    context.say("the first rate, tags, buffers")
    outcomes += [sensitivity(context), overhead(context, near), buffers(context)]
    context.say("other values of what the slides leave open")
    alternatives.run(context)
    return [explained(context, outcome) for outcome in outcomes]


def explained(context: Context, outcome: Outcome) -> Outcome:
    """The outcome, with the reason why the slides' number is not reproduced."""
    why = context.study.experiment(outcome.id).not_met
    return outcome if outcome.passed else replace(outcome, note=why)


def changed(context: Context, file: str, changes: Mapping[str, Any]) -> Scenario:
    """A scenario of the study with changed keys."""
    scenario = context.scenario(file)
    for key, value in changes.items():
        scenario = scenario.with_value(key, value)
    return scenario


def tcp(context: Context) -> Iterator[Outcome]:
    """J1: the slides' two tables, and their fairness index."""
    longer = {"simulation.duration": "1 s"}
    runs = {
        "none": changed(context, "tcp", longer | NO_FECN).run(),
        "FECN": changed(context, "tcp", longer).run(),
    }
    rows, indices, drops, deviation = [], {}, {}, 0.0
    for name, result in runs.items():
        flows = {row["flow"]: row["throughput_bps"] / 1e9 for row in result.rows("flows")}
        connections = [flows[f"ST{host}-{n}"] for host in range(1, 5) for n in range(1, 11)]
        indices[name], drops[name] = jain(connections), lost(result)
        used = next(row["utilisation"] for row in result.rows("ports") if row["port"] == "left.7->right")
        figures = (*connection(result, "SR1"), *connection(result, "SR2"), sum(connections) / 4)
        for label, of, index, link, losses in (
            (name, figures, f"{indices[name]:.0%}", f"{used:.1%}", drops[name]),
            (f"{name}, as reported", REPORTED[name], *ALSO_REPORTED[name]),
        ):
            texts = (f"{value:,.{digits}f}" for value, digits in zip(of, (0, 2, 0, 2, 2), strict=True))
            rows.append((label, *texts, index, link, f"{losses:,}"))
        deviation = max(
            deviation, *(abs(ours / theirs - 1) for ours, theirs in zip(figures, REPORTED[name], strict=True))
        )
    context.save_table(
        "tcp",
        "FECN with TCP flows",
        ("control", "SR1 /s", "SR1 us", "SR2 /s", "SR2 us", "ST Gb/s", "Jain of ST", "link", "drops"),
        rows,
        note="Transactions a second, and their mean time; the source has Jain's index over other flows.",
    )
    yield context.outcome(
        "J1",
        measured=f"times and rates within {deviation:.1%}, drops {drops['none']:,} to {drops['FECN']}, "
        f"Jain with FECN {indices['FECN']:.2f}",
        passed=deviation <= 0.1
        and drops["none"] >= 10_000
        and drops["FECN"] == 0
        and indices["FECN"] >= 0.95,
    )
    yield context.outcome("J1-jain", measured=f"{indices['none']:.2f}", passed=indices["none"] <= 0.3)


def connection(result: Result, flow: str) -> tuple[float, float]:
    """Transactions of a flow in one second, and their mean time in us."""
    row = next(row for row in result.rows("connections") if row["flow"] == flow)
    return row["exchanges"], row["exchange_mean_ns"] / 1e3


def judged(result: Result) -> tuple[str, bool]:
    """The symmetric topology, by the criterion of J2 without the settling time."""
    flows = rates(result)
    before = [mean(series, 20, 80) for series in flows.values()]
    spread = max(before) / min(before) - 1
    late = [mean(series, 90, 100) for series in together(flows, "stays").values()]
    used = mean(port(result, SINK), 20, 80) / 10
    packets = longest(result, SINK)
    text = (
        f"sources within {spread:.2%}, then {min(late):.2f} and {max(late):.2f} Gb/s, longest queue "
        f"{packets:.0f} packets, link {used:.1%}, {lost(result)} lost"
    )
    passed = (
        spread <= 0.01
        and max(abs(rate / 5 - 1) for rate in late) <= 0.03
        and packets <= 100
        and used >= 0.98
        and not lost(result)
    )
    return text, passed


def reaches(flows: Mapping[str, tuple[Array, Array]]) -> float:
    """Time in ms at which the last source reaches 95 % of its share."""
    return max(float(times[(values >= 0.95 * 2.5)][0]) for times, values in flows.values())


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


def symmetric(context: Context, result: Result) -> Outcome:
    """J2."""
    text, passed = judged(result)
    settled = [settles(series, 2.5, 0.03, 5, 80) for series in rates(result).values()]
    image = draw(context, result, "symmetric", "Four sources find their share in ten intervals", cover=True)
    return context.outcome(
        "J2",
        measured=f"95 % of the share at {reaches(rates(result)):.1f} ms, 3 % from {max(settled):.1f} ms on; "
        f"{text}",
        passed=passed and reaches(rates(result)) <= 15,
        pictures=[image],
    )


def long_delay(context: Context, near: Result) -> Outcome:
    """J3."""
    far = changed(context, "symmetric", {"topology.star.delay": "75 us", "switch.latency": "50 us"}).run()
    text, passed = judged(far)
    image = draw(context, far, "symmetric-long-delay", "A loop of 400 us changes little")
    took, takes = reaches(rates(near)) - 5, reaches(rates(far)) - 5
    return context.outcome(
        "J3",
        measured=f"95 % of the share after {takes:.1f} ms instead of {took:.1f} ms; {text}",
        passed=passed and 0.5 * took <= takes <= 1.5 * took,
        pictures=[image],
    )


def large(context: Context) -> Outcome:
    """J4."""
    result = context.scenario("large").run()
    flows = rates(result)
    index = jain([mean(series, 18, 22) for series in flows.values()])
    used = mean(port(result, CORE), 15, 100) / 10
    image = draw(context, result, "large", "A hundred sources at once")
    return context.outcome(
        "J4",
        measured=f"Jain {index:.4f} at 20 ms, link {used:.1%}, longest queue {longest(result, CORE):.0f} "
        f"packets, {lost(result)} lost, {pauses(result)[0]} pauses",
        passed=index >= 0.99 and used >= 0.9 and pauses(result)[0] == 0 and not lost(result),
        pictures=[image],
    )


def victim(context: Context) -> Outcome:
    """J5."""
    with_fecn, alone = context.scenario("victim").run(), changed(context, "victim", NO_FECN).run()

    def share(result: Result) -> float:
        row = next(row for row in result.rows("flows") if row["flow"] == "S1")
        return float(row["throughput_bps"] / 9e9)

    return context.outcome(
        "J5",
        measured=f"S1 loses {1 - share(alone):.0%} with PAUSE, {1 - share(with_fecn):.1%} with FECN "
        f"({pauses(alone)[0]:,} pauses to {pauses(with_fecn)[0]})",
        passed=share(alone) <= 0.8 and share(with_fecn) > 0.95,
    )


def bursty(context: Context) -> Outcome:
    """J6."""
    result = context.scenario("bursty").run()
    flows = rates(result)
    indices = [jain(active(flows, begin, begin + 3)) for begin in range(30, 197, 3)]
    used = mean(port(result, CORE), 20, 200) / 10
    image = draw(context, result, "bursty", "A hundred sources that come and go")
    return context.outcome(
        "J6",
        measured=f"Jain of those active for 3 ms {min(indices):.3f} and more, "
        f"link {used:.1%}, longest queue {longest(result, CORE):.0f} packets, "
        f"{lost(result)} of {sum(row['frames_sent'] for row in result.rows('flows')):,} lost",
        passed=sum(indices) / len(indices) >= 0.95 and used >= 0.9 and not lost(result),
        pictures=[image],
    )


def spot(context: Context, result: Result, name: str, title: str) -> tuple[str, bool, str]:
    """The hot spot: measurements, verdict on fairness and stability, and picture."""
    nine = {
        row["flow"]: rates(result)[row["flow"]] for row in result.rows("flows") if row["destination"] == "h0"
    }
    each = [mean(series, 30, 90) for series in nine.values()]
    free = mean(port(result, "h2.0->sw"), 30, 90)
    used = mean(port(result, HOT), 30, 90)
    figure = pictures.hot_spot(
        title, port(result, "h2.0->sw"), port(result, HOT), nine, queue(result, f"{HOT}/0")
    )
    times, lasted = pauses(result)
    text = (
        f"nine flows with {min(each):.4f} to {max(each):.4f} Gb/s, ST2 {free:.2f} Gb/s, CS to ST0 {used:.3f} "
        f"Gb/s, {times} pauses, {lasted:.2f} ms in all, {lost(result)} lost"
    )
    aim = 8 * 0.9444 * 1520 / 1500 + 1 / 9
    fair = max(abs(value * 9 - 1) for value in each) <= 0.05 and abs(free / aim - 1) <= 0.03
    return text, fair and not lost(result), context.save_figure(figure, name)


def hot_spot(context: Context) -> Outcome:
    """J7."""
    result = context.scenario("hot-spot").run()
    text, fair, image = spot(
        context, result, "hot-spot", "A link that falls to a tenth, and nine flows that share it"
    )
    times, lasted = pauses(result)
    return context.outcome("J7", measured=text, passed=fair and times <= 2 and lasted < 1, pictures=[image])


def far_hot_spot(context: Context) -> Outcome:
    """J8."""
    far = changed(context, "hot-spot", {"topology.star.delay": "100 us", "switch.latency": "50 us"}).run()
    text, fair, image = spot(context, far, "hot-spot-long-delay", "The same with a feedback of 500 us")
    times, lasted = pauses(far)
    return context.outcome("J8", measured=text, passed=fair and times <= 5 and lasted <= 9, pictures=[image])


def sensitivity(context: Context) -> Outcome:
    """J9."""
    rising, times = {}, {}
    for first in FIRST_RATES:
        changes = {
            "switch.queue_managers": [{"fecn": {"expected_sources": first}}],
            "host.rate_limiters.fecn.initial_share": 1 / first,
            "simulation.duration": "40 ms",
            "flows.stops.stop": None,
            "probes.bin": "100 us",
            **{f"flows.{name}.source": {"constant": {"rate": "5 Gb/s"}} for name in ("stays", "stops")},
        }
        result = changed(context, "symmetric", changes).run()
        rising[first] = next(iter(allowed(result).values()))
        times[first] = reaches(allowed(result)) - 5
    slope = (times[100] - times[20]) / math.log2(5)
    image = context.save_figure(pictures.sensitivity(rising, times), "sensitivity")
    return context.outcome(
        "J9",
        measured=", ".join(f"N0 = {first}: {time:.1f} ms" for first, time in times.items())
        + f"; {slope:.2f} intervals a doubling",
        passed=abs(slope / 2 - 1) <= 0.3,
        pictures=[image],
    )


def overhead(context: Context, result: Result) -> Outcome:
    """J10."""
    rows = {row["limiter"]: row for row in result.rows("rate_limiters")}
    due = {flow: 95 if flow.startswith("stays") else 75 for flow in rows}
    off = {flow: row["tags_sent"] - due[flow] for flow, row in rows.items()}
    back = {flow: row["tags_returned"] - row["tags_sent"] for flow, row in rows.items()}
    tags = sum(row["tags_sent"] for row in rows.values())
    share = tags * 12 / sum(row["bytes_sent"] for row in rows.values())
    return context.outcome(
        "J10",
        measured=f"{tags} tags forward for {sum(due.values())}, off by {min(off.values())} to "
        f"{max(off.values())} a flow; {sum(back.values())} fewer came back; {share:.1e} of all bytes sent",
        passed=all(abs(value) <= 1 for value in [*off.values(), *back.values()]),
    )


def buffers(context: Context) -> Outcome:
    """J11."""
    enough = context.scenario("buffer").run()
    tight = changed(context, "buffer", {"switch.buffer.queue": "26.5 kB"}).run()
    used = next(row["utilisation"] for row in enough.rows("ports") if row["port"] == "sw.2->h2")
    return context.outcome(
        "J11",
        measured=f"room for 3 RTT: {lost(enough)} lost, link {used:.2%}, longest queue "
        f"{longest(enough, 'sw.2->h2') * 1.5:.1f} kB; for 2 RTT and a packet: {lost(tight)} lost",
        passed=not lost(enough) and used >= 0.999 and lost(tight) > 0,
    )
