"""Folders with the configurations of a SONiC fabric, for tests of their import."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

from penstock.interchange.files import document
from penstock.interchange.sonic_fabric import read_folder

Tables = dict[str, dict[str, Any]]


def switch(
    name: str, speeds: dict[str, int], neighbors: dict[str, tuple[str, str]], cable: int = 5
) -> Tables:
    """The CONFIG_DB of a switch with lossless priorities at all its ports."""
    profile = {"pool": "lossless", "size": "58368", "xon": "19456", "xoff": "38912", "dynamic_th": "0"}
    return {
        "DEVICE_METADATA": {"localhost": {"hostname": name}},
        "PORT": {
            port: {"speed": str(speed), "alias": port.replace("Ethernet", "etp"), "admin_status": "up"}
            for port, speed in speeds.items()
        },
        "CABLE_LENGTH": {"AZURE": dict.fromkeys(speeds, f"{cable}m")},
        "PORT_QOS_MAP": {port: {"pfc_enable": "3,4"} for port in speeds},
        "BUFFER_POOL": {"lossless": {"type": "ingress", "mode": "dynamic", "size": "12766208"}},
        "BUFFER_PROFILE": {"pg": profile},
        "BUFFER_PG": {f"{','.join(speeds)}|3-4": {"profile": "pg"}},
        "DEVICE_NEIGHBOR": {port: {"name": far, "port": at} for port, (far, at) in neighbors.items()},
    }


def leaf_spine() -> dict[str, Tables]:
    """Two leaves with a server each, and a spine with longer cables."""
    speeds = {"Ethernet0": 100_000, "Ethernet4": 400_000}
    made = {}
    for n in range(2):
        neighbors = {"Ethernet0": (f"server{n}", "eth0"), "Ethernet4": ("spine0", f"Ethernet{4 * n}")}
        made[f"leaf{n}"] = switch(f"leaf{n}", speeds, neighbors)
    uplinks = {f"Ethernet{4 * n}": (f"leaf{n}", "Ethernet4") for n in range(2)}
    made["spine0"] = switch("spine0", dict.fromkeys(uplinks, 400_000), uplinks, cable=40)
    return made


def written(directory: Path, switches: dict[str, Tables]) -> Path:
    directory.mkdir(exist_ok=True)
    for name, tables in switches.items():
        (directory / f"{name}.json").write_text(json.dumps(tables, indent=1), "utf-8")
    return directory


def imported(directory: Path) -> tuple[dict[str, Any], list[str]]:
    made = read_folder(directory, document, directory.with_suffix(".toml"))
    return tomllib.loads(made.text), made.remarks


def notes(directory: Path) -> set[str]:
    """Ports of the links, from the comments of the scenario."""
    text = read_folder(directory, document, directory.with_suffix(".toml")).text
    return {line.partition(": ")[2] for line in text.splitlines() if line.startswith(f"# {directory.name}:")}


def names(name: str) -> list[str]:
    """The names that a range of a link stands for."""
    first, dots, last = name.partition("..")
    if not dots:
        return [name]
    stem = first.rstrip("0123456789")
    return [f"{stem}{n}" for n in range(int(first[len(stem) :]), int(last[len(stem) :]) + 1)]


def pairs_of(keys: dict[str, Any]) -> list[list[str]]:
    """The ends of each link, ranges and parallel links one by one."""
    found = []
    for link in keys["topology"]["explicit"]["links"]:
        ends = [names(end) for end in link["between"]]
        each = [(one, other) for one in ends[0] for other in ends[1]]
        found += [sorted(pair) for pair in each for _ in range(link.get("count", 1))]
    return sorted(found)


def change(switches: dict[str, Tables], where: str, value: Any) -> None:
    name, table, key = where.split("|")
    switches[name][table][key] = value
