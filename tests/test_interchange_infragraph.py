"""Fabrics of InfraGraph, as YAML and JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import Command
from penstock.errors import InputError
from penstock.interchange import infragraph
from penstock.interchange.formats import format_of
from penstock.interchange.piece import Document, Piece
from penstock.interchange.yaml_blocks import parse

FABRIC = """description: 2 tiers
devices:
- components:
  - choice: npu
    count: 2
    name: npu
  - choice: nic
    count: 2
    description: A NIC that is described
      in two lines
    name: nic
  edges:
  - ep1:
      component: npu
    ep2:
      component: nic
    link: pcie
    scheme: one2one
  links:
  - name: pcie
  name: server
- components:
  - choice: cpu
    name: asic
  - choice: port
    count: 4
    name: port
  name: switch
edges:
- ep1: {a}
    component: nic
    instance: host
  ep2:
    component: port[0:2]
    instance: leaf
  link: down
  scheme: one2one
- ep1:
    component: port[2]
    instance: leaf[0:2]
  ep2:
    component: port[0]
    instance: spine[-1]
  link: up
  scheme: many2many
instances:
- count: 2
  device: server
  name: host
- count: 2
  device: switch
  name: leaf
- device: switch
  name: 'spine'
links:
- name: down
  physical:
    bandwidth:
      choice: gigabits_per_second
      gigabits_per_second: 100
- name: up
  physical:
    bandwidth:
      choice: g_bytes_per_second
      g_bytes_per_second: 50
name: fabric
""".replace(" {a}", "")


SMALL = """devices:
- components:
  - choice: nic
    count: 2
    name: nic
  name: server
- components:
  - choice: port
    count: 4
    name: port
  name: switch
edges:
- ep1:
    component: nic
    instance: host
  ep2:
    component: port[0:2]
    instance: leaf
  link: down
  scheme: one2one
instances:
- count: 1
  device: server
  name: host
- device: switch
  name: leaf
links:
- name: down
  physical:
    bandwidth:
      choice: gigabits_per_second
      gigabits_per_second: 100
