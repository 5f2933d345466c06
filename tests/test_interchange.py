"""Fabrics and traffic in the formats of others."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from conftest import Command, json_of
from penstock import running
from penstock.errors import InputError
from penstock.interchange.formats import FORMATS, format_of
from penstock.interchange.join import join
from penstock.interchange.piece import Document, Piece
from penstock.library import Source

TOPOLOGY = """6 2 6
4
5
0 4 100Gbps 1000ns 0.000000
1 4 100Gbps 0.001ms 0
2 5 100Gbps 1us 0
5 3 25Gbps 1us 0
4 5 400Gbps 1000ns 0
4 5 400Gbps 1000ns 0.25
"""
FLOWS = """3
0 3 3 100 200000 2
2 0 3 100 15000 2.0001
1 3 3 100 200000 2.000001

First line: # of flows
"""


def piece(text: str, form: str | None = None) -> Piece:
    document = Document("file.txt", text)
    return format_of(document, form).read(document)


def joined(*texts: str, like: str | None = None) -> dict[str, Any]:
    """The scenario of these documents, and its transfers."""
    documents = [Document("file.txt", text) for text in texts]
    read = [(one, format_of(one).read(one)) for one in documents]
    found = join(read, Path("out.toml"), like=None if like is None else Source(like, "like.toml"))
    return {**tomllib.loads(found.text), "rows": found.transfers.splitlines(), "remarks": found.remarks}


def test_a_fabric_of_ns3_link_by_link() -> None:
    found = joined(TOPOLOGY)
    assert found["topology"]["explicit"] == {
        "hosts": ["h0..h3"],
        "switches": ["s4..s5"],
        "links": [
            {"between": ["h0..h1", "s4"], "rate": "100 Gb/s", "phy": "none", "delay": "1 us"},
            {"between": ["h2", "s5"], "rate": "100 Gb/s", "phy": "none", "delay": "1 us"},
            {"between": ["s5", "h3"], "rate": "25 Gb/s", "phy": "none", "delay": "1 us"},
            {"between": ["s4", "s5"], "rate": "400 Gb/s", "phy": "none", "delay": "1 us"},
            {"between": ["s4", "s5"], "rate": "400 Gb/s", "phy": "none", "delay": "1 us"},
        ],
    }
    assert found["faults"] == [{"link": ["s4", "s5"], "index": 1, "frame_loss": 0.25}]


def test_flows_of_ns3_in_order_of_time() -> None:
    found = joined(TOPOLOGY, FLOWS)
    assert found["rows"] == [
        "time_ps,from,to,bytes,priority",
        "# file.txt:2: port 100",
        "0,h0,h3,200000,3",
        "# file.txt:4: port 100",
        "1000000,h1,h3,200000,3",
        "# file.txt:3: port 100",
        "100000000,h2,h0,15000,3",
    ]
    # 400 kB at 25 Gb/s are 128 us; twice that, and 100 us of starts, in two digits.
    assert found["simulation"]["duration"] == "360 us"
    assert found["remarks"] == [
        "file.txt:6: not read: First line: # of flows",
        "times are counted from the first transfer, which began at 2 s",
        "3 transfers have fields that a scenario cannot express, such as port 100: "
        "see the comments in their list",
    ]


def test_hosts_are_numbered_in_the_order_of_another_scenario() -> None:
    like = (
        '[simulation]\nduration = "1 s"\n[topology.star]\nhosts = 4\nrate = "1 Gb/s"\n[[flows]]\nname = "x"\n'
    )
    found = joined(FLOWS, like=like)
    assert "flows" not in found
    assert found["rows"][2] == "0,h0,h3,200000,3"
    assert found["topology"]["star"]["hosts"] == 4


def test_what_is_imported_runs(penstock: Command, tmp_path: Path) -> None:
    (tmp_path / "topology.txt").write_text(TOPOLOGY.replace("0.25", "0"), "utf-8")
    (tmp_path / "flow.txt").write_text(FLOWS, "utf-8")
    done = penstock("import", "topology.txt", "flow.txt", "--out", "ns3.toml")
    assert done.returncode == 0, done.stderr
    run = json_of(penstock("run", "ns3.toml", "--json"))
    assert [flow["frames_dropped"] for flow in run["flows"]] == [0, 0, 0]
    assert run["complete"]
    rows = ps.run(str(tmp_path / "ns3.toml")).rows("transfers")
    assert [row["bytes"] for row in rows] == [200_000, 200_000, 15_000]
    assert all(row["completion_ns"] is not None for row in rows)
    again = penstock("import", "topology.txt", "flow.txt", "--out", "ns3.toml")
    assert again.returncode == 2
    assert "ns3.toml: exists" in again.stderr


@given(st.data())
@settings(max_examples=50, deadline=None)
def test_any_fabric_of_ns3_is_the_one_that_was_written(data: st.DataObject) -> None:
    nodes = data.draw(st.integers(3, 12))
    switches = data.draw(st.lists(st.integers(0, nodes - 1), min_size=1, max_size=nodes - 2, unique=True))
    names = [f"{'s' if node in switches else 'h'}{node}" for node in range(nodes)]
    links = []
    for node in range(nodes):
        if node != switches[0]:
            rate, delay = data.draw(st.sampled_from([10, 25, 400])), data.draw(st.integers(1, 5_000))
            links.append((node, switches[0], rate, delay))
    text = [f"{nodes} {len(switches)} {len(links)}", " ".join(map(str, switches))]
    text += [f"{a} {b} {rate}Gbps {delay}ns 0" for a, b, rate, delay in links]
    built = joined("\n".join(text))
    source = Source(f'simulation.duration = "1 ns"\n{_topology(built)}', "built.toml")
    topology = running.run_source(source).topology
    assert {node["name"] for node in topology["nodes"]} == set(names)
    assert sorted(
        (one["a"], one["b"], one["rate_bps"], one["delay_ns"]) for one in topology["links"]
    ) == sorted((names[a], names[b], rate * 10**9, float(delay)) for a, b, rate, delay in links)


def _topology(found: dict[str, Any]) -> str:
    import tomli_w

    return tomli_w.dumps({"topology": found["topology"]})


@pytest.mark.parametrize(
    ("form", "text", "message"),
    [
        ("ns3-topology", "6 2\n", "file.txt:1: 2 words; expected the numbers of nodes, switches and links"),
        ("ns3-topology", "6 x 2\n", "file.txt:1: the number is x"),
        ("ns3-topology", "2 1 1\n", "file.txt: ends early; expected 1 more numbers of switches"),
        ("ns3-topology", "2 1 1\n2\n", "file.txt:2: a switch is 2; expected a whole number from 0 to 1"),
        ("ns3-topology", "3 2 2\n1 1\n", "file.txt:2: 1 switches in all; the first line has 2"),
        (
            "ns3-topology",
            "9 1 2\n1\n",
            "file.txt:1: 9 nodes with 1 switches and 2 links; expected more links",
        ),
        ("ns3-topology", "2 1 1\n1\n0 1 100Gbps 1us\n", "file.txt:3: 4 words; expected 5"),
        ("ns3-topology", "2 1 1\n1\n0 0 100Gbps 1us 0\n", "file.txt:3: a link from 0 to itself"),
        ("ns3-topology", "2 1 1\n1\n0 7 100Gbps 1us 0\n", "file.txt:3: a node is 7"),
        ("ns3-topology", "2 1 1\n1\n0 1 100G 1us 0\n", "file.txt:3: the rate is 100G; expected a rate"),
        ("ns3-topology", "2 1 1\n1\n0 1 100Gbps 1 0\n", "file.txt:3: the delay is 1; expected a time"),
        (
            "ns3-topology",
            "2 1 1\n1\n0 1 1Gbps 0.5ps 0\n",
            "file.txt:3: the delay is 0.5ps, which is not a whole",
        ),
        ("ns3-topology", "2 1 1\n1\n0 1 1.2.3Gbps 1us 0\n", "file.txt:3: the rate is 1.2.3Gbps; expected"),
        ("ns3-topology", "2 1 1\n1\n0 1 1Gbps 1us 2\n", "file.txt:3: the error rate is 2"),
        ("ns3-topology", "2 1 2\n1\n0 1 1Gbps 1us 0\n", "file.txt: ends early; expected 1 more links"),
        ("ns3-flows", "1 2\n", "file.txt:1: 2 words; expected the number of flows"),
        ("ns3-flows", "0\n", "file.txt:1: the number of flows is 0"),
        ("ns3-flows", "2\n0 1 3 100 5 2\n", "file.txt: ends early; expected 1 more flows"),
        ("ns3-flows", "1\n0 1 3 100 5\n", "file.txt:2: 5 words; expected 6"),
        (
            "ns3-flows",
            "1\n0 1 8 100 5 2\n",
            "file.txt:2: the priority is 8; expected a whole number from 0 to 7",
        ),
        ("ns3-flows", "1\n0 1 3 100 0 2\n", "file.txt:2: the size is 0"),
        (
            "ns3-flows",
            "1\n0 1 3 65536 5 2\n",
            "file.txt:2: the port is 65536; expected at most 65535; a file of ns3-rdma",
        ),
        ("ns3-flows", "1\n0 1 3 100 5 1e9\n", "file.txt:2: the start is 1e9; expected at most 9000000 s"),
        ("conweave-flows", "1\n0 1 3 100 5 2\n", "file.txt:2: 6 words; expected 5"),
        ("ns3-rdma-flows", "1\n0 1 3 100 5 2\n", "file.txt:2: the end is 2, before the start 5"),
        ("ns3-rdma-flows", "1\n0 1 3 0 2 9.5\n", "file.txt:2: the packets is 0"),
        ("simai-topology", "21 8 2 3 4\n", "file.txt:1: 5 words; expected the numbers of nodes, GPUs"),
        (
            "simai-topology",
            "21 8 2 4 34 H100\n",
            "file.txt:1: 15 GPUs; 2 NVSwitches of 8 GPUs make 16",
        ),
        ("powertcp-topology", "4 1 2 3 2 1\n", "file.txt:1: 2 switches of hosts; there are 1 switches"),
        ("ns3-flows", "1\n0 1 3 100 5 -2\n", "file.txt:2: the start is -2"),
        ("ns3-flows", "1\n0 1 3 100 5 nan\n", "file.txt:2: the start is nan"),
    ],
)
def test_what_is_wrong_has_its_line(form: str, text: str, message: str) -> None:
    with pytest.raises(InputError) as reported:
        piece(text, form)
    assert message in str(reported.value)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ([FLOWS], "file.txt: has no fabric"),
        ([TOPOLOGY, TOPOLOGY.replace("25G", "40G")], "file.txt: sets topology, which another file sets"),
        ([TOPOLOGY, FLOWS.replace("0 3 3", "4 3 3")], "file.txt:2: there is no host 4"),
        ([TOPOLOGY, FLOWS.replace("0 3 3", "3 3 3")], "file.txt:2: h3 sends to itself"),
    ],
    ids=["no fabric", "two fabrics", "a switch", "itself"],
)
def test_what_does_not_go_together(texts: list[str], message: str) -> None:
    with pytest.raises(InputError) as reported:
        joined(*texts)
    assert message in str(reported.value)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["missing.txt"], "missing.txt: No such file"),
        (["plain.txt"], "plain.txt: is in none of the formats"),
        (["empty.txt"], "empty.txt: is empty"),
        (["latin.txt"], "latin.txt:2: byte 0xe9 is not UTF-8"),
        (["plain.txt", "--format", "ns3-flow"], "no such format; did you mean ns3-flows"),
        (["plain.txt", "--format", "ns3-flows", "--format", "ns3-flows"], "--format was given 2 times"),
        (["topology.txt", "--duration", "5"], "duration"),
        (["topology.txt", "--like", "nothing"], "no scenario has this name"),
        ([], "Try: penstock import --help"),
    ],
)
def test_what_the_command_refuses(words: list[str], message: str, penstock: Command, tmp_path: Path) -> None:
    (tmp_path / "plain.txt").write_text("hello\n", "utf-8")
    (tmp_path / "empty.txt").write_text("\n", "utf-8")
    (tmp_path / "latin.txt").write_bytes(b"6 2 7\ncaf\xe9\n")
    (tmp_path / "topology.txt").write_text(TOPOLOGY, "utf-8")
    before = sorted(tmp_path.iterdir())
    done = penstock("import", *words)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert sorted(tmp_path.iterdir()) == before


def test_every_format_has_a_name_of_its_own() -> None:
    names = [one.name for one in FORMATS]
    assert len(set(names)) == len(names)
