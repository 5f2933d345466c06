"""A real switch as a device, between two interfaces of this host: `--interface IF --feed IF`.

The tester's `interface` is cabled to the port under test, and `feed` to another port of the switch. Through
`feed`, the tester sends frames of the tested priorities to itself, one every few milliseconds. Arriving
frames show which priorities the port transmits, and so whether it obeys PFC and rejects illegal frames.

A PFC frame every millisecond sustains a pause up to 25 Gb/s, so a resolution of milliseconds is sufficient.
This setup cannot observe cases with effects of microseconds, with an overloaded port, or with another
configuration of the switch. It also cannot observe frames that the NIC does not pass on: most NICs consume
incoming MAC control frames, and some do not send such frames from software. If a switch seems to ignore all
pauses, compare its counter of received PFC frames, since it may not have received any.

Not modelled: hardware timestamps (times are those of the kernel's clock when Python runs).
"""

from __future__ import annotations

import select
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any, Protocol

from penstock.dcbx.interface import EVERY, Interface, LinkDownError
from penstock.errors import InputError

from .controls import VLAN, control, pause, pfc, vector
from .device import Device, Operational, UnfitError
from .frames import Sent, mac
from .registry import Case, Expect, Step, Trial, Wait, Within

ALL = tuple(range(8))
MAGIC = b"\x88\xb5penstock"
"""The first EtherType for local experiments (IEEE 802), and a marker that identifies our frames."""
EVERYBODY = mac("ff:ff:ff:ff:ff:ff")
OTHERS = ("02:00:00:00:00:77", "ff:ff:ff:ff:ff:ff")
"""Destination addresses that are invalid for PFC frames."""
LENGTH = 60
SPACING_S, CLOSE_S = 4e-3, 0.25e-3
"""Seconds between two frames of a priority, with several priorities and with one."""
HOLD_S, HOLDS = 1e-3, 100
FOREVER, QUANTUM_BITS = 0xFFFF, 512
SLACK_S = 20e-3
"""Seconds after which a frame in flight has arrived and Python has run."""
AT_S = 0.1
MOST_RATE_BPS = 25_000_000_000
"""Maximum rate of the link. On a faster link, the longest pause may expire before the next PFC frame."""


class Wire(Protocol):
    """The link to the port under test, the feed, and the clock."""

    addresses: tuple[bytes, bytes]
    """Addresses of the tester at the port under test, and of the feed."""
    rate_bps: int
    """Rate of the link to the port under test."""

    def now(self) -> float:
        """The current time in seconds."""

    def send(self, feeds: bool, octets: bytes) -> None:
        """Sends a frame to the port under test, or from the feed."""

    def received(self, until: float) -> list[tuple[float, bytes]]:
        """Frames received from the port under test until `until`, each with its time in seconds."""

    def close(self) -> None:
        """Releases the resources."""


class Cables:
    """A pair of interfaces of this host."""

    def __init__(self, interface: str, feed: str) -> None:
        if interface == feed:
            raise InputError(f"--feed {feed}: expected another interface, at another port of the switch")
        self._tester = Interface(interface, EVERY)
        try:
            self._feed = Interface(feed, EVERY)
        except BaseException:
            self._tester.close()
            raise
        self.addresses = (self._tester.mac, self._feed.mac)
        self.rate_bps = _rate_bps(interface)

    def now(self) -> float:
        """The monotonic clock, in seconds."""
        return time.monotonic()

    def send(self, feeds: bool, octets: bytes) -> None:
        """Passes a frame to the kernel."""
        (self._feed if feeds else self._tester).send(octets)

    def received(self, until: float) -> list[tuple[float, bytes]]:
        """Frames received until `until`."""
        found: list[tuple[float, bytes]] = []
        while True:
            select.select([self._tester], [], [], max(0.0, until - self.now()))
            try:
                while (octets := self._tester.receive()) is not None:
                    found.append((self.now(), octets))
            except LinkDownError:
                pass
            if self.now() >= until:
                return found

    def close(self) -> None:
        """Closes both sockets."""
        self._tester.close()
        self._feed.close()


def _rate_bps(interface: str) -> int:
    """Rate of the link in b/s, as the kernel reports it."""
    try:
        mbps = int(Path(f"/sys/class/net/{interface}/speed").read_text("ascii"))
    except (OSError, ValueError):
        mbps = -1
    if mbps <= 0:
        raise InputError(f"--interface {interface}: its link has no rate; is it up?")
    return mbps * 1_000_000


