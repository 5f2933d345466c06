"""A ring of four switches: clockwise routes deadlock, up-down routes cannot."""

from __future__ import annotations

from matplotlib.figure import Figure

from penstock import plots
from penstock.analysis import forensics
from penstock.plots.style import INK, Label, label_right, style
from penstock.result import Result
from penstock.scenario import Scenario
from penstock.studies.reproduce import Context, Outcome

LOADS = (4.0, 4.8, 5.1, 6.0, 8.0, 9.5)
"""Gb/s per flow; two flows share each link of the ring, which carries 9.87 Gb/s of frames."""
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
    outcomes = [warned(context, stuck, free), closed(context, stuck, [over_time, circle])]
    context.say("other loads")
    by_load = {load: (at(clockwise, load).run(), at(up_down, load).run()) for load in LOADS}
    outcomes += [never(context, free, by_load), loads(context, by_load)]
    context.say("a watchdog")
    return [*outcomes, watchdog(context, clockwise)]


def at(scenario: Scenario, gbps: float) -> Scenario:
    """The scenario with another rate of all flows."""
    for flow in scenario.to_dict()["flows"]:
        scenario = scenario.with_value(f"flows.{flow['name']}.source.constant.rate", f"{gbps:g} Gb/s")
    return scenario


def warned(context: Context, stuck: Result, free: Result) -> Outcome:
    """D-1."""
    warnings = [text for text in map(str, stuck.run["warnings"]) if "can deadlock" in text]
    others = [text for text in map(str, free.run["warnings"]) if "can deadlock" in text]
    named = [f"sw{i}" in warnings[0] for i in range(4)] if warnings else [False]
    first = warnings[0].splitlines()[0].removeprefix("warning: ") if warnings else "no warning"
    return context.outcome(
        "D-1",
        measured=f"clockwise: {first}; up-down: {len(others)} warnings",
        passed=len(warnings) == 1 and all(named) and not others,
    )


def closed(context: Context, stuck: Result, pictures: list[str]) -> Outcome:
    """D-2."""
    found = forensics.deadlocks(stuck)
    if len(found) != 1:
        return context.outcome("D-2", measured=f"{len(found)} deadlocks", passed=False, pictures=pictures)
    one = found[0]
    last = max(float(t[v > 0].max()) for t, v in stuck.all_series("flow_throughput_bps").values())
    # Frames on the last links when the cycle closed still arrive, within a bin and a few frames.
    after = last - one.closed_ns
    return context.outcome(
        "D-2",
        measured=f"closed at {one.closed_ns / 1e3:.4g} us, {len(one.queues)} queues; the last frames are "
        f"delivered in "
        f"the bin that begins at {last / 1e3:.4g} us",
        passed=len(one.queues) == 4 and one.closed_ns < 1e6 and one.ended_ns is None and after < 20_000,
        pictures=pictures,
    )


def never(context: Context, free: Result, by_load: dict[float, tuple[Result, Result]]) -> Outcome:
    """D-3."""
    counts = [len(forensics.deadlocks(result)) for _, result in by_load.values()]
    worst = min(row["throughput_bps"] for row in free.rows("flows")) / 1e9
    return context.outcome(
        "D-3",
        measured=f"deadlocks at {len(counts)} loads: {sum(counts)}; the worst served flow gets "
        f"{worst:.2f} Gb/s",
        passed=not any(counts) and not forensics.deadlocks(free) and worst >= 3.0,
    )


def loads(context: Context, by_load: dict[float, tuple[Result, Result]]) -> Outcome:
    """D-4."""
    closed_us = {}
    rows = []
    for load, (clockwise, up_down) in by_load.items():
        found = forensics.deadlocks(clockwise)
        closed_us[load] = found[0].closed_ns / 1e3 if found else None
        served = min(row["throughput_bps"] for row in up_down.rows("flows")) / 1e9
        when = "none" if closed_us[load] is None else f"{closed_us[load]:.4g}"
        rows.append((f"{load:g}", when, f"{served:.2f}"))
    context.save_table(
        "loads",
        "When the circle closes",
        ("load a flow (Gb/s)", "clockwise: closed at (us)", "up-down: worst served flow (Gb/s)"),
        rows,
        note="Two flows share each link of the ring; it carries 4.94 Gb/s of frames for each.",
    )
    below = [when for load, when in closed_us.items() if load < SHARED_GBPS]
    above = [when for load, when in closed_us.items() if load > SHARED_GBPS]
    known = [when for when in above if when is not None]
    text = ", ".join(
        f"{load:g} Gb/s: {'none' if when is None else f'{when:.4g} us'}" for load, when in closed_us.items()
    )
    return context.outcome(
        "D-4",
        measured=text,
        passed=not any(below) and len(known) == len(above) and known == sorted(known, reverse=True),
    )


def watchdog(context: Context, clockwise: Scenario) -> Outcome:
    """D-5."""
    result = Scenario.from_toml(clockwise.to_toml() + WATCHDOG).run()
    found, storms = forensics.deadlocks(result), result.rows("storms")
    causes = {row["cause"] for row in result.rows("drops")}
    lost = sum(row["frames"] for row in result.rows("drops"))
    delivered = sum(row["frames_delivered"] for row in result.rows("flows"))
    first_ended = found[0].ended_ns if found else None
    later = 0.0
    if first_ended is not None:
        series = result.all_series("flow_throughput_bps").values()
        later = sum(float(v[t > first_ended].mean()) for t, v in series) / 1e9
    return context.outcome(
        "D-5",
        measured=f"{len(found)} deadlocks, {sum(one.ended_ns is not None for one in found)} of them "
        f"ended; {len(storms)} "
        f"storms; {lost:,} frames lost ({', '.join(sorted(causes)) or 'none'}), {delivered:,} delivered; "
        f"after the first "
        f"{later:.2f} Gb/s in all",
        passed=first_ended is not None and causes == {"watchdog"} and later > 1.0,
        note="The circle closes again and again while the routes and the load stay: a watchdog limits the "
        "damage, it "
        "does not mend the routing.",
    )


def throughput(stuck: Result, free: Result) -> Figure:
    """Total delivered throughput over time."""
    with style():
        figure = Figure(figsize=(7.0, 3.2))
        axes = figure.subplots()
        axes.set_title("A ring of four, each flow to the switch opposite, 6 Gb/s offered by each")
        labels = []
        for result, color, name in (
            (free, UP_DOWN, "up-down routes"),
            (stuck, CLOCKWISE, "clockwise routes"),
        ):
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
            f"the circle closes\nat {1e3 * closed_ms:.4g} us",
            (closed_ms, 0.45),
            xycoords=("data", "axes fraction"),
            xytext=(5, 0),
            textcoords="offset points",
            fontsize=8,
        )
        axes.set_xlabel("time (ms)")
        axes.set_ylabel("delivered in all (Gb/s)")
        axes.set_ylim(bottom=0)
        axes.set_xlim(0, 2)
        label_right(axes, labels)
    return figure
