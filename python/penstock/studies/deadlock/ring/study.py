"""A ring of four switches: clockwise routes deadlock, up-down routes cannot."""

from __future__ import annotations

import math
from itertools import pairwise

from matplotlib.figure import Figure

from penstock import plots
from penstock.analysis import forensics
from penstock.plots.style import INK, Label, label_right, style
from penstock.result import Result
from penstock.scenario import Scenario
from penstock.studies.reproduce import Context, Outcome

LOADS = (4.0, 4.8, 5.1, 6.0, 8.0, 9.5)
"""Offered load per flow in Gb/s. Two flows share each link of the ring, which carries 9.87 Gb/s of frames."""
SHARED_GBPS = 10.0 * 1522 / 1542 / 2
CLOCKWISE, UP_DOWN = "#D55E00", "#0072B2"
WATCHDOG = '\n[watchdog]\ndetection_time = "100 us"\nrestoration_time = "100 us"\naction = "drop"\n'


def run(context: Context) -> list[Outcome]:
    """All experiments."""
    clockwise, up_down = context.scenario("clockwise"), context.scenario("up-down")
    context.say("clockwise and up-down routes at 6 Gb/s")
    stuck, free = clockwise.run(), up_down.run()
    circle = context.save_figure(plots.deadlock(stuck), "circle")
    over_time = context.save_figure(throughput(stuck, free), "throughput", cover=True)
    outcomes = [warning(context, stuck, free), clockwise_deadlock(context, stuck, [over_time, circle])]
    context.say("other loads")
    by_load = {load: (with_load(clockwise, load).run(), with_load(up_down, load).run()) for load in LOADS}
    outcomes += [no_deadlock(context, free, by_load), loads(context, by_load)]
    context.say("PFC watchdog")
    return [*outcomes, watchdog(context, clockwise)]


def with_load(scenario: Scenario, gbps: float) -> Scenario:
    """The scenario with a constant rate of `gbps` for all flows."""
    for flow in scenario.to_dict()["flows"]:
        scenario = scenario.with_value(f"flows.{flow['name']}.source.constant.rate", f"{gbps:g} Gb/s")
    return scenario


def warning(context: Context, stuck: Result, free: Result) -> Outcome:
    """D-1, the warning before the run."""
    clockwise, up_down = (
        [text for text in map(str, result.run["warnings"]) if "can deadlock" in text]
        for result in (stuck, free)
    )
    first = clockwise[0].splitlines()[0].removeprefix("warning: ") if clockwise else "no warning"
    figures = {
        "warnings_clockwise": len(clockwise),
        "switches_named": sum(f"sw{i}" in "".join(clockwise[:1]) for i in range(4)),
        "warnings_up_down": len(up_down),
    }
    return context.judge("D-1", figures, also=first)


def clockwise_deadlock(context: Context, stuck: Result, pictures: list[str]) -> Outcome:
    """D-2, clockwise routes."""
    found = forensics.deadlocks(stuck)
    one = found[0]
    last = max(float(t[v > 0].max()) for t, v in stuck.all_series("flow_throughput_bps").values())
    figures = {
        "deadlocks": len(found),
        "queues": len(one.queues),
        "closed_us": one.closed_ns / 1e3,
        "ended": sum(cycle.ended_ns is not None for cycle in found),
        "last_delivery_us": (last - one.closed_ns) / 1e3,
    }
    return context.judge("D-2", figures, pictures=pictures)


def no_deadlock(context: Context, free: Result, by_load: dict[float, tuple[Result, Result]]) -> Outcome:
    """D-3, up-down routes."""
    count = sum(
        len(forensics.deadlocks(one)) for one in (free, *(up_down for _, up_down in by_load.values()))
    )
    slowest = min(row["throughput_bps"] for row in free.rows("flows")) / 1e9
    return context.judge("D-3", {"deadlocks": count, "slowest_gbps": slowest})


