"""Pause storms: detection by the watchdog, its actions, and restoration."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from penstock.result import Result

from .bench import Bench, fill, flow_text, only, picoseconds, star, summaries
from .registry import Row, case, exact
from .theory import wire

LENGTH = 1000
DELAY_PS = 500_000
"""Delay of 100 m of fiber."""
GAP_PS = 2_000_000
"""Interval between frames: 1000 B at 4 Gb/s."""
STOP_PS = 20_000_000

_STORM = (
    summaries(pauses=True)
    + star(2, rate="10 Gb/s", length="100 m")
    + """
[flow_control.pfc]
response_time = "0 ps"

[switches.sw.flow_control.pfc]
response_time = "0 ps"
xoff = "1000 frames"
xon = "500 frames"

[hosts.h1.receive]
time_per_frame = "1 ns"
buffer = "40 kB"
script = [{ at = "$stop ps", stop = true }, { at = "$start ps", start = true }]

$watchdog
"""
    + flow_text(
        "steady",
        "h0",
        "h1",
        'frame = "1000 B"',
        'source = { constant = { rate = "4 Gb/s", random_phase = false } }',
    )
)


@dataclass(frozen=True)
class _Pause:
    """The pause of the switch port to the receiver, in picoseconds, and the first frame that it blocks."""

    start: int
    end: int

    @property
    def stuck(self) -> int:
        """Arrival time of the first frame that is blocked at the switch."""
        return _arrival(math.ceil((self.start - _arrival(0)) / GAP_PS))

    @property
    def holds(self) -> int:
        """Time for which that frame is blocked without a watchdog."""
        return self.end - self.stuck


def _arrival(frame: int) -> int:
    """Time at which a frame has arrived completely at the switch."""
    return frame * GAP_PS + wire(LENGTH) + DELAY_PS


def _watchdog(detection: int, restoration: int, action: str) -> str:
    times = f'detection_time = "{detection} ps"\nrestoration_time = "{restoration} ps"'
    return f'[watchdog]\n{times}\naction = "{action}"'


@case(
    "watchdog",
    "Pause storms and the watchdog",
    compared="A host stops reading for a while, its NIC pauses the switch, and frames that arrive at "
    "even intervals wait there. The start and the end of the pause are measured in a run "
    "without a watchdog (the sections on cycles and on receivers compare pauses with theory). "
    "All other values follow from them.",
    formula="Let the pause last from P to E, and let a be the first arrival at the switch at or after "
    "P. With detection time D, there is a storm if and only if D < E − a, and it is detected at "
    "a + D. With the action `report`, nothing changes: the longest wait is E − a. With `drop`, "
    "all frames that arrive from a to E + R inclusive are lost, where R is the restoration "
    "time; then the storm ends. With `forward`, the first frame is sent after D, and none is "
    "lost as long as the receiver has room.",
    sources=(
        "Guo et al., RDMA over Commodity Ethernet at Scale, 2016, section 4.3",
        "Counting by hand",
    ),
    scenario=fill(
        _STORM,
        duration="1 ms",
        stop=STOP_PS,
        start=420_000_000,
        watchdog=_watchdog(100_000_000, 50_000_000, "drop"),
    ),
    ends=(
        "The watchdog detects a storm at the exact time. In a switch, it is a program that polls "
        "and detects a storm up to one polling interval later.",
        "A watchdog with the action `drop` does not prevent the switch from sending pauses itself.",
    ),
)
def watchdog(bench: Bench) -> Iterator[Row]:
    """Compares the detection time to the picosecond, then the effect of each action."""
    for stopped in (120_000_000, 400_000_000):
        keys = {"stop": STOP_PS, "start": STOP_PS + stopped, "duration": "1 ms"}
        free = bench.once(_STORM, watchdog="", **keys)
        pause = _pause(free)
        lasts = f"a host stops for {stopped // 1_000_000} us, "
        for less in (0, 1):
            found = bench.once(_STORM, watchdog=_watchdog(pause.holds - less, 0, "report"), **keys)
            name = f"{lasts}detection time E − a" + (" − 1 ps" if less else "")
            yield exact(f"{name}: storms", "", less, len(found.rows("storms")))
        detection, restoration = pause.holds // 3, pause.holds // 2
        for action in ("report", "drop"):
            found = bench.once(_STORM, watchdog=_watchdog(detection, restoration, action), **keys)
            yield from _times(lasts + action, found, pause, detection, pause.end + restoration)
            comes = (pause.end + restoration - pause.stuck) // GAP_PS + 1 if action == "drop" else 0
            yield exact(f"{lasts}{action}: frames dropped", "frames", comes, _lost(found))
            if action == "report":
                wait = _longest_wait(found)
                yield exact(f"{lasts}{action}: longest wait in the switch", "ps", pause.holds, wait)
    yield from _forwarding(bench)


def _forwarding(bench: Bench) -> Iterator[Row]:
    """Compares a watchdog that forwards the last frames despite the pause; they fit in the headroom."""
    keys = {"stop": STOP_PS, "start": STOP_PS + 120_000_000, "duration": "1 ms"}
    pause = _pause(bench.once(_STORM, watchdog="", **keys))
    detection = 3 * GAP_PS + 1
    keys["start"] = pause.stuck + 4 * GAP_PS
    found = bench.once(_STORM, watchdog=_watchdog(detection, 0, "forward"), **keys)
    name = "host resumes soon, forward"
    storm = only(found.rows("storms"), action="forward")
    yield exact(f"{name}: detected at", "ps", pause.stuck + detection, picoseconds(storm["detected_ns"]))
    yield exact(f"{name}: longest wait in the switch", "ps", detection, _longest_wait(found))
    yield exact(f"{name}: frames dropped", "frames", 0, _lost(found))


def _times(name: str, found: Result, pause: _Pause, detection: int, over: int) -> Iterator[Row]:
    storm = only(found.rows("storms"))
    yield exact(f"{name}: blocked since", "ps", pause.stuck, picoseconds(storm["began_ns"]))
    yield exact(f"{name}: detected at", "ps", pause.stuck + detection, picoseconds(storm["detected_ns"]))
    yield exact(f"{name}: ended at", "ps", over, picoseconds(storm["over_ns"]))


def _pause(result: Result) -> _Pause:
    row = only(result.rows("pauses"), port="sw.1->h1")
    return _Pause(picoseconds(row["start_ns"]), picoseconds(row["end_ns"]))


def _lost(result: Result) -> int:
    return sum(row["frames"] for row in result.rows("drops"))


def _longest_wait(result: Result) -> int:
    return picoseconds(only(result.rows("queues"), port="sw.1->h1")["wait_max_ns"])
