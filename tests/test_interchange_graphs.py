"""Graphs, connection matrices and tables of transfers from other tools; result tables for other tools."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import networkx as nx
import pyarrow.csv
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client.openmetrics import parser

import penstock as ps
from conftest import Command
from penstock.errors import ArgumentError, InputError
from penstock.interchange.formats import format_of
from penstock.interchange.graph import from_networkx
from penstock.interchange.piece import Document, Piece
from penstock.interchange.tables import openmetrics, stretch_of
from penstock.result import Result


def piece(text: str, form: str | None = None, **links: str) -> Piece:
    document = Document("file", text, **links)
    return format_of(document, form).read(document)


def graphml(graph: Any) -> str:
    return "\n".join(nx.generate_graphml(graph))


GRAPH = """<?xml version="1.0"?>
<graphml>
  <key id="r" for="node" attr.name="role" attr.type="string"><default>host</default></key>
  <key id="b" for="edge" attr.name="bandwidth_gbps" attr.type="double"/>
  <graph edgedefault="undirected">
    <node id="a"/>
    <node id="b"/>
    <node id="sw"><data key="r">switch</data></node>
    <edge source="a" target="sw"><data key="b">100.0</data></edge>
    <edge source="b" target="sw"><data key="b">25</data></edge>
  </graph>
