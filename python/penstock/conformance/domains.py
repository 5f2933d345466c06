"""Cases of congestion notification domains, QN-02 and QN-13 to QN-15: fields of messages, CN-TAGs, edges.

Source: IEEE 802.1Q clauses 30.5 and 33.2 (CN-TAG), 32.1 and 32.6 (defence modes), 33.3 (fields of a CNM),
D.2.7 (TLV).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any

from .controls import TESTER
from .device import Device, Operational
from .frames import Part, Sent, lldp, mac, organisational
from .registry import Case, Expect, Step, Trial, Within
from .testbed import AT_US, FRAME, Table, flow, of, star, us

CNPV, ALTERNATE, OTHER = 3, 2, 5
"""A priority with congestion notification, the alternate priority of frames from outside the domain, and a
priority without congestion notification."""
BIT = 1 << CNPV
CONGESTION_NOTIFICATION = 8
"""Subtype of the congestion notification TLV."""
FCS = 4
SET_POINT, WEIGHT, UNIT = 26_000, 2, 64
MOST = SET_POINT * (2 * WEIGHT + 1)
FULL = 200_000
"""Queue limit in bytes at which the queue remains full."""
LONG = 2_500_000
"""Queue limit in bytes that overflows a 16-bit field in units of 64 octets."""
TYPES = {"vlan": b"\x81\x00", "cn_tag": b"\x22\xe9", "cnm": b"\x22\xe7", "ipv4": b"\x08\x00"}
MODES = {"disabled": (CNPV, True), "edge": (ALTERNATE, False), "interior": (CNPV, False),
         "interior_ready": (CNPV, True)}  # fmt: skip
"""For each defense mode, the priority of incoming frames, and true if outgoing frames keep their CN-TAG."""


def tlv(controlled: int, ready: int) -> Part:
    """The congestion notification TLV: bit vectors of the neighbor's CNPVs, and of those that are ready."""
    what = f"CNPV {controlled:08b}, ready {ready:08b}"
    return organisational(CONGESTION_NOTIFICATION, bytes([controlled, ready]), what)


def congestion_tlv(controlled: int, ready: int) -> Sent:
    """An LLDPDU of the neighbor that contains this TLV."""
    return lldp(TESTER, [tlv(controlled, ready)])


def domain(**keys: Any) -> Table:
    """Settings of a station with congestion notification for `CNPV`."""
    return {"priorities": [CNPV], **keys}


class Message:
    """A congestion notification message, decoded from its octets."""

    def __init__(self, octets: bytes) -> None:
        """Parses the message after the VLAN tag and the optional CN-TAG."""
        at = 16 + (4 if octets[16:18] == TYPES["cn_tag"] else 0) + 2
        head, self.point, self.offset, self.delta, priority, _, self.to, length = struct.unpack_from(
            "!HQhhBB6sH", octets, at
        )
        self.feedback, self.priority = head & 63, priority >> 5
        self.repeated = octets[at + 24 : at + 24 + length]

    @staticmethod
    def all_of(frames: Sequence[bytes]) -> list[Message]:
        """The congestion messages among these frames, in order."""
        types = (TYPES["cnm"], TYPES["cn_tag"])
        tagged = [one for one in frames if one[16:18] in types]
        cnm = TYPES["cnm"]
        return [Message(one) for one in tagged if cnm in (one[16:18], one[20:22])]


def seen(what: str, value: object, observe: Callable[[list[bytes]], object]) -> Expect:
    """Expects a value that `observe` computes from the frames at the logged ports."""
    return Expect(what, value, lambda _, now: observe(of(now).octets()))


