"""Fluid models of QCN and FECN, integrated step by step: no frames, no samples, no messages.

Packets of 1500 B (1520 B on the wire) and microseconds. QCN begins a tenth below its equilibrium, FECN at its
first rate.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

LINE = 1e10 / 8 / 1520 * 1e-6
"""Packets a microsecond on a link of 10 Gb/s."""
STEP_US = 2
Series = npt.NDArray[np.float64]

SAMPLED = tuple(1 / share for share in (100, 50, 100 / 3, 25, 20, 50 / 3, 100 / 7, 12.5))
"""Share of frames that is sampled, by an eighth of the feedback each."""


def qcn(sources: int, trip_us: float, end_ms: float) -> tuple[Series, Series]:
    """The queue of QCN without its timer in packets, and what arrives as a share of the link.

    Source: M. Alizadeh et al., "Data center transport mechanisms: congestion control theory and IEEE
    standardization", Allerton 2008: delay differential equations of current and target rate, whose byte
    counter ends a cycle as often as no message comes within 100 packets.
    """
    set_point, gain, weight, cycle, increase = 26_000 / 1500, 1 / 128, 2.0, 100, LINE / 2000
    most = set_point * (2 * weight + 1)
    delay = max(1, round(trip_us / STEP_US))
    queue, current, target, share = set_point, 0.9 * LINE / sources, 1.05 * LINE / sources, SAMPLED[0]
    past = [(current, 0.0, 0)] * delay
    queues = np.empty(round(end_ms * 1000 / STEP_US))
    arriving = np.empty(len(queues))
    for step in range(len(queues)):
        rate, told, feedback = past[step % delay]
        quiet = (1 - told) ** cycle
        cycles = rate * (told * quiet / (1 - quiet) if told else 1 / cycle)
        growth = sources * rate - LINE
        if queue <= 0 and growth < 0:
            growth = 0.0
        queue = max(0.0, queue + growth * STEP_US)
        cut = gain * feedback * current * rate * told
        target, current = (
            target + STEP_US * ((current - target) * rate * told + increase * quiet**5 * cycles),
            current + STEP_US * ((target - current) / 2 * cycles - cut),
        )
        current, target = (min(LINE, max(LINE * 5e-4, value)) for value in (current, target))
        congestion = queue - set_point + weight * growth / (LINE * share)
        bits = int(min(most, max(0.0, congestion)) * 63 / most)
        share = SAMPLED[bits // 8]
        past[step % delay] = (current, share if bits else 0.0, bits)
        queues[step], arriving[step] = queue, sources * rate / LINE
    return queues, arriving


def fecn(sources: int, trip_us: float, end_ms: float, slope: float | None = None) -> tuple[Series, Series]:
    """The queue of FECN in packets, and what arrives as a share of the link.

    Source: Jiang 2007: the advertised rate changes once an interval, and each source takes it over at its own
    time within the next, a round trip later. `slope` is that of linear queue control; None: hyperbolic.
    """
    interval, set_point, severe, first = round(1000 / STEP_US), 16.0, 48.0, LINE / 20
    delay = round(trip_us / STEP_US)
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
    """What leaves the queue, as a share of the link."""
    return arriving - np.diff(queues, prepend=queues[:1]) / (STEP_US * LINE)
