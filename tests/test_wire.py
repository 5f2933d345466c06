"""Captures: what the command line says of them, and what Wireshark reads in what we write."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import command_line
from penstock import _core

ROOT = Path(__file__).parents[1]
GOLDEN = ROOT / "crates/wire/tests"
MILLISECOND_NS = 1_000_000
FRAMES = {
    name: bytes.fromhex(octets)
    for name, octets in (
        line.split()
        for line in (GOLDEN / "golden.txt").read_text("utf-8").splitlines()
        if not line.startswith("#")
    )
}


def write(path: Path, *names: str) -> Path:
    """A capture of these frames, a millisecond apart, in turn into and out of two ports."""
    rows = [
        {
            "port": number % 2,
            "time_ns": 10**18 + number * MILLISECOND_NS + 1,
            "direction": ("in", "out")[number % 2],
            "comment": f"frame {name}",
            "frame": FRAMES[name],
        }
        for number, name in enumerate(names)
    ]
    _core.write_capture(str(path), [("sw.0", 10**10), ("sw.1", None)], rows)
    return path


def call(*words: str) -> tuple[int, str, str]:
    """Exit code and outputs of a command."""
    done = subprocess.run(command_line(*words), capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stdout, done.stderr


def decoded(path: Path) -> list[dict[str, object]]:
    code, out, _ = call("decode", str(path), "--json")
    assert code == 0
    document = json.loads(out)
    assert document["schema"] == "penstock-frames/1"
    frames: list[dict[str, object]] = document["frames"]
    return frames


def test_every_frame_is_listed_with_what_it_says(tmp_path: Path) -> None:
    path = write(tmp_path / "all.pcapng", *FRAMES)
    frames = decoded(path)
    assert [frame["comment"] for frame in frames] == [f"frame {name}" for name in FRAMES]
    by_name = dict(zip(FRAMES, frames, strict=True))
    assert by_name["pfc_p3"]["what"] == "PFC, 3 65535 quanta"
    assert by_name["pfc_p3"]["contents"] == {
        "mac_control": {"pfc": {"enabled": [3], "quanta": [0, 0, 0, 65535, 0, 0, 0, 0]}}
    }
    assert by_name["cnm"]["vlan"] == {"priority": 6, "drop_eligible": False, "vlan": 100}
    assert by_name["cnm"]["flow"] == 7
    assert by_name["pause"]["time_ns"] == 10**18 + 1
    assert (by_name["pause0"]["port"], by_name["pause0"]["direction"]) == ("sw.1", "out")
    wrong = {name for name, frame in by_name.items() if "error" in frame}
    assert wrong == {
        "pfc_unicast",
        "control_unknown",
        "lldp_ets_short",
        "lldp_pfc_short",
        "lldp_app_odd",
        "lldp_dup_pfc",
    }
    assert by_name["lldp_dup_pfc"]["error"] == "the PFC TLV occurs more than once"
    code, out, _ = call("decode", str(path))
    assert code == 0
    assert f"{len(FRAMES)} frames, 6 of them not legal" in out
    assert "1000000000.001000001 s" in call("decode", str(path), "--time", "absolute")[1]


def test_frames_of_real_agents(tmp_path: Path) -> None:
    frames = decoded(GOLDEN / "real_dcbx_frames.pcapng")
    assert len(frames) == 12
    assert not [frame for frame in frames if "error" in frame]
    assert "PFC 5 willing" in str(frames[0]["what"])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "this is not a capture: accepted are pcapng and pcap"),
        (b"name,value\n1,2\n", "this is not a capture"),
        (None, "no such file"),
    ],
    ids=["empty", "a table", "missing"],
)
def test_what_is_no_capture(content: bytes | None, message: str, tmp_path: Path) -> None:
    path = tmp_path / "capture.pcapng"
    if content is not None:
        path.write_bytes(content)
    code, out, err = call("decode", str(path))
    assert (code, out) == (2, "")
    assert message in err
    assert str(path) in err


def test_a_capture_that_is_cut(tmp_path: Path) -> None:
    path = write(tmp_path / "cut.pcapng", "pause", "pfc_p3")
    path.write_bytes(path.read_bytes()[:-10])
    code, out, err = call("decode", str(path))
    assert code == 2
    assert "1 frames, 0 of them not legal" in out  # what is whole is listed
    assert "the capture is cut: it ends within a block, 1 frames are whole" in err
    code, out, err = call("decode", str(path), "--json")
    assert code == 2
    assert [len(json.loads(out)[key]) for key in ("frames", "errors")] == [1, 1]


def test_frames_that_cannot_be_written(tmp_path: Path) -> None:
    row = {"port": 0, "time_ns": 0, "direction": None, "comment": None, "frame": FRAMES["pause"]}
    with pytest.raises(ValueError, match="interface 1, and the capture has 1"):
        _core.write_capture(str(tmp_path / "c"), [("a", None)], [{**row, "port": 1}])
    with pytest.raises(ValueError, match="accepted are in and out"):
        _core.write_capture(str(tmp_path / "c"), [("a", None)], [{**row, "direction": "up"}])


Asked = Callable[..., list[str]]


@pytest.fixture
def tshark(tmp_path: Path) -> Asked:
    """Asks tshark for fields of a frame: one text for each, all values joined by commas."""
    program = shutil.which("tshark")
    if program is None:
        pytest.skip("tshark is not installed (apt-get install tshark): Wireshark's decoding is not compared")

    script = tmp_path / "dissector.lua"
    script.write_text(call("dissector")[1], "utf-8")

    def ask(name: str, *fields: str) -> list[str]:
        path = write(tmp_path / f"{name}.pcapng", name)
        words = [
            program,
            "-r",
            str(path),
            "-n",
            "-X",
            f"lua_script:{script}",
            "-T",
            "fields",
            "-E",
            "separator=|",
        ]
        for field in fields:
            words += ["-e", field]
        done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True)
        return done.stdout.rstrip("\n").split("|")

    return ask


PRIORITIES = range(8)
TWICE_PRIO3_7 = ["0,0", "0,0", "0,0", "1,1", "0,0", "0,0", "0,0", "2,2"]


def test_wireshark_reads_the_capture(tshark: Asked) -> None:
    fields = ["frame.interface_name", "frame.packet_flags_direction", "frame.comment", "frame.time_epoch"]
    assert tshark("pause", *fields) == ["sw.0", "0x00000001", "frame pause", "1000000000.000000001"]


def test_wireshark_reads_pauses(tshark: Asked) -> None:
    assert tshark("pause", "macc.opcode", "macc.pause_time") == ["0x0001", "65535"]
    times = [f"macc.cbfc.pause_time.c{priority}" for priority in PRIORITIES]
    assert tshark("pfc_all", "macc.cbfc.enbv", *times) == ["0x00ff", *"12345678"]
    assert tshark("pfc_p3", "macc.cbfc.enbv", times[3]) == ["0x0008", "65535"]


def test_wireshark_reads_the_tlvs_of_the_standard(tshark: Asked) -> None:
    classes = [f"lldp.dcbx.feature.pg.pgid_prio{priority}" for priority in PRIORITIES]
    assert tshark("lldp_ieee", *classes) == TWICE_PRIO3_7
    shares = [f"lldp.dcbx.feature.pg.per{number}" for number in range(3)]
    assert tshark("lldp_ieee", *shares) == ["50,40", "30,60", "20,0"]
    flags = ["lldp.dcbx.ieee.willing", "lldp.dcbx.ieee.ets.maxtcs", "lldp.dcbx.ieee.pfc.numtcs"]
    assert tshark("lldp_ieee", *flags) == ["1,1", "3", "8"]
    applications = ["lldp.dcbx.ieee.app.prio", "lldp.dcbx.iee.app.sf", "lldp.dcbx.feature.app.proto"]
    assert tshark("lldp_ieee", *applications) == [
        "3,3,4,5,6,3",
        "1,1,2,3,4,5",
        "0x8906,0x8914,0x0cbc,0x12b7,0x035c,0x001a",
    ]
    assert tshark("lldp_ieee", "_ws.malformed", "lldp.time_to_live") == ["", "120"]
    assert tshark("lldp_cn", "lldp.ieee.802_1qau.cnpv.prio3", "lldp.ieee.802_1qau.ready.prio3") == ["1", "1"]


def test_wireshark_reads_dcbx_before_the_standard(tshark: Asked) -> None:
    control = ["lldp.dcbx.control.seq", "lldp.dcbx.control.ack", "lldp.dcbx.feature.pfc.numtcs"]
    assert tshark("lldp_cee", *control) == ["5", "4", "0x08"]


def test_wireshark_reads_the_internet(tshark: Asked) -> None:
    assert tshark("scapy_cnp", "infiniband.bth.opcode", "infiniband.bth.destqp") == ["129", "0x001234"]
    assert tshark("scapy_tcp", "tcp.seq_raw", "tcp.len") == ["1000", "30"]


def test_the_dissector_reads_what_wireshark_does_not_know(tshark: Asked) -> None:
    fields = [
        "cntag.flowid",
        "cnm.qntzfb",
        "cnm.qoffset",
        "cnm.qdelta",
        "cnm.encap.priority",
        "cnm.encap.len",
    ]
    assert tshark("cnm", "vlan.priority", *fields) == ["6", "7", "37", "-120", "15", "3", "64"]
    assert tshark("fecn", "fecnrd.direction", "fecnrd.rlq", "fecnrd.rate") == ["0", "9", "2500000"]
    l2ci = ["l2ci.kind", "l2ci.seq", "l2ci.congestion", "l2ci.hops", "l2ci.speed", "l2ci.stamp", "l2ci.path"]
    assert tshark("l2ci", *l2ci) == ["3", "77", "835", "3", "10000", "123456789", "02:00:00:00:00:0b"]


@pytest.fixture(scope="module")
def first_light(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the aggressor's port of `first-light` sends and hears."""
    path = tmp_path_factory.mktemp("capture") / "h2.pcapng"
    code, _, err = call("capture", "first-light", "--port", "h2.0->sw", "--out", str(path))
    assert code == 0, err
    assert "at 1 ports" in err
    return path


