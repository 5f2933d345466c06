"""Models of QCN and FECN, integrated step by step.

Units are packets of 1500 B (1520 B on the wire) and microseconds. QCN starts 10 % below its equilibrium,
or at line rate; FECN at its initial rate.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

LINE = 1e10 / 8 / 1520 * 1e-6
"""Packets per microsecond on a 10 Gb/s link."""
STEP_US = 2
Series = npt.NDArray[np.float64]

SAMPLED = tuple(1 / share for share in (100, 50, 100 / 3, 25, 20, 50 / 3, 100 / 7, 12.5))
"""Sampling probability of a frame, for each eighth of the feedback range."""

SET_POINT, WEIGHT = 26_000 / 1500, 2.0
MAX_FEEDBACK = SET_POINT * (2 * WEIGHT + 1)
GAIN, CYCLE, FAST_CYCLES = 1 / 128, 100, 5
INCREASE, MIN_RATE = LINE / 2000, LINE * 5e-4


def qcn(sources: int, loop_us: float, end_ms: float, at_line_rate: bool = False) -> tuple[Series, Series]:
    """Fluid model of QCN without its timer: queue in packets, and arrivals as a share of the link rate.

    Source: M. Alizadeh et al., "Data center transport mechanisms: congestion control theory and IEEE
    standardization", Allerton 2008: delay differential equations of current and target rate. The
    byte counter ends a cycle when no message arrives within 100 packets. The loop is the delay from the queue
    to the sources and back.
    """
    delay = max(1, round(loop_us / STEP_US))
    queue, current, target, share = SET_POINT, 0.9 * LINE / sources, 1.05 * LINE / sources, SAMPLED[0]
    if at_line_rate:
        queue, current, target = 0.0, LINE, LINE
    past = [(current, 0.0, 0)] * delay
    queues = np.empty(round(end_ms * 1000 / STEP_US))
    arriving = np.empty(len(queues))
    for step in range(len(queues)):
        rate, reported, feedback = past[step % delay]
        quiet = (1 - reported) ** CYCLE
        cycles = rate * (reported * quiet / (1 - quiet) if reported else 1 / CYCLE)
        growth = sources * current - LINE
        queues[step], arriving[step] = queue, sources * current / LINE
        if queue <= 0 and growth < 0:
            growth = 0.0
        queue = max(0.0, queue + growth * STEP_US)
        cut = GAIN * feedback * current * rate * reported
        target, current = (
            target
            + STEP_US * ((current - target) * rate * reported + INCREASE * quiet**FAST_CYCLES * cycles),
            current + STEP_US * ((target - current) / 2 * cycles - cut),
        )
        current, target = (min(LINE, max(MIN_RATE, value)) for value in (current, target))
        bits = _bits(queue - SET_POINT + WEIGHT * growth / (LINE * share))
        share = SAMPLED[bits // 8]
        past[step % delay] = (current, share if bits else 0.0, bits)
    return queues, arriving


def _bits(congestion: float) -> int:
    """Feedback of six bits for a congestion measure in packets."""
    return int(min(MAX_FEEDBACK, max(0.0, congestion)) * 63 / MAX_FEEDBACK)


@dataclass
class Sender:
    """One source: the reaction point of the standard without its timer."""

    rng: np.random.Generator
    current: float
    target: float
    stage: int = 0
    fresh: bool = True
    left: float = field(init=False)

    def __post_init__(self) -> None:
        self.left = self._cycle()

    def _cycle(self) -> float:
        """Packets of the next cycle, with 15 % jitter."""
        return (CYCLE if self.stage < FAST_CYCLES else CYCLE / 2) * self.rng.uniform(0.85, 1.15)

    def cut(self, bits: int) -> None:
        """Handles a message; another message in the same cycle leaves the target rate unchanged."""
        if self.stage or self.fresh:
            self.target, self.stage, self.fresh = self.current, 0, False
            self.left = self._cycle()
        self.current = max(MIN_RATE, self.current * max(0.5, 1 - GAIN * bits))

    def send(self, microseconds: float) -> None:
        """Sends for some time at the current rate."""
        self.left -= self.current * microseconds
        if self.left > 0:
            return
        self.stage += 1
        self.left = self._cycle()
        if self.stage > FAST_CYCLES:
            self.target = min(LINE, self.target + INCREASE)
        self.current = (self.current + self.target) / 2


def qcn_sampled(sources: int, loop_us: float, end_ms: float) -> tuple[Series, Series]:
    """Sampled model of QCN: the queue is a fluid, but each sample cuts the rate of one source.

    Source: IEEE 802.1Q-2018 clauses 30 and 32, with its sampling table, six bits of feedback, cycles of
    150 kB and fast recovery.
    """
    rng = np.random.default_rng(1)
    senders = [Sender(rng, 0.9 * LINE / sources, 1.05 * LINE / sources) for _ in range(sources)]
    delay = max(1, round(loop_us / STEP_US))
    entries: list[tuple[int, int] | None] = [None] * delay
    queue = before = SET_POINT
    until = 1 / SAMPLED[0]
    queues = np.empty(round(end_ms * 1000 / STEP_US))
    arriving = np.empty(len(queues))
    for step in range(len(queues)):
        if message := entries[step % delay]:
            senders[message[0]].cut(message[1])
        entries[step % delay] = None
        rates = [sender.current for sender in senders]
        total = sum(rates)
        queue = max(0.0, queue + (total - LINE) * STEP_US)
        queues[step], arriving[step] = queue, total / LINE
        until -= total * STEP_US
        if until <= 0:
            bits = _bits(queue - SET_POINT + WEIGHT * (queue - before))
            before = queue
            until += rng.uniform(0.85, 1.15) / SAMPLED[bits // 8]
            if bits:
                entries[step % delay] = (int(rng.choice(sources, p=np.array(rates) / total)), bits)
        for sender in senders:
            sender.send(STEP_US)
    return queues, arriving


def fecn(sources: int, loop_us: float, end_ms: float, slope: float | None = None) -> tuple[Series, Series]:
    """Fluid model of FECN: queue in packets, and arrivals as a share of the link rate.

    Source: Jiang 2007: the advertised rate changes once per interval, and each source adopts it at its own
    time within the next interval, one loop later. `slope` is that of linear queue control; None:
    hyperbolic.
    """
    interval, set_point, severe, first = round(1000 / STEP_US), 16.0, 48.0, LINE / 20
    delay = round(loop_us / STEP_US)
    takes = [(2 * index + 1) * interval // (2 * sources) for index in range(sources)]
    steps = round(end_ms * 1000 / STEP_US)
    arriving = np.zeros(steps + delay + 1)
    arriving[: delay + 1] = sources * first
    rates = [first] * sources
    advertised, before, limit = first, first, first
    queue, arrived = 0.0, 0.0
    queues = np.empty(steps)
    for step in range(steps):
        for source, at in enumerate(takes):
            if step % interval == at:
                rates[source] = advertised
        arriving[step + delay] = sum(rates)
        arrived += arriving[step] * STEP_US
        queue = max(0.0, queue + (arriving[step] - LINE) * STEP_US)
        queues[step] = queue
        if (step + 1) % interval == 0:
            load = arrived / 1000 / (_control(queue, set_point, slope) * LINE)
            fresh = 0.5 * advertised / load + 0.5 * before
            if queue < set_point:
                limit = min(LINE, limit * 1.414)
            elif queue > severe:
                limit = max(LINE / 1000, limit * 0.707)
            before, advertised = advertised, min(fresh, advertised + limit)
            advertised, arrived = min(LINE, max(LINE / 1000, advertised)), 0.0
    return queues, arriving[:steps] / LINE


def _control(queue: float, set_point: float, slope: float | None) -> float:
    if slope is not None:
        return max(0.1, 1 - slope * (queue - set_point) / set_point)
    if queue <= set_point:
        return 1.002 * set_point / (0.002 * queue + set_point)
    return max(0.1, 1.1 * set_point / (0.1 * queue + set_point))


def carried(queues: Series, arriving: Series) -> Series:
    """Departures from the queue, as a share of the link rate."""
    return arriving - np.diff(queues, prepend=queues[:1]) / (STEP_US * LINE)