def overloaded(limit: int, **point: Any) -> Table:
    """A star in which two hosts overload the port to a third."""
    switch = {"queue_managers": [{"qcn": point}], "buffer": {"queue": f"{limit} B"}}
    flows = [flow(f"from-h{nth}", CNPV, sender=f"h{nth}", to="h2") for nth in (0, 1)]
    scenario = star(flows, hosts=3, priorities=(), switch=switch)
    ports = ["sw.0->h0", "sw.1->h1"]
    return {
        "scenario": scenario,
        "port": ports[0],
        "link": ("h0", "sw"),
        "station": "sw",
        "watched": ports[1:],
    }


def _fields() -> list[Trial]:
    """The fields of each message are consistent with each other, and with a queue of known length."""

    def disagreeing(frames: list[bytes]) -> int:
        reported = Message.all_of(frames)
        count = len({one.point for one in reported}) - 1
        for before, one in zip([None, *reported[:-1]], reported, strict=True):
            excess = (-one.offset + WEIGHT * one.delta) * UNIT
            feedback = min(excess, MOST) * 63 / MOST
            # Each field is rounded down by less than one unit.
            count += abs(feedback - one.feedback - 0.5) > 0.5 + 3 * UNIT * 63 / MOST
            count += before is not None and abs(before.offset - one.offset - one.delta) > 2
        return count if reported else -1

    def last(frames: list[bytes]) -> float:
        reported = Message.all_of(frames)
        return float(reported[-1].offset) if reported else 0.0

    repeated = FRAME - FCS - 16

    def head(frames: list[bytes]) -> list[str]:
        reported = Message.all_of(frames)
        wrong = [
            name
            for name, holds in (
                ("length", all(len(one.repeated) == 64 for one in reported)),
                ("type", all(one.repeated[:2] == TYPES["ipv4"] for one in reported)),
                (
                    "length in the IP header",
                    all(struct.unpack_from("!H", one.repeated, 4)[0] == repeated - 2 for one in reported),
                ),
                ("destination", all(one.to == mac("02:00:00:00:00:04") for one in reported)),
                ("priority", all(one.priority == CNPV for one in reported)),
            )
            if not holds
        ]
        return wrong if reported else ["no message"]

    expected = (SET_POINT - FULL) / UNIT
    slack = 2 * FRAME / UNIT
    return [
        Trial(
            "a queue that stays full",
            overloaded(FULL),
            (
                us(1_000),
                seen("inconsistent fields:", 0, disagreeing),
                seen("offset of the last:", Within(expected - slack, expected + slack), last),
            ),
        ),
        Trial("beyond 16 bits", overloaded(LONG), (us(2_600), seen("offset of the last:", -32_768.0, last))),
        Trial(
            "the first octets of the sampled frame",
            overloaded(FULL, header_length="64 B"),
            (us(500), seen("errors in the encapsulated octets:", [], head)),
        ),
    ]


def _tags() -> list[Trial]:
    """The NIC of h0 has two flows of the priority, and a flow of another priority between them."""
    flows = [flow("a", CNPV, "1 Gb/s"), flow("b", OTHER, "1 Gb/s"), flow("c", CNPV, "1 Gb/s")]
    both = {"congestion_domain": domain()}
    inside = star(flows, priorities=(), host=both, switch=both)
    device = {"scenario": inside, "port": "h0.0->sw", "link": ("h0", "sw"), "station": "h0"}

    def layout(frames: list[bytes]) -> list[str]:
        found = set()
        for one in frames:
            words = [f"priority {one[14] >> 5}", "VLAN tag" if one[12:14] == TYPES["vlan"] else "no VLAN tag"]
            if one[16:18] == TYPES["cn_tag"]:
                words.append(f"CN-TAG {int.from_bytes(one[18:20], 'big')}")
            words.append("IPv4" if TYPES["ipv4"] in (one[16:18], one[20:22]) else "?")
            found.add(" ".join([*words, f"{len(one)} octets"]))
        return sorted(found)

    plain = FRAME - FCS
    expected = [
        f"priority {CNPV} VLAN tag CN-TAG 0 IPv4 {plain + 4} octets",
        f"priority {CNPV} VLAN tag CN-TAG 2 IPv4 {plain + 4} octets",
        f"priority {OTHER} VLAN tag IPv4 {plain} octets",
    ]
    return [Trial("host", device, (us(100), seen("frames:", expected, layout)))]


