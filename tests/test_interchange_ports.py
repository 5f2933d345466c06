"""Settings of ports as other tools print them: `dcb -j` of Linux, and SONiC's table of headroom."""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
import tomllib
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import pytest

from conftest import SMALL, Command
from penstock.errors import InputError
from penstock.interchange.formats import format_of
from penstock.interchange.piece import Document, Piece, SharedMemory

ETS = (
    '{"willing":true,"ets_cap":8,"cbs":false,"tc_bw":[40,60,0,0,0,0,0,0],"pg_bw":[0,0,0,0,0,0,0,0],'
    '"tc_tsa":["ets","ets","strict","strict","strict","strict","strict","strict"],'
    '"prio_tc":[0,0,0,1,0,0,0,2],"reco_tc_bw":[30,70,0,0,0,0,0,0],'
    '"reco_tc_tsa":["ets","ets","strict","strict","strict","strict","strict","strict"],'
    '"reco_prio_tc":[0,0,0,1,0,0,0,0]}\n'
)
PFC = (
    '{"pfc_cap":8,"macsec_bypass":false,"delay":0,'
    '"prio_pfc":[false,false,false,true,true,false,false,false]}\n'
)
APP = '{"ethtype_prio":[[35078,3]],"default_prio":[1],"dscp_prio":[[46,5]],"stream_port_prio":[[3260,4]]}\n'
INI = """\
# speed cable size    xon    xoff    threshold  xon_offset
  10000   5m  1248    2288   35776   -4         2288
  25000   5m  1248    2288   53248   -4         2288
 100000   5m  1248    2288  165568   -4         2288
 100000  40m  1248    2288  177632   -4         2288
 100000 300m  1248    2288  268736   -4         2288
"""
STATIC_INI = "100000 5m 3584 78400 132160 82880\n"


def read(text: str, form: str, **link: str) -> Piece:
    document = Document("port.txt", text, **link)
    found = format_of(document)
    assert found.name == form
    return found.read(document)


def test_what_dcb_prints_is_a_switch() -> None:
    """Three objects one after the other, as three commands print them into one file."""
    piece = read(ETS + PFC + APP, "dcb")
    switch = piece.keys["switch"]
    assert switch["scheduler"]["ets"]["classes"] == [
        {"queues": [0, 1, 2, 4, 5, 6], "percent": 40},
        {"queues": [3], "percent": 60},
        {"queues": [7], "strict": True},
    ]
    assert piece.keys["flow_control"] == {"pfc": {"priorities": [3, 4]}}
    assert switch["dcbx"]["ets"]["willing"] is True
    assert switch["dcbx"]["ets"]["recommended"]["percent"] == [30, 70, 0, 0, 0, 0, 0, 0]
    assert switch["dcbx"]["applications"] == [
        {"selector": "ether_type", "protocol": 0x8906, "priority": 3},
        {"selector": "stream_port", "protocol": 3260, "priority": 4},
        {"selector": "dscp", "protocol": 46, "priority": 5},
        {"selector": "ether_type", "protocol": 0, "priority": 1},
    ]


def test_a_scenario_of_what_dcb_prints(penstock: Command, tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SMALL, "utf-8")
    (tmp_path / "ets.json").write_text(ETS, "utf-8")
    (tmp_path / "app.json").write_text(APP, "utf-8")
    done = penstock("import", "ets.json", "app.json", "--like", "small.toml", "--out", "port.toml")
    assert done.returncode == 0, done.stderr
    switch = tomllib.loads((tmp_path / "port.toml").read_text("utf-8"))["switch"]
    assert switch["dcbx"]["applications"][0]["protocol"] == 0x8906
    assert penstock("run", "port.toml", "--out", "out").returncode == 0
    back = penstock("export", "port.toml", "--format", "dcb").stdout
    assert "prio-tc 0:0 1:0 2:0 3:1 4:0 5:0 6:0 7:2" in back
    assert "tc-bw 0:40 1:60" in back


