"""Topologies of simulated ports, and expectations for them.

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
"""One picosecond, so that an event at this time belongs to the end of an interval, not to the interval."""
AT_US = 100.0
"""Time at which the tester sends its frames."""
Table = dict[str, Any]


def flow(name: str, priority: int, rate: str = "greedy", *, sender: str = "h0", to: str = "h1",
         frame: int = FRAME) -> Table:  # fmt: skip
    """A flow of frames of one length, at line rate by default."""
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
    """A switch with hosts. `keys` are tables of the scenario; those under `pfc` configure PFC."""
    controls = {"pfc": {"priorities": list(priorities), **keys.pop("pfc", {})}} if priorities else {}
    length = keys.pop("length", "10 m")
    return {
        "topology": {"star": {"hosts": hosts, "rate": "10 Gb/s", "phy": "none", "length": length}},
        **({"flow_control": controls} if controls else {}),
        "flows": list(flows),
        **keys,
    }


def host(scenario: Table, **keys: Any) -> Table:
    """Settings of a trial whose device is the NIC of h0."""
    return {"scenario": scenario, "port": "h0.0->sw", "link": ("h0", "sw"), "station": "h0", **keys}


def switch(scenario: Table, nth: int = 1, **keys: Any) -> Table:
    """Settings of a trial whose device is the switch port to a host."""
    port, end = f"sw.{nth}->h{nth}", f"h{nth}"
    return {"scenario": scenario, "port": port, "link": (end, "sw"), "station": "sw", **keys}


DEVICES = {"host": host, "switch": switch}


def of(now: Operational) -> Traffic:
    """Activity of the device; only devices that forward frames have one."""
    if now.traffic is None:
        raise TypeError("the device forwards no frames")
    return now.traffic


def begins(frames: Sequence[Logged], from_us: float, until_us: float) -> int:
    """Frames that begin within a time."""
    return sum(from_us <= one.begins_us < until_us - ROUNDING_US for one in frames)


def ignored(count: int) -> Expect:
    """Expects this number of control frames to be ignored and counted."""
    return Expect("control frames ignored:", count, lambda _, now: of(now).ignored())


def paused(*frames: Sent | Wait | Expect) -> tuple[Step, ...]:
    """Steps of a trial in which the tester sends at `AT_US`."""
    return (Wait(AT_US * 1e-6), *frames)


def us(time: float) -> Wait:
    """A step that lets microseconds pass."""
    return Wait(time * 1e-6)


def lost(count: Within | int) -> Expect:
    """Expects this number of frames to be lost in the fabric."""
    return Expect(
        "frames lost:", count, lambda _, now: sum(row["frames"] for row in of(now).result.rows("drops"))
    )