def border(defence: str | None) -> Table:
    """A switch between h0 without congestion notification and h1 with it. The device is its port to h0."""
    ports = {} if defence is None else {"ports": {"h0": defence}}
    flows = [flow("in", CNPV, "1 Gb/s"), flow("out", CNPV, "1 Gb/s", sender="h1", to="h0")]
    scenario = star(
        flows,
        priorities=(),
        switch={"congestion_domain": domain(**ports)},
    )
    scenario["hosts"] = {"h1": {"congestion_domain": domain()}}
    return {
        "scenario": scenario,
        "port": "sw.0->h0",
        "link": ("h0", "sw"),
        "station": "sw",
        "watched": ["sw.1->h1"],
    }


def _between(from_us: float, until_us: float, priority: int, tagged: bool) -> list[Expect]:
    """Frames from h0 leave with this priority, and frames to h0 leave with or without a CN-TAG."""
    names = f" from {from_us:g} to {until_us:g} us:"

    def priorities(_: Device, now: Operational) -> list[int]:
        frames = of(now).data("sw.1->h1")
        return sorted({one.priority for one in frames if from_us <= one.begins_us < until_us})

    def tags(_: Device, now: Operational) -> list[bool]:
        frames = of(now).data("sw.0->h0")
        return sorted({one.cn_tag != "" for one in frames if from_us <= one.begins_us < until_us})

    return [Expect(f"priorities{names}", [priority], priorities), Expect(f"CN-TAGs{names}", [tagged], tags)]


def _edges() -> list[Trial]:
    return [
        Trial(mode, border(mode), (us(AT_US), *_between(20, AT_US, priority, tagged)))
        for mode, (priority, tagged) in MODES.items()
    ]


def _learned() -> list[Trial]:
    """The neighbor announces more and more, then only another priority. Frames in flight are ignored."""
    rounds = [((0, 0), "edge"), ((BIT, 0), "interior"), ((BIT, BIT), "interior_ready"), ((1, 1), "edge")]
    steps: list[Step] = []
    for nth, (bits, mode) in enumerate(rounds):
        if nth:
            steps.append(congestion_tlv(*bits))
        steps.append(us(AT_US))
        steps += _between(nth * AT_US + 20, (nth + 1) * AT_US, *MODES[mode])
    ready = star(
        [flow("f", CNPV, "1 Gb/s")],
        priorities=(),
        host={"congestion_domain": domain()},
    )
    device = {"scenario": ready, "port": "h0.0->sw", "link": ("h0", "sw"), "station": "h0"}

    def tags(from_us: float, until_us: float, tagged: bool) -> Expect:
        def observe(_: Device, now: Operational) -> list[bool]:
            frames = of(now).data()
            return sorted({one.cn_tag != "" for one in frames if from_us <= one.begins_us < until_us})

        return Expect(f"CN-TAGs from {from_us:g} to {until_us:g} us:", [tagged], observe)

    host: list[Step] = [us(AT_US), tags(0, AT_US, False), congestion_tlv(BIT, 0), us(AT_US)]
    host += [tags(AT_US + 5, 2 * AT_US, False), congestion_tlv(BIT, BIT), us(AT_US)]
    host += [tags(2 * AT_US + 5, 3 * AT_US, True)]
    return [Trial("switch", border(None), steps), Trial("host", device, host)]


FIELDS = Case("QN-02", "queue fields, and the first octets of the sampled frame", _fields())
EDGES = [
    Case("QN-13", "the CN-TAG follows the VLAN tag, on every frame of the priority", _tags()),
    Case("QN-14", "the edge of a domain: priorities and CN-TAGs by defence mode", _edges()),
    Case("QN-15", "the TLV changes the defence mode, and back", _learned()),
]