</graphml>
"""


def test_graphml_with_defaults_and_units_in_names() -> None:
    assert piece(GRAPH).keys["topology"]["explicit"] == {
        "hosts": ["a", "b"],
        "switches": ["sw"],
        "links": [
            {"between": ["a", "sw"], "rate": "100 Gb/s"},
            {"between": ["b", "sw"], "rate": "25 Gb/s"},
        ],
    }


@given(st.data())
@settings(max_examples=40, deadline=None)
def test_a_graph_of_networkx_is_the_same_through_graphml_and_without(data: st.DataObject) -> None:
    switches = data.draw(st.integers(1, 5))
    graph = nx.MultiGraph()
    for number in range(switches):
        graph.add_node(f"s{number}", role="switch")
        graph.add_node(f"h{number}", kind="Server")
    ends = st.tuples(st.integers(0, switches - 1), st.integers(0, switches - 1))
    cables = st.fixed_dictionaries(
        {"rate": st.sampled_from(["10 Gb/s", "100Gbps", "1.6 Tb/s"])},
        optional={"delay_ns": st.integers(1, 10**6)},
    )
    for number in range(switches):
        graph.add_edge(f"h{number}", f"s{number}", **data.draw(cables))
    for a, b in data.draw(st.lists(ends.filter(lambda pair: pair[0] != pair[1]), max_size=8)):
        graph.add_edge(f"s{a}", f"s{b}", **data.draw(cables))
    direct = from_networkx(graph)
    assert piece(graphml(graph)).keys["topology"]["explicit"] == direct
    assert sorted(direct["hosts"] + direct["switches"]) == sorted(graph.nodes)
    assert len(direct["links"]) == graph.number_of_edges()
    ends_of = [sorted(link["between"]) for link in direct["links"]]
    assert sorted(ends_of) == sorted(sorted(edge[:2]) for edge in graph.edges)


def test_a_graph_of_networkx_runs() -> None:
    graph = nx.star_graph(3)  # the node 0 in the middle
    keys = from_networkx(graph, rate="10 Gb/s", length="10 m")
    result = (
        ps.Scenario(duration="20 us")
        .topology.explicit(**keys)
        .flow("one", from_="1", to="2", source=ps.constant("1 Gb/s"))
        .run()
    )
    assert result.rows("flows")[0]["frames_delivered"] > 0
    assert {link["rate_bps"] for link in result.topology["links"]} == {10**10}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("<graph edge", "<graph"), "file:12: not valid XML: mismatched tag"),
        (('<node id="b"/>', '<node id="a"/>'), "file:7: the node a appears twice"),
        (('<node id="b"/>', "<node/>"), 'file:7: an element without its attribute "id"'),
        (('<node id="b"/>', '<node id="b c"/>'), 'file:7: the name "b c" is not valid'),
        (('<node id="b"/>', '<node id="b"><graph/></node>'), "file:7: a second graph"),
        (('<node id="b"/>', '<node id="b"/><hyperedge/>'), "file:7: a hyperedge"),
        ((">switch<", ">tree<"), "file:8: the role of sw is tree; expected host, server, switch, router"),
        (('target="sw"><data key="b">25', 'target="x"><data key="b">25'), "file:10: there is no node x"),
        (('source="b"', 'source="sw"'), "file:10: a link from sw to itself"),
        (('<data key="b">25</data>', ""), "file:10: the link has no rate"),
        ((">25<", ">fast<"), "file:10: bandwidth_gbps is fast Gb/s; expected a rate"),
        (("bandwidth_gbps", "bandwidth"), "file:9: bandwidth is 100.0; expected a rate, such as"),
        ((">switch<", ">host<"), ""),
    ],
    ids=lambda change: change if isinstance(change, str) else None,
)
def test_what_is_wrong_in_a_graph_has_its_line(change: tuple[str, str], message: str) -> None:
    text = GRAPH.replace(*change)
    if not message:
        assert piece(text).keys["topology"]["explicit"]["switches"] == []
        return
    if "mismatched" in message:
        text = GRAPH.replace("</graph>", "")
    with pytest.raises(InputError) as reported:
        piece(text)
    assert message in str(reported.value)


def test_what_is_no_graph_of_networkx() -> None:
    for graph in (nx.DiGraph(), "graph"):
        with pytest.raises(ArgumentError, match="undirected graph of networkx"):
            from_networkx(graph)
    with pytest.raises(InputError, match="graph:edge a to b: the link has no rate"):
        from_networkx(nx.Graph([("a", "b"), ("b", "c")]))
    with pytest.raises(InputError, match="no node is a host"):
        from_networkx(nx.cycle_graph(4), rate="1 Gb/s")


MATRIX = """Nodes 4
Connections 2
0->3 id 1 start 0 size 2000000
1->3 start 1500 size 10 prio 7
"""


@pytest.mark.parametrize(("unit", "factor"), [(None, 10**6), ("us", 10**6), ("ps", 1)])
def test_a_connection_matrix_counts_in_the_unit_of_its_program(unit: str | None, factor: int) -> None:
    """Microseconds for main_uec and main_swift, picoseconds for main_ndp, main_roce, main_hpcc and
    main_eqds."""
    document = Document("file", MATRIX, time_unit=unit)
    found = format_of(document).read(document)
    assert [(one.start_ps, one.sender, one.receiver, one.bytes, one.note) for one in found.transfers] == [
        (0, 0, 3, 2_000_000, "id 1"),
        (1_500 * factor, 1, 3, 10, "prio 7"),
    ]
    assert found.remarks == (
        [] if unit else ["file: starts are in microseconds; --time-unit names another unit"]
    )
    late = piece(MATRIX.replace("1500", "1500000"))
    assert "file:4: a start of 1500000: probably in picoseconds" in late.remarks[1]


TRACE = "start_us;src;dst;size_bytes;note\n10;h1;h2;1000;x\n\n# nothing\n0.5;h2;h1;20;y\n"


def test_a_table_of_transfers_under_other_names() -> None:
    found = piece(TRACE)
    assert [(one.line, one.start_ps, one.sender, one.bytes) for one in found.transfers] == [
        (2, 10_000_000, "h1", 1_000),
        (5, 500_000, "h2", 20),
    ]
    assert found.remarks == ["file: columns not read: note"]
    numbers = piece("time_s,from,to,bytes,prio\n1e-6,0,1,5,3\n")
    assert numbers.transfers[0][1:6] == (10**6, 0, 1, 5, 3)


STARTS, SENDERS, RECEIVERS = st.integers(0, 10**15), st.integers(0, 2), st.integers(3, 5)
ROWS = st.tuples(STARTS, SENDERS, RECEIVERS, st.integers(1, 2**60), st.integers(0, 7))


@given(st.lists(ROWS, min_size=1, max_size=20))
def test_any_table_of_transfers_is_the_one_that_was_written(rows: list[tuple[int, ...]]) -> None:
    lines = [",".join(map(str, row)) for row in rows]
    found = piece("\n".join(["time_ps,from,to,bytes,priority", *lines]))
    assert [one[1:6] for one in found.transfers] == rows


@pytest.mark.parametrize(
    ("form", "text", "message"),
    [
        ("htsim", MATRIX.replace("4\n", "3\n"), "file:3: a node is 3; expected a whole number from 0 to 2"),
        ("htsim", MATRIX.replace("ns 2", "ns 3"), "file:2: the header has 3 connections, the file 2"),
        ("htsim", MATRIX.replace("start 0", "trigger 1"), "file:3: trigger 1: the file has no such trigger"),
        (
            "htsim",
            MATRIX.replace("start 0", "trigger 1") + "trigger id 1 oneshot\n",
            "file:3: begins when trigger 1 (line 5) fires, but no connection fires it",
        ),
        ("htsim", MATRIX + "trigger id 1 barrier\n", "file:5: expected a count for a barrier"),
        ("htsim", MATRIX + "failure TOR 1 2\n", "file:5: a failure"),
        (
            "htsim",
            MATRIX.replace("start 0", "start 0 trigger 1"),
            "file:3: the connection has a start and a trigger",
        ),
        ("htsim", MATRIX.replace("start 0", ""), "file:3: the connection has neither start nor trigger"),
        (
            "htsim",
            MATRIX.replace("1->3", "1->3 id 1"),
            "file:4: id 1 is already used in line 3; expected another, or msg",
        ),
        ("htsim", MATRIX.replace("id 1", "id 0"), "file:3: id is 0; expected a whole number of at least 1"),
        ("htsim", MATRIX.replace("prio", "priority"), 'file:4: unknown word "priority"; expected start'),
        ("htsim", MATRIX.replace("1->3", "1->3->2"), "file:4: the connection is 1->3->2"),
        ("htsim", "Nodes 4\nhello\n", 'file:2: "hello" is neither'),
        ("htsim", "Nodes 4\n", "file: has no connections"),
        ("csv", "from,to,bytes\n", "file:1: no column for start; expected one of start_us"),
        ("csv", "start,from,to,bytes\n", 'file:1: the column "start" has no unit; call it start_us'),
        ("csv", "start_s,from,src,to,bytes\n", "file:1: from and src have the same meaning"),
        ("csv", "start_s,from,to\n", "file:1: no column for bytes; expected one of bytes, size"),
        ("csv", "start_s,from,to,bytes\n", "file: has no transfers below its header"),
        ("csv", "start_s,from,to,bytes\n1,a,b\n", "file:2: 3 values; expected 4"),
        ("csv", "start_s,from,to,bytes\n1 s,a,b,4\n", "file:2: start_s is 1 s; expected a number"),
        ("csv", "start_s,from,to,bytes\n1,a,b,4.5\n", "file:2: bytes is 4.5; expected a whole number"),
        ("csv", "start_s,from,to,bytes,pg\n1,a,b,4,8\n", "file:2: priority is 8"),
        (
            "csv",
            "start_s,from,to,bytes\n1,a,b,4\n" + "1" * 200_000 + ",a,b,4\n",
            "file:3: not a table of values",
        ),
        (
            "csv",
            "start_s,from,to,bytes\n1e999,a,b,4\n",
            "file:2: start_s is 1e999; expected at most 9000000 s",
        ),
    ],
)
def test_what_is_wrong_has_its_line(form: str, text: str, message: str) -> None:
    with pytest.raises(InputError) as reported:
        piece(text, form)
    assert message in str(reported.value)


def test_tables_as_csv_and_parquet_are_the_tables(penstock: Command, made_up: Result, tmp_path: Path) -> None:
    made_up.save(tmp_path / "result", report=False)
    printed = penstock("tables", "result", "ports")
    found = pyarrow.csv.read_csv(io.BytesIO(printed.stdout.encode()))
    assert found.to_pylist() == made_up.table("ports").to_pylist()
    assert penstock("tables", "result", "--format", "parquet", "--out", "out").returncode == 0
    for name in made_up.table_names:
        written = pyarrow.parquet.read_table(tmp_path / f"out/{name}.parquet")
        assert written.schema == made_up.table(name).schema
        assert str(written.to_pylist()) == str(made_up.table(name).to_pylist())  # NaN is not equal to NaN
    assert "ports" in penstock("tables", "result").stdout


def test_prometheus_reads_totals_and_series(made_up: Result) -> None:
    """By the parser of Prometheus's own client."""
    assert stretch_of(made_up) == 100  # bins of 10 us become 1 ms
    text = "".join(f"{line}\n" for line in openmetrics(made_up, stretch=100, epoch_s=1.0))
    families = {one.name: one for one in parser.text_string_to_metric_families(text)}
    (delivered,) = [one for one in families["penstock_flows_frames_delivered"].samples if one.value == 10]
    assert delivered.labels == {"flow": "victim", "class": "0", "source": "h0", "destination": "h1"}
    assert float(delivered.timestamp) == 1.004  # the run ends at 40 us
    names = [one.labels["flow"] for one in families["penstock_flows_frames_sent"].samples]
    assert names == [row["flow"] for row in made_up.rows("flows")]
    assert len(families["penstock_flows_latency_p99_ns"].samples) == 2  # of the third none is known
    series = families["penstock_series_queue_bytes"].samples
    assert [(float(one.timestamp), one.value) for one in series] == [
        (1.0, 0.0),
        (1.001, 1522.0),
        (1.002, 3044.0),
        (1.003, 0.0),
    ]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["flow"], "has no table flow; did you mean flows"),
        (["flows", "ports"], "not 2 as csv; expected --out DIRECTORY"),
        (["flows", "--format", "parquet"], "not 1 as parquet; expected --out DIRECTORY"),
        (["flows", "--format", "openmetrics"], "remove the names of tables"),
        (["flows", "--stretch", "5"], "--stretch is 5"),
        (["--format", "openmetrics", "--stretch", "0"], "--stretch is 0"),
        (["--format", "openmetrics", "--stretch", "nan"], "--stretch is nan"),
        (["flows", "--out", "result"], "result"),
        (["--format", "json"], "form"),
    ],
)
def test_what_tables_refuses(
    words: list[str], message: str, penstock: Command, made_up: Result, tmp_path: Path
) -> None:
    made_up.save(tmp_path / "result", report=False)
    done = penstock("tables", "result", *words)
    if words[-1] == "result":
        assert done.returncode == 0  # a directory may hold other files
        done = penstock("tables", "result", *words)
        message = "flows.csv: exists"
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_what_readers_of_graphs_leave_out_is_reported() -> None:
    stray = GRAPH.replace("<graph ", "stray <graph ", 1)
    line = stray[: stray.index("stray")].count("\n") + 1
    with pytest.raises(InputError, match=rf"file:{line}: stray in a graphml; expected text in data"):
        piece(stray, "graphml")
    described = GRAPH.replace("<graph ", "<desc>in a description</desc><graph ", 1)
    assert piece(described, "graphml").keys == piece(GRAPH, "graphml").keys
    edge = "edge [ source 0 target 1 LinkSpeedRaw 1000000000 ]"
    small = f"graph [ get 1 directed 0 node [ id 0 ] node [ id 1 ] {edge} ]"
    assert "file: attributes of the graph that are not read: get" in piece(small, "gml", length="1 m").remarks
    made = nx.node_link_data(nx.path_graph(3))
    for one in made["edges" if "edges" in made else "links"]:
        one["bandwidth_gbps"] = 10
    plain, other = (
        piece(json.dumps(graph), "node-link", length="1 m").remarks for graph in (made, {**made, "role": "x"})
    )
    text = "file: not read: graph{}: a fabric has no attributes"
    assert [text.format("") in plain, text.format(", role") in other] == [True, True]
