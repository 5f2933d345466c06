"""A database cluster under five congestion schemes, in the arrangement of the paper."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from penstock.plots.style import style
from penstock.scenario import Scenario
from penstock.studies.reproduce import Context, Outcome

from .measure import (
    MOST_FRAMES,
    Run,
    connections,
    database_series,
    deviation_us,
    most,
    queue_series,
    response,
    video_lost,
)
from .scenarios import (
    COLOURS,
    MARK_AFTER,
    METHODS,
    SCENARIOS,
    arranged,
    marked,
    path_rates,
    understood,
    with_video,
)

REPORTED = {
    "RED_only": ("54 %", "160 us at the end", "9 to 5 us", "42 %", "106 us"),
    "PAUSE_only": ("38 %", "over 4 ms", "much higher", "16 %", "418 us"),
    "ECN_PAUSE": ("82 %", "-", "about 10 us", "82 %", "131 us"),
    "PRC_only": ("95 %", "-", "about 6 us", "95 %", "46 us"),
    "PRC_ECN": ("93 %", "-", "about 6 us", "93 %", "82 us"),
}
"""The paper's throughput, response time, Ethernet delay, throughput with video, peak deviation of video."""
TARGETS = (0.08, 0.16, 0.32)

ORDER = ("PRC_only", "PRC_ECN", "ECN_PAUSE", "RED_only", "PAUSE_only")
"""From the highest throughput to the lowest."""

Runs = Mapping[str, Run]


def run(context: Context) -> list[Outcome]:
    """All experiments."""
    cluster = context.scenario("cluster")
    plain, video, deviation = {}, {}, {}
    for name in SCENARIOS:
        context.say(name)
        plain[name] = Run.of(arranged(cluster, name))
        talking = arranged(with_video(cluster), name)
        video[name] = Run.of(talking)
        deviation[name] = deviation_us(window(talking).run(seed=1))
    context.say("methods and targets")
    outcomes = [
        throughput(context, plain),
        responses(context, plain),
        *queues(context, cluster, plain),
        *delays(context, cluster, plain),
        talks(context, video, deviation),
        overhead(context, plain["PRC_only"]),
        methods(context, cluster),
    ]
    variants(context, cluster)
    table(context, plain, video, deviation)
    cover = context.save_figure(picture(plain, deviation), "cluster", cover=True)
    outcomes[0] = replace(outcomes[0], pictures=(cover,))
    return outcomes


def window(scenario: Scenario) -> Scenario:
    """The scenario from 44 to 84 ms, as in the paper's chart of video, with frames at hosts logged."""
    probe = {"what": "frames", "which": ["c1..c6", "s1..s4"], "start": "44 ms", "max_rows": MOST_FRAMES}
    return scenario.with_value("probes", [probe]).with_value("simulation.duration", "84 ms")


def each(runs: Runs, what: Callable[[Run], str]) -> str:
    """A sentence with a figure of each scenario."""
    return ", ".join(f"{name} {what(of)}" for name, of in runs.items())


def throughput(context: Context, runs: Runs) -> Outcome:
    """M5."""
    share = {name: of.database / most() for name, of in runs.items()}
    in_order = all(share[one] >= share[other] for one, other in pairwise(ORDER))
    red = runs["RED_only"]
    return context.outcome(
        "M5",
        measured=f"{each(runs, lambda of: f'{of.database / most():.0%}')} of {most() / 1e9:.2f} GB/s; with "
        f"RED {red.silent} of 48 connections silent in the last 20 ms and {red.lost_late} frames lost then; "
        f"lost in all: {each(runs, lambda of: str(of.lost))}",
        passed=in_order
        and share["PRC_only"] >= 0.88
        and 0.7 <= share["ECN_PAUSE"] <= 0.9
        and 0.4 <= share["RED_only"] <= 0.7
        and share["PAUSE_only"] <= 0.55
        and red.silent >= 30
        and red.lost > 500
        and not any(of.lost for name, of in runs.items() if name not in ("RED_only", "PRC_ECN")),
    )


def responses(context: Context, runs: Runs) -> Outcome:
    """M6."""
    return context.outcome(
        "M6",
        measured=f"{each(runs, lambda of: f'{of.response_us:,.0f} us')}; RED in the last 20 ms "
        f"{runs['RED_only'].late_us:.0f} us",
        passed=runs["PAUSE_only"].response_us >= 3 * runs["PRC_only"].response_us
        and runs["RED_only"].late_us <= 300,
    )