def test_a_run_is_captured(first_light: Path) -> None:
    frames = decoded(first_light)
    assert not [frame for frame in frames if "error" in frame]
    times = [int(str(frame["time_ns"])) for frame in frames]
    assert times == sorted(times)
    assert {frame["port"] for frame in frames} == {"h2.0->sw"}
    sent = [frame for frame in frames if frame["direction"] == "out"]
    received = [frame for frame in frames if frame["direction"] == "in"]
    assert len(sent) > 1000
    assert {(frame["bytes"], frame["source"], frame["destination"]) for frame in sent} == {
        (1518, "02:00:00:00:00:04", "02:00:00:00:00:05")
    }
    # The switch pauses the only priority that is in use, and lets it continue.
    assert {(frame["what"], frame["comment"]) for frame in received} == {
        ("PFC, 0 65535 quanta", "XOFF"),
        ("PFC, 0 continue", "XON"),
    }


CONVERSATIONS = """
simulation = { duration = "2 ms" }
topology.star = { hosts = 3, rate = "1 Gb/s", phy = "none" }

[[flows]]
name = "storage"
from = "h0"
to = "h1"
source = { conversation = { messages = ["100 B", "20000 B"], tcp = { handshake = true } } }

[[flows]]
name = "asks"
from = "h2"
to = "h1"
source = { request_response = { request = "100 B", response = "9000 B" } }
"""


