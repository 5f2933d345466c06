"""Renders the templates of SONiC as its `sonic-cfggen` does, for tests: what switches have in their
CONFIG_DB."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jinja2

MISSING = {
    "traffic_config.j2": "{% set traffic_classification_enable = classify %}{% set wred_threshold_limit "
    "= '1048576' %}",
    "buffer_ports.j2": "",
}
"""Templates beside those that are shipped, as short as they can be."""
ROLES = ("ToRRouter", "LeafRouter", "SpineRouter", "BackEndToRRouter")


def _environment(folder: Path) -> jinja2.Environment:
    def sorted_by_index(ports: list[str]) -> str:
        ports.sort(key=lambda port: int("".join(filter(str.isdigit, port)) or 0))
        return ""

    loader = jinja2.ChoiceLoader([jinja2.FileSystemLoader(folder), jinja2.DictLoader(MISSING)])
    environment = jinja2.Environment(loader=loader, autoescape=False, trim_blocks=True)
    environment.filters["sort_by_port_index"] = sorted_by_index
    environment.globals["template_exists"] = lambda name: False
    return environment


def _device(role: str, remap: bool, subtype: str) -> dict[str, Any]:
    """Variables of a template: a switch with four ports of 400 Gb/s, two up and two down."""
    ports = [f"Ethernet{number}" for number in (0, 8, 16, 24)]
    above = {"ToRRouter": "LeafRouter", "LeafRouter": "SpineRouter"}.get(role, "LeafRouter")
    below = {"ToRRouter": "Server", "LeafRouter": "ToRRouter"}.get(role, "LeafRouter")
    neighbours = {port: {"name": f"n{place}"} for place, port in enumerate(ports)}
    return {
        "PORT": {port: {"speed": "400000", "mtu": "9100"} for port in ports},
        "DEVICE_METADATA": {"localhost": {"type": role, "hostname": "switch", "subtype": subtype}},
        "DEVICE_NEIGHBOR": neighbours,
        "DEVICE_NEIGHBOR_METADATA": {
            f"n{place}": {"type": above if place < 2 else below} for place in range(4)
        },
        "SYSTEM_DEFAULTS": {"tunnel_qos_remap": {"status": "enabled" if remap else "disabled"}},
        "SYSTEM_PORT": {},
        "asic_type": "broadcom",
        "classify": remap,
    }


def rendered(folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every distinct configuration that the QoS templates of a folder make, with the place it is for."""
    environment = _environment(folder)
    seen = set()
    for path in sorted(folder.glob("*qos*.j2")):
        for role in ROLES:
            for remap in (False, True):
                for subtype in ("", "DualToR"):
                    for asic in ("broadcom", "mellanox"):
                        record = {**_device(role, remap, subtype), "asic_type": asic}
                        text = environment.get_template(path.name).render(record)
                        tables = json.loads(text)
                        key = json.dumps(tables, sort_keys=True)
                        if key not in seen:
                            seen.add(key)
                            yield f"{path.name} {role} remap={remap} {subtype} {asic}", tables


def buffers(folder: Path, name: str) -> dict[str, Any]:
    """Pools and profiles of one device: macros of its defaults."""
    environment = _environment(folder)
    source = '{% import name as defs with context %}{ {{ macro(defs) }} "end": 0 }'

    def macro(defs: Any) -> str:
        made = getattr(defs, "generate_buffer_pool_and_profiles", None)
        text = made() if made else defs.generate_buffer_pool_and_profiles_with_inactive_ports("")
        return str(text)

    text = environment.from_string(source).render(name=name, macro=macro, PORT={}, classify=False)
    return {key: value for key, value in json.loads(text).items() if key != "end"}
