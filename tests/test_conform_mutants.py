"""Ports that are wrong in one way each: the cases that are about it notice every one of them."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from penstock import conformance
from penstock.conformance.controls import MAC_CONTROL, STATION, VLAN, pfc
from penstock.conformance.device import Operational
from penstock.conformance.frames import mac
from penstock.conformance.sim import Logged, SimDevice, Traffic

Octets = list[bytes]
ADDRESS = mac("01:80:c2:00:00:01")


@dataclass
class Mutant(SimDevice):
    """A port that builds, receives, reports or writes something wrong."""

    builds: Callable[[dict[str, Any]], object] = lambda scenario: scenario
    hears: Callable[[bytes], Iterable[bytes]] = lambda frame: [frame]
    reports: Callable[[list[Logged]], list[Logged]] = lambda frames: frames
    writes: Callable[[bytes], bytes] = lambda octets: octets
    received: list[bytes] = field(default_factory=list)

    def start(self, settings: Mapping[str, Any]) -> None:
        """Begins anew."""
        mutated = copy.deepcopy(dict(settings))
        self.builds(mutated["scenario"])
        super().start(mutated)

    def send(self, frame: bytes) -> None:
        """A frame comes in."""
        for one in self.hears(frame):
            super().send(one)

    def operational(self) -> Operational:
        """The port's report of its activity."""
        now = super().operational()
        assert now.traffic is not None
        return replace(now, traffic=Told(now.traffic.result, now.traffic.port, self))


@dataclass(frozen=True)
class Told(Traffic):
    """The report of a mutant."""

    mutant: Mutant

    def sent(self, port: str | None = None) -> list[Logged]:
        """Frames sent by a port."""
        return self.mutant.reports(super().sent(port))

    def octets(self) -> Octets:
        """Octet by octet."""
        return [
            self.mutant.writes(one) if one[12:14] == MAC_CONTROL or one[16:18] == b"\x22\xe7" else one
            for one in super().octets()
        ]


def times(frame: bytes) -> dict[int, int]:
    """The times of a PFC frame whose bits are set."""
    bits = frame[17]
    return {n: int.from_bytes(frame[18 + 2 * n : 20 + 2 * n], "big") for n in range(8) if bits >> n & 1}


def of_pfc(change: Callable[[dict[int, int]], dict[int, int]]) -> Callable[[bytes], Octets]:
    """Other times than a PFC frame has."""

    def hears(frame: bytes) -> Octets:
        is_pfc = frame[12:16] == MAC_CONTROL + b"\x01\x01" and frame[:6] == ADDRESS and len(frame) > 59
        return [pfc(change(times(frame))).octets] if is_pfc and frame[16] == 0 else [frame]

    return hears


def only_once() -> Callable[[bytes], Octets]:
    received: Octets = []

    def hears(frame: bytes) -> Octets:
        received.append(frame)
        return [frame] if len(received) == 1 else []

    return hears


def every_time(frame: bytes) -> Octets:
    """Times count whether their bits are set or not."""
    if frame[14:16] != b"\x01\x01" or len(frame) < 34:
        return [frame]
    return [pfc({n: int.from_bytes(frame[18 + 2 * n : 20 + 2 * n], "big") for n in range(8)}).octets]


def under(key: str, **keys: Any) -> Callable[[dict[str, Any]], object]:
    """Other keys of a table of the scenario."""

    def builds(scenario: dict[str, Any]) -> object:
        table = scenario
        for word in key.split("."):
            table = table.setdefault(word, {})
        return table.update(keys)

    return builds


def fewer(key: str, share: float) -> Callable[[dict[str, Any]], object]:
    """A size of PFC by a factor."""

    def builds(scenario: dict[str, Any]) -> object:
        control = scenario["flow_control"]["pfc"]
        control[key] = f"{int(control[key].removesuffix(' B').strip()) * share:.0f} B"
        return control

    return builds


def of_pauses(change: Callable[[Logged], Logged | None]) -> Callable[[list[Logged]], list[Logged]]:
    """Other pause frames than were sent."""

    def reports(frames: list[Logged]) -> list[Logged]:
        changed = (change(one) if one.kind in ("pause", "pfc") else one for one in frames)
        return [one for one in changed if one is not None]

    return reports


def is_xon(one: Logged) -> bool:
    return one.word & 0xFF == 0


def twice(frames: list[Logged]) -> list[Logged]:
    """Each XON comes again."""
    return [again for one in frames for again in ([one, one] if one.kind == "pfc" and is_xon(one) else [one])]


def put(at: int, octets: bytes) -> Callable[[bytes], bytes]:
    """Other octets somewhere."""
    return lambda frame: frame[:at] + octets + frame[at + len(octets) :]


def ets(*percent: int) -> Callable[[dict[str, Any]], object]:
    """Other shares of two classes."""
    classes = [{"queues": [n], "percent": share} for n, share in enumerate(percent)]
    return under("switch", scheduler={"ets": {"classes": classes}})


