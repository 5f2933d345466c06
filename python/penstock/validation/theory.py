"""Theory: closed forms and exact numerical solutions, independent of the simulator.

Times are in the unit of the arguments. Frame sizes are given as pairs of a size and its probability.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

GBPS = 1_000_000_000
OVERHEAD = 20
"""Bytes of preamble and gap around a frame."""

Sizes = Sequence[tuple[float, float]]
"""Service times (or lengths) and their probabilities."""

IMIX: Sizes = ((64, 7 / 12), (594, 4 / 12), (1518, 1 / 12))
"""The simple Internet mix of RFC 6985 section 4, lengths from DA to FCS."""


def mean(sizes: Sizes) -> float:
    """First moment."""
    return math.fsum(size * share for size, share in sizes)


def second_moment(sizes: Sizes) -> float:
    """Second moment."""
    return math.fsum(size * size * share for size, share in sizes)


def with_overhead(sizes: Sizes, overhead: float) -> Sizes:
    """Adds the per-frame overhead on the wire to each size."""
    return [(size + overhead, share) for size, share in sizes]


def exponential_sizes(mean_bytes: float, largest: int) -> Sizes:
    """Exponential distribution rounded up to whole bytes 1 to `largest`, which holds the tail."""
    edges = np.exp(-np.arange(largest, dtype=float) / mean_bytes)
    shares = np.append(edges[:-1] - edges[1:], edges[-1])
    return [(size, float(share)) for size, share in enumerate(shares, 1)]


# M/G/1


def mg1_mean_wait(rate: float, sizes: Sizes) -> float:
    """Pollaczek-Khinchine mean wait for Poisson arrivals at `rate` and service times `sizes`."""
    return rate * second_moment(sizes) / (2 * (1 - rate * mean(sizes)))


@dataclass(frozen=True)
class Distribution:
    """A distribution function on a grid from 0, interpolated linearly."""

    step: float
    values: np.ndarray[Any, np.dtype[np.float64]]

    def __call__(self, at: float) -> float:
        """Returns the probability of a value of at most `at`."""
        place = min(at / self.step, len(self.values) - 1.000001)
        below = int(place)
        low, high = float(self.values[below]), float(self.values[below + 1])
        return low + (place - below) * (high - low)


def mg1_wait(load: float, sizes: Sizes, *, cells: int = 4, points: int = 1 << 20) -> Distribution:
    """The distribution of the wait, in bytes, by inversion of the Pollaczek-Khinchine transform.

    The wait is the sum of a geometric number (parameter `load`) of residual service times. Their density
    is discretized on a grid of `cells` points per byte (each cell is split between its ends, which
    preserves the mean). The geometric sum is taken in the Fourier domain, and the result is transformed
    back. `sizes` are whole bytes. The tail beyond the grid must be negligible.
    """
    longest = round(max(size for size, _ in sizes))
    beyond = np.zeros(longest + 1)
    for size, share in sizes:
        beyond[: round(size)] += share  # P(S > j) for j = 0, 1, ...
    density = np.repeat(beyond[:longest], cells) / (mean(sizes) * cells)
    residual = np.zeros(points)
    residual[: len(density)] += density / 2
    residual[1 : len(density) + 1] += density / 2
    transform = np.fft.rfft(residual)
    wait = np.fft.irfft((1 - load) / (1 - load * transform), points)
    at_or_below = np.cumsum(wait)
    at_or_below[1:] -= wait[1:] / 2  # a grid point represents the cell around it; zero is an atom
    return Distribution(1 / cells, at_or_below)


def quantile(distribution: Callable[[float], float], share: float, *, start: float) -> float:
    """Quantile `share`, found by bisection from the scale `start`."""
    low, high = 0.0, start
    while distribution(high) < share:
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if distribution(middle) < share else (low, middle)
    return high


def quantile_as_read(distribution: Callable[[float], float], share: float, *, start: float) -> float:
    """Quantile as read from a histogram of 32 bins per octave: linear within the bin of the true quantile.

    `distribution` is in picoseconds. The result tables compute percentiles in the same way, so the remaining
    difference is random.
    """
    exact = quantile(distribution, share, start=start)
    width = 2.0 ** max(math.floor(math.log2(exact)) - 5, 0)
    low = math.floor(exact / width) * width
    below, within = distribution(low), distribution(low + width)
    return low + width * (share - below) / (within - below)


# Priorities


def cobham(rates: Sequence[float], services: Sequence[Sizes]) -> list[float]:
    """Mean waits under non-preemptive priorities, most urgent class first (Cobham 1954)."""
    residual = sum(rate * second_moment(sizes) / 2 for rate, sizes in zip(rates, services, strict=True))
    waits, before = [], 0.0
    for rate, sizes in zip(rates, services, strict=True):
        after = before + rate * mean(sizes)
        waits.append(residual / ((1 - before) * (1 - after)))
        before = after
    return waits


# Finite buffers


def mg1k_loss(rate: float, sizes: Sizes, room: int) -> float:
    """Loss probability of M/G/1/K with K = `room` frames, including the one in service.

    The embedded Markov chain at departures; loss = 1 - 1/(p0 + load) (Cooper 1981, section 5.9).
    """
    arrivals = np.zeros(room + 1)
    for size, share in sizes:
        term = math.exp(-rate * size)
        for count in range(room + 1):
            arrivals[count] += share * term
            term *= rate * size / (count + 1)
    chain = np.zeros((room, room))
    for left in range(room):
        first = max(left - 1, 0)
        for count in range(room - 1 - first):
            chain[left, first + count] = arrivals[count]
        chain[left, room - 1] = 1 - chain[left].sum()
    departures = _stationary(chain)
    return float(1 - 1 / (departures[0] + rate * mean(sizes)))


def mm1k_loss(load: float, room: int) -> float:
    """Loss probability of M/M/1/K with K = `room` frames, including the one in service."""
    return (1 - load) * load**room / (1 - load ** (room + 1))


def fifo_losses(
    rates: Sequence[float], services: Sequence[float], fits: Callable[[tuple[int, ...], int], bool]
) -> list[float]:
    """Loss probability of each kind of frame in a FIFO queue whose free space depends on its contents.

    Kind k arrives at ``rates[k]`` (Poisson) and is served in ``services[k]``; ``fits(waiting, k)`` returns
    true if it is accepted behind the `waiting` kinds. The model is a Markov renewal process: its states
    are the kind in service and the sequence of waiting kinds, observed at the start of each service.
    Poisson arrivals see time averages, so the share lost is the share of time in which the frame does not
    fit.
    """
    from scipy.linalg import expm

    states: dict[tuple[int, ...], int] = {(): 0}
    queue: list[tuple[int, ...]] = [()]
    for waiting in queue:
        for kind in range(len(rates)):
            if fits(waiting, kind) and (*waiting, kind) not in states:
                states[(*waiting, kind)] = len(states)
                queue.append((*waiting, kind))
    count, kinds = len(states), len(rates)
    flow = np.zeros((count, count))
    for waiting, place in states.items():
        for kind in range(kinds):
            if fits(waiting, kind):
                flow[place, states[(*waiting, kind)]] += rates[kind]
                flow[place, place] -= rates[kind]
    # Time spent in each state during one service: the integral of the matrix exponential, taken from a matrix
    # exponential of twice the size.
    both = np.zeros((2 * count, 2 * count))
    both[:count, :count], both[:count, count:] = flow, np.eye(count)
    after, spent = [], []
    for service in services:
        grown = expm(both * service)
        after.append(grown[:count, :count])
        spent.append(grown[:count, count:])
    total = math.fsum(rates)
    chain = np.zeros((kinds * count, kinds * count))
    for kind in range(kinds):
        for place in range(count):
            row = kind * count + place
            for waiting, end in states.items():
                chance = after[kind][place, end]
                if waiting:  # the first waiting frame is served next
                    chain[row, waiting[0] * count + states[waiting[1:]]] += chance
                else:  # idle until the next arrival
                    for following in range(kinds):
                        chain[row, following * count] += chance * rates[following] / total
    begins = _stationary(chain)
    time = np.zeros(count)
    idle = 0.0
    for kind in range(kinds):
        weights = begins[kind * count : (kind + 1) * count]
        time += weights @ spent[kind]
        idle += float((weights @ after[kind])[0]) / total
    lost = [
        sum(time[place] for waiting, place in states.items() if not fits(waiting, kind))
        for kind in range(kinds)
    ]
    return [float(entry / (time.sum() + idle)) for entry in lost]


def _stationary(chain: np.ndarray[Any, np.dtype[np.float64]]) -> np.ndarray[Any, np.dtype[np.float64]]:
    count = len(chain)
    system = chain.T - np.eye(count)
    system[-1] = 1.0
    right = np.zeros(count)
    right[-1] = 1.0
    return np.asarray(np.linalg.solve(system, right), dtype=np.float64)


# Periodic sources


def ndd1_tail(sources: int, period: float, work: float) -> float:
    """P(V > `work`) for `sources` with one frame per `period` each, both in service times (Eckberg 1979).

    V is the work found at a random time, from the sum of Roberts and Virtamo (1991).
    """
    total = 0.0
    for count in range(math.floor(work) + 1, sources + 1):
        share = (count - work) / period
        if 0 < share <= 1:
            chance = math.comb(sources, count) * share**count * (1 - share) ** (sources - count)
            total += chance * (period - sources + work) / (period - count + work)
    return total


def ndd1_mean_wait(sources: int, period: float) -> float:
    """Mean wait in service times; a frame finds the work of the other sources at a random time."""
    from scipy.integrate import quad

    others = sources - 1
    return math.fsum(
        quad(lambda work: ndd1_tail(others, period, work), whole, whole + 1, limit=200)[0]
        for whole in range(others)
    )


# Bursts


@dataclass(frozen=True)
class FluidQueue:
    """Queue of N exponential on/off fluid sources (Anick, Mitra and Sondhi 1982), solved exactly.

    Times are in mean on-times, volumes in the bytes that one source sends in a mean on-time.

    Attributes
    ----------
    decay : float
        Slowest decay rate: P(Q > x) falls as exp(-`decay` x).
    """

    decay: float
    _rates: tuple[float, ...]
    _weights: tuple[float, ...]

    @classmethod
    def solve(cls, sources: int, on_share: float, capacity: float) -> FluidQueue:
        """Solves for `sources`, each on for `on_share` of the time, and a link of `capacity` peak rates."""
        starts = on_share / (1 - on_share)
        states = np.arange(sources + 1)
        generator = np.zeros((sources + 1, sources + 1))
        for active in range(sources):
            generator[active, active + 1] = (sources - active) * starts
            generator[active + 1, active] = active + 1
        generator -= np.diag(generator.sum(axis=1))
        drift = states - capacity
        values, vectors = np.linalg.eig((generator / drift).T)
        # z F' D = F' M for rows F, so the columns of `vectors` are left eigenvectors of M D^-1.
        chosen = [place for place in range(sources + 1) if values[place].real < -1e-9]
        overload = states[drift > 0]
        shares = np.array(
            [math.comb(sources, i) * on_share**i * (1 - on_share) ** (sources - i) for i in states]
        )
        left = np.array([[vectors[state, place].real for place in chosen] for state in overload])
        factors = np.linalg.solve(left, -shares[overload])
        # Each active source sends at the same rate, so arrivals see states weighted by their active sources.
        weights = [
            -float(factor * (states @ vectors[:, place].real)) / float(states @ shares)
            for factor, place in zip(factors, chosen, strict=True)
        ]
        rates = [float(values[place].real) for place in chosen]
        return cls(-max(rates), tuple(rates), tuple(weights))

    def tail_found(self, volume: float) -> float:
        """Returns the probability that an arrival finds more than `volume`."""
        return math.fsum(
            weight * math.exp(rate * volume) for rate, weight in zip(self._rates, self._weights, strict=True)
        )

    def found_at_most(self, volume: float) -> float:
        """Returns the probability that an arrival finds at most `volume`."""
        return 1 - self.tail_found(volume)

    def mean_found(self) -> float:
        """Returns the mean volume that an arrival finds."""
        return math.fsum(-weight / rate for rate, weight in zip(self._rates, self._weights, strict=True))


def decay_closed_form(sources: int, on_share: float, capacity: float) -> float:
    """Decay rate of the fluid queue in closed form (Anick, Mitra and Sondhi, equation 47)."""
    starts = on_share / (1 - on_share)
    load = sources * on_share / capacity
    return (1 - load) * (1 + starts) / (1 - capacity / sources)


def on_off_dispersion(peak: float, on: float, off: float, window: float) -> float:
    """Index of dispersion of an exponential on/off source's volume in a `window`, at rate `peak`."""
    share, pace = on / (on + off), 1 / on + 1 / off
    lasting = (pace * window - 1 + math.exp(-pace * window)) / (pace * pace)
    return 2 * peak * (1 - share) * lasting / window