@pytest.mark.skipif(shutil.which("dcb") is None, reason="dcb is not installed (apt-get install iproute2)")
def test_what_the_program_prints(tmp_path: Path) -> None:
    """The real program, with what answers in the kernel's place: all strict in class 0, and no PFC."""
    if shutil.which("cc") is None:
        pytest.skip("no C compiler: dcb has nobody to ask")
    library = tmp_path / "dcbshim.so"
    with as_file(files("penstock").joinpath("conformance/dcbshim.c")) as source:
        subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    printed = "".join(
        subprocess.run(
            ["dcb", "-j", what, "show", "dev", "lo"],
            env={**os.environ, "LD_PRELOAD": str(library), "DCBSHIM_LOG": str(tmp_path / "log")},
            capture_output=True,
            text=True,
            check=True,
            timeout=20,
        ).stdout
        for what in ("ets", "pfc", "app", "buffer")
    )
    piece = read(printed, "dcb")
    classes = piece.keys["switch"]["scheduler"]["ets"]["classes"]
    assert classes == [{"queues": list(range(8)), "strict": True}]
    assert piece.keys["flow_control"] == "off"
    assert "dcbx" not in piece.keys["switch"]
    assert any("buffers of a port are left out" in remark for remark in piece.remarks)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (PFC + ETS.replace("[40,60,", "[40,50,"), "port.txt:2: the shares of ets classes sum to 90"),
        (PFC + "\n" + ETS.replace("[40,60,", "[40,160,"), "port.txt:3: tc_bw is 160"),
        (ETS.replace('["ets","ets"', '["ets","drr"'), "port.txt:1: tc_tsa is"),
        (ETS.replace("[0,0,0,1,0,0,0,2]", "[0,0,0,1,0,0,0,8]"), "prio_tc is 8; expected a whole number"),
        (ETS.replace("[0,0,0,1,0,0,0,2]", "[0,0,0,1]"), "prio_tc is [0, 0, 0, 1]; expected eight numbers"),
        (ETS.replace("[0,0,0,1,0,0,0,2]", "[0,0,0,0,0,0,0,2]"), "traffic class 1 has 60 % and no priority"),
        (
            ETS.replace('"strict"', '"cbs"', 1),
            "traffic class 2 is credit_based_shaper, for which a scenario needs more",
        ),
        (PFC.replace("[false,false,", "["), "port.txt:1: prio_pfc is"),
        (APP.replace("[46,5]", "[46,9]"), "port.txt:1: dscp_prio is 9"),
        (APP.replace("[46,5]", "[46]"), "dscp_prio has [46]; expected a protocol and its priority"),
        (PFC + '{"prio_pfc": \n [true', "port.txt:3: not valid JSON"),
        (PFC + "[]", "port.txt:2: expected an object"),
        ('{"buffer_size": [], "unknown": "tc_tsa"}', "has none of"),
        (APP.replace("[[35078,3]]", "1e+308"), "port.txt:1: ethtype_prio is 1e+308; expected a list"),
        (ETS.replace('"ets","ets"', '[null],"ets"', 1), "port.txt:1: tc_tsa is"),
        (ETS.replace("true", "1", 1), "port.txt:1: willing is 1; expected true or false"),
        (PFC.replace("false,false,false,true", '0,false,false,"x"'), "port.txt:1: prio_pfc is"),
        (PFC + PFC, "port.txt:2: prio_pfc is already set in line 1"),
        (PFC.replace("{", '{"prio_pfc":[],'), '"prio_pfc" appears twice in one object'),
    ],
)
def test_what_dcb_never_prints(text: str, message: str) -> None:
    with pytest.raises(InputError, match=r"port\.txt") as wrong:
        format_of(Document("port.txt", text), "dcb").read(Document("port.txt", text))
    assert message in str(wrong.value)


def test_a_row_of_a_shared_memory() -> None:
    """A threshold of -4 is an alpha of 1/16; the size is what belongs to a queue."""
    piece = read(INI, "pg-profile", rate="100 Gb/s", length="30 m")
    assert piece.keys["switch"]["buffer"]["dynamic_threshold"] == {
        "alpha": 1 / 16,
        "minimum": "1248 B",
        "resume_offset": "2288 B",
    }
    assert piece.memory == SharedMemory(headroom_bytes=177632)
    assert piece.remarks == [
        "the row of 100000 Mb/s and 40 m, line 5",
        "port.txt:5: xon is 2288 and the reserve 1248: a paused group resumes at its reserve, or at "
        "the offset below the threshold",
        "port.txt:5: xoff is 177632: all groups of a switch share the total headroom",
        "port.txt: not read: rows of other links, lines 2, 3, 4, 6",
    ]
    assert piece.notes[0].place == 5


