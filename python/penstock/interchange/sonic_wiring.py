"""Derives the links of a fabric from the neighbours of its switches.

One or both ends of a link may describe it. Members of a port channel are parallel links; members without a
neighbour lead to the neighbour of the other members.

Source: the schema of SONiC's CONFIG_DB (`PORT`, `CABLE_LENGTH` and `PORTCHANNEL_MEMBER`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from penstock.errors import InputError
from penstock.library import suggestion

from .sonic_folder import Member
from .sonic_links import NAMED
from .sonic_neighbours import End, Names, Neighbour, neighbours


@dataclass
class Wiring:
    """The links of a fabric.

    Attributes
    ----------
    hosts, switches : list of str
        Names of hosts and switches.
    links : list of dict
        Links in the form of `topology.explicit.links`.
    remarks : list of str
        Remarks on assumptions.
    ports : list of str
        Names of the ports at both ends of each link, one line per link.
    """

    hosts: list[str] = field(default_factory=list)
    switches: list[str] = field(default_factory=list)
    links: list[dict[str, Any]] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    ports: list[str] = field(default_factory=list)


def wiring(members: Sequence[Member]) -> Wiring:
    """Returns the links of a fabric, derived from the neighbours of its switches.

    Raises
    ------
    InputError
        If two switches disagree about a link or its speed, or a named port does not exist.
    """
    builder = _Builder(Names(members))
    for near in [*builder.neighbours]:
        builder.connect(near)
    for one in members:
        builder.complete_channels(one)
    for one in members:
        builder.add_hosts(one)
    made = builder.made
    if not made.links:
        raise InputError(f"{members[0].file}: no port has a neighbour or a speed; expected links")
    made.remarks += builder.assumptions()
    return made


def shortened(names: Sequence[str]) -> str:
    """The first names of a list, and the number of the remaining ones."""
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more


class _Builder:
    """The links found so far, and the ports that have one."""

    def __init__(self, names: Names) -> None:
        found = neighbours(names)
        self.names, self.neighbours = names, found.of
        self.made = Wiring(switches=[*names.members], remarks=found.remarks)
        self._done: set[End] = set()
        self._back: dict[tuple[str, str], list[End]] = {}
        """Ports of a switch by the neighbour at them."""
        for end, far in self.neighbours.items():
            self._back.setdefault((end.switch, far.name), []).append(end)
        self._lengths: list[str] = []
        """Links whose ends have different cable lengths."""
        self._down: list[str] = []
        self._switches_without: list[str] = []

    def assumptions(self) -> list[str]:
        """Remarks that apply to several links, one line each."""
        about = (
            (self._lengths, "cable lengths differ ({}): the longer one is used"),
            (self._down, "left out: links of ports that are down ({})"),
            (self._switches_without, "no configuration here, so they get the most common settings: {}"),
        )
        return [text.format(shortened(names)) for names, text in about if names]

    def connect(self, near: End) -> None:
        """Adds the link of a port with a neighbour."""
        if near in self._done:
            return
        self._done.add(near)
        far = self.neighbours[near]
        if far.name in self.names.members:
            other = self._far_end(near, far)
            if other in self._done:
                raise InputError(
                    f"{far.source}: {near} leads to {other}, like another port; expected one link. "
                    f"If {other} is broken out, add each of its ports to PORT"
                )
            self._done.add(other)
            self._add(near, other, f"{near} to {other}")
            return
        self._add_device(far)
        self._add(near, End(far.name, far.port), f"{near} to {far.name} {far.port}".rstrip())

    def _add_device(self, far: Neighbour) -> None:
        """Adds a device that is not in the folder."""
        if far.name in self.made.hosts or far.name in self.made.switches:
            return
        same_name = [one for end, one in self.neighbours.items() if one.name == far.name]
        if any(one.is_switch for one in same_name):
            self.made.switches.append(far.name)
            self._switches_without.append(far.name)
        else:
            self.made.hosts.append(far.name)

    def _far_end(self, near: End, far: Neighbour) -> End:
        """The port at the other switch; both ends must name each other."""
        if far.name == near.switch:
            raise InputError(f"{far.source}: {near} leads to its own switch; expected another device")
        ends = [End(far.name, port) for port in self._far_ports(near, far)]
        # Members of a port channel are assigned in order.
        ends.sort(key=self._done.__contains__)
        fitting = [end for end in ends if end in self.neighbours and self._leads_to(end, near)]
        end = next(iter([*fitting, *(one for one in ends if one not in self.neighbours), *ends]))
        answer = self.neighbours.get(end)
        if answer is not None and not self._leads_to(end, near):
            raise InputError(
                f"{far.source}: {near} leads to {end}, but according to {answer.source} {end} leads to "
                f"{answer.name} {answer.port}".rstrip()
                + "; expected both to name each other"
            )
        return end

    def _leads_to(self, end: End, near: End) -> bool:
        """Returns true if the neighbour at an end is this switch, and its port this one or unknown."""
        far = self.neighbours[end]
        if far.name != near.switch:
            return False
        one = self.names.members[near.switch]
        ports = [port for label in far.labels for port in _ports_of(one, label, far.kind)]
        if not ports and far.labels and far.kind != "LLDP":
            raise _unknown_port(end, far, one)
        return not ports or near.port in ports

    def _far_ports(self, near: End, far: Neighbour) -> list[str]:
        """Candidates for the port at the other switch, the most likely first; never empty."""
        other = self.names.members[far.name]
        ports = [port for label in far.labels for port in _ports_of(other, label, far.kind)]
        if ports:
            return ports
        back = [end for end in self._back.get((far.name, near.switch), []) if self._leads_to(end, near)]
        is_clear = len(back) == 1 and back[0] not in self._done
        if (far.labels and far.kind != "LLDP") or not is_clear:
            raise _unknown_port(near, far, other)
        return [back[0].port]

    def _add(self, near: End, far: End, text: str) -> None:
        """Adds a link, unless one of its ports is down."""
        members = self.names.members
        ends = [end for end in (near, far) if end.switch in members]
        down = [end for end in ends if members[end.switch].is_down(end.port)]
        if down:
            self._down.append(str(down[0]))
            return
        self.made.links.append(self._link(near, far, ends))
        self.made.ports.append(text)

    def _link(self, near: End, far: End, ends: Sequence[End]) -> dict[str, Any]:
        """The keys of a link, with the speed and the cable of its ends."""
        members = self.names.members
        speeds = {end: mbps for end in ends if (mbps := members[end.switch].mbps(end.port)) is not None}
        where = members[near.switch].place("PORT", near.port)
        if not speeds:
            raise InputError(f"{where}: has no speed; expected Mb/s, such as 100000")
        if len({*speeds.values()}) > 1:
            both = " and ".join(f"{end} has {mbps} Mb/s" for end, mbps in speeds.items())
            raise InputError(f"{where}: {both}; expected the same speed at both ends of a link")
        metres = {end: cable for end in ends if (cable := members[end.switch].metres(end.port))}
        if len({*metres.values()}) > 1:
            self._lengths.append(" and ".join(f"{end} {cable} m" for end, cable in metres.items()))
        mbps = next(iter(speeds.values()))
        rate = f"{Fraction(mbps, 1_000)} Gb/s" if mbps % 1_000 == 0 else f"{mbps} Mb/s"
        length = {"length": f"{max(metres.values())} m"} if metres else {}
        return {"between": [near.switch, far.switch], "rate": rate, **length}

    def _free(self, switch: str, channel: str) -> list[End]:
        """Members of a port channel that are up and have no link yet."""
        one = self.names.members[switch]
        ends = [End(switch, port) for port in one.channels[channel]]
        return [end for end in ends if end not in self._done and not one.is_down(end.port)]

    def complete_channels(self, one: Member) -> None:
        """Connects members of port channels that have no neighbour to the neighbour of the other members."""
        for channel, ports in one.channels.items():
            speeds = {one.mbps(port) for port in ports} - {None}
            if len(speeds) > 1:
                listed = " and ".join(f"{mbps} Mb/s" for mbps in sorted(filter(None, speeds)))
                raise InputError(
                    f"{one.file}: {channel} has members of {listed}; expected one speed, as LACP requires"
                )
            ends = [End(one.name, port) for port in ports]
            devices = {self.neighbours[end].name for end in ends if end in self.neighbours}
            free = self._free(one.name, channel)
            if len(devices) > 1:
                listed = " and ".join(sorted(devices))
                self.made.remarks.append(f"{one.name} {channel}: its members lead to {listed}")
            if not free or len(devices) != 1:
                continue
            device = devices.pop()
            listed = ", ".join(end.port for end in free)
            if device in self.names.members:
                self._pair(one, channel, device, free)
            else:
                for end in free:
                    self._done.add(end)
                    self._add(end, End(device, ""), f"{end} to {device}")
            self.made.remarks.append(
                f"{one.name} {channel}: no neighbour at {listed}: using {device}, as for its other members"
            )

    def _pair(self, one: Member, channel: str, device: str, free: Sequence[End]) -> None:
        """Connects free members of a port channel, in order, to the free members at the other switch."""
        other = self.names.members[device]
        far_ports = {end.port for end in self._back.get((device, one.name), [])}
        far_ports |= {
            port
            for end in self._back.get((one.name, device), [])
            for label in self.neighbours[end].labels
            for port in other.named(label)
            if end.port in one.channels[channel]
        }
        facing = [name for name, ports in other.channels.items() if far_ports & {*ports}]
        others = self._free(device, facing[0]) if len(facing) == 1 else []
        if len(others) != len(free):
            listed = ", ".join(end.port for end in free)
            raise InputError(
                f"{one.file}: {channel}: no neighbour at {listed}, and {device} has {len(others)} free "
                f"members of a channel to {one.name}; expected {len(free)}. Add the ports to DEVICE_NEIGHBOR"
            )
        for near, far in zip(free, others, strict=True):
            self._done |= {near, far}
            self._add(near, far, f"{near} to {far}")

    def add_hosts(self, one: Member) -> None:
        """Adds a host for each port that is up and has no neighbour; channel members share one host."""
        channel_of = {port: channel for channel, ports in one.channels.items() for port in ports}
        alone = [
            port
            for port in one.ports
            if End(one.name, port) not in self._done and not one.is_down(port) and one.mbps(port)
        ]
        for port in alone:
            host = f"{one.name}-{channel_of.get(port, port)}"
            if host not in self.made.hosts:
                self.made.hosts.append(host)
            self._add(End(one.name, port), End(host, ""), f"{one.name} {port} to {host}")
        if alone:
            self.made.remarks.append(
                f"{one.name}: no neighbour at {shortened(alone)}: adding a host {one.name}-PORT at each"
            )


def _ports_of(one: Member, label: str, kind: str) -> list[str]:
    """Ports that match a neighbour's name of a port; a port channel matches its members.

    Aliases take precedence, since LLDP and minigraphs use them.
    """
    named = one.named(label)
    return (named if kind == "DEVICE_NEIGHBOR" else named[::-1]) or one.channels.get(label, [])


def _unknown_port(near: End, far: Neighbour, other: Member) -> InputError:
    """The error for a far port that does not exist or is not named."""
    named = far.port or "(none)"
    names = [*other.port_names(), *other.channels]
    remedy = suggestion(far.port, names) if far.port else "expected the name of one of its ports"
    return InputError(f"{far.source}: {near} leads to port {named} of {other.name}; {remedy}")
