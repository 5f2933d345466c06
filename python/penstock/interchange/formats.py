"""The formats that can be imported: one line each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from penstock.errors import InputError
from penstock.library import suggestion

from . import csv_trace, dcb_json, graphml, htsim, ns3, pg_profile, sonic_config
from .piece import Document, Piece


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
    Format("ns3-topology", "a fabric of the HPCC fork of ns-3", ns3.is_topology, ns3.read_topology),
    Format("ns3-flows", "flows of the HPCC fork of ns-3", ns3.is_flows, ns3.read_flows),
    Format("htsim", "a connection matrix of htsim", htsim.recognises, htsim.read),
    Format("sonic", "settings of a switch, CONFIG_DB of SONiC", sonic_config.recognises, sonic_config.read),
    Format("dcb", "settings of a port of Linux, what dcb -j prints", dcb_json.recognises, dcb_json.read),
    Format(
        "pg-profile", "headroom of a switch, pg_profile_lookup.ini", pg_profile.recognises, pg_profile.read
    ),
    Format("csv", "a table of transfers", csv_trace.recognises, csv_trace.read),
)


def format_of(document: Document, name: str | None = None) -> Format:
    """The format with a name, or the one that a document looks like.

    Raises
    ------
    InputError
        If there is none.
    """
    names = [one.name for one in FORMATS]
    if name is not None:
        if name not in names:
            raise InputError(f"--form {name}: no such format; {suggestion(name, names)}")
        return FORMATS[names.index(name)]
    for one in FORMATS:
        if one.recognises(document):
            return one
    known = "; ".join(f"{one.name} ({one.about})" for one in FORMATS)
    raise InputError(f"{document.file}: looks like none of the formats that can be imported: {known}")
