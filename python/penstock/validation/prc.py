"""Compares path rate control with its closed form and with a fluid model of the loop."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from penstock.result import Result
from penstock.scenario import Scenario

from .bench import Bench
from .one_switch import LINE, queue, scenario
from .registry import Row, case, exact, within

_BUFFER = 65_536
_TARGET = 0.16
_INTERVAL = 40e-6
_EQUAL, _GROWTH, _LENGTH = 0.01, 0.4, 0.226
_PAYLOAD = 1480 / 1500


@dataclass
class Path:
    """A source of the fluid model: its rate in b/s, and its state from recent levels in bytes."""

    rate: float
    next_at: float
    before: float = 0.0
    searching: bool = True
    empty_since: float = field(default=math.inf)

    def scaled(self, now: float, queued: float, loop: float) -> None:
        """Handles a received level; `loop` is the loop time in s."""
        ahead, last, aim = (8 * bytes_ / LINE / loop for bytes_ in (queued, self.before, _TARGET * _BUFFER))
        part = _INTERVAL / loop
        pressure = _GROWTH * (ahead - last) + _LENGTH * part * (ahead - aim)
        self.empty_since = min(self.empty_since, now) if queued < _BUFFER / 1000 else math.inf
        if pressure > 0:
            self.searching = False
        elif now - self.empty_since >= 4 * loop:
            self.searching = True
        room = (8 * _BUFFER / LINE / loop - aim) / 2
        if self.searching:
            growth = min(0.25, room) * part
        else:
            growth = min(max(_EQUAL * part * math.log(LINE / self.rate) - pressure, -0.5), 0.25)
        self._set(queued, self.rate * (1 + growth))

    def fixed(self, queued: float) -> None:
        """Applies a step of the fixed law, which depends on neither the time nor the loop time."""
        percent, last = 100 * queued / _BUFFER, 100 * self.before / _BUFFER
        pressure = percent - 100 * _TARGET + 2 * (percent - last)
        if pressure > 0:
            self.searching = False
            rate = self.rate * max(0.5, 1 - 0.003 * pressure)
        elif self.searching:
            rate = 1.25 * self.rate
        else:
            rate = self.rate + LINE / 1000 * (1 + 4 * max(0.0, 1 - percent / (100 * _TARGET)))
        self._set(queued, rate)

    def _set(self, queued: float, rate: float) -> None:
        self.before, self.rate = queued, min(max(rate, 1e7), LINE)


def fluid(law: str, count: int, delay: float, duration: float, begin: float) -> tuple[float, float]:
    """Utilization of the link, and mean queue in bytes, measured from `begin`.

    Parameters
    ----------
    law
        ``"scaled"`` or ``"fixed"``.
    count
        Number of sources.
    delay
        Delay in s of each link: source to queue, and queue to receiver.
    duration, begin
        Duration, and start of the measurement, in s.
    """
    step = 1e-6
    round_trip = 4 * (delay + 67.2e-9)
    loop = round_trip + _INTERVAL
    way = max(1, round(delay / step))
    first = LINE / 16
    if law == "scaled":
        first = min(first, LINE * (1 - _TARGET) * 8 * _BUFFER / LINE / 2 / loop)
    paths = [Path(first, round_trip + _INTERVAL * n / count) for n in range(count)]
    coming, levels = [0.0] * way, [0.0] * way
    queued = carried = waited = 0.0
    for tick in range(round(duration / step)):
        now, slot = tick * step, tick % way
        arriving, coming[slot] = coming[slot], sum(path.rate for path in paths)
        seen, levels[slot] = levels[slot], queued
        for path in paths:
            if path.next_at <= now:
                path.next_at += _INTERVAL
                if law == "scaled":
                    path.scaled(now, seen, loop)
                else:
                    path.fixed(seen)
        queued += arriving * step / 8
        left = min(queued, LINE * step / 8)
        queued -= left
        if now >= begin:
            carried += left
            waited += queued * step
    return carried * 8 / (LINE * (duration - begin)), waited / (duration - begin)


def _run(bench: Bench, law: str, count: int, delay_us: int, ms: int) -> Result:
    starts = [7_000_000 * n for n in range(count)]
    text = scenario("prc", starts, delay_us * 10**6, ms * 10**9, f'law = "{law}"', "")
    return bench.once(Scenario.from_toml(text).with_value("simulation.warmup", f"{ms // 2} ms").to_toml())


def _carried(found: Result) -> float:
    carried: float = sum(row["throughput_bps"] for row in found.rows("flows"))
    return carried / _PAYLOAD / LINE


def _probes(count: int) -> float:
    """Share of the link used by request messages; each source sends one per eight intervals."""
    return count * 84 * 8 / (8 * _INTERVAL) / LINE


@case(
    "prc",
    "Path rate control",
    compared="Greedy sources share a link under path rate control. The measured round trip and the queue "
    "at equilibrium are compared with the closed form. For the current law and the law that it "
    "replaces, the utilisation of the link is compared with a Python fluid model of sources, "
    "queue and delays.",
    formula="Round trip: 4·(84 B/C + d), over two links in each direction; h = round trip + 40 us. In "
    "equilibrium R = C/N and q = 0.16·64 KiB + (0.01/0.226)·ln(N)·h·C. Request messages use "
    "N·84 B/320 us of the link.",
    sources=("Katabi, Handley and Rohrs, SIGCOMM 2002", "McAlpine 2005"),
    scenario=scenario("prc", [0, 7_000_000], 1_000_000, 40_000_000_000, "", ""),
    ends=(
        "The fluid has no frames, and its sources are spread evenly over an interval. With more "
        "sources at a long delay, the fixed law oscillates so strongly that the result depends on "
        "their phases.",
    ),
)
def prc(bench: Bench) -> Iterator[Row]:
    """Compares the simulator with the closed form and the fluid model."""
    frames = "frames are discrete, and levels are truncated to a thousandth"
    for count, delay in ((2, 1), (8, 10), (32, 10), (2, 25)):
        found = _run(bench, "scaled", count, delay, bench.choose(80, 40))
        label = f"{count} sources, {delay} us per link: "
        trip = 4 * (67.2 + 1000 * delay)
        shortest = min(row["round_trip_min_ns"] for row in found.rows("rate_limiters"))
        yield exact(label + "shortest round trip", "ns", trip, shortest)
        rest = _TARGET * _BUFFER + _EQUAL / _LENGTH * math.log(count) * (trip * 1e-9 + _INTERVAL) * LINE / 8
        yield within(label + "mean queue", "B", rest, [queue(found)["queue_bytes_mean"]], 0.15, frames)
        yield within(
            label + "link",
            "share",
            1 - _probes(count),
            [_carried(found)],
            0.001,
            "the link is empty at the start",
        )
    for law in ("scaled", "fixed"):
        for count, delay in ((2, 12), (2, 50), (8, 50)):
            ms = 40
            found = _run(bench, law, count, delay, ms)
            carried, _ = fluid(law, count, delay * 1e-6, ms * 1e-3, ms * 5e-4)
            label = f"{law}, {count} sources, {delay} us per link: "
            yield within(
                label + "link", "share", carried * (1 - _probes(count)), [_carried(found)], 0.05, frames
            )
