"""Server topologies of NCCL and RCCL (`NCCL_TOPO_FILE`, `NCCL_TOPO_DUMP_FILE`).

GPUs and NICs are hosts; CPUs, PCI bridges and NVSwitches are switches. The rate of a PCI link is that of its
generation and width after encoding and overhead; the rate of an NVLink is that of its GPU's generation. Both
are computed as in NCCL.

Source: `src/graph/topo.cc` and `xml.cc` of NCCL, `rccl` for `xgmi`.

Not imported: the links of NICs to the network, affinities, and the types of CPUs. The file does not contain
links between CPUs; their rate is `--rate`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.errors import InputError

from .piece import Document, Note, Piece, brief, explicit, trunk
from .reading import Path
from .xml_text import parse, root_of

LANES = {"2.5": 1_500, "5": 3_000, "8": 6_000, "16": 12_000, "32": 24_000, "64": 48_000}
"""Mb/s of a PCI lane by its GT/s, after overhead."""
UNKNOWN_LANE = 6_000
WIDTH = 16
NVLINK_GB = {100: 40.1, 90: 20.6, 70: 20.0, 60: 18.0}
"""GB/s of an NVLink per direction, by the lowest compute capability of its GPU."""
NVLINK_GB_86 = 12.0
XGMI_GB = 48.0
_BUS = {"overhead": "0 B", "phy": "none"}
"""Keys of links other than Ethernet: PCI, NVLink, and links between CPUs."""
HOST_CLASSES = {"0x03": "gpu", "0x12": "gpu", "0x02": "nic"}
BRIDGE, NVSWITCH = "0x0604", "0x068000"
PEERS = ("nvlink", "xgmi")
INSIDE = ("cpu", "pci", "gpu", "nic", "net", *PEERS)


def recognises(document: Document) -> bool:
    """Returns true if a text is XML of a system, or of NCCL's graphs."""
    return root_of(document) in ("system", "graphs")


def meaning(_: Path) -> str:
    """The consequence of leaving out an attribute or a text."""
    return "not a device or link of the fabric"


@dataclass
class _Element:
    """A CPU or PCI device with its children."""

    tag: str
    line: int
    attributes: Mapping[str, str]
    inside: list[_Element] = field(default_factory=list)

    def all_of(self, *tags: str) -> list[_Element]:
        """Children of these kinds."""
        return [one for one in self.inside if one.tag in tags]


def read(document: Document) -> Piece:
    """Reads the fabric within a server.

    Raises
    ------
    InputError
        If the text is not such XML, or has no GPU or NIC; the message has the line.
    """
    root = _parsed(document)
    if root.tag == "graphs":
        raise document.error(
            root.line, "a file of graphs (NCCL_GRAPH_FILE), which has channels but no topology"
        )
    server = _Server(document)
    cpus = root.all_of("cpu")
    for place, cpu in enumerate(cpus):
        server.cpu(f"cpu{_number(document, cpu, 'numaid', place)}", cpu)
    server.between_cpus()
    server.peers()
    return server.piece()


def _number(document: Document, element: _Element, key: str, default: int) -> int:
    return document.whole(element.line, key, element.attributes.get(key, str(default)), most=2**32 - 1)


def _parsed(document: Document) -> _Element:
    """The relevant elements; others are skipped with their content."""
    top = _Element("", 1, {})
    stack = [top]
    skipped = 0

    def begin(tag: str, attributes: Mapping[str, str], line: int) -> None:
        nonlocal skipped
        if skipped or tag not in (*INSIDE, "system", "graphs"):
            skipped += 1
            return
        element = _Element(tag, line, attributes)
        stack[-1].inside.append(element)
        stack.append(element)

    def end(_: str) -> None:
        nonlocal skipped
        if skipped:
            skipped -= 1
        else:
            stack.pop()

    def characters(text: str, line: int) -> bool:
        if text.strip() and not skipped:
            raise document.error(line, f"text {brief(text.strip())}; expected elements only")
        return False

    parse(document, begin, end, characters)
    if len(top.inside) != 1 or top.inside[0].tag not in ("system", "graphs"):
        raise document.error(1, "expected a system with its CPUs")
    return top.inside[0]