def loads(context: Context, by_load: dict[float, tuple[Result, Result]]) -> Outcome:
    """D-4, dependence on the load."""
    closed_us, rows = {}, []
    for load, (clockwise, up_down) in by_load.items():
        found = forensics.deadlocks(clockwise)
        closed_us[load] = found[0].closed_ns / 1e3 if found else math.inf
        served = min(row["throughput_bps"] for row in up_down.rows("flows")) / 1e9
        rows.append((f"{load:g}", f"{closed_us[load]:.4g}" if found else "none", f"{served:.2f}"))
    context.save_table(
        "loads",
        "Time at which the deadlock closes",
        ("load per flow (Gb/s)", "clockwise: closed at (us)", "up-down: slowest flow (Gb/s)"),
        rows,
        note="Two flows share each link of the ring: at most 4.94 Gb/s each, without line overhead.",
    )
    below = [when for load, when in closed_us.items() if load < SHARED_GBPS]
    above = [when for load, when in closed_us.items() if load > SHARED_GBPS]
    figures = {
        "deadlocks_below": sum(map(math.isfinite, below)),
        "none_above": sum(map(math.isinf, above)),
        "later_when_heavier": sum(lighter < heavier for lighter, heavier in pairwise(above)),
    }
    measured = ", ".join(f"{load} Gb/s: {when}{'' if when == 'none' else ' us'}" for load, when, _ in rows)
    return context.judge("D-4", figures, measured=measured)


def watchdog(context: Context, clockwise: Scenario) -> Outcome:
    """D-5, recovery by a watchdog."""
    result = Scenario.from_toml(clockwise.to_toml() + WATCHDOG).run()
    found, storms, drops = forensics.deadlocks(result), result.rows("storms"), result.rows("drops")
    delivered = sum(row["frames_delivered"] for row in result.rows("flows"))
    first_ended = found[0].ended_ns if found else None
    later = 0.0
    if first_ended is not None:
        series = result.all_series("flow_throughput_bps").values()
        later = sum(float(v[t > first_ended].mean()) for t, v in series) / 1e9
    figures = {
        "ended": sum(one.ended_ns is not None for one in found),
        "dropped_by_watchdog": sum(row["frames"] for row in drops if row["cause"] == "watchdog"),
        "lost_otherwise": sum(row["frames"] for row in drops if row["cause"] != "watchdog"),
        "later_gbps": later,
    }
    return context.judge(
        "D-5",
        figures,
        also=f"{len(found)} deadlocks, {len(storms)} storms, {delivered:,} frames delivered",
        note="The deadlock recurs as long as routes and load stay the same: a watchdog limits the damage but "
        "does not correct the routing.",
    )


def throughput(stuck: Result, free: Result) -> Figure:
    """Total throughput over time with both kinds of routes."""
    with style():
        figure = Figure(figsize=(7.0, 3.2))
        axes = figure.subplots()
        axes.set_title("Ring of four switches, each flow to the opposite switch, 6 Gb/s offered per flow")
        labels = []
        drawings = ((free, UP_DOWN, "up-down routes"), (stuck, CLOCKWISE, "clockwise routes"))
        for result, color, name in drawings:
            series = list(result.all_series("flow_throughput_bps").values())
            time, total = series[0][0] / 1e6, sum(v for _, v in series) / 1e9
            width = 5
            size = len(total) // width * width
            drawn = total[:size].reshape(-1, width).mean(axis=1)
            axes.plot(time[:size:width], drawn, color=color, drawstyle="steps-post")
            labels.append(Label(float(drawn[-10:].mean()), name, color))
        closed_ms = forensics.deadlocks(stuck)[0].closed_ns / 1e6
        axes.axvline(closed_ms, color=INK, linewidth=0.8, linestyle=":")
        axes.annotate(
            f"the deadlock closes\nat {1e3 * closed_ms:.4g} us",
            (closed_ms, 0.45),
            xycoords=("data", "axes fraction"),
            xytext=(5, 0),
            textcoords="offset points",
            fontsize=8,
        )
        axes.set_xlabel("time (ms)")
        axes.set_ylabel("total throughput (Gb/s)")
        axes.set_ylim(bottom=0)
        axes.set_xlim(0, 2)
        label_right(axes, labels)
    return figure
