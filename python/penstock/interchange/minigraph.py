"""The description of a switch and its links in `minigraph.xml`, from which SONiC can generate a CONFIG_DB.

Supported are `DeviceInterfaceLinks` (the links of the switch), `Devices` (the type of each device),
`EthernetInterfaces` (speeds) and `PortChannelInterfaces`. Management and serial console links are left out,
as is all routing configuration.

Source: `minigraph.py` of sonic-buildimage (sonic-config-engine) and its tests.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from .piece import Document
from .reading import Fields
from .xml_text import parse, root_of

ROOT = "DeviceMiniGraph"
_DATA_LINKS = ("DeviceInterfaceLink", "UnderlayInterfaceLink")
_OTHER_LINKS = ("DeviceMgmtLink", "DeviceSerialLink", "LogicalLink")
"""Types of links without data: management, console, and the two cables of a dual-homed server as one."""


class MinigraphLink(NamedTuple):
    """A link at the switch.

    Attributes
    ----------
    line : int
        Line of the entry.
    port : str
        Name or alias of a port of the switch.
    device, device_port : str
        The far end.
    mbps : int or None
        Rate in Mb/s; ``None`` if the entry has none.
    """

    line: int
    port: str
    device: str
    device_port: str
    mbps: int | None


@dataclass
class Minigraph:
    """A switch as a minigraph describes it.

    Attributes
    ----------
    document : Document
        The file.
    hostname : str
        Name of the switch.
    links : list of MinigraphLink
        Its links.
    types : dict
        Type of each device, such as LeafRouter.
    speeds : dict
        Speed of each interface in Mb/s, as written.
    channels : dict
        Members of each port channel.
    remarks : list of str
        Links that were left out.
    """

    document: Document
    hostname: str
    links: list[MinigraphLink] = field(default_factory=list)
    types: dict[str, str] = field(default_factory=dict)
    speeds: dict[str, str] = field(default_factory=dict)
    channels: dict[str, list[str]] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)


def is_minigraph(document: Document) -> bool:
    """Returns true if the document is a minigraph, by its first element."""
    return root_of(document) == ROOT


class _Element:
    """An element with the texts of its children.

    `texts` has the first text of each child, `inner` the elements of interest within it.
    """

    def __init__(self, name: str, kind: str, line: int) -> None:
        self.name, self.kind, self.line = name, kind, line
        self.text = ""
        self.texts: dict[str, str] = {}
        self.inner: list[_Element] = []


_KEPT = frozenset(
    (
        ROOT,
        "DeviceLinkBase",
        "Device",
        "DeviceInfo",
        "EthernetInterface",
        "DeviceDataPlaneInfo",
        "PortChannel",
    )
)


class _Reader:
    """Builds the elements of interest; any other element only passes its texts and elements up."""

    def __init__(self) -> None:
        self.open: list[_Element] = [_Element("", "", 0)]

    def begin(self, name: str, attributes: Fields, line: int) -> None:
        kind = next((str(attributes[key]) for key in attributes if key.rpartition(" ")[2] == "type"), "")
        self.open.append(_Element(name, kind.rpartition(":")[2], line))

    def end(self, _: str) -> None:
        done = self.open.pop()
        above = self.open[-1]
        above.texts.setdefault(done.name, done.text.strip())
        above.inner += [done] if done.name in _KEPT else done.inner

    def characters(self, text: str, _: int) -> bool:
        self.open[-1].text += text
        return True


def read(document: Document) -> Minigraph:
    """Reads a minigraph.

    Raises
    ------
    InputError
        If the text is not XML, has no hostname, or a link lacks an end.
    """
    reader = _Reader()
    parse(document, reader.begin, reader.end, reader.characters)
    root = reader.open[0].inner[0] if reader.open[0].inner else None
    if root is None or root.name != ROOT or not root.texts.get("Hostname"):
        raise document.error(1, f"has no Hostname in {ROOT}; expected the name of the switch")
    made = Minigraph(document, root.texts["Hostname"])
    for one in root.inner:
        if one.name == "DeviceLinkBase":
            _add_link(made, one)
        elif one.name == "Device" and one.texts.get("Hostname"):
            made.types[one.texts["Hostname"]] = one.kind or one.texts.get("ElementType", "")
        elif one.name in ("DeviceInfo", "DeviceDataPlaneInfo") and _is_own(
            made, one.texts.get("Hostname") or made.hostname
        ):
            _add_interfaces(made, one)
    return made


def _is_own(made: Minigraph, device: str) -> bool:
    """Returns true if this is a name of the switch; SONiC compares names case-insensitively."""
    return device.lower() == made.hostname.lower()


def _add_interfaces(made: Minigraph, one: _Element) -> None:
    """Adds the interfaces and the port channels of the switch."""
    for inner in one.inner:
        if inner.name == "EthernetInterface" and inner.texts.get("InterfaceName"):
            made.speeds[inner.texts["InterfaceName"]] = inner.texts.get("Speed", "")
        elif inner.name == "PortChannel" and inner.texts.get("Name"):
            members = inner.texts.get("AttachTo", "").split(";")
            made.channels[inner.texts["Name"]] = [member.strip() for member in members if member.strip()]


def _add_link(made: Minigraph, one: _Element) -> None:
    """Adds a link of the switch.

    Raises
    ------
    InputError
        If it lacks an end, or its bandwidth is not a number.
    """
    kind = one.texts.get("ElementType") or one.kind
    if kind in _OTHER_LINKS:
        return
    if kind not in _DATA_LINKS:
        made.remarks.append(f"{made.document.file}:{one.line}: not read: a link of type {kind or '(none)'}")
        return
    ends = {}
    for end in ("Start", "End"):
        for part in ("Device", "Port"):
            ends[end, part] = one.texts.get(end + part, "")
            if not ends[end, part]:
                raise made.document.error(one.line, f"a link without {end}{part}; expected both ends")
    text = one.texts.get("Bandwidth", "")
    mbps = made.document.whole(one.line, "Bandwidth", text, 1, 1_600_000) if text else None
    near, far = ("End", "Start") if _is_own(made, ends["End", "Device"]) else ("Start", "End")
    if not _is_own(made, ends[near, "Device"]):
        between = f"{ends[near, 'Device']} and {ends[far, 'Device']}"
        made.remarks.append(
            f"{made.document.file}:{one.line}: not read: a link between {between}; "
            f"the minigraph describes {made.hostname}"
        )
        return
    made.links.append(
        MinigraphLink(one.line, ends[near, "Port"], ends[far, "Device"], ends[far, "Port"], mbps)
    )
