"""Cases of congestion notification, QN-01 to QN-16: messages of a congestion point, reactions of a source.

Source: IEEE 802.1Q clauses 30 to 33 (QCN) and the defaults of its MIB. All links have 10 Gb/s.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .controls import cnm
from .device import Device, Operational
from .domains import EDGES, FIELDS
from .frames import Sent
from .registry import Case, Expect, Step, Trial, Within
from .sim import Logged, Traffic
from .testbed import Table, flow, ignored, of, paused, star, us

LINK_BPS = 10e9
GAIN = 128
LEAST_FACTOR = 0.5
LEAST_FACTOR_OF_63 = 1 - 63 / GAIN
"""Factor by which the maximum feedback reduces a rate."""
INCREASE_BPS = 5e6
TIMER_US = 200.0
CYCLES = 5
SET_POINT = 26_000
OTHER_STATION = "02:00:00:00:00:03"
"""Address of the second host of a star."""
MOST = SET_POINT * 5
"""|Fb| in bytes at which the feedback reaches its maximum: set point times 2 w + 1, with w = 2."""
SAMPLES = {4: 150_000, 12: 75_000, 20: 50_000, 28: 37_500, 36: 30_000, 44: 25_000, 52: 21_500, 60: 18_500}
"""Octets between samples, by feedback."""
POINT: Table = {"switch": {"queue_managers": [{"qcn": {}}]}}


def source(**keys: Any) -> Table:
    """The NIC of h0 with one flow. Its timer is short; its byte counter never expires."""
    qcn = {"time_reset": f"{TIMER_US:g} us", "byte_reset": "1 GB", "jitter_share": 0.0, **keys}
    scenario = star([flow("f", 3)], priorities=(), host={"rate_limiters": {"qcn": qcn}}, **POINT)
    return {"scenario": scenario, "port": "h0.0->sw", "link": ("h0", "sw"), "station": "h0"}


def rate(bps: float) -> Expect:
    """Expects the flow to have this rate in Mb/s on the wire, within 0.1 %."""

    def observe(_: Device, now: Operational) -> float:
        rows = of(now).result.rows("rate_limiters")
        return float(next(row["rate_end_bps"] for row in rows if row["limiter"] == "f")) / 1e6

    return Expect("rate of the flow:", Within(bps * 0.999 / 1e6, bps * 1.001 / 1e6, "Mb/s"), observe)


def unmoved(name: str, frame: Sent, *, counted: bool = True) -> Trial:
    """A message that must not change the rate."""
    ends = (rate(LINK_BPS), *((ignored(1),) if counted else ()))
    return Trial(name, source(), paused(frame, us(10), *ends))


def congested(senders: Sequence[str] = ("h0", "h1"), **keys: Any) -> Table:
    """A switch with congestion points, whose port to the last host is overloaded by unresponsive senders."""
    hosts = len(senders) + 1
    last = f"h{hosts - 1}"
    switch = {**POINT["switch"], **keys.pop("switch", {})}
    rates = keys.pop("rate", "greedy")
    flows = [flow(f"from-{one}", 3, rates, sender=one, to=last) for one in senders]
    scenario = star(flows, hosts=hosts, priorities=(), switch=switch, **keys)
    watched = [f"sw.{nth}->{one}" for nth, one in enumerate(senders)]
    return {
        "scenario": scenario,
        "port": watched[0],
        "link": ("h0", "sw"),
        "station": "sw",
        "watched": watched,
    }


def messages(traffic: Traffic, port: str | None = None) -> list[Logged]:
    """Congestion messages sent by a port."""
    return [one for one in traffic.sent(port) if one.kind == "cnm"]


def _fields() -> Expect:
    """Expects valid octets in all messages: version, reserved bits, feedback, length."""

    def wrong(_: Device, now: Operational) -> list[str]:
        found, count = set(), 0
        for octets in of(now).octets():
            if octets[12:14] != b"\x81\x00" or octets[16:18] != b"\x22\xe7":
                continue
            count += 1
            head, length = int.from_bytes(octets[18:20], "big"), int.from_bytes(octets[40:42], "big")
            found |= {
                name
                for name, holds in (
                    ("version", head >> 12 == 0),
                    ("reserved bits", head >> 6 & 63 == 0),
                    ("feedback", 1 <= head & 63 <= 63),
                    ("length of the sample", length <= 64),
                )
                if not holds
            }
        return sorted(found) if count else ["no message"]

    return Expect("errors in messages:", [], wrong)


def _counted(what: str, value: object, observe: Callable[[Traffic], object]) -> Expect:
    return Expect(what, value, lambda _, now: observe(of(now)))


def _quantised() -> list[Trial]:
    """A queue of limited length: at most the maximum feedback at load 2, no messages at load 0.9."""

    def highest(traffic: Traffic) -> int:
        return max(
            (one.word for port in ("sw.0->h0", "sw.1->h1") for one in messages(traffic, port)), default=0
        )

    over = (us(2_000), _counted("largest feedback:", 63, highest))
    under = (us(2_000), _counted("largest feedback:", 0, highest))
    return [
        Trial("overload", congested(switch={"buffer": {"queue": "1 MB"}}), over),
        Trial("load 0.9", congested(rate="4.5 Gb/s"), under),
    ]


def _samples() -> list[Trial]:
    """A queue that remains full, so that the feedback is constant."""
    trials = []
    for feedback, octets in SAMPLES.items():
        # Midway between this feedback value and the next.
        full = SET_POINT + (feedback + 0.5) * MOST / 63
        device = congested(switch={"buffer": {"queue": f"{round(full)} B"}})

        def distance(traffic: Traffic, feedback: int = feedback) -> float:
            all_ = [one for port in ("sw.0->h0", "sw.1->h1") for one in messages(traffic, port)]
            times = sorted(one.begins_us for one in all_ if abs(one.word - feedback) <= 1)
            offered = 2 * 1_000 / 0.816  # arriving octets per microsecond, from both hosts
            return (times[-1] - times[0]) / (len(times) - 1) * offered if len(times) > 9 else -1.0

        mean = Within(octets * 0.85, octets * 1.15 + 1_000, "B")
        trials.append(
            Trial(f"feedback {feedback}", device, (us(3_000), _counted("octets a message:", mean, distance)))
        )
    return trials


def _addressed() -> list[Trial]:
    def strangers(traffic: Traffic) -> int:
        return sum(
            one.flow != f"from-{host}"
            for nth, host in enumerate(("h0", "h1"))
            for one in messages(traffic, f"sw.{nth}->{host}")
        )

    def reaches_both(traffic: Traffic) -> bool:
        return all(messages(traffic, f"sw.{nth}->h{nth}") for nth in (0, 1))

    ends = (
        _counted("both sources receive a message:", True, reaches_both),
        _counted("messages to other hosts:", 0, strangers),
    )
    return [Trial("", congested(), (us(2_000), *ends))]


def _decrease() -> list[Trial]:
    return [
        Trial(
            f"feedback {feedback}",
            source(),
            paused(cnm(feedback), us(10), rate(LINK_BPS * max(1 - feedback / GAIN, LEAST_FACTOR))),
        )
        for feedback in (1, 16, 32, 63)
    ]


def _recovery() -> list[Case]:
    """Rate cuts by messages, with only the timer active; `current` and `target` follow the standard."""
    target, current = LINK_BPS, LINK_BPS * (1 - 32 / GAIN)
    fast: list[Step] = [us(100), cnm(32), us(10)]
    for _ in range(CYCLES):
        current = (current + target) / 2
        fast += [us(TIMER_US), rate(current)]
    # Without `extra_fast_recovery`, a second cut sets the target to the previous rate, after any cycle.
    target = (LINK_BPS * LEAST_FACTOR_OF_63 + LINK_BPS) / 2
    current = target * (1 - 32 / GAIN)
    active: list[Step] = [us(100), cnm(63), us(TIMER_US + 10), cnm(32), us(10)]
    for _ in range(CYCLES):
        current = (current + target) / 2
        active += [us(TIMER_US)]
    for _ in range(3):
        target += INCREASE_BPS
        current = (current + target) / 2
        # From here on, cycles are half as long.
        active += [us(TIMER_US / 2), rate(current)]
    return [
        Case(
            "QN-11",
            "fast recovery: each cycle halves the distance to the target",
            [Trial("timer", source(), tuple(fast))],
        ),
        Case(
            "QN-12",
            "active increase: the target grows by 5 Mb/s per further cycle",
            [Trial("timer", source(extra_fast_recovery=False), tuple(active))],
        ),
    ]


def _ignored() -> list[Case]:
    return [
        Case(
            "QN-06",
            "messages of other versions are ignored; reserved bits have no effect",
            [
                unmoved("version 1", cnm(32, version=1)),
                Trial("reserved", source(), paused(cnm(32, reserved=63), us(10), rate(LINK_BPS * 0.75))),
            ],
        ),
        Case(
            "QN-07",
            "truncated messages, and messages with a wrong length field, are ignored",
            [
                unmoved("23 octets", cnm(32, octets=23)),
                unmoved("length 65", cnm(32, declared_length=65)),
                unmoved("beyond the frame", cnm(32, declared_length=40, octets=32)),
            ],
        ),
        Case("QN-08", "a message without a CN-TAG is ignored", [unmoved("", cnm(32, flow=None))]),
        Case(
            "QN-09",
            "a message for an unknown flow, or for another station, is ignored",
            [unmoved("flow", cnm(32, flow=7)), unmoved("station", cnm(32, to=OTHER_STATION))],
        ),
        Case("QN-10", "the feedback cuts the rate, at most by half", _decrease()),
    ]


def _not_answered() -> list[Trial]:
    """Messages to h0 and h1 pass through an overloaded port; none of them is sampled."""
    device = congested(("h0", "h1", "h2"), switch={"buffer": {"queue": "200 kB"}})
    flows = device["scenario"]["flows"]
    flows += [flow("back-1", 3, sender="h1", to="h0"), flow("back-2", 3, sender="h2", to="h0")]

    def answers(traffic: Traffic) -> int:
        ports = [f"sw.{nth}->h{nth}" for nth in range(3)]
        return sum(one.flow == "" for port in ports for one in messages(traffic, port))

    def sends_messages(traffic: Traffic) -> bool:
        return bool(messages(traffic))

    return [
        Trial(
            "",
            device,
            (
                us(2_000),
                _counted("messages are sent:", True, sends_messages),
                _counted("messages triggered by messages:", 0, answers),
            ),
        )
    ]


CASES = [
    Case("QN-01", "a message has legal fields", [Trial("", congested(), (us(2_000), _fields()))]),
    FIELDS,
    Case("QN-03", "the feedback is quantised up to 63, with no messages below the set point", _quantised()),
    Case("QN-04", "octets between messages, by feedback", _samples()),
    Case("QN-05", "a message goes to the source of the sampled frame", _addressed()),
    *_ignored(),
    *_recovery(),
    *EDGES,
    Case("QN-16", "messages never trigger messages", _not_answered()),
]
"""The 16 cases, in numerical order."""