def test_both_ways_of_a_connection_have_the_same_two_ports(tmp_path: Path) -> None:
    (tmp_path / "talk.toml").write_text(CONVERSATIONS)
    path = tmp_path / "talk.pcapng"
    code, _, err = call("capture", str(tmp_path / "talk.toml"), "--port", "h*", "--out", str(path))
    assert code == 0, err
    output = [re.match(r"TCP (\S+) to (\S+), ", str(frame["what"])) for frame in decoded(path)]
    ways = {(found[1], found[2]) for found in output if found}
    assert ways == {
        ("10.0.0.2:49152", "10.0.0.3:9"),
        ("10.0.0.3:9", "10.0.0.2:49152"),
        ("10.0.0.4:49153", "10.0.0.3:9"),
        ("10.0.0.3:9", "10.0.0.4:49153"),
    }


@pytest.mark.parametrize(
    ("scenario", "port", "words"),
    [("tcp-incast", "h0*", ["TCP"]), ("congestion-notification", "l0*", ["CNM, feedback", "UDP"])],
)
def test_connections_and_messages_are_legal_frames(
    scenario: str, port: str, words: list[str], tmp_path: Path
) -> None:
    path = tmp_path / "run.pcapng"
    code, _, err = call("capture", scenario, "--port", port, "--out", str(path))
    assert code == 0, err
    frames = decoded(path)
    assert not [frame for frame in frames if "error" in frame]
    for word in words:
        assert any(str(frame["what"]).startswith(word) for frame in frames)


