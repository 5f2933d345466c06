"""A real port as the device: a small switch of software, in memory or between virtual interfaces."""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import subprocess
import threading
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from penstock import conformance
from penstock.cli import main
from penstock.conformance import port
from penstock.conformance.controls import CONTROL, MAC_CONTROL, PFC_OPCODE, VLAN
from penstock.conformance.frames import mac
from penstock.dcbx.interface import EVERY, Interface
from penstock.errors import InputError

TESTER, FEED = mac("02:00:00:00:00:0a"), mac("02:00:00:00:00:0b")
QUANTUM_S, SLOW_QUANTUM_S = 512 / 10e9, 512 / 1e9
"""At 10 Gb/s in memory, and at 1 Gb/s between virtual interfaces, where a pause outlasts a busy machine."""
IN_SIGHT = ["PF-01", "PF-02", "PF-03", "PF-04", "PF-06", "PF-10", "PF-11", "PF-12", "PF-13", "PF-14", "PF-15"]


@dataclass
class SoftSwitch:
    """Passes frames on, and obeys PFC; `wrong` says in which way it does not."""

    priorities: tuple[int, ...]
    wrong: str = ""
    quantum_s: float = QUANTUM_S
    waiting: dict[int, deque[tuple[float, bytes]]] = field(
        default_factory=lambda: {n: deque() for n in range(8)}
    )
    until: dict[int, float] = field(default_factory=lambda: dict.fromkeys(range(8), 0.0))

    def hears(self, octets: bytes, now: float) -> None:
        """A frame at the port under test."""
        if self.wrong == "takes tagged frames" and octets[12:14] == VLAN:
            octets = octets[:12] + octets[16:]
        if self.wrong == "deaf" or octets[12:14] != MAC_CONTROL:
            return
        if octets[:6] != mac(CONTROL) and self.wrong != "looks at no address":
            return
        opcode, vector = int.from_bytes(octets[14:16], "big"), octets[17]
        if opcode == 1 and self.wrong == "obeys PAUSE":
            self.until = dict.fromkeys(range(8), now + int.from_bytes(octets[16:18], "big") * self.quantum_s)
        if opcode != PFC_OPCODE and (self.wrong != "looks at no opcode" or opcode == 1):
            return
        if self.wrong == "looks at the reserved octet" and octets[16]:
            return
        for n in range(8):
            if not vector >> n & 1 and self.wrong != "looks at no vector":
                continue
            quanta = int.from_bytes(octets[18 + 2 * n : 20 + 2 * n], "big")
            if self.wrong == "knows no time 0" and not quanta:
                continue
            share = 0.5 if self.wrong == "waits half as long" else 1.0
            of = (n + 1) % 8 if self.wrong == "pauses the next" else n
            if of in self.priorities or self.wrong == "has PFC for all":
                self.until[of] = now + share * quanta * self.quantum_s
        if self.wrong == "pauses all at once" and vector:
            self.until = dict.fromkeys(range(8), max(self.until.values()))

    def passes(self, octets: bytes, now: float) -> None:
        """A frame of the feed."""
        self.waiting[octets[octets.find(port.MAGIC) + len(port.MAGIC)]].append((now, octets))

    def sends(self, until: float) -> Iterator[tuple[float, bytes]]:
        """Frames sent by the port under test until then."""
        for n, frames in self.waiting.items():
            while frames and max(frames[0][0], self.until[n]) <= until:
                since, octets = frames.popleft()
                yield max(since, self.until[n]), octets


@dataclass
class Memory:
    """Simulated cables, and a clock that advances while the caller waits."""

    switch: SoftSwitch
    rate_bps: int = 10_000_000_000
    addresses: tuple[bytes, bytes] = (TESTER, FEED)
    time: float = 7.0

    def now(self) -> float:
        """The time of the trial."""
        return self.time

    def send(self, feeds: bool, octets: bytes) -> None:
        """Comes at once."""
        (self.switch.passes if feeds else self.switch.hears)(octets, self.time)

    def received(self, until: float) -> list[tuple[float, bytes]]:
        """Frames received until then."""
        self.time = max(self.time, until)
        return sorted(self.switch.sends(self.time))

    def close(self) -> None:
        """Nothing is held."""


def failing(switch: SoftSwitch) -> set[str]:
    chosen = port.fitting(conformance.cases(), 10_000_000_000, switch.priorities)
    outcomes = list(conformance.run(chosen, port.PortDevice(Memory(switch))))
    for one in outcomes:
        assert one.verdict == "not applicable" or one.expected
        assert bool(one.reason) == (one.verdict == "not applicable")
    applied = {one.case.id for one in outcomes if one.verdict != "not applicable"}
    assert applied == set(IN_SIGHT)
    return {one.case.id for one in outcomes if one.verdict == "fail"}


def test_a_switch_that_obeys_passes_what_can_be_seen() -> None:
    assert failing(SoftSwitch((3, 4))) == set()
    assert failing(SoftSwitch((0, 1, 2, 5, 7))) == set()


@pytest.mark.parametrize(
    ("wrong", "noticed"),
    [
        ("deaf", {"PF-01", "PF-02", "PF-03", "PF-04", "PF-06", "PF-14"}),
        ("takes tagged frames", {"PF-15"}),
        ("looks at no address", {"PF-13"}),
        ("obeys PAUSE", {"PF-11"}),
        ("looks at no opcode", {"PF-12"}),
        ("looks at the reserved octet", {"PF-14"}),
        ("looks at no vector", {"PF-06"}),
        ("knows no time 0", {"PF-04"}),
        ("waits half as long", {"PF-03", "PF-04"}),
        ("has PFC for all", {"PF-10"}),
    ],
)
def test_a_switch_that_is_wrong_is_noticed(wrong: str, noticed: set[str]) -> None:
    assert failing(SoftSwitch((3, 4), wrong)) == noticed


