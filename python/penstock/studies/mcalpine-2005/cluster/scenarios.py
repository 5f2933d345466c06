"""The five scenarios of the paper: the changes that each makes to the cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.scenario import Scenario
from penstock.scenario.traffic import constant

RED = {
    "min": "32 kB",
    "max": "64 kB",
    "max_probability": 0.02,
    "weight": 0.02,
    "mean_frame": "1522 B",
}
"""Half of a port's 64 KiB, and all of it: the paper gives no thresholds; these are a fit (`search.toml`)."""
PAUSE = {"xoff": "48 KiB", "xon": "32 KiB"}
"""Three quarters and a half of a port's buffer, with ingress accounting."""
DATABASE_PRIORITY = 2
MARK_AFTER = "500 us"
"""PRC_ECN marks frames that have waited this long above the limiter."""
SCENARIOS = ("RED_only", "PAUSE_only", "ECN_PAUSE", "PRC_only", "PRC_ECN")
COLORS = ("#777777", "#D55E00", "#E69F00", "#0072B2", "#009E73")
METHODS: Mapping[str, Mapping[str, Any]] = {
    "2": {"method": "messages"},
    "3": {"method": "round_trip"},
    "4": {"method": "feedback"},
}
"""Methods of the paper to convey levels to the sources; method 1 marks frames."""


@dataclass(frozen=True)
class Settings:
    """Open parameters of the five scenarios; `point` are keys of path rate control in switches."""

    red: Mapping[str, Any] = field(default_factory=lambda: RED)
    pause: Mapping[str, Any] = field(default_factory=lambda: PAUSE)
    mark_after: str = MARK_AFTER
    limiters: Mapping[str, Any] = field(default_factory=dict)


CHOSEN = Settings()


def arranged(cluster: Scenario, name: str, settings: Settings = CHOSEN) -> Scenario:
    """The cluster under one of the five scenarios."""
    if name == "RED_only":
        return cluster.with_value("switch.queue_managers", [{"red": settings.red}])
    if name == "PAUSE_only":
        return paused(cluster, settings)
    if name == "ECN_PAUSE":
        return marked(paused(cluster, settings), settings)
    if name == "PRC_ECN":
        return with_ecn(path_rates(cluster, mark_after=settings.mark_after, **settings.limiters))
    return path_rates(cluster, **settings.limiters)


def paused(cluster: Scenario, settings: Settings = CHOSEN) -> Scenario:
    """The cluster with PAUSE, whose own watermarks replace thresholds of the shared memory."""
    for station in ("switch", "switches.servers1", "switches.servers2"):
        total = cluster.to_dict()
        for step in station.split("."):
            total = total[step]
        cluster = cluster.with_value(f"{station}.buffer", {"total": total["buffer"]["total"]})
    return cluster.with_value("flow_control", {"pause": settings.pause})


def marked(cluster: Scenario, settings: Settings = CHOSEN) -> Scenario:
    """The cluster with marking in switches and ECN at the end points: method 1 of the paper."""
    marks = [{"red": {**settings.red, "action": "mark_only"}}]
    return with_ecn(cluster).with_value("switch.queue_managers", marks)


def with_ecn(cluster: Scenario) -> Scenario:
    """The cluster with ECN at the end points."""
    for flow in cluster.to_dict()["flows"]:
        if "conversation" in flow["source"]:
            cluster = cluster.with_value(f"flows.{flow['name']}.source.conversation.tcp.ecn", "rfc3168")
    return cluster


def path_rates(cluster: Scenario, *, point: Mapping[str, Any] | None = None, **limiters: Any) -> Scenario:
    """The cluster with path rate control; `point` are keys of switches, `limiters` those of hosts."""
    rate_limiters = {"per": "path", "prc": {}, **limiters}
    cluster = cluster.with_value("switch.queue_managers", [{"prc": dict(point or {})}])
    return cluster.with_value("host.rate_limiters", rate_limiters)


def with_video(cluster: Scenario) -> Scenario:
    """The cluster with video between each client and server: 170 MB/s in 24 bidirectional sessions."""
    source = constant("28.3 Mb/s", random_phase=True)
    ends = [("c1..c6", f"s{n}") for n in range(1, 5)] + [("s1..s4", f"c{n}") for n in range(1, 7)]
    for senders, to in ends:
        cluster = cluster.flow(
            f"video-{to}", from_=senders, to=to, priority=5, frame="1400 B", start="1 us", source=source
        )
    return cluster


def at_ten_gigabit(cluster: Scenario) -> Scenario:
    """The cluster with 10 Gb/s to server 3."""
    links = cluster.to_dict()["topology"]["explicit"]["links"]
    slow = next(n for n, link in enumerate(links) if "s3" in link["between"])
    return cluster.with_value(f"topology.explicit.links.{slow}.rate", "10 Gb/s")


def one_priority(cluster: Scenario) -> Scenario:
    """The cluster with messages between servers in the priority of the database."""
    for flow in cluster.to_dict()["flows"]:
        cluster = cluster.with_value(f"flows.{flow['name']}.priority", DATABASE_PRIORITY)
    return cluster
