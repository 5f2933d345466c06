"""A real switch as a device, between two interfaces of this machine: `--interface IF --feed IF`.

The tester is at `interface`, the port under test at the other end of its cable. Through `feed`, which is at
another port of the switch, it sends frames of the priorities to itself, one each few milliseconds, and looks
which of them come: which priorities the port sends. That shows whether PFC is obeyed, and how frames that are
none are refused.

A pause is held by a PFC frame each millisecond, which is enough up to 25 Gb/s, so that times of milliseconds
tell. What takes microseconds, needs a port that is overloaded, or another configuration of the switch cannot
be seen from here, nor what a NIC keeps for itself: most take MAC control frames that come in, and some send
none that software hands them. A switch that seems to obey nothing may have heard nothing: compare its counter
of received PFC frames.

Not modelled: a clock of the NIC (times are those of the kernel's clock when Python runs).
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
"""The first EtherType for local experiments (IEEE 802), and what says that a frame is ours."""
EVERYBODY = mac("ff:ff:ff:ff:ff:ff")
OTHERS = ("02:00:00:00:00:77", "ff:ff:ff:ff:ff:ff")
"""Addresses that PFC is not sent to."""
LENGTH = 60
SPACING_S, CLOSE_S = 4e-3, 0.25e-3
"""Between two frames of a priority: of each of several, and of one alone."""
HOLD_S, HOLDS = 1e-3, 100
FOREVER, QUANTUM_BITS = 0xFFFF, 512
SLACK_S = 20e-3
"""After so long, a frame that was on its way has come, and Python has run."""
AT_S = 0.1
MOST_RATE_BPS = 25_000_000_000
"""Of a faster link the longest pause is over before the next PFC frame comes for certain."""


class Wire(Protocol):
    """Both cables, and the time."""

    addresses: tuple[bytes, bytes]
    """Of the tester at the port under test, and of the feed."""
    rate_bps: int
    """Of the link to the port under test."""

    def now(self) -> float:
        """In seconds."""

    def send(self, feeds: bool, octets: bytes) -> None:
        """Sends a frame, at the feed or at the port under test."""

    def heard(self, until: float) -> list[tuple[float, bytes]]:
        """Waits, and returns what has come from the port under test meanwhile, with the second of each."""

    def close(self) -> None:
        """Gives back what it holds."""


class Cables:
    """Two interfaces of this machine."""

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
        """The clock that only goes forward."""
        return time.monotonic()

    def send(self, feeds: bool, octets: bytes) -> None:
        """Hands a frame to the kernel."""
        (self._feed if feeds else self._tester).send(octets)

    def heard(self, until: float) -> list[tuple[float, bytes]]:
        """What comes until then."""
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
        """Both sockets."""
        self._tester.close()
        self._feed.close()


def _rate_bps(interface: str) -> int:
    """As the kernel has it."""
    try:
        mbps = int(Path(f"/sys/class/net/{interface}/speed").read_text("ascii"))
    except (OSError, ValueError):
        mbps = -1
    if mbps <= 0:
        raise InputError(f"--interface {interface}: its link has no rate; is it up?")
    return mbps * 1_000_000


@dataclass
class PortDevice:
    """The port at the other end of the cable."""

    wire: Wire
    name: str = "interface"
    seen: list[tuple[float, int]] = field(default_factory=list)
    """The second, from the start, and the priority of each frame of the feed that came."""
    _began: float = 0.0
    _until: float = 0.0
    _lasts_s: float = 0.0
    """Of the longest pause."""
    _late_s: float = 0.0
    _due: dict[int, float] = field(default_factory=dict)
    _spacing_s: float = SPACING_S

    def start(self, settings: Mapping[str, Any]) -> None:
        """Lets the last pause run out, and feeds these priorities from now on."""
        self._due = {}
        # The switch learns where the tester is.
        self.wire.send(False, (EVERYBODY + self.wire.addresses[0] + MAGIC).ljust(LENGTH, b"\0"))
        self._lasts_s = FOREVER * QUANTUM_BITS / self.wire.rate_bps
        self._run(self.wire.now() + SLACK_S + self._lasts_s)
        self._late_s = 0.0
        self._began = self._until = self.wire.now()
        self.seen = []
        self._spacing_s = settings["spacing_s"]
        self._due = dict.fromkeys(settings["priorities"], self._began)

    def administer(self, settings: Mapping[str, Any]) -> None:  # noqa: ARG002 - as of every device
        """The switch has an administrator of its own."""
        raise InputError("a real port keeps its settings")

    def send(self, frame: bytes) -> None:
        """A frame arrives at the port under test."""
        self.wire.send(False, frame)

    def wait(self, seconds: float) -> None:
        """Time passes, and the feed goes on; what is late does not make the next step late."""
        self._until += seconds
        self._run(self._until)
        self._late_s = max(self._late_s, self.wire.now() - self._until)

    def operational(self) -> Operational:
        """What is in force cannot be asked; what came is in `seen`.

        Raises
        ------
        UnfitError
            If this machine was so late that a pause may have run out.
        """
        if self._late_s > self._lasts_s / 2:
            raise UnfitError(f"this machine was late by {1e3 * self._late_s:.1f} ms; is it busy?")
        return Operational((), (), (), frozenset())

    def sent(self) -> list[bytes]:
        """Nothing but frames of the feed is looked at."""
        return []

    def lacks(self, case: str) -> str:  # noqa: ARG002 - cases say it themselves
        """Cases have the reason, if they cannot be seen."""
        return ""

    def close(self) -> None:
        """Both interfaces."""
        self.wire.close()

    def _run(self, end: float) -> None:
        while True:
            now = self.wire.now()
            for priority, due in self._due.items():
                if due <= now:
                    self.wire.send(True, self._frame(priority))
                    # What is late is left out: no burst follows.
                    self._due[priority] = max(due + self._spacing_s, now)
            until = min([end, *self._due.values()])
            for at, octets in self.wire.heard(until):
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
        raise TypeError("only a real port is looked at so")
    return device.seen


def comes(priority: int, from_s: float, until_s: float, *, paused: bool) -> Expect:
    """Frames of a priority come within a time, half of those fed at least; or none does."""
    wanted = 0 if paused else Within((until_s - from_s) / SPACING_S / 2, float("inf"))

    def observe(device: Device, _: Operational) -> int:
        return sum(one == priority and from_s <= at < until_s for at, one in _seen(device))

    return Expect(f"frames of {priority} from {1e3 * from_s:g} to {1e3 * until_s:g} ms:", wanted, observe)


def _held(name: str, frame: Sent, stops: Sequence[int], rate_bps: int) -> Trial:
    """A frame each millisecond, and which priorities that stops; all go on when it is over."""
    steps: list[Step] = [Wait(AT_S)]
    steps += [step for _ in range(HOLDS) for step in (frame, Wait(HOLD_S))]
    end_s = AT_S + HOLDS * HOLD_S
    after_s = end_s + SLACK_S + FOREVER * QUANTUM_BITS / rate_bps
    steps.append(Wait(after_s - end_s + AT_S))
    steps += [comes(priority, AT_S + SLACK_S, end_s, paused=priority in stops) for priority in ALL]
    steps += [comes(priority, after_s, after_s + AT_S, paused=False) for priority in ALL]
    return Trial(name, {"priorities": ALL, "spacing_s": SPACING_S}, steps)


def _silent(lasts_s: float) -> Expect:
    """The longest time without a frame is that of one pause."""

    def longest(device: Device, _: Operational) -> float:
        times = [at for at, _ in _seen(device)]
        return 1e3 * max((b - a for a, b in pairwise(times)), default=0.0)

    return Expect("longest silence:", Within(900 * lasts_s, 1e3 * (lasts_s + SLACK_S), "ms"), longest)


def _timed(priority: int, rate_bps: int) -> Trial:
    """One pause of the longest time."""
    lasts_s = FOREVER * QUANTUM_BITS / rate_bps
    steps = (Wait(AT_S), pfc({priority: FOREVER}), Wait(lasts_s + AT_S), _silent(lasts_s))
    return Trial("65535 quanta", {"priorities": [priority], "spacing_s": CLOSE_S}, steps)


PAIRS, APART_S = 20, 20e-3
"""How often a pause is taken back at once, and how long from one time to the next."""


def _ended(priority: int, rate_bps: int) -> Trial:
    """Time 0 ends a pause at once: of most, as Python may be late. Then one that is not taken back."""
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
    "PF": "needs a clock of the NIC, an overloaded port, or PFC frames that NICs keep: --against sim",
    "ET": "needs more frames than software sends: shares show at a port that is overloaded",
    "QN": "needs a congestion point that is overloaded",
    "TR": "needs a port that is overloaded, and what a switch does with each frame",
    "DX": "the agent of a switch has an administrator of its own: penstock dcbx speaks with it",
}
"""Why cases cannot be seen from outside."""


def fitting(cases: Sequence[Case], rate_bps: int, priorities: Sequence[int]) -> list[Case]:
    """The cases with the trials that a real port can have; the others with the reason why it has none.

    `priorities` are those that the switch has PFC for: nothing tells the tester.
    """
    if not priorities:
        raise InputError("--priorities: expected those that the switch has PFC for")
    if rate_bps > MOST_RATE_BPS:
        raise InputError(f"a link of {rate_bps / 1e9:g} Gb/s: software holds pauses up to 25 Gb/s")
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
