"""Arrangements of switches and adapters, and devices at the margins of the tests."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from penstock import conformance
from penstock.conformance.own import OwnDevice, Station, fitting
from penstock.result import Result
from penstock.scenario import Scenario

VENDORS = "ABC"
ORDERS = ["".join(order) for order in permutations(VENDORS)]
ROTATION = ("ABC", "BCA", "CAB")
"""Rotation of the switches as in the source: B takes the place of A, C that of B."""
MIDDLE = 1
LOSSLESS, OTHER = 3, 0
"""The priority of iSCSI, and that of the datagrams."""
EITHER = dict.fromkeys(VENDORS, "either")
OWN = {"A": "either", "B": "standard", "C": "older"}
"""DCBX version of each vendor."""
UNDERSTOOD = {
    "either": {"standard", "older", "oldest"},
    "standard": {"standard"},
    "older": {"older"},
    "oldest": {"oldest"},
}
ADAPTERS = tuple(UNDERSTOOD)
LATEST, TOO_LATE, PUNCTUAL = "3430 ns", "3450 ns", "1 us"
LEAST, TOO_LITTLE, ENOUGH = "20 kB", "19 kB", "computed"
JUMBO = ("9000 B", "8000 B", "7500 B", "7000 B")


def agree(one: str, other: str) -> bool:
    """Returns true if two stations have a DCBX version in common."""
    return bool(UNDERSTOOD[one] & UNDERSTOOD[other])


def placed(fabric: Scenario, order: str, dialects: dict[str, str], *, uplinks: bool = True) -> Scenario:
    """The fabric with this order of switches; the middle switch is configured, the others are willing."""
    text = fabric.to_dict()
    links, own = text["topology"]["explicit"]["links"], text["switches"]
    to = dict(zip(VENDORS, order, strict=True))
    for link in links:
        link["between"] = [to.get(name, name) for name in link["between"]]
    core, edge = own[VENDORS[MIDDLE]]["dcbx"], own[VENDORS[0]]["dcbx"]
    moved = fabric.with_value("topology.explicit.links", links)
    for name in order:
        keys = dict(core) if name == order[MIDDLE] else {**edge, "uplink": order[MIDDLE]}
        if not uplinks:
            keys.pop("uplink", None)
        moved = moved.with_value(f"switches.{name}.dcbx", {**keys, "dialect": dialects[name]})
    return moved


def marginal(fabric: Scenario, percent: int) -> Scenario:
    """The fabric with shares configured at each switch, without DCBX."""
    classes = [
        {"queues": [queue for queue in range(8) if queue != LOSSLESS], "percent": 100 - percent},
        {"queues": [LOSSLESS], "percent": percent},
    ]
    own = fabric.to_dict()["switches"]
    for keys in own.values():
        del keys["dcbx"]
        keys["scheduler"] = {"ets": {"classes": classes}}
    return fabric.with_value("switches", own).with_value("host", {})


def screened(screening: Scenario, switch: dict[str, Any], dialect: str, adapter: str) -> Scenario:
    """An adapter and a switch with these DCBX versions."""
    configured = {**switch, "dcbx": {"pfc": {"willing": False}, "dialect": dialect}}
    willing = {"pfc": {"priorities": []}, "dialect": adapter}
    return screening.with_value("switch", configured).with_value("hosts.adapter.dcbx", willing)


def at_the_margin(screening: Scenario, frame: str, response: str, headroom: str) -> Scenario:
    """An adapter with this response time, 300 m from a switch with this headroom, or "computed"."""
    links = screening.to_dict()["topology"]["explicit"]["links"]
    marks = {"xoff": "100 kB", "xon": "60 kB", "headroom": headroom}
    return (
        screening.with_value("topology.explicit.links", [{**link, "length": "300 m"} for link in links])
        .with_value("flows.write.frame", frame)
        .with_value("hosts.adapter.flow_control", {"pfc": {"response_time": response}})
        .with_value("switch.flow_control", {"pfc": marks})
    )


def compliance(scenario: Scenario, station: str, cases: tuple[str, ...]) -> dict[str, int]:
    """Number of passed and failed trials of PFC cases at a station of a scenario."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "device.toml"
        scenario.save(file)
        own = Station.of(str(file), station)
    device = OwnDevice(station=own)
    try:
        verdicts = [one.verdict for one in conformance.run(fitting(conformance.cases(cases), own), device)]
    finally:
        device.close()
    return {verdict: verdicts.count(verdict) for verdict in ("pass", "fail")}


def in_force(result: Result) -> dict[str, bool]:
    """By port, true if PFC for iSCSI is operational."""
    return {
        row["port"]: row["operational"] == str(LOSSLESS)
        for row in result.rows("dcbx")
        if row["feature"] == "pfc"
    }


def ends(port: str) -> tuple[str, str]:
    """The station of a port and its link partner."""
    station, _, peer = port.partition("->")
    return station.split(".")[0], peer


def lost(result: Result) -> dict[str, int]:
    """Lost iSCSI frames by port."""
    found: dict[str, int] = {}
    for row in result.rows("drops"):
        if row["class"] == LOSSLESS:
            found[row["port"]] = found.get(row["port"], 0) + row["frames"]
    return found


def paused_ms(result: Result) -> dict[str, float]:
    """Paused time by port in ms."""
    return {row["port"]: row["paused_s"] * 1e3 for row in result.rows("ports")}


def shares(result: Result) -> dict[str, float]:
    """Share of iSCSI in the sent traffic, by port between switches."""
    sent = {(row["port"], row["class"]): row["bytes"] for row in result.rows("queues")}
    return {
        port: own / (own + sent.get((port, OTHER), 0))
        for (port, key), own in sent.items()
        if key == LOSSLESS and set(ends(port)) <= set(VENDORS)
    }
