"""Files of every format with something in them changed: each is read or refused, and no change goes without
a word.

Two thousand files by default, from fixed seeds; PENSTOCK_MUTATIONS is how many of each format.
"""

from __future__ import annotations

import json
import os
import random
import re
import time
import xml.etree.ElementTree as ET
from fractions import Fraction
from pathlib import Path
from typing import Any

import networkx as nx
import pytest

from penstock import _core, running
from penstock.errors import InputError, ScenarioError
from penstock.interchange.formats import FORMATS, format_of
from penstock.interchange.join import join
from penstock.interchange.piece import Document, Piece
from penstock.library import Source
from switch_configs import EOS, JUNOS, LLDPTOOL, NS3_CONFIG, NVUE_YAML, NXOS
from test_interchange import FLOWS, TOPOLOGY
from test_interchange_fabrics import DRAWN, GML, MATRIX, RING, SERVER, SIMAI, SIZES, THREE_TIERS
from test_interchange_graphs import GRAPH, TRACE
from test_interchange_htsim_groups import DRAGONFLY
from test_interchange_infragraph import SMALL as INFRAGRAPH
from test_interchange_nvue import SWITCH
from test_interchange_ports import APP, ETS, INI, PFC
from test_interchange_sonic import REAL

EACH = int(os.environ.get("PENSTOCK_MUTATIONS", "0")) or -(-2_000 // len(FORMATS))
LONGEST_S = 2.0
"""Time limit of a reader for a file of some hundred bytes, on a busy machine."""
COMMANDS = (
    "dcb ets set dev eth0 willing off prio-tc 0:0 1:0 2:0 3:1 4:0 5:0 6:0 7:2 "
    "tc-tsa 0:ets 1:ets 2:strict 3:strict 4:strict 5:strict 6:strict 7:strict tc-bw 0:70 1:30 2:0 3:0 "
    "4:0 5:0 6:0 7:0\n"
    "dcb pfc set dev eth0 prio-pfc all:off 3:on\n"
)
POWERTCP = "4 1 1 3 25 100\n3\n0 3 25Gbps 1us 0\n1 3 25Gbps 1us 0\n2 3 25Gbps 1us 0\n"


def _star() -> dict[str, Any]:
    graph = nx.star_graph(3)
    nx.set_node_attributes(graph, {node: "host" if node else "switch" for node in graph}, "role")
    nx.set_edge_attributes(graph, 25, "bandwidth_gbps")
    made: dict[str, Any] = nx.node_link_data(graph)
    return {"nodes": made["nodes"], "edges": made.get("edges", made.get("links"))}


def _known() -> dict[str, Any]:
    """The usual configuration of SONiC, without what its reader says that it leaves out."""
    tables: dict[str, Any] = json.loads(json.dumps(REAL))
    del tables["VERSIONS"], tables["PORT_QOS_MAP"]["global"], tables["PFC_WD"]["GLOBAL"]
    for port in tables["PORT_QOS_MAP"].values():
        del port["dscp_to_tc_map"]
    return tables


SEEDS = {
    "graphml": GRAPH,
    "gml": GML[GML.index("graph [") :].replace("directed 0", "").replace('label "Net &#38; more"', ""),
    "nccl-topology": SERVER,
    "ns3-topology": TOPOLOGY,
    "powertcp-topology": POWERTCP,
    "simai-topology": SIMAI,
    "ns3-flows": FLOWS.partition("First")[0],
    "conweave-flows": "2\n0 1 3 200000 2.5\n2 1 3 1000 2.25\n",
    "ns3-rdma-flows": "2\n2 1 3 10000000 2 9.5\n3 1 3 10000000 2 9.5\n",
    "ns3-config": NS3_CONFIG,
    "htsim": MATRIX,
    "htsim-topology": THREE_TIERS,
    "htsim-groups": DRAGONFLY,
    "astra-network": RING,
    "infragraph": INFRAGRAPH,
    "sonic": json.dumps(_known(), indent=1),
    "dcb": re.sub(
        r'"(ets_cap|cbs|pg_bw|pfc_cap|macsec_bypass|delay)":[^,\[]*(\[[^]]*\])?,', "", ETS + PFC + APP
    ),
    "port-commands": COMMANDS,
    "nvue": SWITCH,
    "eos": EOS,
    "lldptool": LLDPTOOL,
    "junos": JUNOS,
    "nvue-yaml": NVUE_YAML,
    "nxos": NXOS,
    "node-link": json.dumps(_star(), indent=1),
    "pg-profile": INI,
    "csv": TRACE,
    "sizes": SIZES,
}
"""A minimal file of each format that uses every feature of its reader."""
READ_OF_TLVS = (
    "IEEE",
    "PRIO_MAP",
    "TC Band",
    "TSA_MAP",
    "PFC enabled",
    "App#",
    "Priority",
    "Sel",
    "UDP",
    "{S}TCP",
)
SWITCHES = ("nxos", "eos")
"""Formats whose comments begin with an exclamation mark."""
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
WORDS = (
    "",
    "x",
    "-1",
    "0",
    "7",
    "8",
    "99999999999999999999",
    "1e400",
    "nan",
    '"',
    "{",
    "]",
    "\0",
    "٣",
    "null",
    "[]",
    "\n",
    "\t",
)


def mutated(text: str, draw: random.Random) -> str:
    """The text with one thing changed: a number, a letter, a line or a piece."""
    kind = draw.randrange(6)
    lines = text.splitlines(keepends=True)
    at = draw.randrange(len(lines))
    if kind == 0 and (numbers := list(_NUMBER.finditer(text))):
        found = draw.choice(numbers)
        other = draw.choice(
            [*WORDS, str(draw.randrange(10)), str(draw.randrange(10**6)), str(10 ** draw.randrange(25))]
        )
        return text[: found.start()] + other + text[found.end() :]
    if kind == 1:
        place = draw.randrange(len(text))
        return text[:place] + draw.choice([*WORDS, chr(draw.randrange(32, 127))]) + text[place + 1 :]
    if kind == 2:
        return "".join(lines[:at] + lines[at + 1 :])
    if kind == 3:
        return "".join([*lines[:at], lines[at], *lines[at:]])
    if kind == 4:
        return text[: draw.randrange(len(text))]
    first, last = sorted(draw.randrange(len(text)) for _ in range(2))
    return text[:first] + text[last : last + draw.randrange(20)] + text[first:]


def output(piece: Piece) -> tuple[Any, ...]:
    """All that a piece says, without the places where it stood."""
    return (
        repr(piece.keys),
        repr([one[1:] for one in piece.transfers]),
        repr(piece.memory),
        repr(list(piece.links)),
        repr(piece.alone),
        repr(piece.assumed),
        repr((piece.transfer_keys, piece.simulated)),
        repr(list(piece.points)),
        sorted(note.text for note in piece.notes),
        sorted(re.sub(r":\d+:", ":", remark) for remark in piece.remarks),
    )


def plain(name: str, text: str) -> object:
    """The significant parts of a text: no blanks, comments, or parts that readers report as left out."""
    if name in ("sonic", "node-link"):
        return _stripped(json.loads(text))
    if name == "dcb":
        return re.sub(r"\s", "", text)
    if name in ("graphml", "nccl-topology"):
        return _element(ET.fromstring(text))
    if name in ("ns3-topology", "powertcp-topology", "simai-topology"):
        return [_number(word) for word in text.split()]
    if name == "nvue-yaml":  # what is around the settings of queues is left out, by line
        text = text.partition("- set:")[2].partition("    system")[0]
    if name == "junos":
        return re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL).split()
    if name == "gml":
        inner = r"\[[^][]*\]"
        left_out = rf'graphics \[([^][]|{inner})*\]|LinkLabel +("[^"]*"|\S+)'
        return [_number(word) for word in re.sub(left_out, "", text).split()]
    lines = [re.sub(r"(^|(?<=\s))#.*", "", line).strip() for line in text.splitlines()]
    if name in SWITCHES:
        lines = [line for line in lines if not line.startswith("!")]
    if name == "lldptool":  # all other lines are left out, by number
        lines = [line for line in lines if line.startswith(READ_OF_TLVS)]
    if name == "csv":
        lines = [line.rpartition(";")[0] for line in lines]
    if name == "pg-profile":
        rows = [" ".join(map(_number, line.split())) for line in lines]
        lines = sorted({row for row in rows if row.split()[:2] == ["100000", "40m"]})
    if name == "htsim":
        lines = [line.replace("size 0", "") for line in lines]
    return sorted(
        " ".join(map(_number, re.sub(r'[\s"\'/,:\[\]]+', " ", line).split())) for line in lines if line
    )


