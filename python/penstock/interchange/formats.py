"""The formats that can be imported: one line each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from penstock.errors import InputError
from penstock.library import suggestion

from . import (
    astra_network,
    csv_trace,
    dcb_json,
    gml,
    graphml,
    htsim,
    htsim_topology,
    nccl_topology,
    node_link,
    ns3,
    nvue,
    pg_profile,
    port_commands,
    sizes,
    sonic_config,
)
from .piece import Document, Piece
from .strangers import of_text


@dataclass(frozen=True)
class Format:
    """A format.

    Attributes
    ----------
    name : str
        Its name on the command line.
    about : str
        What is written in it.
    recognises : callable
        Whether a document looks like it, from its beginning.
    read : callable
        The piece of a scenario that a document is; an `InputError` names the line of what is wrong.
    """

    name: str
    about: str
    recognises: Callable[[Document], bool]
    read: Callable[[Document], Piece]


FORMATS = (
    Format("graphml", "a graph, as networkx writes it", graphml.recognises, graphml.read),
    Format("gml", "a graph, as the Internet Topology Zoo has it", gml.recognises, gml.read),
    Format(
        "nccl-topology", "the inside of a server, XML of NCCL", nccl_topology.recognises, nccl_topology.read
    ),
    Format("ns3-topology", "a fabric of the HPCC fork of ns-3", ns3.is_topology, ns3.read_topology),
    Format("powertcp-topology", "a fabric of PowerTCP's simulator", ns3.is_powertcp, ns3.read_powertcp),
    Format("simai-topology", "a fabric of SimAI", ns3.is_simai, ns3.read_simai),
    Format("ns3-flows", "flows of the HPCC fork of ns-3", ns3.is_flows, ns3.read_flows),
    Format("conweave-flows", "flows of ConWeave's simulator", ns3.is_conweave, ns3.read_conweave),
    Format("ns3-rdma-flows", "flows of ns3-rdma, in packets", ns3.is_packets, ns3.read_packets),
    Format("htsim", "a connection matrix of htsim", htsim.recognises, htsim.read),
    Format("htsim-topology", "a fabric of htsim", htsim_topology.recognises, htsim_topology.read),
    Format("astra-network", "a network of ASTRA-sim", astra_network.recognises, astra_network.read),
    Format("sonic", "settings of a switch, CONFIG_DB of SONiC", sonic_config.recognises, sonic_config.read),
    Format("dcb", "settings of a port of Linux, what dcb -j prints", dcb_json.recognises, dcb_json.read),
    Format(
        "port-commands",
        "settings of a port of Linux, commands of dcb and mlnx_qos",
        port_commands.recognises,
        port_commands.read,
    ),
    Format("nvue", "settings of a switch, commands of NVUE (Cumulus Linux)", nvue.recognises, nvue.read),
    Format("node-link", "a graph of networkx as JSON", node_link.recognises, node_link.read),
    Format(
        "pg-profile", "headroom of a switch, pg_profile_lookup.ini", pg_profile.recognises, pg_profile.read
    ),
    Format("csv", "a table of transfers", csv_trace.recognises, csv_trace.read),
    Format("sizes", "a distribution of sizes", sizes.recognises, sizes.read),
)


def format_of(document: Document, name: str | None = None) -> Format:
    """The format with a name, or the one that a document looks like.

    Raises
    ------
    InputError
        If there is none; then the message says where each reader stopped.
    """
    names = [one.name for one in FORMATS]
    if name is not None:
        if name not in names:
            raise InputError(f"--format {name}: no such format; {suggestion(name, names)}")
        return FORMATS[names.index(name)]
    stranger = of_text(document)
    for one in FORMATS:
        if stranger is None and one.recognises(document):
            return one
    lines = "".join(f"\n  {one.name} ({one.about}): {_stop(one, document)}" for one in FORMATS)
    looks = f"is {stranger}" if stranger else "looks like none of the formats that can be imported"
    raise InputError(f"{document.file}: {looks}; --format names a format. Each reader stops:{lines}")


def _stop(one: Format, document: Document) -> str:
    """Where a reader stops, and why."""
    try:
        one.read(document)
    except InputError as error:
        return str(error).removeprefix(document.file).removeprefix(":").strip()
    return "reads it, though it looks different"