def queues(context: Context, cluster: Scenario, runs: Runs) -> Iterator[Outcome]:
    """M7, and the effect of path rate control's target on its queue."""
    others = [of.queue for name, of in runs.items() if not name.startswith("PRC")]
    yield context.outcome(
        "M7",
        measured=f"mean of a port: {each(runs, lambda of: f'{of.queue / 1024:.1f} KiB')}",
        passed=runs["PRC_only"].queue <= 0.5 * min(others),
    )
    lengths = [Run.of(path_rates(cluster, prc={"target_share": share})).queue for share in TARGETS]
    text = ", ".join(
        f"{share:.0%}: {length / 1024:.1f} KiB" for share, length in zip(TARGETS, lengths, strict=True)
    )
    slope = float(np.polyfit(np.log(TARGETS), np.log(lengths), 1)[0])
    yield context.outcome(
        "M7-target",
        measured=f"{text}; grows with the power {slope:.3f} of the target",
        passed=lengths == sorted(lengths) and slope >= 0.5,
    )


def delays(context: Context, cluster: Scenario, runs: Runs) -> Iterator[Outcome]:
    """M8, M9 and M9b."""
    links = cluster.to_dict()["topology"]["explicit"]["links"]
    slow = next(n for n, link in enumerate(links) if "s3" in link["between"])
    fast = Run.of(path_rates(cluster.with_value(f"topology.explicit.links.{slow}.rate", "10 Gb/s")))
    took = {name: of.ethernet_us for name, of in runs.items()}
    yield context.outcome(
        "M8",
        measured=f"{each(runs, lambda of: f'{of.ethernet_us:.1f} us')}; with 10 Gb/s to server 3 "
        f"{fast.ethernet_us:.1f} us",
        passed=4 <= took["PRC_only"] <= 9
        and 1.2 <= took["ECN_PAUSE"] / took["PRC_only"] <= 3
        and took["PAUSE_only"] >= 3 * took["PRC_only"]
        and 2.5 <= fast.ethernet_us <= 5,
    )
    yield context.outcome(
        "M9",
        measured=each(runs, lambda of: f"{of.ipc_us:.0f} us"),
        passed=30 <= runs["PRC_only"].ipc_us <= 75 and runs["PAUSE_only"].ipc_us > runs["RED_only"].ipc_us,
    )
    alone = context.scenario("unloaded").run(seed=1)
    response_us = response(connections(alone, ("ipc",)))
    ethernet_us = (response_us - 5.2) / 2
    yield context.outcome(
        "M9b",
        measured=f"{ethernet_us:.2f} us through the fabric, {response_us:.1f} us an exchange",
        passed=0.7 <= ethernet_us <= 1.3 and 5 <= response_us <= 9,
    )


def talks(context: Context, runs: Runs, deviation: Mapping[str, float]) -> Outcome:
    """M10."""
    share = {name: of.database / most(video=True) for name, of in runs.items()}
    in_order = all(share[one] >= share[other] for one, other in pairwise(ORDER))
    far = ", ".join(f"{name} {us:.0f} us" for name, us in deviation.items())
    missed = {name: video_lost(of.result) for name, of in runs.items()}
    return context.outcome(
        "M10",
        measured=f"{each(runs, lambda of: f'{of.database / most(video=True):.0%}')} of "
        f"{most(video=True) / 1e9:.2f} GB/s; furthest from the mean {far}; video lost "
        f"{max(missed.values())}",
        passed=in_order
        and share["PRC_only"] >= 0.88
        and share["PAUSE_only"] <= 0.3
        and not any(lost for name, lost in missed.items() if name != "RED_only")
        and deviation["PRC_only"] <= 100
        and deviation["PAUSE_only"] >= 3 * deviation["PRC_only"]
        and deviation["PRC_only"]
        < deviation["PRC_ECN"]
        < min(deviation["RED_only"], deviation["PAUSE_only"], deviation["ECN_PAUSE"]),
    )


def overhead(context: Context, plain: Run) -> Outcome:
    """M11."""
    return context.outcome(
        "M11",
        measured=f"{plain.overhead:.1%} of the bytes that hosts receive",
        passed=plain.overhead <= 0.02,
    )


VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "PRC_only": {},
    "PRC_only, 80 us": {"prc": {"interval": "80 us"}},
    "PRC_only, database alone": {"priorities": [2]},
    "PRC_ECN": {"mark_after": MARK_AFTER},
    "PRC_ECN, 80 us": {"mark_after": MARK_AFTER, "prc": {"interval": "80 us"}},
}
"""Open parameters of path rate control: the interval of levels, and the frames that bypass limiters."""


