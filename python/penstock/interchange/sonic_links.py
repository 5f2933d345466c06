"""Ports of a CONFIG_DB grouped by speed and cable, and the resulting profiles.

A switch has a buffer profile for each speed and cable length (buffermgrd uses names such as
`pg_lossless_100000_5m_profile`). Ports with the same speed and cable form a class; a scenario attaches the
profiles of a class to links of that rate and length.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, Protocol

from .piece import Document, LinkClass, explicit
from .reading import Deferred
from .sonic_port import View

NAMED = 4
"""Maximum number of ports that a message names."""
BY_LINK = ("speed", "cable", "groups", "queues")
"""Settings in which the ports of a class may differ from each other; others apply to the whole switch."""
ABOUT = {
    "queue_of": "queues of priorities",
    "lossless": "pfc_enable",
    "schedulers": "schedulers",
    "wred": "WRED",
    "groups": "profiles of groups",
    "group_of": "groups of priorities",
    "queues": "profiles of queues",
    "speed": "speed",
    "mtu": "mtu",
    "cable": "cable length",
    "watchdog": "watchdog",
    "class_of_dscp": "maps of DSCP",
    "new_dscp": "new DSCPs",
    "stops": "queues that pauses stop",
    "pause_group": "groups that send pauses",
}


@dataclass(frozen=True)
class PortClass:
    """Ports with the same speed and cable.

    Attributes
    ----------
    names : tuple of str
        Names of the ports, in the order of the configuration.
    port : str
        The port whose settings are read for all of them.
    link : LinkClass
        Links of the ports.
    """

    names: tuple[str, ...]
    port: str
    link: LinkClass


@dataclass(frozen=True)
class Chosen:
    """The classes of ports that are imported.

    Attributes
    ----------
    classes : sequence of PortClass
        Classes, the largest first; the settings of its port apply to the switch.
    reported : list of str
        Remarks on ports that differ from their representative.
    """

    classes: Sequence[PortClass]
    reported: list[str]

    @property
    def port(self) -> str:
        """The port whose settings apply to the switch."""
        return self.classes[0].port

    def port_of(self, name: str) -> str:
        """The port whose settings are read in place of another port."""
        return next((one.port for one in self.classes if name in one.names), self.port)


def choose(document: Document, views: Mapping[str, View]) -> Chosen:
    """Chooses the ports to import: one for each speed and cable length, or only `document.interface`.

    If settings of ports differ, those of the majority apply. Ports with lossless priorities take precedence
    over all others.

    Raises
    ------
    InputError
        If `document.interface` is not the name of a port.
    """
    if document.interface is not None:
        if document.interface not in views:
            known = ", ".join([*views][:NAMED])
            raise document.error("PORT_QOS_MAP", f"has no port {document.interface}; there are {known}, ...")
        names = (document.interface,)
        classes = [PortClass(names, document.interface, link_of(views[document.interface], names))]
        return Chosen(classes, _differences(views, classes[0].port, [*ABOUT]))
    candidates = [name for name, one in views.items() if one.lossless.value] or [*views]
    members = _most_alike(candidates, views, [name for name in ABOUT if name not in BY_LINK])
    by_link: dict[tuple[int | None, str | None], list[str]] = {}
    for name in members:
        by_link.setdefault((views[name].speed.value, views[name].cable.value), []).append(name)
    classes = []
    for own in sorted(by_link.values(), key=len, reverse=True):
        port = _most_alike(own, views, ["groups", "queues"])[0]
        classes.append(PortClass(tuple(own), port, link_of(views[port], tuple(own))))
    reported = _differences(views, classes[0].port, [name for name in ABOUT if name not in BY_LINK])
    for one in classes:
        within = {name: views[name] for name in one.names}
        reported += _differences(within, one.port, ["groups", "queues"])
    return Chosen(classes, reported)


def _most_alike(names: Sequence[str], views: Mapping[str, View], settings: Sequence[str]) -> list[str]:
    """The largest set of ports that agree in some settings."""
    alike: list[list[str]] = []
    for name in names:
        same = (one for one in alike if _agree(views[one[0]], views[name], settings))
        found = next(same, None)
        if found is None:
            alike.append([name])
        else:
            found.append(name)
    return max(alike, key=len)


def _agree(one: View, other: View, settings: Sequence[str]) -> bool:
    return all(getattr(one, name) == getattr(other, name) for name in settings)


def _differences(views: Mapping[str, View], port: str, settings: Sequence[str]) -> list[str]:
    """A line for each setting in which ports differ from their representative."""
    entries = []
    for setting in settings:
        differ = [name for name, one in views.items() if not _agree(one, views[port], [setting])]
        if differ:
            more = f" and {len(differ) - NAMED} more" if len(differ) > NAMED else ""
            entries.append(
                f"{', '.join(differ[:NAMED])}{more} differ from {port} ({ABOUT[setting]}): "
                f"treated like {port}; select another with --interface"
            )
    return entries


def link_of(view: View, names: tuple[str, ...]) -> LinkClass:
    """Rate and length of a port's link, if known."""
    speed, cable = view.speed.value, view.cable.value
    rate = None
    if speed is not None:
        rate = f"{Fraction(speed, 1_000)} Gb/s" if speed % 1_000 == 0 else f"{speed} Mb/s"
    length = None if not cable or cable == "0m" else cable.replace("m", " m")
    return LinkClass(rate, length, names)


class Record(Protocol):
    """A configuration that records which of its parts were read."""

    def was_used(self, one: Deferred[Any]) -> bool:
        """Returns true if the fields of a value count as read."""


def count_others_as_read(tables: Record, views: Mapping[str, View], chosen: Chosen) -> None:
    """Marks fields of other ports as read if they have the same values as their representative."""
    for name, one in views.items():
        for setting in fields(View):
            own = views[chosen.port_of(name) if setting.name in BY_LINK else chosen.port]
            if one is own:
                continue
            mine, other = getattr(own, setting.name), getattr(one, setting.name)
            pairs = (
                [(mine.get(key), value) for key, value in other.items()]
                if isinstance(other, dict)
                else [(mine, other)]
            )
            for first, second in pairs:
                if first == second and tables.was_used(first):
                    second.use()


MOST_MBPS = 1_600 * 10**3
"""Maximum rate of a link in a scenario, in Mb/s."""


def star(views: Mapping[str, View], switch: str, down: Collection[str]) -> dict[str, Any]:
    """The keys of a fabric with one switch and, at each of its ports, a host named after the port.

    Ports without a speed, and those that are down, are left out. Empty if no port remains.
    """
    links: list[dict[str, Any]] = []
    for name, one in views.items():
        speed = one.speed.value
        if speed is None or not 1 <= speed <= MOST_MBPS or name in down:
            continue
        link = link_of(one, (name,))
        length = {"length": link.length} if link.length else {}
        links.append({"between": [name, switch], "rate": link.rate, **length})
        one.speed.use(), one.cable.use()
    if not links or switch in views:
        return {}
    return explicit([link["between"][0] for link in links], [switch], links)
