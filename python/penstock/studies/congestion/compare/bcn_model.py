"""Frame-level model of BCN at one queue, from the paper, to check whether the scheme itself is unfair.

Greedy senders share one queue of 100 frames and its link. The model shares no code with the engine.
"""

from __future__ import annotations

import heapq
from collections import deque
from itertools import count

import numpy as np

LINE = 10e9
FRAME, WIRE_BITS = 1500, 1520 * 8
SET_POINT, SEVERE, LIMIT = 24_000, 135_000, 150_000
WEIGHT, EVERY = 2, 100
GAIN_DOWN, GAIN_UP, MIN_RATE = 1 / 128, 4 * 8e6, 10e6
MAX_STOP_S, RESTART = 100e-6, LINE / 100
ONE_WAY_S, END_S = 3e-6, 0.04
SEND, ARRIVE, LEAVE, NOTIFY = range(4)


class Sender:
    """A sender with a rate limiter, which the first message activates."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rate, self.limited, self.stopped_until, self.counted = LINE, False, 0.0, 0
        self.clock = 1 + rng.uniform(-1e-4, 1e-4)

    def notify(self, now: float, feedback: float, rng: np.random.Generator) -> None:
        """Handles a message. `feedback` is in bytes, negative above the set point; 0 stops the sender."""
        if now < self.stopped_until:
            return
        frames = feedback / FRAME
        if feedback == 0:
            self.stopped_until = now + rng.random() * MAX_STOP_S
            self.rate = min(self.rate, RESTART)
        elif feedback < 0:
            self.rate = max(MIN_RATE, self.rate * max(0.5, 1 + GAIN_DOWN * frames))
        else:
            self.rate = min(LINE, self.rate + GAIN_UP * frames)
        self.limited = True


def jain(senders: int, *, stops: bool, seed: int) -> float:
    """Jain's index over the last quarter of a run in which every 100th frame is sampled.

    Parameters
    ----------
    senders : int
        Number of greedy senders.
    stops : bool
        True if a queue above the severe threshold stops sampled senders.
    seed : int
        Seed of phases, clocks and stops.
    """
    rng = np.random.default_rng(seed)
    all_senders = [Sender(rng) for _ in range(senders)]
    events = [(rng.random() * 1e-6, n, SEND, n, 0.0) for n in range(senders)]
    heapq.heapify(events)
    queue: deque[int] = deque()
    length, length_before, passed, busy = 0, 0, 0, False
    number = count(senders)

    def later(time: float, kind: int, who: int, value: float = 0.0) -> None:
        heapq.heappush(events, (time, next(number), kind, who, value))

    while events:
        now, _, kind, who, value = heapq.heappop(events)
        sender = all_senders[who]
        if now > END_S:
            break
        if kind == SEND:
            if now < sender.stopped_until:
                later(sender.stopped_until, SEND, who)
                continue
            later(now + ONE_WAY_S, ARRIVE, who, float(sender.limited))
            later(now + WIRE_BITS / sender.rate * sender.clock, SEND, who)
        elif kind == ARRIVE:
            passed = (passed + 1) % EVERY
            here = length + FRAME
            if passed == 0:
                feedback = SET_POINT - here - WEIGHT * (here - length_before)
                length_before = here
                stop = stops and here > SEVERE
                if stop or feedback < 0 or (feedback > 0 and value):
                    later(now + ONE_WAY_S, NOTIFY, who, 0.0 if stop else float(feedback))
            if here > LIMIT:
                continue
            sender.counted += now > 0.75 * END_S
            if busy:
                queue.append(who)
                length += FRAME
            else:
                busy = True
                later(now + WIRE_BITS / LINE, LEAVE, who)
        elif kind == LEAVE:
            if busy := bool(queue):
                length -= FRAME
                later(now + WIRE_BITS / LINE, LEAVE, queue.popleft())
        else:
            sender.notify(now, value, rng)
    counts = [sender.counted for sender in all_senders]
    return sum(counts) ** 2 / (senders * sum(count**2 for count in counts))