def variants(context: Context, cluster: Scenario) -> None:
    """A table of alternative choices."""
    rows = []
    for name, limiters in VARIANTS.items():
        ends = understood(cluster) if "mark_after" in limiters else cluster
        of = Run.of(path_rates(ends, **limiters))
        video = window(path_rates(with_video(ends), **limiters)).run(seed=1)
        rows.append(
            (
                name,
                f"{of.overhead:.1%}",
                f"{of.database / most():.0%}",
                f"{of.queue / 1024:.1f}",
                f"{of.ethernet_us:.1f}",
                f"{deviation_us(video):.0f}",
                str(of.lost),
            )
        )
    context.save_table(
        "variants",
        "Path rate control: how often levels come, and what passes limiters",
        ("", "messages", "database", "queue (KiB)", "Ethernet delay (us)", "video, off by (us)", "lost"),
        rows,
        note="Video off by: in a run of its own, with video, from 44 to 84 ms.",
    )


def methods(context: Context, cluster: Scenario) -> Outcome:
    """M12."""
    talking = with_video(cluster)
    runs = {"1": Run.of(marked(talking))}
    for name, keys in METHODS.items():
        point = {"messages": True} if name == "2" else {}
        runs[name] = Run.of(path_rates(talking, point=point, prc=dict(keys)))
    rows = [
        (
            name,
            f"{of.database / most(video=True):.0%}",
            f"{of.queue / 1024:.1f}",
            f"{queue_series(of.result)[1][10:].std():.1f}",
            f"{of.ethernet_us:.1f}",
            str(of.lost),
            str(of.silent),
            f"{of.overhead:.1%}",
        )
        for name, of in runs.items()
    ]
    context.save_table(
        "methods",
        "The four methods, with video",
        (
            "method",
            "database",
            "queue (KiB)",
            "swing (KiB)",
            "Ethernet delay (us)",
            "lost",
            "silent",
            "messages",
        ),
        rows,
        note="1: frames are marked, and end points echo the marks. 2: switches send messages. 3: round trips "
        "of probes. 4: receivers send messages, which switches write into. Swing: standard deviation of "
        "the longest queue in bins of 1 ms.",
    )
    best = runs["4"]
    return context.outcome(
        "M12",
        measured=", ".join(
            f"{name}: {of.database / most(video=True):.0%}, {of.lost} lost" for name, of in runs.items()
        ),
        passed=best.lost == 0
        and all(of.lost > 0 for name, of in runs.items() if name != "4")
        and best.database >= max(of.database for of in runs.values()),
    )


def table(context: Context, plain: Runs, video: Runs, deviation: Mapping[str, float]) -> None:
    """Our values beside those of the paper."""
    rows = []
    for name in SCENARIOS:
        one, talking, reported = plain[name], video[name], REPORTED[name]
        ours = (
            f"{one.database / most():.0%}",
            f"{one.response_us:,.0f} us",
            f"{one.ethernet_us:.1f} us",
            f"{talking.database / most(video=True):.0%}",
            f"{deviation[name]:.0f} us",
        )
        rows += [(name, *ours), (f"{name}, as reported", *reported)]
    context.save_table(
        "five",
        "The five scenarios",
        ("", "database", "response", "Ethernet delay", "database, with video", "furthest from the mean"),
        rows,
    )


def picture(runs: Runs, deviation: Mapping[str, float]) -> Figure:
    """The paper's charts: throughput, queues and response times, delays, deviation."""
    bars: tuple[tuple[str, Callable[[str], float]], ...] = (
        ("database, response (us)", lambda name: runs[name].response_us),
        ("servers, Ethernet delay (us)", lambda name: runs[name].ethernet_us),
        ("servers, response (us)", lambda name: runs[name].ipc_us),
        ("video, off its mean (us)", lambda name: deviation[name]),
    )
    with style():
        figure = Figure(figsize=(9.6, 5.6), layout="constrained")
        axes = figure.subplots(2, 3)
        for name, colour in zip(SCENARIOS, COLOURS, strict=True):
            axes[0, 0].plot(*database_series(runs[name].result), color=colour, label=name)
            axes[0, 1].plot(*queue_series(runs[name].result), color=colour)
        axes[0, 0].axhline(most() / 1e9, color="black", linewidth=0.8, linestyle=":")
        axes[0, 0].set_ylim(bottom=0)
        axes[0, 0].set_title("database (GB/s)")
        axes[0, 1].set_title("longest queue (KiB)")
        for panel in axes[0, :2]:
            panel.set_xlabel("time (ms)")
        places = np.arange(len(SCENARIOS))[::-1]
        for panel, (title, value) in zip(axes.flat[2:], bars, strict=True):
            drawn = panel.barh(places, [value(name) for name in SCENARIOS], color=COLOURS)
            panel.bar_label(drawn, fmt="{:,.0f}", padding=3)
            panel.margins(x=0.2)
            panel.set_yticks(places, SCENARIOS)
            panel.set_title(title)
        figure.suptitle("A database cluster whose narrow links are overloaded")
    return figure