@dataclass
class PortDevice:
    """The port under test, at the other end of the cable."""

    wire: Wire
    name: str = "interface"
    seen: list[tuple[float, int]] = field(default_factory=list)
    """Receive time in seconds since the start, and priority, of each frame of the feed."""
    _began: float = 0.0
    _until: float = 0.0
    _lasts_s: float = 0.0
    """Duration of the longest pause in seconds."""
    _late_s: float = 0.0
    _due: dict[int, float] = field(default_factory=dict)
    _spacing_s: float = SPACING_S

    def start(self, settings: Mapping[str, Any]) -> None:
        """Waits until the last pause has expired, then starts to feed these priorities."""
        self._due = {}
        # Teaches the switch the tester's address.
        self.wire.send(False, (EVERYBODY + self.wire.addresses[0] + MAGIC).ljust(LENGTH, b"\0"))
        self._lasts_s = FOREVER * QUANTUM_BITS / self.wire.rate_bps
        self._run(self.wire.now() + SLACK_S + self._lasts_s)
        self._late_s = 0.0
        self._began = self._until = self.wire.now()
        self.seen = []
        self._spacing_s = settings["spacing_s"]
        self._due = dict.fromkeys(settings["priorities"], self._began)

    def administer(self, settings: Mapping[str, Any]) -> None:  # noqa: ARG002 - as of every device
        """Raises an error: the switch has its own administrator."""
        raise InputError("the settings of a real port cannot be changed")

    def send(self, frame: bytes) -> None:
        """Sends a frame to the port under test."""
        self.wire.send(False, frame)

    def wait(self, seconds: float) -> None:
        """Waits while the feed continues. A late step does not delay the next one."""
        self._until += seconds
        self._run(self._until)
        self._late_s = max(self._late_s, self.wire.now() - self._until)

    def operational(self) -> Operational:
        """Returns an empty state, since a switch cannot be queried. Received frames are in `seen`.

        Raises
        ------
        UnfitError
            If this host was so late that a pause may have expired.
        """
        if self._late_s > self._lasts_s / 2:
            raise UnfitError(f"this host was late by {1e3 * self._late_s:.1f} ms; is it busy?")
        return Operational((), (), (), frozenset())

    def sent(self) -> list[bytes]:
        """Empty, since only frames of the feed are observed."""
        return []

    def lacks(self, case: str) -> str:  # noqa: ARG002 - cases say it themselves
        """Empty, since `cases` has already excluded cases that cannot be observed."""
        return ""

    def close(self) -> None:
        """Closes both interfaces."""
        self.wire.close()

    def _run(self, end: float) -> None:
        while True:
            now = self.wire.now()
            for priority, due in self._due.items():
                if due <= now:
                    self.wire.send(True, self._frame(priority))
                    # Overdue frames are skipped, so no burst follows.
                    self._due[priority] = max(due + self._spacing_s, now)
            until = min([end, *self._due.values()])
            for at, octets in self.wire.received(until):
                place = octets.find(MAGIC, 12)
                if place in (12, 16) and octets[6:12] == self.wire.addresses[1]:
                    self.seen.append((at - self._began, octets[place + len(MAGIC)]))
            if self.wire.now() >= end:
                return

    def _frame(self, priority: int) -> bytes:
        to, own = self.wire.addresses
        tag = VLAN + bytes([priority << 5, 0])
        return (to + own + tag + MAGIC + bytes([priority])).ljust(LENGTH + 4, b"\0")


def _seen(device: Device) -> list[tuple[float, int]]:
    if not isinstance(device, PortDevice):
        raise TypeError("the device is not a real port")
    return device.seen


def comes(priority: int, from_s: float, until_s: float, *, paused: bool) -> Expect:
    """Expects at least half of the fed frames of a priority to arrive within a time, or none if paused."""
    wanted = 0 if paused else Within((until_s - from_s) / SPACING_S / 2, float("inf"))

    def observe(device: Device, _: Operational) -> int:
        return sum(one == priority and from_s <= at < until_s for at, one in _seen(device))

    return Expect(f"frames of {priority} from {1e3 * from_s:g} to {1e3 * until_s:g} ms:", wanted, observe)


def _held(name: str, frame: Sent, stops: Sequence[int], rate_bps: int) -> Trial:
    """Sends a control frame every millisecond to stop these priorities; all must resume afterwards."""
    steps: list[Step] = [Wait(AT_S)]
    steps += [step for _ in range(HOLDS) for step in (frame, Wait(HOLD_S))]
    end_s = AT_S + HOLDS * HOLD_S
    after_s = end_s + SLACK_S + FOREVER * QUANTUM_BITS / rate_bps
    steps.append(Wait(after_s - end_s + AT_S))
    steps += [comes(priority, AT_S + SLACK_S, end_s, paused=priority in stops) for priority in ALL]
    steps += [comes(priority, after_s, after_s + AT_S, paused=False) for priority in ALL]
    return Trial(name, {"priorities": ALL, "spacing_s": SPACING_S}, steps)