def test_wireshark_reads_a_run(tshark: Asked, first_light: Path) -> None:
    words = [
        "tshark",
        "-r",
        str(first_light),
        "-T",
        "fields",
        "-e",
        "_ws.malformed",
        "-e",
        "ip.checksum.status",
    ]
    words += ["-e", "udp.checksum.status", "-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True)
    # Good checksums of both, or a frame of flow control.
    assert set(done.stdout.splitlines()) == {"\t1\t1", "\t\t"}


def test_scapy_writes_the_same_octets() -> None:
    scapy, control, lldp = (
        pytest.importorskip(f"scapy.{name}") for name in ("all", "contrib.mac_control", "contrib.lldp")
    )
    station = "02:00:00:00:00:0a"
    pfc = {f"c{n}_enabled": 1 for n in PRIORITIES} | {f"c{n}_pause_time": n + 1 for n in PRIORITIES}
    written = {
        "pause": ("01:80:c2:00:00:01", control.MACControlPause(pause_time=65535)),
        "pfc_all": ("01:80:c2:00:00:01", control.MACControlClassBasedFlowControl(**pfc)),
        "lldp_shutdown": (
            "01:80:c2:00:00:0e",
            lldp.LLDPDUChassisID(subtype=4, id=station)
            / lldp.LLDPDUPortID(subtype=3, id=station)
            / lldp.LLDPDUTimeToLive(ttl=0)
            / lldp.LLDPDUEndOfLLDPDU(),
        ),
    }
    for name, (to, content) in written.items():
        octets = bytes(scapy.Ether(dst=to, src=station) / content)
        assert octets.ljust(60, b"\0") == FRAMES[name], name


@pytest.mark.parametrize(
    ("scenario", "port"), [("tcp-incast", "h0*"), ("first-light", "h2.0->sw")], ids=["TCP", "UDP"]
)
def test_scapy_finds_the_same_lengths_and_checksums(scenario: str, port: str, tmp_path: Path) -> None:
    scapy = pytest.importorskip("scapy.all")
    path = tmp_path / "run.pcapng"
    code, _, err = call("capture", scenario, "--port", port, "--out", str(path))
    assert code == 0, err
    frames = [frame for frame in scapy.rdpcap(str(path), count=300) if "IP" in frame]
    assert frames
    for frame in frames:
        again = frame.copy()
        for layer, fields in (("IP", ("len", "chksum")), ("UDP", ("len", "chksum")), ("TCP", ("chksum",))):
            for field in fields if layer in again else ():
                delattr(again[layer], field)
        assert bytes(again) == bytes(frame)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["first-light"], "no frames were logged; name ports of a scenario with --port"),
        (["first-light", "--port", "h9.0->sw"], "h9.0->sw"),
        (["nowhere"], "nowhere"),
        (["first-light", "--port", "h2.0->sw", "--out", "missing/x.pcapng"], "missing"),
    ],
    ids=["no ports", "unknown port", "no scenario", "no directory"],
)
def test_a_capture_that_cannot_be(words: list[str], message: str, tmp_path: Path) -> None:
    line = command_line("capture", *words) + ([] if "--out" in words else ["--out", "x.pcapng"])
    done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode in (1, 2)
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())