def _number(word: str) -> str:
    """A number is what it is worth, also before a unit: 02.50ms is 2.5ms."""
    found = re.match(r"[+-]?(\d+\.?\d*|\.\d+)", word, re.ASCII)
    return word if found is None else f"{Fraction(found[0])}{word[found.end() :]}"


KEY_OF_GRAPHML = ("id", "attr.name")


def _element(element: ET.Element) -> object:
    """An element with its attributes, texts and what is in it; others than the formats know count for
    nothing."""
    attributes = {
        name: _number(value.strip())
        for name, value in element.attrib.items()
        if element.tag != "key" or name in KEY_OF_GRAPHML
    }
    if element.tag == "system":
        attributes = {}
    inside = [_element(one) for one in element if one.tag != "unknown"]
    return (element.tag, sorted(attributes.items()), _number((element.text or "").strip()), inside)


def _stripped(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _stripped(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_stripped(one) for one in value]
    return str(value).strip()


def reading(text: str, name: str) -> Piece | str:
    """Result of a reader for a text within a time limit; an error as text."""
    document = Document("file", text, rate="100 Gb/s", length="40 m", buffer="160 MiB")
    began = time.monotonic()
    try:
        return FORMATS[[one.name for one in FORMATS].index(name)].read(document)
    except InputError as error:
        assert str(error).startswith("file") or "--rate" in str(error) or "--length" in str(error), str(error)
        return str(error)
    finally:
        assert time.monotonic() - began < LONGEST_S * (1 + len(text) / 10_000)


def test_every_format_has_a_seed_that_is_read() -> None:
    assert set(SEEDS) == {one.name for one in FORMATS}
    for name, text in SEEDS.items():
        document = Document("file", text, rate="100 Gb/s", length="40 m", buffer="160 MiB")
        assert format_of(document).name == name
        assert isinstance(reading(text, name), Piece), (name, reading(text, name))


@pytest.mark.parametrize("name", SEEDS)
def test_mutations_are_read_or_refused_and_never_go_without_a_word(name: str) -> None:
    seed, whole = SEEDS[name], reading(SEEDS[name], name)
    assert isinstance(whole, Piece)
    draw = random.Random(f"{name} 1")
    outcomes = {"refused": 0, "other": 0, "same": 0}
    for _ in range(EACH):
        text = mutated(seed, draw)
        found = reading(text, name)
        if isinstance(found, str):
            outcomes["refused"] += 1
        elif output(found) != output(whole):
            outcomes["other"] += 1
        else:
            outcomes["same"] += 1
            assert plain(name, text) == plain(name, seed), f"read as if nothing had changed:\n{text}"
    assert outcomes["refused"] > EACH // 20, outcomes


LIKE = DRAWN.replace("hosts = 3", "hosts = 8").replace(
    "[[transfers]]", '[switch.buffer]\ntotal = "12 MiB"\n[[transfers]]'
)


@pytest.mark.parametrize("name", SEEDS)
def test_mutations_become_scenarios_or_errors(name: str) -> None:
    """Some of each format through the whole door: what is written is a scenario that the engine checks, or
    an error."""
    draw = random.Random(f"{name} 2")
    done = 0
    for _ in range(max(EACH // 20, 3)):
        document = Document(
            "file", mutated(SEEDS[name], draw), rate="100 Gb/s", length="40 m", buffer="160 MiB"
        )
        try:
            piece = FORMATS[[one.name for one in FORMATS].index(name)].read(document)
            made = join([(document, piece)], Path("out.toml"), like=Source(LIKE, "like.toml"))
            if not (made.transfers or made.sizes):
                with running.engine_errors():
                    _core.check(made.text, "out.toml")
            done += 1
        except (InputError, ScenarioError):
            pass
    assert done >= 0


@pytest.mark.parametrize("name", SEEDS)
def test_any_text_is_recognised_or_not(name: str) -> None:
    """No reader stumbles over what another's file looks like, and a refusal says where each of them stops."""
    draw = random.Random(f"{name} 3")
    for _ in range(max(EACH // 40, 2)):
        document = Document("file", mutated(SEEDS[name], draw))
        for one in FORMATS:
            one.recognises(document)
    with pytest.raises(InputError) as reported:
        format_of(Document("file", "hello\nworld"))
    assert all(f"\n  {one.name} (" in str(reported.value) for one in FORMATS)