# Exact times, in picoseconds


def wire_time(length: int, rate: int | Fraction) -> Fraction:
    """Transmission time of bytes on a link of `rate` bits per second, in picoseconds."""
    return length * 8 * 10**12 / Fraction(rate)


def wire(length: int, rate: int | Fraction = 10 * GBPS) -> int:
    """Transmission time of a frame with preamble and gap, in picoseconds, rounded down."""
    return math.floor(wire_time(length + OVERHEAD, rate))


@dataclass(frozen=True)
class Hop:
    """A link, and the delay from its far end to the next queue (propagation and switch latency)."""

    rate: int | Fraction
    after: int


def path_latency(length: int, overhead: int, hops: Sequence[Hop], *, cut_through: bool) -> int:
    """Latency from the first bit sent to the last bit received, without queueing.

    A cut-through switch forwards after 64 B unless its egress link is faster than its ingress link. In that
    case it waits for the rest, whose time is rounded down to a picosecond separately.
    """
    now = 0
    for index, hop in enumerate(hops):
        following = hops[index + 1] if index + 1 < len(hops) else None
        cuts = cut_through and following is not None and following.rate <= hop.rate
        seen = min(length, 64) if cut_through and following else length
        now += math.floor(wire_time(seen + overhead, hop.rate))
        if cut_through and following and not cuts:
            now += math.floor(wire_time(length - seen, hop.rate))
        now += hop.after
    return now