@pytest.mark.parametrize("wrong", ["pauses the next", "pauses all at once"])
def test_priorities_that_are_confused_are_noticed(wrong: str) -> None:
    assert failing(SoftSwitch((3, 4), wrong)) >= {"PF-01"}


@dataclass
class Busy(Memory):
    """A machine that does something else for a while."""

    def received(self, until: float) -> list[tuple[float, bytes]]:
        """Comes back late now and then."""
        return super().received(until + (3e-3 if int(1e3 * until) % 64 == 0 else 0))


def test_a_machine_that_is_late_says_so() -> None:
    chosen = port.fitting(conformance.cases(["PF-01"]), 10_000_000_000, [3])
    [outcome] = conformance.run(chosen, port.PortDevice(Busy(SoftSwitch((3,)))))
    assert outcome.verdict == "not applicable"
    assert "late by 3.0 ms" in outcome.reason


def test_one_priority_and_all_of_them_leave_cases_without_trials() -> None:
    def reasons(*priorities: int) -> dict[str, str]:
        return {case.id: case.reason for case in port.fitting(conformance.cases(), 10**10, priorities)}

    assert "other priorities" in reasons(3)["PF-02"]
    assert "other priorities" in reasons(*range(8))["PF-10"]
    assert "overloaded" in reasons(3)["ET-04"]
    with pytest.raises(InputError, match="25 Gb/s"):
        port.fitting(conformance.cases(), 10**11, [3])
    with pytest.raises(InputError, match="--priorities"):
        port.fitting(conformance.cases(), 10**10, [])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--interface", "lo"], "expected both"),
        (["--feed", "lo"], "expected both"),
        (["--interface", "lo", "--feed", "lo"], "another interface"),
        (["--interface", "no-such", "--feed", "lo"], "no such interface"),
        (
            ["--interface", "lo", "--feed", "lo", "--against", "sim"],
            "remove --against, --scenario and --node",
        ),
    ],
)
def test_what_cannot_be(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["conform", *words]) == 2
    assert message in capsys.readouterr().err


def ip(*words: str) -> bool:
    """True if the kernel accepted the call."""
    return subprocess.run(["ip", *words], capture_output=True, check=False).returncode == 0


@contextlib.contextmanager
def veths() -> Iterator[tuple[tuple[str, str], tuple[str, str]]]:
    """Two pairs of virtual interfaces: each the tester's end and the switch's."""
    name = f"ps{os.getpid() % 100_000}"
    pairs = (f"{name}t", f"{name}p"), (f"{name}f", f"{name}q")
    if os.name != "posix" or os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("virtual interfaces need root and iproute2")
    try:
        for one, other in pairs:
            if not ip("link", "add", one, "type", "veth", "peer", "name", other):
                pytest.skip("virtual interfaces are not permitted here")
            for end in (one, other):
                ip("link", "set", end, "up")
        yield pairs
    finally:
        for one, _ in pairs:
            ip("link", "del", one)


def bridge(ends: tuple[Interface, Interface], switch: SoftSwitch, over: threading.Event) -> None:
    """The switch between two interfaces, in the time of the clock."""
    tested, fed = ends
    while not over.is_set():
        select.select(ends, [], [], 1e-3)
        while (octets := tested.receive()) is not None:
            switch.hears(octets, time.monotonic())
        while (octets := fed.receive()) is not None:
            if port.MAGIC in octets:
                switch.passes(octets, time.monotonic())
        for _, octets in switch.sends(time.monotonic()):
            tested.send(octets)


@pytest.mark.parametrize(("wrong", "code"), [("", 0), ("knows no time 0", 1)])
def test_between_virtual_interfaces(
    wrong: str, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(port, "_rate_bps", lambda _: 1_000_000_000)
    for _ in range(3):
        outcomes, found = between(wrong, capsys)
        if not any("late by" in one["reason"] for one in outcomes):
            break
    else:
        pytest.skip("this machine is busy")
    assert found == code
    verdicts = [one["verdict"] for one in outcomes]
    assert [verdicts.count(word) for word in ("pass", "fail", "not applicable")] == [4 - code, code, 1]


def between(wrong: str, capsys: pytest.CaptureFixture[str]) -> tuple[list[Any], int]:
    """The outcomes of the command, and its exit code."""
    with veths() as (tester, feed), contextlib.ExitStack() as stack:
        ends = (Interface(tester[1], EVERY), Interface(feed[1], EVERY))
        for end in ends:
            stack.callback(end.close)
        over, switch = threading.Event(), SoftSwitch((3,), wrong, SLOW_QUANTUM_S)
        running = threading.Thread(target=bridge, args=(ends, switch, over))
        running.start()
        stack.callback(running.join)
        stack.callback(over.set)
        cases = [word for case in ("PF-01", "PF-04", "PF-13", "PF-18") for word in ("--case", case)]
        words = ["--interface", tester[0], "--feed", feed[0], "--priorities", "3", *cases, "--json"]
        code = main(["conform", *words])
        return json.loads(capsys.readouterr().out)["outcomes"], code