name: fabric
"""
"""A fabric of which everything is read."""


def read(text: str, **options: Any) -> Piece:
    document = Document("f", text, **options)
    return format_of(document).read(document)


def links(piece: Piece) -> list[tuple[str, str, str]]:
    return [(*link["between"], link["rate"]) for link in piece.keys["topology"]["explicit"]["links"]]


def test_a_fabric_has_the_nics_of_its_servers_as_hosts() -> None:
    piece = read(FABRIC)
    found = piece.keys["topology"]["explicit"]
    assert found["hosts"] == ["host0-nic0", "host0-nic1", "host1-nic0", "host1-nic1"]
    assert found["switches"] == ["leaf0", "leaf1", "spine0"]
    assert links(piece) == [
        ("host0-nic0", "leaf0", "100 Gb/s"),
        ("host0-nic1", "leaf0", "100 Gb/s"),
        ("host1-nic0", "leaf1", "100 Gb/s"),
        ("host1-nic1", "leaf1", "100 Gb/s"),
        ("leaf0", "spine0", "400 Gb/s"),
        ("leaf1", "spine0", "400 Gb/s"),
    ]
    assert piece.numbers == dict(enumerate(found["hosts"]))


def test_a_server_with_one_edge_is_a_host_and_short_lists_are_reported() -> None:
    piece = read(FABRIC.replace("component: nic\n    instance", "component: nic[1]\n    instance"))
    assert piece.keys["topology"]["explicit"]["hosts"] == ["host0", "host1"]
    assert [link[1] for link in links(piece)][:2] == ["leaf0", "leaf0"]
    assert any("lists of different lengths" in remark for remark in piece.remarks)


def test_what_is_left_out_is_reported() -> None:
    left_out = "; ".join(remark for remark in read(FABRIC).remarks if "not read" in remark)
    assert "not read: description: not part of a scenario" in left_out
    assert "a scenario does not describe the inside of servers" in left_out
    assert not [remark for remark in read(SMALL).remarks if "not read" in remark]


def test_json_is_the_same() -> None:
    text = json.dumps(parse(Document("f", FABRIC)).plain())
    assert read(text).keys == read(FABRIC).keys
    document = json.loads(text)
    for edge in document["edges"]:
        edge["many2many"] = edge.pop("scheme") == "many2many"
    assert read(json.dumps(document)).keys == read(FABRIC).keys


def test_what_is_refused() -> None:
    for before, after, message in (
        ("instance: leaf[0:2]", "instance: leaf[7]", r"f:\d+: instance is leaf\[7\]; there are only 2"),
        (
            "instance: leaf[0:2]",
            "instance: leef",
            r"f:\d+: instance leef does not exist; expected host, "
            "leaf, spine",
        ),
        (
            "component: port[2]",
            "component: prt[2]",
            r"f:\d+: component prt does not exist; expected "
            "asic, port",
        ),
        ("component: port[2]", "component: port[x]", "expected a name with a slice, such as nic"),
        ("link: up", "link: upp", "no link upp; the file has down, up"),
        ("scheme: many2many", "scheme: all", "scheme is all; expected one2one or many2many"),
        ("device: server", "device: sever", r"f:\d+: no device sever; the file has server, switch"),
        ("count: 4", "count: 99999999", "count is 99999999; expected a whole number from 0 to 65536"),
        (
            "gigabits_per_second: 100",
            "gigabits_per_second: fast",
            "gigabits_per_second is fast; expected a number",
        ),
        (
            "      gigabits_per_second: 100",
            "      gigatransfers: 100",
            "no rate \\(choice gigabits_per_second\\); expected one of g",
        ),
        ("description: 2 tiers", "description: [a, b]", r"f:1: \[a, b\]: expected a text, or a list"),
        ("description: 2 tiers", "description: 2 tiers\nname: x", "name appears twice"),
        ("  link: up", "\tlink: up", "is indented by a tab"),
    ):
        assert before in FABRIC, before
        with pytest.raises(InputError, match=message):
            infragraph.read(Document("f", FABRIC.replace(before, after, 1)))
    without = FABRIC.replace(
        "  physical:\n    bandwidth:\n      choice: g_bytes_per_second\n      g_bytes_per_second: 50\n", ""
    )
    with pytest.raises(InputError, match="link up has no bandwidth; give it with --rate"):
        read(without)
    assert links(read(without, rate="200 Gb/s"))[-1][2] == "200 Gb/s"
    deep = "a:\n" + "".join(f"{' ' * depth}b:\n" for depth in range(1, 60))
    with pytest.raises(InputError, match="nested deeper than 32 levels"):
        parse(Document("f", deep))


@settings(max_examples=200)
@given(
    st.lists(
        st.tuples(st.integers(0, 1_200), st.sampled_from(["", "-", ":", "[", " ", "\n", "'", "9"])),
        min_size=1,
        max_size=4,
    )
)
def test_changed_files_are_refused_with_a_line_or_read(edits: list[tuple[int, str]]) -> None:
    text = FABRIC
    for at, piece in edits:
        text = text[:at] + piece + text[at + 1 :]
    try:
        infragraph.read(Document("f", text))
    except InputError as error:
        assert str(error).startswith("f:")


def test_a_fabric_is_run(penstock: Command, tmp_path: Path) -> None:
    (tmp_path / "fabric.yaml").write_text(FABRIC, "utf-8")
    (tmp_path / "flows.cm").write_text("Nodes 4\nConnections 1\n0->3 start 0 size 100000\n", "utf-8")
    done = penstock("import", "fabric.yaml", "flows.cm")
    assert done.returncode == 0, done.stderr
    assert "fabric.yaml: infragraph, a fabric of InfraGraph" in done.stderr
    done = penstock("run", "imported.toml", "--no-report")
    assert done.returncode == 0, done.stdout + done.stderr
