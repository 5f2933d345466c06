"""A database cluster under the five congestion schemes of the paper."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from statistics import fmean
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from penstock.plots.style import style
from penstock.scenario import Scenario
from penstock.studies.reproduce import Context, Outcome

from . import figures
from .figures import Figures
from .measure import (
    MOST_FRAMES,
    Run,
    database_series,
    deviation_us,
    late_us,
    most,
    queue_series,
    video_lost,
)
from .scenarios import (
    COLORS,
    MARK_AFTER,
    METHODS,
    SCENARIOS,
    arranged,
    at_ten_gigabit,
    marked,
    one_priority,
    path_rates,
    with_ecn,
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

DATABASE = ("M5", "M6", "M7", "M7-longest", "M7-target", "M8", "M9", "M11", "M13")
"""Experiments without video."""
VIDEO = ("M10", "M12")
PROBES = {"method": "round_trip", "interval": "100 us"}
"""Method 3 with fewer probes than in the comparison of methods."""

Runs = Mapping[str, Run]


def run(context: Context) -> list[Outcome]:
    """All experiments."""
    cluster = context.scenario("cluster")
    context.say("the five scenarios, a faster server, and other targets")
    plain = context.over_seeds(lambda seed: without_video(cluster, seed), *DATABASE)
    context.say("the five scenarios with video, and the four methods")
    video = context.over_seeds(lambda seed: beside_video(cluster, seed), *VIDEO)
    alone = context.scenario("unloaded")
    shortest = context.over_seeds(lambda seed: figures.alone(alone.run(seed=seed)), "M9b", "M9b-exchange")
    found = [one for one, _ in plain]
    talking = [one for one, _ in video]
    outcomes = [
        *(context.judge(one, found) for one in DATABASE),
        *(context.judge(one, talking) for one in VIDEO),
        *(context.judge(one, shortest) for one in ("M9b", "M9b-exchange")),
    ]
    probe = {"what": "frames", "which": ["h0"], "max_rows": 200_000}
    stalled = context.scenario("stalled").with_value("probes", [probe])
    stalls = context.over_seeds(lambda seed: figures.stalled(stalled.run(seed=seed)), "M14")
    outcomes.append(context.judge("M14", stalls))
    context.say("other intervals of path rate control, and processors of hosts")
    variants(context, cluster)
    processors(context, cluster)
    means = averages(found) | averages(talking)
    tables(context, means, len(found))
    cover = context.save_figure(picture(plain[0][1], means), "cluster", cover=True)
    outcomes[0] = replace(outcomes[0], pictures=(cover,))
    return outcomes


def averages(found: list[Figures]) -> Figures:
    """The means over seeds."""
    return {name: fmean(one[name] for one in found) for name in found[0]}


def without_video(cluster: Scenario, seed: int) -> tuple[Figures, Runs]:
    """Figures 5 to 9, with one seed; the runs of seed 1 are returned too, for the picture."""
    plain = {name: Run.of(arranged(cluster, name), seed=seed, late=name == "RED_only") for name in SCENARIOS}
    fast = Run.of(path_rates(at_ten_gigabit(cluster)), seed=seed)
    probed = Run.of(path_rates(one_priority(cluster), prc=PROBES), seed=seed)
    lengths = {
        share: Run.of(path_rates(cluster, prc={"target_share": share}), seed=seed).queue for share in TARGETS
    }
    found = {
        **figures.database(plain, most()),
        **figures.queues(plain),
        **figures.targets(lengths),
        **{f"target_{share:.0%}_kib": length / figures.KIB for share, length in lengths.items()},
        **figures.messages(plain, fast),
        "probed_share": probed.database / most(),
        "probed_lost": probed.lost,
        "probed_overhead": probed.overhead,
    }
    return found, plain if seed == 1 else {}


def beside_video(cluster: Scenario, seed: int) -> tuple[Figures, Runs]:
    """Figure 10 and the four methods, with one seed."""
    talking = with_video(cluster)
    runs, deviation = {}, {}
    for name in SCENARIOS:
        scenario = arranged(talking, name)
        runs[name] = Run.of(scenario, seed=seed)
        deviation[name] = deviation_us(window(scenario).run(seed=seed))
    share = {name: of.database / most(video=True) for name, of in runs.items()}
    missed = {name: video_lost(of.result) for name, of in runs.items()}
    ways = {"1": Run.of(marked(talking), seed=seed)}
    for name, keys in METHODS.items():
        point = {"messages": True} if name == "2" else {}
        ways[name] = Run.of(path_rates(talking, point=point, prc=dict(keys)), seed=seed, late=True)
    pairs = {name: (of.database, of.lost) for name, of in ways.items()}
    found = {
        **figures.video(share, missed, deviation),
        **figures.methods(pairs["4"], [pairs[name] for name in ("1", "2", "3")], most(video=True)),
    }
    for name, of in ways.items():
        found |= {
            f"method_{name}_share": of.database / most(video=True),
            f"method_{name}_queue_kib": of.queue / figures.KIB,
            f"method_{name}_swing_kib": float(queue_series(of.result)[1][10:].std()),
            f"method_{name}_ethernet_us": of.ethernet_us,
            f"method_{name}_losses": of.lost,
            f"method_{name}_silent": of.silent,
            f"method_{name}_overhead": of.overhead,
        }
    return found, {}


def window(scenario: Scenario) -> Scenario:
    """The scenario from 44 to 84 ms, as in the paper's chart of video, with frames at hosts logged."""
    probe = {"what": "frames", "which": ["c1..c6", "s1..s4"], "start": "44 ms", "max_rows": MOST_FRAMES}
    return scenario.with_value("probes", [probe]).with_value("simulation.duration", "84 ms")


VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "PRC_only": {},
    "PRC_only, 80 us": {"prc": {"interval": "80 us"}},
    "PRC_only, limits only the database": {"priorities": [2]},
    "PRC_ECN": {"mark_after": MARK_AFTER},
    "PRC_ECN, 80 us": {"mark_after": MARK_AFTER, "prc": {"interval": "80 us"}},
}
"""Open parameters of path rate control: the interval of levels, and the frames that bypass limiters."""


def variants(context: Context, cluster: Scenario) -> None:
    """Table of alternative choices of path rate control."""
    rows = []
    for name, limiters in VARIANTS.items():
        ends = with_ecn(cluster) if "mark_after" in limiters else cluster
        talking = window(path_rates(with_video(ends), **limiters))
        plain = path_rates(ends, **limiters)

        def measure(seed: int, plain: Scenario = plain, talking: Scenario = talking) -> Figures:
            of = Run.of(plain, seed=seed)
            return {
                "overhead": of.overhead,
                "share": of.database / most(),
                "queue": of.queue / figures.KIB,
                "ethernet": of.ethernet_us,
                "deviation": deviation_us(talking.run(seed=seed)),
                "lost": of.lost,
            }

        of = averages(context.over_seeds(measure, "M11"))
        rows.append(
            (
                name,
                f"{of['overhead']:.1%}",
                f"{of['share']:.0%}",
                f"{of['queue']:.1f}",
                f"{of['ethernet']:.1f}",
                f"{of['deviation']:.0f}",
                f"{of['lost']:.1f}",
            )
        )
    context.save_table(
        "variants",
        "Path rate control: interval, and traffic that passes rate limiters",
        ("", "messages", "database", "queue (KiB)", "Ethernet delay (us)", "video, deviation (us)", "lost"),
        rows,
        note=f"Means of {len(context.seeds('M11'))} seeds. The deviation of video is from a separate run "
        "with video, from 44 to 84 ms.",
    )


RECEIVE: Mapping[str, Mapping[str, Any]] = {
    "no processing time": {},
    "1 us per frame": {"time_per_frame": "1 us"},
    "1 us per frame, interrupts": {
        "time_per_frame": "1 us",
        "interrupt_delay": "30 us",
        "interrupt_frames": 32,
    },
}
"""Processing of received frames at all hosts."""


def processors(context: Context, cluster: Scenario) -> None:
    """Table of the delay of video at the application, behind the processors of the hosts."""
    rows = []
    for name, keys in RECEIVE.items():
        talking = with_video(cluster)
        if keys:
            talking = talking.with_value("host.receive", keys)
        scenarios = {
            one: arranged(talking, one)
            .with_value("simulation.warmup", "44 ms")
            .with_value("simulation.duration", "84 ms")
            for one in SCENARIOS
        }

        def measure(seed: int, scenarios: Mapping[str, Scenario] = scenarios) -> Figures:
            return {one: late_us(scenario.run(seed=seed)) for one, scenario in scenarios.items()}

        of = averages(context.over_seeds(measure, "M10"))
        rows.append((name, *(f"{of[one]:.0f}" for one in SCENARIOS)))
    context.save_table(
        "processors",
        "Video at the application: largest delay above the mean (us)",
        ("hosts", *SCENARIOS),
        rows,
        note=f"Means of {len(context.seeds('M10'))} seeds, from 44 to 84 ms. A delay ends when the processor "
        "of the receiver has processed the frame. Interrupts: 30 us after a frame, or after 32 frames.",
    )


