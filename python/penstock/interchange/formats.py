"""The formats that can be imported."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from penstock.errors import InputError
from penstock.library import suggestion

from . import (
    astra_network,
    csv_trace,
    dcb_json,
    eos,
    gml,
    graphml,
    htsim,
    htsim_groups,
    htsim_topology,
    infragraph,
    junos,
    lldptool,
    nccl_topology,
    node_link,
    ns3,
    ns3_config,
    nvue,
    nvue_yaml,
    nxos,
    pg_profile,
    port_commands,
    sizes,
    sonic_config,
    sonic_tables,
)
from .piece import Document, Piece, brief
from .reading import Path
from .strangers import of_text
from .switch_piece import reader_of


@dataclass(frozen=True)
class Format:
    """A format.

    Attributes
    ----------
    name : str
        Name on the command line.
    about : str
        Description of the contents.
    Returns true if the beginning of a document looks like the format.
        Returns true if the head of a document looks like the format.
    reader : callable
        Converts a document to a piece of a scenario; an `InputError` names the line of the error.
    meaning : callable
        Returns the consequence of leaving out a field of a document, given its path.
    """

    name: str
    about: str
    recognises: Callable[[Document], bool]
    reader: Callable[[Document], Piece]
    meaning: Callable[[Path], str] = lambda _: "not part of a scenario"

    def read(self, document: Document) -> Piece:
        """Converts a document to a piece of a scenario, with a remark for each field that was not read.

        Raises
        ------
        InputError
            If the document is in another format or invalid; the message names the line.
        """
        fresh = document.fresh()
        return self.reported(fresh, self.reader(fresh))

    def reported(self, document: Document, piece: Piece) -> Piece:
        """Returns the piece with a remark for each field and line that its reader did not read."""
        remarks = [f"{document.file}: {line}" for line in document.ledger.report(self.meaning)]
        if lines := document.unread_lines():
            number, text = lines[0]
            more = f" and {len(lines) - 1} more lines" if len(lines) > 1 else ""
            remarks.append(f"{document.file}:{number}: not read: {brief(text)}{more}")
        return replace(piece, remarks=[*piece.remarks, *remarks]) if remarks else piece


FORMATS = (
    Format("ns3-topology", "a fabric of the HPCC fork of ns-3", ns3.is_topology, ns3.read_topology),
    Format("powertcp-topology", "a fabric of PowerTCP's simulator", ns3.is_powertcp, ns3.read_powertcp),
    Format("simai-topology", "a fabric of SimAI", ns3.is_simai, ns3.read_simai),
    Format("ns3-flows", "flows of the HPCC fork of ns-3", ns3.is_flows, ns3.read_flows),
    Format("conweave-flows", "flows of ConWeave's simulator", ns3.is_conweave, ns3.read_conweave),
    Format("ns3-rdma-flows", "flows of ns3-rdma, in packets", ns3.is_packets, ns3.read_packets),
    Format(
        "ns3-config",
        "congestion control and switches of the HPCC fork",
        ns3_config.recognises,
        ns3_config.read,
    ),
    Format("htsim", "a connection matrix of htsim", htsim.recognises, htsim.read),
    Format("htsim-topology", "a fabric of htsim", htsim_topology.recognises, htsim_topology.read),
    Format("htsim-groups", "a dragonfly or Slim Fly of htsim", htsim_groups.recognises, htsim_groups.read),
    Format(
        "infragraph",
        "a fabric of InfraGraph",
        infragraph.recognises,
        infragraph.read,
        infragraph.meaning,
    ),
    Format("astra-network", "a network of ASTRA-sim", astra_network.recognises, astra_network.read),
    Format(
        "sonic",
        "settings of a switch, CONFIG_DB of SONiC",
        sonic_config.recognises,
        sonic_config.read,
        sonic_tables.meaning,
    ),
    Format(
        "dcb",
        "settings of a port of Linux, what dcb -j prints",
        dcb_json.recognises,
        dcb_json.read,
        dcb_json.meaning,
    ),
    Format(
        "port-commands",
        "settings of a port of Linux, commands of dcb and mlnx_qos",
        port_commands.recognises,
        port_commands.read,
    ),
    Format("lldptool", "settings of a port, TLVs of DCBX", lldptool.recognises, lldptool.read),
    Format(
        "junos",
        "settings of a switch, configuration of Juniper Junos",
        junos.recognises,
        reader_of(junos.switch),
    ),
    Format(
        "eos",
        "settings of a switch, running configuration of Arista EOS",
        eos.recognises,
        reader_of(eos.switch),
    ),
    Format(
        "nxos",
        "settings of a switch, running configuration of Cisco NX-OS",
        nxos.recognises,
        reader_of(nxos.switch),
    ),
    Format("nvue", "settings of a switch, commands of NVUE (Cumulus Linux)", nvue.recognises, nvue.read),
    Format("nvue-yaml", "settings of a switch, YAML of NVUE", nvue_yaml.recognises, nvue_yaml.read),
    Format(
        "node-link",
        "a graph of networkx as JSON",
        node_link.recognises,
        node_link.read,
        node_link.meaning,
    ),
    Format(
        "pg-profile", "headroom of a switch, pg_profile_lookup.ini", pg_profile.recognises, pg_profile.read
    ),
    Format("graphml", "a graph in GraphML", graphml.recognises, graphml.read, graphml.meaning),
    Format("gml", "a graph in GML, as in the Internet Topology Zoo", gml.recognises, gml.read),
    Format(
        "nccl-topology",
        "the inside of a server, XML of NCCL",
        nccl_topology.recognises,
        nccl_topology.read,
        nccl_topology.meaning,
    ),
    Format("csv", "a table of transfers", csv_trace.recognises, csv_trace.read),
    Format("sizes", "a distribution of sizes", sizes.recognises, sizes.read),
)
"""Formats in the order of detection: by first lines, JSON, graphs, and formats that need all lines."""


def format_of(document: Document, name: str | None = None) -> Format:
    """Returns the format with this name, or the detected format of a document.

    Raises
    ------
    InputError
        If there is none; the message then lists the error of each reader.
    """
    names = [one.name for one in FORMATS]
    if name is not None:
        if name not in names:
            raise InputError(f"--format {name}: no such format; {suggestion(name, names)}")
        return FORMATS[names.index(name)]
    stranger, head = of_text(document), document.head()
    for one in FORMATS:
        if stranger is None and one.recognises(head):
            return one
    lines = "".join(f"\n  {one.name} ({one.about}): {_stop(one, document)}" for one in FORMATS)
    looks = f"is {stranger}" if stranger else "is in none of the formats that can be imported"
    raise InputError(f"{document.file}: {looks}; --format names a format. Error of each reader:{lines}")


def read_all(documents: Sequence[tuple[Format, Document]]) -> list[Piece]:
    """Reads documents as pieces, in order; parts of one configuration are read together.

    The files of a CONFIG_DB, such as `buffers.json` and `qos.json`, are parts of one configuration, together
    with its headroom table, `pg_profile_lookup.ini`.

    Raises
    ------
    InputError
        If a document cannot be read.
    """
    kinds = [one.name for one, _ in documents]
    parts = [place for place, kind in enumerate(kinds) if kind == "sonic"]
    lookups = [place for place, kind in enumerate(kinds) if kind == "pg-profile"]
    if not parts or len(parts) + len(lookups) < 2:
        return [one.read(document) for one, document in documents]
    fresh = {place: documents[place][1].fresh() for place in (*parts, *lookups)}
    together = sonic_config.read_together(
        [fresh[place] for place in parts], [fresh[place] for place in lookups]
    )
    made = dict(zip((*parts, *lookups), together, strict=True))
    return [
        one.reported(fresh[place], made[place]) if place in made else one.read(document)
        for place, (one, document) in enumerate(documents)
    ]


def _stop(one: Format, document: Document) -> str:
    """The line at which a reader fails, and the reason."""
    try:
        one.read(document)
    except InputError as error:
        return str(error).removeprefix(document.file).removeprefix(":").strip()
    return "accepts it, although detection does not"