class _Server:
    """The fabric under construction."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.hosts: dict[str, _Element] = {}
        self.switches: list[str] = []
        self.links: list[dict[str, Any]] = []
        self.notes: list[Note] = []
        self.remarks: list[str] = []
        self.by_bus: dict[str, str] = {}
        self.nvlinks: list[tuple[str, _Element, int]] = []
        self.guessed = 0
        self.count: Counter[str] = Counter()

    def cpu(self, name: str, cpu: _Element) -> None:
        """Adds a CPU with the devices below it; a CPU without devices is left out."""
        if name in self.switches:
            raise self.document.error(cpu.line, f"{name} appears twice")
        devices = cpu.all_of("pci", "nic")
        if not devices:
            self.remarks.append(f"{self.document.file}:{cpu.line}: {name} has no devices: left out")
            return
        self.switches.append(name)
        self.notes.append(Note(cpu.line, f"{name}: {_attributes(cpu)}"))
        for device in devices:
            self._device(device, name)

    def _device(self, device: _Element, above: str) -> None:
        kind = self._kind(device)
        stem = "pci" if kind == "bridge" else kind
        name = f"{stem}{self.count[stem]}"
        self.count[stem] += 1
        bus = device.attributes.get("busid", "").lower()
        if bus and bus in self.by_bus:
            raise self.document.error(device.line, f"busid {brief(bus)} appears twice")
        self.by_bus[bus] = name
        self.notes.append(Note(device.line, f"{name}: {_attributes(device)}"))
        self.links.append({"between": [name, above], **_BUS, **trunk(self._pci_rate(device))})
        if kind == "bridge":
            self.switches.append(name)
            for one in device.all_of("pci", "nic"):
                self._device(one, name)
            return
        self.hosts[name] = device
        for gpu in device.all_of("gpu"):
            self.notes.append(Note(gpu.line, f"{name}: {_attributes(gpu)}"))
            self.nvlinks += [(name, peer, self._sm(gpu)) for peer in gpu.all_of(*PEERS)]
        for nic in (device, *device.all_of("nic")):
            for net in nic.all_of("net"):
                self.notes.append(Note(net.line, f"{name}: net {_attributes(net)}"))

    def _kind(self, device: _Element) -> str:
        """The kind of a device: GPU, NIC, bridge, or other."""
        if device.tag == "nic" or device.all_of("nic"):
            return "nic"
        if device.all_of("gpu"):
            return "gpu"
        if device.all_of("pci"):
            return "bridge"
        of_class = device.attributes.get("class", "").lower()
        found = next((kind for prefix, kind in HOST_CLASSES.items() if of_class.startswith(prefix)), None)
        if found is None:
            self.guessed += 1
        return found or "device"

    def _pci_rate(self, device: _Element) -> int:
        """Rate in b/s; missing or unknown attributes have NCCL's defaults."""
        text = (
            device.attributes.get("link_speed", "")
            .removesuffix(" PCIe")
            .removesuffix(" GT/s")
            .removesuffix(".0")
            .strip()
        )
        width = _number(self.document, device, "link_width", WIDTH) or WIDTH
        if width > 64:
            raise self.document.error(device.line, f"link_width is {width}; expected at most 64")
        lane = LANES.get(text)
        if lane is None and device.tag == "pci":
            self.remarks.append(
                f"{self.document.file}:{device.line}: link_speed is {brief(text) or 'missing'}: 6 Gb/s per "
                f"lane, the default of NCCL"
            )
        return (lane or UNKNOWN_LANE) * 10**6 * width

    def _sm(self, gpu: _Element) -> int:
        return _number(self.document, gpu, "sm", 0)

    def between_cpus(self) -> None:
        """Adds links between all pairs of CPUs."""
        cpus = [name for name in self.switches if name.startswith("cpu")]
        if len(cpus) < 2:
            return
        if self.document.rate is None:
            message = (
                f"{len(cpus)} CPUs, but no rate for the links between them; set it with --rate, such "
                f"as 128 Gb/s"
            )
            raise InputError(f"{self.document.file}: {message}")
        self.links += [
            {"between": [one, other], "rate": self.document.rate, **_BUS}
            for place, one in enumerate(cpus)
            for other in cpus[place + 1 :]
        ]
        self.remarks.append(
            f"{self.document.file}: all pairs of CPUs are linked at {self.document.rate}, from --rate"
        )

    def peers(self) -> None:
        """Adds NVLinks: to other GPUs, to NVSwitches, or to a CPU."""
        seen: dict[frozenset[str], int] = {}
        for name, peer, sm in self.nvlinks:
            self.notes.append(Note(peer.line, f"{name}: {peer.tag} {_attributes(peer)}"))
            target = peer.attributes.get("target", "").lower()
            other = self.by_bus.get(target)
            if other is None:
                other = f"nvswitch{brief(target).replace(':', '-')}"
                if not peer.attributes.get("tclass", "").startswith(NVSWITCH[:6]):
                    raise self.document.error(peer.line, f"target {brief(target)}: no device has this busid")
                if other not in self.switches:
                    self.switches.append(other)
            ends = frozenset((name, other))
            if other == name:
                self.remarks.append(f"{self.document.file}:{peer.line}: a link of {name} to itself: left out")
            count = _number(self.document, peer, "count", 1)
            if not 1 <= count <= 64:
                raise self.document.error(peer.line, f"count is {count}; expected 1 to 64")
            if seen.get(ends, count) != count:
                message = f"{count} links of {name} and {other}; the other end has {seen[ends]}"
                raise self.document.error(peer.line, message)
            if ends in seen or other == name:
                continue
            seen[ends] = count
            gbytes = XGMI_GB if peer.tag == "xgmi" else _nvlink_gb(sm)
            link = {"between": [name, other], "rate": f"{round(gbytes * 8_000)} Mb/s", **_BUS}
            self.links.append(link | ({"count": count} if count > 1 else {}))

    def piece(self) -> Piece:
        """The fabric.

        Raises
        ------
        InputError
            If it is empty.
        """
        if len(self.hosts) < 2:
            raise InputError(
                f"{self.document.file}: has {len(self.hosts)} GPUs and NICs; expected two or more"
            )
        remarks = [
            f"{self.document.file}: GPUs and NICs are hosts; frames on PCI and NVLink have no overhead, "
            f"and links have "
            "the length from --length or Penstock's default",
            *self.remarks,
        ]
        if self.guessed:
            remarks.append(
                f"{self.document.file}: {self.guessed} devices have an unknown class: hosts named "
                f"device0 and so on"
            )
        if self.document.length is not None:
            for link in self.links:
                link["length"] = self.document.length
        keys = explicit(list(self.hosts), self.switches, self.links)
        return Piece(keys, notes=self.notes, remarks=remarks)


def _nvlink_gb(sm: int) -> float:
    """GB/s of an NVLink; an unknown GPU has NCCL's default."""
    if sm == 86:
        return NVLINK_GB_86
    return next((gbytes for least, gbytes in NVLINK_GB.items() if sm >= least), NVLINK_GB[70])


def _attributes(element: _Element) -> str:
    return ", ".join(f"{key} {brief(value)}" for key, value in element.attributes.items())
