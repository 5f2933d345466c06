"""Cases of enhanced transmission selection, ET-01 to ET-13: bandwidth shares of traffic classes.

Source: IEEE 802.1Q clause 37; Hagen 2012 section 3.2.2, whose tolerance of 10 % is taken as relative to the
share. The device is a 10 Gb/s switch port; host n sends priority n to one receiver.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .controls import pfc
from .device import Device, Operational
from .registry import Case, Expect, Step, Trial, Within
from .testbed import FOREVER, Table, flow, lost, of, star, us

TOLERANCE = 0.10
FRAME = 1_000
WIRE_BYTES = 20
"""Overhead of every frame on a link, in bytes."""
LINK_BPS = 10e9
RUN_US = 4_000.0


def port(
    classes: Sequence[int | None],
    rates: Mapping[int, str] | None = None,
    *,
    frames: Mapping[int, int] | None = None,
    **keys: Any,
) -> Table:
    """A switch whose last port is overloaded.

    Parameters
    ----------
    classes : sequence of int or None
        Share of each class in percent, by priority; ``None`` for a strict class.
    rates : mapping of int to str, optional
        Offered rate of each priority; "" for none. Default: the rate of its link.
    frames : mapping of int to int, optional
        Octets of the frames of each priority. Default: `FRAME`.
    """
    ets = [
        {"queues": [nth], "strict": True} if share is None else {"queues": [nth], "percent": share}
        for nth, share in enumerate(classes)
    ]
    count = len(classes)
    offered = {nth: (rates or {}).get(nth, "greedy") for nth in range(count)}
    flows = [
        flow(f"class{nth}", nth, rate, sender=f"h{nth}", to=f"h{count}", frame=(frames or {}).get(nth, FRAME))
        for nth, rate in offered.items()
        if rate
    ]
    queues = [*range(count), *[0] * (8 - count)]
    switch = {"queues": queues, "scheduler": {"ets": {"classes": ets}}, "buffer": {"queue": "200 kB"}}
    scenario = star(flows, hosts=count + 1, priorities=keys.pop("priorities", ()), switch=switch, **keys)
    return {
        "scenario": scenario,
        "port": f"sw.{count}->h{count}",
        "link": (f"h{count}", "sw"),
        "station": "sw",
    }


def gets(nth: int, share: float, tolerance: float = TOLERANCE, *, from_us: float = 1_000,
         until_us: float = RUN_US) -> Expect:  # fmt: skip
    """Expects a class to get this share of the link time, within a relative tolerance."""

    def observe(_: Device, now: Operational) -> float:
        sent = [one for one in of(now).data() if one.priority == nth and from_us <= one.begins_us < until_us]
        bits = sum(one.bytes + WIRE_BYTES for one in sent) * 8
        return 100 * bits / ((until_us - from_us) * 1e-6 * LINK_BPS)

    within = Within(share * (1 - tolerance), share * (1 + tolerance), "%")
    return Expect(f"class {nth}, share of the link:", within, observe)


def full(from_us: float = 1_000, until_us: float = RUN_US) -> Expect:
    """Expects the link to be busy for at least 99 % of the time."""

    def observe(_: Device, now: Operational) -> float:
        sent = [one for one in of(now).data() if from_us <= one.begins_us < until_us]
        bits = sum(one.bytes + WIRE_BYTES for one in sent) * 8
        return 100 * bits / ((until_us - from_us) * 1e-6 * LINK_BPS)

    return Expect("utilization of the link:", Within(99, 100.1, "%"), observe)


def saturated(name: str, shares: Sequence[int]) -> Trial:
    """A trial in which all classes offer more than their shares."""
    ends = [gets(nth, share) for nth, share in enumerate(shares)]
    return Trial(name, port(shares), (us(RUN_US), *ends, full()))


def _words(shares: Sequence[int]) -> str:
    return "/".join(map(str, shares))


EIGHT = (5, 5, 10, 10, 10, 20, 20, 20)


def _shares() -> list[Case]:
    alone = [
        Trial(
            f"class {nth}",
            port(EIGHT, {other: "" for other in range(8) if other != nth}),
            (us(RUN_US), gets(nth, 100, 0.05)),
        )
        for nth in range(8)
    ]
    two = [saturated(_words(pair), pair) for pair in ((share, 100 - share) for share in range(10, 100, 10))]
    more = [saturated(_words(shares), shares) for shares in ((20, 30, 50), (10, 20, 30, 40))]
    return [
        Case("ET-01", "a single active class gets the whole link", alone),
        Case("ET-02", "two classes", two),
        Case("ET-03", "three and four classes", more),
        Case("ET-04", "eight classes", [saturated(_words(EIGHT), EIGHT)]),
    ]


def _left_over() -> list[Case]:
    shares = (20, 30, 50)
    one = (us(RUN_US), gets(1, 37.5), gets(2, 62.5), full())
    two = (us(RUN_US), gets(2, 100, 0.05), full())
    half = (us(RUN_US), gets(2, 25 * (FRAME + WIRE_BYTES) / FRAME), gets(0, 29.8), gets(1, 44.7), full())
    strict = port((50, 50, None), {2: "3 Gb/s"})
    # The frames of 3 Gb/s and their overhead take 30.6 % of the link.
    before = (us(RUN_US), gets(2, 30.6, 0.01), gets(0, 34.7), gets(1, 34.7), full())
    return [
        Case(
            "ET-05",
            "the shares of idle classes go to the others in proportion",
            [
                Trial("one silent", port(shares, {0: ""}), one),
                Trial("two silent", port(shares, {0: "", 1: ""}), two),
            ],
        ),
        Case(
            "ET-06",
            "a class that offers half of its share gets it; the others get the rest",
            [Trial("", port(shares, {2: "2.5 Gb/s"}), half)],
        ),
        Case("ET-07", "strict classes precede; ETS divides the rest", [Trial("", strict, before)]),
        _starved(),
    ]


def _starved() -> Case:
    """The strict class uses the whole link until 2 ms, then stops; the others must recover at once."""
    device = port((50, 50, None))
    device["scenario"]["flows"][2]["stop"] = "2 ms"
    held = [gets(nth, 0, from_us=500, until_us=2_000) for nth in (0, 1)]
    back = [gets(nth, 50, from_us=2_100) for nth in (0, 1)]
    return Case(
        "ET-08",
        "a strict class at line rate starves the others, which recover at once",
        [Trial("", device, (us(RUN_US), *held, *back, full(2_100)))],
    )


def _others() -> list[Case]:
    lossless = port((50, 50), priorities=[1])
    steps: tuple[Step, ...] = (
        *(us(2_000), pfc({1: FOREVER}), us(3_000), pfc({1: FOREVER}), us(3_000), pfc({1: 0}), us(2_000)),
        *(gets(0, 100, 0.05, from_us=2_100, until_us=7_900), gets(1, 0, from_us=2_100, until_us=7_900)),
        *(gets(0, 50, from_us=8_100, until_us=10_000), gets(1, 50, from_us=8_100, until_us=10_000)),
    )
    octets = port((50, 50), frames={0: 64, 1: 9_216})
    fine = [
        Trial(
            _words(shares),
            port(shares),
            (us(RUN_US), *(gets(n, share, 0.01) for n, share in enumerate(shares))),
        )
        for shares in ((49, 51), (33, 33, 34))
    ]
    return [
        Case(
            "ET-09",
            "the share of a paused class goes to the others, and returns within 0.1 ms",
            [Trial("", lossless, steps)],
        ),
        Case(
            "ET-10",
            "shares count octets, not frames",
            [Trial("64 and 9216 octets", octets, (us(RUN_US), gets(0, 50), gets(1, 50), full()))],
        ),
        Case("ET-11", "a difference of 1 % is measurable", fine),
        Case(
            "ET-12",
            "shares change under load",
            _changed(),
        ),
        _chain(),
    ]


def _changed() -> list[Trial]:
    """The administrator changes 20/80 to 70/30 under load; the change is immediate and permanent."""
    trials = []
    new = port((70, 30))["scenario"]["switch"]["scheduler"]
    for name, first in (("both classes", (20, 80)), ("one class, starting at the change", (0, 100))):
        device = port((20, 80))
        fault = {"link": list(device["link"]), "towards": "h2", "at": "2 ms", "scheduler": new}
        device["scenario"]["faults"] = [fault]
        if first[0] == 0:
            device["scenario"]["flows"][0]["start"] = "2 ms"
        before = [gets(nth, share, from_us=500, until_us=2_000) for nth, share in enumerate(first)]
        after = [gets(nth, share, from_us=2_100) for nth, share in enumerate((70, 30))]
        trials.append(Trial(name, device, (us(RUN_US), *before, *after, full())))
    return trials


def _chain() -> Case:
    """Three devices in a row, each giving 54 % instead of 50 %; a flow of the other class joins at each."""
    names = [f"s{nth}" for nth in range(3)]
    hosts = ["a", *(f"b{nth}" for nth in range(3)), "end"]
    ways = [
        ("a", "s0"),
        *((f"b{nth}", name) for nth, name in enumerate(names)),
        *zip(names, [*names[1:], "end"], strict=True),
    ]
    classes = [{"queues": [0], "percent": 54}, {"queues": [1], "percent": 46}]
    scenario = {
        "topology": {
            "explicit": {
                "hosts": hosts,
                "switches": names,
                "links": [
                    {"between": list(way), "rate": "10 Gb/s", "phy": "none", "length": "10 m"} for way in ways
                ],
            }
        },
        "switch": {
            "queues": [0, 1, 0, 0, 0, 0, 0, 0],
            "scheduler": {"ets": {"classes": classes}},
            "buffer": {"queue": "200 kB"},
        },
        "flows": [
            flow("along", 1, sender="a", to="end"),
            *(flow(f"join{nth}", 0, sender=f"b{nth}", to="end") for nth in range(3)),
        ],
    }
    device = {"scenario": scenario, "port": "s2.2->end", "link": ("end", "s2"), "station": "s2"}
    # Each device gives the class 46 %, regardless of the arriving rate, so deviations do not accumulate.
    # Hagen 2012, 3.2.2 and 3.3, reports that devices in a row deviate significantly; with a constant error
    # factor per scheduler, this is impossible.
    return Case(
        "ET-13",
        "three devices in a row, each off by 8 %: 8 % at the end (the source reports a sum)",
        [Trial("", device, (us(RUN_US), gets(1, 46, 0.02), full(), lost(Within(1, float("inf")))))],
    )


CASES = [*_shares(), *_left_over(), *_others()]
"""The 13 cases, in numerical order."""
