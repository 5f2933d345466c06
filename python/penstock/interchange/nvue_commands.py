"""Writes ports of a scenario's switches as NVUE commands (Cumulus Linux).

`nvue` reads the commands back; see there for sources. Not written, but reported: buffers, which depend on
the chip, the watchdog, MTUs, colors, and changes of DSCP.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.errors import InputError

from .nvue import CODE_POINTS, EIGHT, GLOBAL
from .port_settings import PortSettings
from .wred import OF_WRED, managers, whole_amount, whole_bytes, wred_line

OWN = "penstock"
"""Name of the profiles for a port that is given by name."""


@dataclass(frozen=True)
class Port:
    """A port of a switch.

    Attributes
    ----------
    interface : str or None
        Name of the port, such as "swp1" or "swp1-32"; ``None`` for all ports.
    length : str or None
        Length of the cable, such as "40 m"; ``None`` if cables differ.
    settings : PortSettings
        Classes and lossless priorities.
    """

    interface: str | None
    length: str | None
    settings: PortSettings


def commands(effective: Mapping[str, Any], port: Port) -> tuple[list[str], list[str]]:
    """Returns the commands, and remarks on settings that they cannot express.

    Parameters
    ----------
    effective : mapping
        The effective scenario.
    port : Port
        The port.

    Raises
    ------
    InputError
        If NVUE cannot express a setting of the scenario; the message names the key.
    """
    entries: list[str] = []
    profile = GLOBAL if port.interface is None else OWN
    parts = {
        "mapping": _mapping(effective, entries),
        "egress-queue-mapping": _queues(port),
        "pfc": _pfc(effective, port, entries),
        "egress-scheduler": _schedulers(port),
        "congestion-control": _marks(effective, port, entries),
    }
    sections = {kind: list(lines) for kind, lines in parts.items()}
    lines = [f"nv set qos {kind} {profile} {line}" for kind, own in sections.items() for line in own]
    if port.interface is not None:
        ports = f"nv set interface {port.interface} qos"
        lines += [f"{ports} {kind} profile {profile}" for kind, own in sections.items() if own]
    entries += _left_out(effective["switch"])
    return lines, entries


def _left_out(switch: Mapping[str, Any]) -> Iterator[str]:
    if limited := [key for key, value in switch.get("buffer", {}).items() if value != "unlimited"]:
        yield f"switch.buffer.{limited[0]} is left out: sizes of pools depend on the chip"
    for key in ("mtu", "watchdog"):
        if switch.get(key) not in (None, "off"):
            yield f"switch.{key} is left out"
    maps = switch.get("maps", {})
    yield from (f"switch.maps.{key} is left out" for key in maps if key != "dscp_to_tc")


def _mapping(effective: Mapping[str, Any], reported: list[str]) -> Iterator[str]:
    """Traffic classes of code points, unless they equal the defaults of RFC 2474."""
    named = effective["switch"].get("maps", {}).get("dscp_to_tc")
    if named is None:
        return
    yield "trust both"
    other = named.get("other", 0)
    by_class: dict[int, list[int]] = {}
    for code in range(CODE_POINTS):
        if (own := named.get(str(code), other)) != code // EIGHT:
            by_class.setdefault(own, []).append(code)
    if not by_class:
        reported.append("switch.maps.dscp_to_tc is the default of RFC 2474, which needs no command")
    for own, codes in sorted(by_class.items()):
        yield f"dscp {_listed(codes)} switch-priority {own}"


def _queues(port: Port) -> Iterator[str]:
    for priority, queue in enumerate(port.settings.class_of):
        if priority != queue:
            yield f"switch-priority {priority} traffic-class {queue}"


def _pfc(effective: Mapping[str, Any], port: Port, reported: list[str]) -> Iterator[str]:
    if not port.settings.lossless:
        return
    keys = effective["flow_control"]["pfc"]
    yield f"switch-priority {_listed(port.settings.lossless)}"
    for key in ("xoff", "xon"):
        if (value := keys.get(key, "computed")) != "computed":
            yield f"{key}-threshold {whole_bytes(f'flow_control.pfc.{key}', value)}"
    yield "tx enable"
    yield "rx enable"
    if port.length is not None:
        yield f"cable-length {whole_amount('length', port.length, 'length', 1_000, 'whole metres')}"
    if keys.get("accounting", "ingress") != "ingress":
        reported.append(
            f"flow_control.pfc.accounting is {keys['accounting']}: these switches count at the ingress"
        )
    if keys.get("headroom", "computed") != "computed":
        reported.append("flow_control.pfc.headroom is left out: these switches compute it from the cable")


def _schedulers(port: Port) -> Iterator[str]:
    for queue in sorted(set(port.settings.class_of)):
        if port.settings.algorithms[queue] == "strict":
            yield f"traffic-class {queue} mode strict"
        else:
            yield f"traffic-class {queue} mode dwrr"
            yield f"traffic-class {queue} bw-percent {port.settings.percent[queue]}"


def _marks(effective: Mapping[str, Any], port: Port, reported: list[str]) -> Iterator[str]:
    for one in managers(effective, port.settings.class_of, reported):
        key, keys = one.key, one.keys
        if one.kind != "red":
            raise InputError(f"{key}: only red can be exported")
        if not one.classes:
            continue
        for name, value in OF_WRED.items():
            if keys[name] != value:
                reported.append(f"{key}.{name} is {keys[name]}: these switches use {value}")
        reported += [f"{key}.{color} is left out" for color in ("yellow", "red") if color in keys]
        line = wred_line(key, keys)
        if line.least >= line.most or not line.percent:
            raise InputError(f"{key}: min below max and a probability can be exported")
        if line.marks and line.drops and not keys["mark_above_max"]:
            reported.append(f"{key}.mark_above_max is false: these switches mark all frames above max")
        where = f"traffic-class {_listed(one.classes)}"
        yield f"{where} ecn {'enable' if line.marks else 'disable'}"
        yield f"{where} red {'enable' if line.drops else 'disable'}"
        yield f"{where} min-threshold {line.least}"
        yield f"{where} max-threshold {line.most}"
        yield f"{where} probability {line.percent}"


def _listed(numbers: Sequence[int]) -> str:
    """Numbers as ranges, such as 1-3,7."""
    ranges: list[list[int]] = []
    for number in sorted(numbers):
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)