def less(scenario: dict[str, Any]) -> None:
    """The first class has nine tenths of its share."""
    classes = scenario["switch"]["scheduler"]["ets"]["classes"]
    left = classes[0]["percent"] // 10
    classes[0]["percent"] -= left
    classes[1]["percent"] += left


def qcn(**keys: Any) -> Callable[[dict[str, Any]], object]:
    return under("host.rate_limiters.qcn", **keys)


def cap(feedback: int) -> Callable[[bytes], Octets]:
    """No more feedback than so much is understood."""

    def hears(frame: bytes) -> Octets:
        at = 24 if frame[16:18] == b"\x22\xe9" else 20
        last = frame[at - 1]
        return [frame[: at - 1] + bytes([last & 0xC0 | min(last & 63, feedback)]) + frame[at:]]

    return hears


MUTANTS: dict[str, tuple[str, Mutant]] = {
    "hears nothing": ("PF-04", Mutant(hears=lambda _: [])),
    "hears the first frame only": ("PF-04", Mutant(hears=only_once())),
    "obeys the priority above": ("PF-14", Mutant(hears=lambda frame: [pfc({4: 0xFFFF}).octets])),
    "obeys all priorities at once": (
        "PF-02",
        Mutant(hears=of_pfc(lambda of: dict.fromkeys(range(8), max(of.values(), default=0)))),
    ),
    "does not know priority 7": (
        "PF-01",
        Mutant(hears=of_pfc(lambda of: {n: time for n, time in of.items() if n != 7})),
    ),
    "waits twice as long": (
        "PF-03",
        Mutant(hears=of_pfc(lambda of: {n: min(2 * time, 0xFFFF) for n, time in of.items()})),
    ),
    "waits half as long": (
        "PF-03",
        Mutant(hears=of_pfc(lambda of: {n: time // 2 for n, time in of.items()})),
    ),
    "takes times for bytes": (
        "PF-03",
        Mutant(hears=of_pfc(lambda of: {n: time // 64 for n, time in of.items()})),
    ),
    "does not know time 0": (
        "PF-04",
        Mutant(hears=of_pfc(lambda of: {n: time for n, time in of.items() if time})),
    ),
    "takes any time for the longest": (
        "PF-05",
        Mutant(hears=of_pfc(lambda of: dict.fromkeys(of, 0xFFFF))),
    ),
    "does not look at the enable vector": ("PF-06", Mutant(hears=every_time)),
    "looks at the reserved octet": ("PF-14", Mutant(hears=lambda frame: [] if frame[16] else [frame])),
    "does not look at addresses": ("PF-13", Mutant(hears=lambda frame: [ADDRESS + frame[6:]])),
    "does not look at opcodes": (
        "PF-12",
        Mutant(hears=lambda frame: [frame[:14] + b"\x01\x01" + frame[16:]]),
    ),
    "obeys PAUSE where PFC is on": (
        "PF-11",
        Mutant(
            hears=lambda frame: [pfc({3: 0xFFFF}).octets] if frame[14:16] == b"\x00\x01" else [frame],
        ),
    ),
    "takes short frames": ("PF-15", Mutant(hears=lambda frame: [frame.ljust(60, b"\0")])),
    "takes tagged frames": (
        "PF-15",
        Mutant(hears=lambda frame: [frame[:12] + frame[16:]] if frame[12:14] == VLAN else [frame]),
    ),
    "has PFC for all priorities": ("PF-10", Mutant(builds=under("flow_control.pfc", priorities=[*range(8)]))),
    "reacts too late": ("PF-08", Mutant(builds=under("flow_control.pfc", response_time="8 us"))),
    "has room in bytes where its memory is of cells": (
        "PF-20",
        # 144 B a cell, and a frame of 64 B takes one: that room has 64 / 144 of the frames.
        Mutant(builds=fewer("headroom", 64 / 144)),
    ),
    "counts bytes where its memory is of cells": ("PF-20", Mutant(builds=fewer("xoff", 144 / 64))),
    "never sends XON": ("PF-22", Mutant(reports=of_pauses(lambda one: None if is_xon(one) else one))),
    "knows no XON": ("PF-22", Mutant(builds=under("flow_control.pfc", resume=False))),
    "sends XON twice": ("PF-22", Mutant(reports=twice)),
    "does not renew a pause": ("PF-21", Mutant(builds=under("flow_control.pfc", refresh=False))),
    "pauses all priorities": (
        "PF-24",
        Mutant(reports=of_pauses(lambda one: replace(one, word=one.word | (0 if is_xon(one) else 0xFF)))),
    ),
    "pauses a lossy priority": (
        "PF-23",
        Mutant(reports=of_pauses(lambda one: replace(one, word=one.word | (0 if is_xon(one) else 1)))),
    ),
    "has two lossless classes": ("PF-24", Mutant(builds=under("flow_control.pfc", priorities=[3, 4]))),
    "has too little headroom": (
        "PF-19",
        Mutant(builds=under("flow_control.pfc", xoff="100 kB", xon="50 kB", headroom="3 kB")),
    ),
    "has too small a buffer": ("PF-19", Mutant(builds=under("switch", buffer={"queue": "60 kB"}))),
    "sends pauses without PFC": ("PF-25", Mutant(builds=under("flow_control.pfc", priorities=[3]))),
    "sends no pauses": ("PF-26", Mutant(reports=of_pauses(lambda _: None))),
    "sends pauses to itself": ("PF-18", Mutant(writes=put(0, mac("02:00:00:00:00:01")))),
    "sends from a group address": ("PF-18", Mutant(writes=put(6, b"\x03"))),
    "writes PAUSE for PFC": ("PF-18", Mutant(writes=put(14, b"\x00\x01"))),
    "writes into the reserved octet": ("PF-18", Mutant(writes=put(16, b"\x01"))),
    "writes times without bits": ("PF-18", Mutant(writes=put(18, b"\x00\x01"))),
    "does not pad": ("PF-18", Mutant(writes=lambda octets: octets[:34])),
    "pads with what lies there": ("PF-18", Mutant(writes=put(50, b"\x55"))),
    "drops where it should forward": ("PF-27", Mutant(builds=under("watchdog", action="drop"))),
    "sees a storm late": ("PF-27", Mutant(builds=under("watchdog", detection_time="6 ms"))),
    "has equal shares": ("ET-02", Mutant(builds=ets(50, 50))),
    "gives 9 where 10 are due": ("ET-11", Mutant(builds=less)),
    "counts frames, not octets": ("ET-10", Mutant(builds=under("switch", scheduler="wrr"))),
    "lends nothing": (
        "ET-01",
        Mutant(
            builds=under(
                "switch",
                scheduler={"shaper": {"port": {"token_bucket": {"rate": "5 Gb/s", "depth": "3 kB"}}}},
            )
        ),
    ),
    "knows no strict class": ("ET-08", Mutant(builds=under("switch", scheduler="drr"))),
    "knows strict priority only": ("ET-04", Mutant(builds=under("switch", scheduler="strict_priority"))),
    "keeps its shares": ("ET-12", Mutant(builds=lambda scenario: scenario.pop("faults", None))),
    "cuts by half of the feedback": ("QN-10", Mutant(builds=qcn(gain=1 / 256))),
    "cuts to a tenth": ("QN-10", Mutant(builds=qcn(min_decrease_factor=0.1, gain=1 / 64))),
    "recovers at once": ("QN-11", Mutant(builds=qcn(time_reset="20 us"))),
    "gains ten times as much": ("QN-12", Mutant(builds=qcn(active_increase="50 Mb/s"))),
    "understands no more than feedback 20": ("QN-10", Mutant(hears=cap(20))),
    "ignores what has reserved bits": (
        "QN-06",
        Mutant(hears=lambda frame: [] if frame[16:18] == b"\x22\xe9" and frame[22] & 0xF else [frame]),
    ),
    "writes another version": ("QN-01", Mutant(writes=put(18, b"\x10"))),
    "writes no feedback": ("QN-01", Mutant(writes=put(18, b"\x00\x00"))),
    "sends no messages": (
        "QN-05",
        Mutant(reports=lambda frames: [one for one in frames if one.kind != "cnm"]),
    ),
    "takes messages for others": (
        "QN-09",
        Mutant(hears=lambda frame: [mac(STATION) + frame[6:] if frame[16:18] == b"\x22\xe9" else frame]),
    ),
    "says nothing of its queue": ("QN-02", Mutant(writes=put(32, bytes(4)))),
    "cuts the head of the sampled frame": (
        "QN-02",
        Mutant(builds=under("switch", queue_managers=[{"qcn": {"header_length": "32 B"}}])),
    ),
    "knows no CN-TAG": ("QN-13", Mutant(builds=lambda scenario: scenario["host"].pop("congestion_domain"))),
    "lets all priorities in": (
        "QN-14",
        Mutant(builds=under("switch.congestion_domain", priorities=[3], ports={"h0": "interior"})),
    ),
    "keeps tags at the edge": (
        "QN-14",
        Mutant(reports=lambda frames: [replace(one, cn_tag="0") for one in frames]),
    ),
    "hears no neighbour": ("QN-15", Mutant(hears=lambda _: [])),
    "believes any bit": (
        "QN-15",
        Mutant(hears=lambda frame: [frame.replace(b"\x00\x80\xc2\x08\x01\x01", b"\x00\x80\xc2\x08\x08\x08")]),
    ),
    "sends every other message": (
        "QN-04",
        Mutant(builds=under("switch", queue_managers=[{"qcn": {"sample_base": "300 kB"}}])),
    ),
}


def test_there_are_enough() -> None:
    assert len(MUTANTS) >= 30


@pytest.mark.parametrize("what", MUTANTS)
def test_each_is_noticed(what: str) -> None:
    """The right device passes the case, which `test_conform` shows."""
    case, mutant = MUTANTS[what]
    outcomes = list(conformance.run(conformance.cases([case]), mutant))
    assert any(one.verdict == "fail" for one in outcomes), [one.observed for one in outcomes]