def test_a_row_with_a_threshold_in_octets() -> None:
    assert read(STATIC_INI, "pg-profile").keys == {
        "flow_control": {
            "pfc": {"accounting": "ingress", "xoff": "82880 B", "xon": "78400 B", "headroom": "132160 B"}
        }
    }


def test_a_scenario_with_published_headroom(penstock: Command, tmp_path: Path) -> None:
    """The headroom of all ports of the switch together; it is enough for the links of the scenario."""
    text = SMALL.replace('queue = "200 frames"', 'total = "12 MiB"').replace(
        'accounting = "ingress"\nxoff = "20 frames"\nxon = "10 frames"\n', 'accounting = "ingress"\n'
    )
    (tmp_path / "small.toml").write_text(text, "utf-8")
    (tmp_path / "pg_profile_lookup.ini").write_text(INI, "utf-8")
    line = ["import", "pg_profile_lookup.ini", "--rate", "10 Gb/s", "--length", "5 m", "--out", "x.toml"]
    alone = penstock(*line)
    assert alone.returncode == 2
    assert "has no fabric" in alone.stderr
    done = penstock(*line, "--like", "small.toml")
    assert done.returncode == 0, done.stderr
    scenario = tomllib.loads((tmp_path / "x.toml").read_text("utf-8"))
    ports = scenario["topology"]["star"]["hosts"]
    room = scenario["switch"]["buffer"]["dynamic_threshold"]["headroom"]
    assert room == f"{ports * 35776} B"
    assert penstock("run", "x.toml", "--out", "out").returncode == 0
    (tmp_path / "small.toml").write_text(SMALL, "utf-8")
    line[-1] = "y.toml"
    without = penstock(*line, "--like", "small.toml")
    assert "name a scenario with switch.buffer.total" in without.stderr
    assert not (tmp_path / "y.toml").exists()


@pytest.mark.parametrize(
    ("text", "link", "message"),
    [
        (INI, {}, "port.txt:2: 5 rows; select one with --rate and --length: 10000 Mb/s with 5 m"),
        (INI, {"rate": "40 Gb/s", "length": "5 m"}, "port.txt:6: no row matches 40 Gb/s and 5 m"),
        (INI, {"rate": "10 Gb/s", "length": "40 m"}, "no row matches 10 Gb/s and 40 m"),
        (INI.replace(" 40m", " 40"), {}, "port.txt:5: cable is 40; expected metres"),
        (INI.replace("177632", "177632.5"), {}, "port.txt:5: xoff is 177632.5; expected a whole number"),
        (INI.replace("300m  1248", "300m"), {}, "port.txt:6: xoff is -4"),
        ("100000 5m 3584 78400 132160\n", {}, "port.txt:1: 5 columns; expected speed cable size"),
        ("100000 5m 3584 78400 132160 -9\n", {}, "port.txt:1: threshold is 9; expected a whole number"),
        ("0 5m 3584 78400 132160 0\n", {}, "port.txt:1: speed is 0"),
        ("# nothing but a comment\n", {}, "port.txt:1: no rows, only comments"),
        (
            INI + "100000 40m 1 2 3 0\n",
            {"rate": "100 Gb/s", "length": "40 m"},
            "port.txt:7: the row for 100000 Mb/s",
        ),
        (INI, {"rate": "fast", "length": "5 m"}, "--rate is fast; expected a rate"),
    ],
)
def test_tables_that_are_none(text: str, link: dict[str, str], message: str) -> None:
    document = Document("port.txt", text, **link)
    with pytest.raises(InputError) as wrong:
        format_of(document, "pg-profile").read(document)
    assert message in str(wrong.value)


def test_every_published_row_can_be_read() -> None:
    """The rows that `crates/flow_control/tests/sonic_headroom.rs` reproduces, as files that have them."""
    path = Path(__file__).parent.parent / "crates/flow_control/tests/sonic_headroom.csv"
    lines = [line for line in path.read_text("utf-8").splitlines() if not line.startswith("#")]
    rows: list[dict[str, Any]] = list(csv.DictReader(lines))
    assert len(rows) == 226
    speed, cable, xoff = lines[0].split(",")[2:5]
    for row in rows:
        text = f"{row[speed]} {row[cable]}m {int(row[xoff]) + 19456} 19456 {row[xoff]} 0\n"
        piece = read(text, "pg-profile")
        assert piece.memory == SharedMemory(headroom_bytes=int(row[xoff]))
        assert piece.keys["switch"]["buffer"]["dynamic_threshold"]["minimum"] == "19 KiB"
