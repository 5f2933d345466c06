"""Open parameters of the slides' bursty case and hot spot, and the effect of other values."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean
from typing import Any

from penstock.result import Result
from penstock.studies.reproduce import Context

from .measure import CORE, HOT, longest, lost, mean, pauses, port, queue

Changes = Mapping[str, Any]
POINTS, LIMITERS = "switch.queue_managers", "host.rate_limiters"
BUFFER = "switch.buffer.queue"
BURSTY: Mapping[str, Changes] = {
    "as chosen": {},
    "buffer of 150 packets": {BUFFER: "150 frames"},
    "buffer of 100 packets": {BUFFER: "100 frames"},
    "100, rates forgotten after 1 ms": {
        BUFFER: "100 frames",
        LIMITERS: {"fecn": {"initial_share": 0.01, "forget_after": "1 ms"}},
    },
    "100, interval of 0.5 ms": {
        BUFFER: "100 frames",
        POINTS: [{"fecn": {"expected_sources": 100, "interval": "500 us"}}],
        LIMITERS: {"fecn": {"initial_share": 0.01, "interval": "500 us"}},
    },
    "100, severe messages (E-FECN)": {
        BUFFER: "100 frames",
        POINTS: [{"fecn": {"expected_sources": 100, "severe_messages": True}}],
    },
}
HOT_SPOT: Mapping[str, Changes] = {
    "XOFF at 90 packets, XON at 8": {},
    "XOFF at 90, XON at 60": {"flow_control.pause.xon": "60 frames"},
    "XOFF at 40, XON at 8": {"flow_control.pause.xoff": "40 frames"},
    "no PAUSE, buffer of 100": {"flow_control": None, "switch.buffer": {"queue": "100 frames"}},
    "no PAUSE, no limit": {"flow_control": None},
}


def run(context: Context) -> None:
    """Writes two tables: means over the seeds of J6 and J7."""
    bursty = [(name, *_bursty(context, changes)) for name, changes in BURSTY.items()]
    note = f"Means of {len(context.seeds('J6'))} seeds."
    context.save_table(
        "bursty",
        "Bursty traffic with other buffers and rules",
        ("change", "lost", "most lost", "longest queue", "link (%)"),
        bursty,
        note=f"{note} Most lost and longest queue: maximum over the seeds.",
    )
    context.save_table(
        "hot-spot",
        "The hot spot with other thresholds, and without PAUSE",
        ("thresholds", "lost", "pauses", "paused (ms)", "longest queue", "queue from 30 to 90 ms"),
        [(name, *_hot_spot(context, changes)) for name, changes in HOT_SPOT.items()],
        note=f"{note} Queues in packets. Longest queue: maximum over the seeds. The last column is the mean "
        "of the maximum in each 500 us.",
    )


def _bursty(context: Context, changes: Changes) -> tuple[str, ...]:
    def measure(seed: int) -> tuple[float, float, float]:
        of = result(context, "bursty", changes, seed)
        return lost(of), longest(of, CORE), 10 * mean(port(of, CORE), 20, 200)

    losses, lengths, used = zip(*context.over_seeds(measure, "J6"), strict=True)
    return f"{fmean(losses):.1f}", f"{max(losses)}", f"{max(lengths):.0f}", f"{fmean(used):.1f}"


def _hot_spot(context: Context, changes: Changes) -> tuple[str, ...]:
    def measure(seed: int) -> tuple[float, ...]:
        of = result(context, "hot-spot", changes, seed)
        return lost(of), *pauses(of), longest(of, HOT), mean(queue(of, f"{HOT}/0"), 30, 90)

    losses, times, lasted, lengths, rests = zip(*context.over_seeds(measure, "J7"), strict=True)
    return (
        f"{fmean(losses):.1f}",
        f"{fmean(times):.1f}",
        f"{fmean(lasted):.2f}",
        f"{max(lengths):.0f}",
        f"{fmean(rests):.0f}",
    )


def result(context: Context, file: str, changes: Changes, seed: int) -> Result:
    """A run of a scenario with other values."""
    scenario = context.scenario(file)
    for key, value in changes.items():
        scenario = scenario.with_value(key, value)
    return scenario.run(seed=seed)
