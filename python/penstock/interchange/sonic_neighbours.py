"""Neighbours of switch ports, from LLDP, DEVICE_NEIGHBOR and the minigraph.

LLDP takes precedence, since it was observed; then DEVICE_NEIGHBOR, then the minigraph. Each contradiction is
reported, because it means a cable in the wrong port or an outdated record.

Source: sonic-device_neighbor.yang and the documentation of CONFIG_DB, where an entry is named after the port
or, with `local_port`, after the neighbour; lldpmgrd, which sends the alias of a port as its port ID.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock.errors import InputError
from penstock.library import suggestion

from . import lldp_table
from .piece import Document, brief
from .sonic_folder import Member

_MANAGEMENT = re.compile(r"(?:eth|mgmt|ma|Management)\d", re.IGNORECASE)
"""Names of management ports, which carry no fabric traffic."""
_SWITCH_TYPE = re.compile(r"Router$|Fabric|Switch$|Hub$")
"""Neighbour types that are switches: ToRRouter, LeafRouter, SpineRouter, RegionalHub, ..."""


@dataclass(frozen=True)
class End:
    """One end of a link: a switch and its port."""

    switch: str
    port: str

    def __str__(self) -> str:
        return f"{self.switch} {self.port}"


@dataclass(frozen=True)
class Neighbour:
    """The far end of a port, as a switch describes it.

    Attributes
    ----------
    name : str
        Device at the far end.
    labels : tuple of str
        Names of the port at the far end, the most reliable first; empty if they are unknown.
    source : str
        Place of the entry, for messages.
    kind : str
        "LLDP", "DEVICE_NEIGHBOR" or "minigraph".
    is_switch : bool, optional
        True if the device is a switch; ``None`` if the entry has neither its type nor its capabilities.
    """

    name: str
    labels: tuple[str, ...]
    source: str
    kind: str
    is_switch: bool | None = None

    @property
    def port(self) -> str:
        """The name of the far port for messages."""
        return self.labels[0] if self.labels else ""


@dataclass
class Neighbours:
    """Neighbours of all switches.

    Attributes
    ----------
    of : dict
        The neighbour at each port that has one.
    remarks : list of str
        Contradictions between sources.
    """

    of: dict[End, Neighbour] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)


class Names:
    """Switches of the folder by the names that neighbours use: hostnames, in any case, or FQDNs."""

    def __init__(self, members: Sequence[Member]) -> None:
        self.members = {one.name: one for one in members}
        self._short: dict[str, list[str]] = {}
        for name in self.members:
            for form in {name.lower(), name.lower().partition(".")[0]}:
                self._short.setdefault(form, []).append(name)

    def find(self, device: str) -> str | None:
        """The name of the switch; ``None`` if it is not in the folder, or the name is ambiguous."""
        if device in self.members:
            return device
        for form in (device.lower(), device.lower().partition(".")[0]):
            if len(found := self._short.get(form, [])) == 1:
                return found[0]
        return None


def neighbours(names: Names) -> Neighbours:
    """The neighbours of all switches in the folder.

    Raises
    ------
    InputError
        If an entry has an unknown port or no name, or two entries of a source contradict each other.
    """
    made = Neighbours()
    for one in names.members.values():
        types = _types(one)
        by_source = [dict(_lldp(one, names, made)), dict(_configured(one)), dict(_described(one))]
        for port in dict.fromkeys(port for source in by_source for port in source):
            entries = [source[port] for source in by_source if port in source]
            first = entries[0]
            for other in entries[1:]:
                if (names.find(first.name) or first.name) != (names.find(other.name) or other.name):
                    made.remarks.append(
                        f"{one.name} {port}: {first.kind} has {first.name}, {other.kind} has {other.name}: "
                        f"{first.kind} takes precedence; check the cable"
                    )
            kind = types.get(first.name)
            is_switch = first.is_switch if kind is None else bool(_SWITCH_TYPE.search(kind))
            name = names.find(first.name) or first.name
            labels = first.labels or next((entry.labels for entry in entries if entry.name == first.name), ())
            made.of[End(one.name, port)] = Neighbour(name, labels, first.source, first.kind, is_switch)
    return made


def _types(one: Member) -> dict[str, str]:
    """The type of each neighbour, from the minigraph, DEVICE_NEIGHBOR and DEVICE_NEIGHBOR_METADATA."""
    found = dict(one.minigraph.types) if one.minigraph is not None else {}
    for table in ("DEVICE_NEIGHBOR", "DEVICE_NEIGHBOR_METADATA"):
        for key, entry in one.table(table).items():
            if isinstance(entry, Mapping) and isinstance(entry.get("type"), str):
                found[str(entry.get("name") or key)] = entry["type"]
    return found


def _configured(one: Member) -> Iterator[tuple[str, Neighbour]]:
    """Neighbours from DEVICE_NEIGHBOR by port; an entry of a port channel applies to each of its members.

    Raises
    ------
    InputError
        If an entry has no name, or its port does not exist.
    """
    for key, entry in one.table("DEVICE_NEIGHBOR").items():
        where = one.place("DEVICE_NEIGHBOR", key)
        name = _name_of(key, entry, where)
        local = str(entry.get("local_port") or key)
        far = str(entry.get("port") or "")
        for port in _own_ports(one, local, where):
            yield port, Neighbour(name, (far,) if far else (), where, "DEVICE_NEIGHBOR")


def _name_of(key: str, entry: Any, where: str) -> str:
    """The name of a neighbour in an entry of DEVICE_NEIGHBOR."""
    if not isinstance(entry, Mapping):
        raise InputError(f"{where}: is {brief(entry)}; expected name and port")
    name = entry.get("name", key if "local_port" in entry else None)
    if not isinstance(name, str) or not name:
        raise InputError(f"{where}: has no name; expected name and port of the neighbour")
    return _valid(name, where)


def _valid(name: str, where: str) -> str:
    """Checks that a name is valid for a host or switch; the error names the place."""
    file, _, place = where.partition(":")
    return Document(file, "").name(place, name) if file else name


def _own_ports(one: Member, label: str, where: str) -> list[str]:
    """The port with a name or alias, or all members of a port channel.

    Raises
    ------
    InputError
        If there is none.
    """
    if label in one.channels:
        return one.channels[label]
    if not (ports := one.named(label)):
        names = [*one.port_names(), *one.channels]
        raise InputError(f"{where}: there is no port {label}; {suggestion(label, names)}")
    return ports[:1]


def _described(one: Member) -> Iterator[tuple[str, Neighbour]]:
    """Neighbours from the minigraph, by port."""
    if one.minigraph is None:
        return
    for link in one.minigraph.links:
        where = f"{one.minigraph.document.file}:{link.line}"
        name = _valid(link.device, where)
        # The minigraph names ports by their aliases, except on platforms without aliases.
        for port in one.named(link.port)[::-1][:1] or _own_ports(one, link.port, where):
            yield port, Neighbour(name, (link.device_port,), where, "minigraph")


def _lldp(one: Member, names: Names, made: Neighbours) -> Iterator[tuple[str, Neighbour]]:
    """Neighbours from the LLDP table, by port. Devices without a name are ignored.

    A port may have rows for several devices, such as a host and its DPU. The device in DEVICE_NEIGHBOR then
    applies, or else the only one that is a switch of the folder.

    Raises
    ------
    InputError
        If a local port does not exist, or several devices remain.
    """
    if one.lldp is None:
        return
    by_port: dict[str, list[Neighbour]] = {}
    for row in lldp_table.rows(one.lldp):
        where = f"{one.lldp.file}:{row.line}"
        if not one.named(row.local_port) and _MANAGEMENT.match(row.local_port):
            continue
        port = _own_ports(one, row.local_port, where)[0]
        if row.device:
            labels = tuple(dict.fromkeys(label for label in (row.port_id, row.description) if label))
            is_switch = "B" in row.capability if row.capability else None
            far = Neighbour(_valid(row.device, where), labels, where, "LLDP", is_switch)
            by_port.setdefault(port, []).append(far)
    configured = {port: far.name for port, far in _configured(one)}
    for port, found in by_port.items():
        devices = {far.name for far in found}
        if len(devices) > 1:
            chosen = [far for far in found if far.name == configured.get(port)]
            chosen = chosen or [far for far in found if names.find(far.name) is not None]
            if len({far.name for far in chosen}) != 1:
                both = " and ".join(sorted(devices))
                raise InputError(
                    f"{found[1].source}: {port} has several neighbours, {both}; expected one. "
                    "Remove the row of the device that is not at the far end of the cable"
                )
            made.remarks.append(
                f"{one.name} {port}: LLDP has {' and '.join(sorted(devices))}: {chosen[0].name} applies"
            )
            found = chosen
        yield port, found[0]
