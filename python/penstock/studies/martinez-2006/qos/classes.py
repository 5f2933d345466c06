"""Table 2: offered traffic of each class, and the scheduler settings for it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from penstock.library import toml
from penstock.qos.arbitration import Need, fill
from penstock.qos.service_classes import channels
from penstock.scenario import Scenario

LINK_BPS = 2_000_000_000
"""Data rate of a 2.5 Gb/s link with 8b/10b coding."""
ENTRIES = 64
QOS = ("NC", "VO", "VI", "CL")
BEST_EFFORT = ("EE", "BE", "BK")
SCHEDULERS = ("MinBW", "DTable")


@dataclass(frozen=True)
class Class:
    """A row of Table 2; `least` and `most` are shares of a link, `weight` is 0 for network control."""

    name: str
    priority: int
    least: float
    most: float
    frame: str | dict[str, Any]
    source: str
    entries: int
    distance: int
    each: str = ""
    weight: float = 0.0
    more: dict[str, Any] = field(default_factory=dict)
    """Further keys of its source."""

    @property
    def connections(self) -> int:
        """Number of connections per host, as many as fit."""
        return int(self.most * LINK_BPS / bits(self.each)) if self.each else 0


def table_2() -> dict[str, Class]:
    """The classes by name, in the order of the paper."""
    text = (Path(__file__).parent / "table-2.toml").read_text("utf-8")
    return {row["name"]: Class(**row) for row in toml(text)["classes"]}


def bits(rate: str) -> int:
    """A rate such as "64 kb/s" in bits per second."""
    number, unit = rate.split()
    return round(float(number) * {"kb/s": 1e3, "Mb/s": 1e6, "Gb/s": 1e9}[unit])


def channel_of(classes: dict[str, Class]) -> dict[str, int]:
    """The channel of each class."""
    return {name: channels(len(classes))[own.priority] for name, own in classes.items()}


def schedulers(classes: dict[str, Class]) -> dict[str, dict[str, Any]]:
    """Keys of both schedulers."""
    at = channel_of(classes)
    weights = [0] * len(classes)
    for name, own in classes.items():
        weights[at[name]] = round(own.weight * ENTRIES)
    table = fill(ENTRIES, {at[name]: Need(own.entries, own.distance) for name, own in classes.items()})
    return {
        "MinBW": {"min_bw": {"management": at["NC"], "weights": weights}},
        "DTable": {"dtable": {"entries": list(table)}},
    }


def flows(classes: dict[str, Class], hosts: int, load: float, *, calls: int = 1) -> list[dict[str, Any]]:
    """The flows of a fabric with this number of hosts, each with offered load `load`.

    Connections are spread over all pairs of hosts, and each is measured individually; there are `calls`
    times as many voice connections as in Table 2. Best-effort classes share the remaining load equally.
    """
    fixed = sum(own.least for own in classes.values())
    found: list[dict[str, Any]] = []
    for name, own in classes.items():
        common = {"from": "all", "priority": own.priority, "frame": own.frame}
        if own.each:
            each = own.connections * (calls if name == "VO" else 1)
            for shift in range(1, hosts):
                count = each // (hosts - 1) + (shift <= each % (hosts - 1))
                source = {own.source: {"rate": own.each, "count": count, "counted": True, **own.more}}
                to = {"permutation": {"shift": shift}}
                found.append({"name": f"{name}-{shift}", "to": to, "source": source, **common})
            continue
        share = own.most if own.least else (load - fixed) / len(BEST_EFFORT)
        source = {own.source: {"rate": f"{round(share * LINK_BPS)} b/s"}}
        found.append({"name": name, "to": {"uniform": "all"}, "source": source, **common})
    return found


def scenario(
    base: Scenario,
    classes: dict[str, Class],
    scheduler: dict[str, Any],
    load: float,
    *,
    levels: int,
    times_ms: tuple[int, int],
    calls: int = 1,
) -> Scenario:
    """One point of the figures; `times_ms` are the warm-up, and the measurement after it."""
    hosts = base.to_dict()["topology"]["n_tree"]["k"] ** levels
    return (
        base.with_value("topology.n_tree.n", levels)
        .with_value("simulation.duration", f"{sum(times_ms)} ms")
        .with_value("simulation.warmup", f"{times_ms[0]} ms")
        .with_value("host.scheduler", scheduler)
        .with_value("switch.scheduler", scheduler)
        .with_value("flows", flows(classes, hosts, load, calls=calls))
    )