def tandem_latencies(created: Sequence[int], length: int, overhead: int, hops: Sequence[Hop]) -> list[int]:
    """Latencies of frames through store-and-forward links: Lindley's recursion, link by link."""
    arrivals = [Fraction(time) for time in created]
    for hop in hops:
        free, service = Fraction(0), wire_time(length + overhead, hop.rate)
        left = []
        for arrival in arrivals:
            free = max(free, arrival) + service
            left.append(Fraction(math.floor(free) + hop.after))
        arrivals = left
    return [int(end) - start for end, start in zip(arrivals, created, strict=True)]


@dataclass(frozen=True)
class PauseCycle:
    """The XOFF/XON cycle of a sender at line rate and a slower egress.

    Attributes
    ----------
    frames : int
        Frames in a cycle.
    period : int
        Length of a cycle in picoseconds.
    idle : int
        Idle time of the egress per cycle in picoseconds; 0 if the queue never runs empty.
    """

    frames: int
    period: int
    idle: int


@dataclass(frozen=True)
class PauseLoop:
    """A sender at line rate, its pause frames, and a slower egress. Times in picoseconds.

    Attributes
    ----------
    frame, out, pause : int
        Transmission times of a frame at the ingress, of a frame at the egress, and of a pause frame.
    delay, response : int
        One-way delay of the link, and response time of the sender to a pause frame.
    held : int
        Duration of a pause without XON.
    """

    frame: int
    out: int
    pause: int
    delay: int
    response: int
    held: int

    def cycle(self, xoff: int, xon: int | None) -> PauseCycle:
        """Returns the cycle between two watermarks, in waiting frames; without `xon`, pauses expire."""
        # A cycle begins when a frame finds everything empty. Frame k arrives at k·frame; the transmission of
        # the j-th has begun by then if j·out <= k·frame.
        last = 0
        while last + 1 - (last * self.frame // self.out + 1) < xoff:
            last += 1
        reported = last * self.frame + self.pause + self.delay
        stops = reported + self.response
        # All frames that have begun by then; the first began at -frame - delay.
        frames = (stops + self.delay) // self.frame + 2
        if xon is None:
            goes_on = reported + self.held
        else:
            goes_on = (frames - 1 - xon) * self.out + self.pause + self.delay + self.response
        period = goes_on + self.frame + self.delay
        busy = frames * self.out
        return PauseCycle(frames, max(period, busy), max(period - busy, 0))


def frames_after_xoff(frame: int, blocked: int, pause: int, delay: int, response: int) -> int:
    """Number of frames that arrive after the one that crossed XOFF; times in picoseconds.

    The pause frame waits `blocked` for a frame in transmission, takes `pause` and `delay`, and acts after
    `response`. A frame that has begun by then is transmitted completely; it began `frame` + `delay` before
    its arrival.
    """
    return (blocked + pause + delay + response + delay) // frame + 1


def shaped_starts(created: Sequence[int], frame: int, depth: int, rate: int, service: int) -> list[int]:
    """Start times in picoseconds of frames behind a token bucket that is initially full.

    Parameters
    ----------
    created : sequence of int
        Arrival time of each frame.
    frame, depth : int
        Bits of a frame, and capacity of the bucket in bits.
    rate : int
        Rate in bits per second.
    service : int
        Transmission time of a frame.
    """
    level, then, free = Fraction(depth), 0, 0
    starts = []
    for arrival in created:
        start = max(arrival, free)
        level = min(Fraction(depth), level + Fraction(rate * (start - then), 10**12))
        if level < frame:
            wait = math.ceil((frame - level) * 10**12 / rate)
            start += wait
            level = min(Fraction(depth), level + Fraction(rate * wait, 10**12))
        level -= frame
        then, free = start, start + service
        starts.append(start)
    return starts


def leaky_starts(created: Sequence[int], frame: int, rate: int, service: int) -> list[int]:
    """Start times of frames behind a leaky bucket; see `shaped_starts`.

    The bucket may become empty at a fraction of a picosecond; frames begin at the next whole one.
    """
    empty, free = Fraction(0), 0
    starts = []
    for arrival in created:
        empty = max(empty, Fraction(arrival), Fraction(free))
        starts.append(math.ceil(empty))
        free = starts[-1] + service
        empty += Fraction(frame * 10**12, rate)
    return starts
