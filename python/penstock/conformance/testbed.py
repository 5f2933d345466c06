"""Arrangements of simulated ports, and what is asked of them.

All links have 10 Gb/s.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .device import Operational
from .frames import Sent
from .registry import Expect, Step, Wait, Within
from .sim import Logged, Traffic

ALL = tuple(range(8))
FRAME = 1_000
FOREVER = 0xFFFF
ROUNDING_US = 1e-6
"""A picosecond: what begins then begins at the end of a time, not within it."""
AT_US = 100.0
"""When the tester speaks."""
Table = dict[str, Any]


def flow(name: str, priority: int, rate: str = "greedy", *, sender: str = "h0", to: str = "h1",
         frame: int = FRAME) -> Table:  # fmt: skip
    """A flow of frames of one length, as fast as it can or at a rate."""
    source = "greedy" if rate == "greedy" else {"constant": {"rate": rate}}
    return {
        "name": name,
        "from": sender,
        "to": to,
        "priority": priority,
        "frame": f"{frame} B",
        "source": source,
    }


def star(flows: Sequence[Table], *, hosts: int = 2, priorities: Sequence[int] = ALL, **keys: Any) -> Table:
    """A switch with hosts around it; `keys` are tables of the scenario, and those of PFC under `pfc`."""
    controls = {"pfc": {"priorities": list(priorities), **keys.pop("pfc", {})}} if priorities else {}
    length = keys.pop("length", "10 m")
    return {
        "topology": {"star": {"hosts": hosts, "rate": "10 Gb/s", "length": length}},
        **({"flow_control": controls} if controls else {}),
        "flows": list(flows),
        **keys,
    }


def host(scenario: Table, **keys: Any) -> Table:
    """The NIC of h0 is the device."""
    return {"scenario": scenario, "port": "h0.0->sw", "link": ("h0", "sw"), "station": "h0", **keys}


def switch(scenario: Table, nth: int = 1, **keys: Any) -> Table:
    """The port of the switch towards a host is the device."""
    port, end = f"sw.{nth}->h{nth}", f"h{nth}"
    return {"scenario": scenario, "port": port, "link": (end, "sw"), "station": "sw", **keys}


DEVICES = {"host": host, "switch": switch}


def of(now: Operational) -> Traffic:
    """What the device has done; only devices that carry frames are asked."""
    if now.traffic is None:
        raise TypeError("the device carries no frames")
    return now.traffic


def begins(frames: Sequence[Logged], from_us: float, until_us: float) -> int:
    """Frames that begin within a time."""
    return sum(from_us <= one.begins_us < until_us - ROUNDING_US for one in frames)


def ignored(count: int) -> Expect:
    """So many control frames were ignored, and counted as such."""
    return Expect("control frames ignored:", count, lambda _, now: of(now).ignored())


def paused(*frames: Sent | Wait | Expect) -> tuple[Step, ...]:
    """The tester speaks at its time."""
    return (Wait(AT_US * 1e-6), *frames)


def us(time: float) -> Wait:
    """Microseconds pass."""
    return Wait(time * 1e-6)


def lost(count: Within | int) -> Expect:
    """So many frames are lost in the fabric."""
    return Expect(
        "frames lost:", count, lambda _, now: sum(row["frames"] for row in of(now).result.rows("drops"))
    )