def tables(context: Context, means: Figures, seeds: int) -> None:
    """Tables of the four methods, and of our values compared with those of the paper."""
    rows = [
        (
            name,
            f"{means[f'method_{name}_share']:.0%}",
            f"{means[f'method_{name}_queue_kib']:.1f}",
            f"{means[f'method_{name}_swing_kib']:.1f}",
            f"{means[f'method_{name}_ethernet_us']:.1f}",
            f"{means[f'method_{name}_losses']:.1f}",
            f"{means[f'method_{name}_silent']:.1f}",
            f"{means[f'method_{name}_overhead']:.1%}",
        )
        for name in ("1", *METHODS)
    ]
    columns = "method, database, queue (KiB), variation (KiB), Ethernet delay (us), lost, idle, messages"
    context.save_table(
        "methods",
        "The four methods, with video",
        columns.split(", "),
        rows,
        note=f"Means of {seeds} seeds. 1: frames are marked, and end points echo the marks. 2: switches send "
        "messages. 3: round trips of probes. 4: receivers send messages, and switches write their levels "
        "into them. Variation: standard deviation of the longest queue in bins of 1 ms. Idle: connections "
        "without an exchange in the last 20 ms.",
    )
    five: list[tuple[str, ...]] = []
    for name in SCENARIOS:
        ours = (
            f"{means[f'share_{name}']:.0%}",
            f"{means[f'response_{name}_us']:,.0f} us",
            f"{means[f'queue_{name}_kib']:.1f}",
            f"{means[f'longest_{name}_kib']:.0f}",
            f"{means[f'ethernet_{name}_us']:.1f} us",
            f"{means[f'ipc_{name}_us']:.0f} us",
            f"{means[f'video_share_{name}']:.0%}",
            f"{means[f'video_{name}_us']:.0f} us",
        )
        share, response, delay, talking, deviation = REPORTED[name]
        theirs = (share, response, "", "", delay, "", talking, deviation)
        five += [(name, *ours), (f"{name}, as reported", *theirs)]
    columns = (
        "; database; response; queue (KiB); longest (KiB); Ethernet delay; response between servers; "
        "database, with video; deviation of video"
    )
    context.save_table(
        "five",
        "The five scenarios",
        columns.split("; "),
        five,
        note=f"Means of {seeds} seeds. Queue: mean of 18 switch ports; longest: longest of these queues, in "
        "bins of 1 ms.",
    )


def picture(runs: Runs, means: Figures) -> Figure:
    """The paper's charts: throughput and queues of seed 1; means of response times, delays and deviation."""
    bars: tuple[tuple[str, Callable[[str], float]], ...] = (
        ("database, response (us)", lambda name: means[f"response_{name}_us"]),
        ("servers, Ethernet delay (us)", lambda name: means[f"ethernet_{name}_us"]),
        ("servers, response (us)", lambda name: means[f"ipc_{name}_us"]),
        ("video, deviation (us)", lambda name: means[f"video_{name}_us"]),
    )
    with style():
        figure = Figure(figsize=(9.6, 5.6), layout="constrained")
        axes = figure.subplots(2, 3)
        for name, color in zip(SCENARIOS, COLORS, strict=True):
            axes[0, 0].plot(*database_series(runs[name].result), color=color, label=name)
            axes[0, 1].plot(*queue_series(runs[name].result), color=color)
        axes[0, 0].axhline(most() / 1e9, color="black", linewidth=0.8, linestyle=":")
        axes[0, 0].set_ylim(bottom=0)
        axes[0, 0].set_title("database (GB/s)")
        axes[0, 1].set_title("longest queue (KiB)")
        for panel in axes[0, :2]:
            panel.set_xlabel("time (ms)")
        places = np.arange(len(SCENARIOS))[::-1]
        for panel, (title, value) in zip(axes.flat[2:], bars, strict=True):
            drawn = panel.barh(places, [value(name) for name in SCENARIOS], color=COLORS)
            panel.bar_label(drawn, fmt="{:,.0f}", padding=3)
            panel.margins(x=0.2)
            panel.set_yticks(places, SCENARIOS)
            panel.set_title(title)
        figure.suptitle("A database cluster with overloaded links under five congestion schemes")
    return figure
