"""Settings of a switch as commands of NVUE."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from conftest import SMALL, Command
from penstock.errors import InputError
from penstock.interchange.formats import format_of
from penstock.interchange.piece import Document, Piece

SWITCH = """\
nv set qos mapping M trust both
nv set qos mapping M dscp 24,26 switch-priority 4
nv set qos egress-queue-mapping default-global switch-priority 7 traffic-class 6
nv set qos pfc P switch-priority 3,4
nv set qos pfc P xoff-threshold 40000
nv set qos pfc P xon-threshold 20000
nv set qos pfc P tx enable
nv set qos pfc P cable-length 40
nv set qos congestion-control C traffic-class 3-4 ecn enable
nv set qos congestion-control C traffic-class 3-4 min-threshold 40000
nv set qos congestion-control C traffic-class 3-4 max-threshold 200000
nv set qos congestion-control C traffic-class 3-4 probability 5
nv set qos congestion-control C traffic-class 4 red enable
nv set qos egress-scheduler default-global traffic-class 0-2,5 bw-percent 10
nv set qos egress-scheduler default-global traffic-class 3,4 bw-percent 30
nv set qos egress-scheduler default-global traffic-class 6 mode strict
nv set interface swp1-2,swp4 qos mapping profile M
nv set interface swp1-2,swp4 qos pfc profile P
nv set interface swp1-2,swp4 qos congestion-control profile C
"""


def read(text: str, **others: str) -> Piece:
    document = Document("qos.nv", text, **others)
    found = format_of(document)
    assert found.name == "nvue"
    return found.read(document)


def test_profiles_of_a_port_are_a_switch() -> None:
    piece = read(SWITCH)
    switch = piece.keys["switch"]
    assert switch["queues"] == [0, 1, 2, 3, 4, 5, 6, 6]
    classes = switch["maps"]["dscp_to_tc"]
    assert {code: classes[code] for code in ("24", "25", "26", "63")} == {"24": 4, "25": 3, "26": 4, "63": 7}
    shares = [one.get("percent") for one in switch["scheduler"]["ets"]["classes"]]
    assert shares == [10, 10, 10, 30, 30, 10, None]
    marks, drops = switch["queue_managers"]
    assert (marks["classes"], marks["red"]["action"]) == ([3], "mark_only")
    assert (drops["classes"], drops["red"]["action"]) == ([4], "mark")
    assert (drops["red"]["min"], drops["red"]["max"]) == ("40000 B", "200000 B")
    assert drops["red"]["max_probability"] == 0.05
    assert piece.keys["flow_control"] == {"pfc": {"priorities": [3, 4], "xoff": "40000 B", "xon": "20000 B"}}
    assert piece.links == {"length": "40 m"}
    assert not piece.remarks


def test_roce_is_what_it_stands_for() -> None:
    for text in ("nv set qos roce", "nv set qos roce enable on", "nv set qos roce state enabled"):
        piece = read(text)
        assert piece.keys["switch"]["queues"] == [0, 0, 0, 3, 0, 0, 6, 0]
        assert piece.keys["flow_control"] == {"pfc": {"priorities": [3]}}
        assert piece.keys["switch"]["queue_managers"][0]["red"]["max"] == "1500000 B"
    assert read("nv set qos roce mode lossy").keys["flow_control"] == "off"
    off = read("nv set qos roce enable off").keys
    assert off == {"switch": {"queues": "per_priority"}, "flow_control": "off"}


def test_what_is_not_read_is_told_once_with_its_meaning() -> None:
    text = (
        "nv set system hostname leaf1\nnv set qos traffic-pool roce-lossless memory-percent 50\n"
        "nv set qos traffic-pool default-lossy memory-percent 50\nnv set qos roce\n"
        "nv set qos pfc default-global port-buffer 20000\nnv config apply\n"
    )
    told = read(text).remarks
    assert sum("qos traffic-pool" in line for line in told) == 1
    for words in (
        ":1: not read: system",
        ":2: not read: qos traffic-pool: sizes of pools",
        ":5: not read: pfc",
    ):
        assert any(words in line for line in told), words


def test_ports_that_differ_need_a_name() -> None:
    text = SWITCH + "nv set qos pfc Q switch-priority 5\nnv set interface swp3 qos pfc profile Q\n"
    with pytest.raises(InputError, match=re.escape("qos.nv:21: swp3 has the pfc profile Q, swp1 has P")):
        read(text)
    assert read(text, interface="swp3").keys["flow_control"] == {"pfc": {"priorities": [5]}}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("nv set qos pfc default-global switch-priority 9", "1: switch-priority is 9; expected a whole"),
        ("nv set qos pfc default-global tx disable", "1: tx is disable: PFC of a scenario has both"),
        ("nv set qos pfc default-global tx maybe", "1: tx is maybe; expected enable or disable"),
        ("nv set qos mapping default-global trust port", "1: trust is port: a scenario has no class by"),
        ("nv set qos mapping default-global dscp 64 switch-priority 1", "1: dscp is 64; expected a whole"),
        ("nv set qos roce mode half", "1: qos roce mode is half; expected lossless or lossy"),
        ("nv set qos egress-scheduler default-global traffic-class 1 mode wrr", "1: mode is wrr; expected"),
        (
            "nv set qos egress-scheduler default-global traffic-class 1-4 bw-percent 30",
            "sum to 120; expected",
        ),
        (
            "nv set qos congestion-control default-global traffic-class 0 min-threshold 2000000",
            "1: queue 0: min-threshold 2000000 is not below max-threshold 1500000",
        ),
        ("nv set interface swp1 qos pfc profile nobody", "1: no command sets the pfc profile nobody"),
        ("nv set system hostname leaf1", "1: no command sets mapping, pfc"),
        ("nv set qos roce\nhello", "2: hello is no command of NVUE"),
        ("nv set qos egress-scheduler default-global traffic-class 3", "1: qos egress-scheduler"),
        ("nv set qos mapping default-global dscp 5-3 switch-priority 1", "1: dscp is 5-3; expected a whole"),
        (
            "nv set qos congestion-control default-global traffic-class 1 min 3",
            "1: unknown key min; expected",
        ),
        ("nv set qos pfc default-global a b c", "1: qos pfc default-global a b c: expected a key"),
    ],
)
def test_errors_name_the_line(line: str, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        read(line)


def test_import_gives_a_scenario_that_runs(penstock: Command, tmp_path: Path) -> None:
    (tmp_path / "like.toml").write_text(SMALL)
    (tmp_path / "qos.nv").write_text(SWITCH)
    out = tmp_path / "out.toml"
    done = penstock("import", tmp_path / "qos.nv", "--like", tmp_path / "like.toml", "--out", out)
    assert done.returncode == 0, done.stderr
    assert tomllib.loads(out.read_text())["flow_control"]["pfc"]["xoff"] == "40000 B"


def test_a_port_that_no_command_names_is_an_error() -> None:
    with pytest.raises(InputError, match=r"names the port swp99; expected one of swp1, swp2, swp4"):
        read(SWITCH, interface="swp99")