def _silent(lasts_s: float) -> Expect:
    """Expects the longest time without a frame to equal the pause time."""

    def longest(device: Device, _: Operational) -> float:
        times = [at for at, _ in _seen(device)]
        return 1e3 * max((b - a for a, b in pairwise(times)), default=0.0)

    return Expect("longest silence:", Within(900 * lasts_s, 1e3 * (lasts_s + SLACK_S), "ms"), longest)


def _timed(priority: int, rate_bps: int) -> Trial:
    """A single pause of the maximum time."""
    lasts_s = FOREVER * QUANTUM_BITS / rate_bps
    steps = (Wait(AT_S), pfc({priority: FOREVER}), Wait(lasts_s + AT_S), _silent(lasts_s))
    return Trial("65535 quanta", {"priorities": [priority], "spacing_s": CLOSE_S}, steps)


PAIRS, APART_S = 20, 20e-3
"""Number of pauses that are cancelled immediately, and seconds between them."""


def _ended(priority: int, rate_bps: int) -> Trial:
    """Expects time 0 to end most pauses at once, since Python may be late. An uncancelled pause follows."""
    lasts_s = FOREVER * QUANTUM_BITS / rate_bps
    both: list[Step] = [pfc({priority: FOREVER}), pfc({priority: 0}), Wait(APART_S)]
    steps: list[Step] = [Wait(AT_S), *both * PAIRS, pfc({priority: FOREVER}), Wait(lasts_s + AT_S)]

    def silence(device: Device, _: Operational) -> float:
        times = [at for at, _ in _seen(device)]
        since = [AT_S + nth * APART_S for nth in range(PAIRS)]
        return 1e3 * median(min((at - begin for at in times if at > begin), default=1.0) for begin in since)

    what = "silence after a pause and time 0, median:"
    steps += [Expect(what, Within(0, 500 * lasts_s, "ms"), silence), _silent(lasts_s)]
    return Trial("", {"priorities": [priority], "spacing_s": CLOSE_S}, steps)


UNSEEN = {
    "PF": "needs hardware timestamps, an overloaded port, or PFC frames that NICs consume: --against sim",
    "ET": "needs an overloaded port, and software cannot send enough frames",
    "QN": "needs an overloaded congestion point",
    "TR": "needs an overloaded port, and a record of each frame",
    "DX": "the agent of a switch has its own administrator: use penstock dcbx",
}
"""Reasons why cases cannot be observed from outside."""


def fitting(cases: Sequence[Case], rate_bps: int, priorities: Sequence[int]) -> list[Case]:
    """The cases with the trials that a real port can run; any other case has a reason instead.

    `priorities` are those with PFC at the switch, which the tester cannot detect.
    """
    if not priorities:
        raise InputError("--priorities: expected the priorities with PFC at the switch")
    if rate_bps > MOST_RATE_BPS:
        raise InputError(f"a link of {rate_bps / 1e9:g} Gb/s: software can sustain pauses up to 25 Gb/s")
    seen = _trials(rate_bps, sorted(priorities))
    found = []
    for case in cases:
        trials = seen.get(case.id, [])
        if case.id in seen and not trials:
            found.append(replace(case, trials=(), reason="the switch has PFC for other priorities"))
            continue
        reason = "" if trials else UNSEEN[case.id[:2]]
        found.append(replace(case, trials=trials, reason=reason))
    return found


def _trials(rate_bps: int, priorities: Sequence[int]) -> dict[str, list[Trial]]:
    one, *_ = priorities
    every = {one: FOREVER}
    sets = [some for some in (priorities[:2], priorities[1:], priorities) if len(some) > 1]

    def held(name: str, frame: Sent, stops: Sequence[int] = ()) -> Trial:
        return _held(name, frame, stops, rate_bps)

    return {
        "PF-01": [held(f"priority {n}", pfc({n: FOREVER}), [n]) for n in priorities],
        "PF-02": [held(" ".join(map(str, some)), pfc(dict.fromkeys(some, FOREVER)), some) for some in sets],
        "PF-03": [_timed(one, rate_bps)],
        "PF-04": [_ended(one, rate_bps)],
        "PF-06": [held("", pfc(dict.fromkeys(ALL, FOREVER), enabled=1 << one), [one])],
        "PF-10": [held(f"priority {n}", pfc({n: FOREVER})) for n in ALL if n not in priorities],
        "PF-11": [held("", pause(FOREVER))],
        "PF-12": [
            held(f"{opcode:#06x}", control(opcode, vector(1 << one, every), f"opcode {opcode:#06x}"))
            for opcode in (0x0100, 0x0102)
        ],
        "PF-13": [held(to, pfc(every, to=to, what=f"to {to}")) for to in OTHERS],
        "PF-14": [held("", pfc(every, enabled=0x0100 | 1 << one, what="reserved octet"), [one])],
        "PF-15": [held("tagged", pfc(every, what="tagged", tag=VLAN + b"\x60\x00", length=64))],
    }
