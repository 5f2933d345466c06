"""Counters of devices beside those of a run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from conftest import Command
from penstock.errors import InputError
from penstock.interchange.counters import read
from penstock.interchange.device_counters import beside
from penstock.interchange.piece import Document
from test_doors_fuzz import KINDS, limits, needs_linux, quietly

ETHTOOL = (Path(__file__).with_name("doors") / "ethtool.txt").read_text("utf-8")
PFC = """\
  Port Rx    PFC0    PFC1    PFC2    PFC3    PFC4    PFC5    PFC6    PFC7
---------  ------  ------  ------  ------  ------  ------  ------  ------
       h0       0       0       0       0       0       0       0       0
       h2       0       0       0       0       0       0       0     N/A

  Port Tx    PFC0    PFC1    PFC2    PFC3    PFC4    PFC5    PFC6    PFC7
---------  ------  ------  ------  ------  ------  ------  ------  ------
       h0       0       0       0   1,024       0       0       0       0
Ethernet9       0       0       0       5       0       0       0       0
"""


@pytest.fixture(scope="module")
def run() -> ps.Result:
    scenario = ps.Scenario(duration="200 us").topology.star(hosts=3, rate="10 Gb/s", length="1 m", phy="none")
    scenario = scenario.flow_control.pfc(priorities=[3], xoff="20 KiB", xon="10 KiB")
    scenario = scenario.flow("a", from_="h0", to="h2", source="greedy", priority=3)
    return scenario.flow("b", from_="h1", to="h2", source="greedy", priority=3).run()


def of_run(run: ps.Result, text: str, **options: object) -> dict[str, float | None]:
    rows, _ = beside(run, read(Document("file", text)).known, **options)  # type: ignore[arg-type]
    return {row.name: row.run for row in rows}


def test_counters_of_a_nic_are_those_of_its_port(run: ps.Result) -> None:
    found = of_run(run, ETHTOOL, port="h0")
    port = next(row for row in run.rows("ports") if row["port"] == "h0.0->sw")
    pauses = [row for row in run.rows("pauses") if row["port"] == "h0.0->sw"]
    assert len(pauses) > 2
    assert found["tx_bytes_phy"] == port["bytes_sent"]
    assert found["rx_bytes_phy"] == port["bytes_received"]
    assert found["rx_prio3_pause"] == port["pauses_received"]
    assert found["rx_prio3_pause_transition"] == len(pauses)
    took = sum(row["end_ns"] - row["start_ns"] for row in pauses) / 1e3
    assert found["rx_prio3_pause_duration"] == pytest.approx(took)
    queue = next(row for row in run.rows("queues") if (row["port"], row["class"]) == ("h0.0->sw", 3))
    assert found["tx_prio3_bytes"] == queue["bytes"]
    assert found["tx_prio0_bytes"] is None
    assert found["rp_cnp_handled"] == 0


def test_counters_of_a_switch_are_those_of_its_ports_by_name(run: ps.Result) -> None:
    counters = read(Document("file", PFC))
    rows, missing = beside(run, counters.known)
    assert missing == ["Ethernet9"]
    sent = next(row for row in rows if (row.port, row.name) == ("sw.0->h0", "tx PFC3"))
    port = next(row for row in run.rows("ports") if row["port"] == "sw.0->h0")
    assert (sent.device, sent.run) == (1_024, port["pauses_sent"])
    assert port["pauses_sent"] > 0
    received = [row for row in rows if row.name.startswith("rx") and row.port == "sw.2->h2"]
    assert [row.run for row in received] == [0.0] * 7  # without that of N/A


def test_rates_are_by_the_time_of_either(run: ps.Result) -> None:
    rows, _ = beside(run, read(Document("file", ETHTOOL)).known, "h0", 2.0)
    sent = next(row for row in rows if row.name == "tx_bytes_phy")
    assert sent.device_per_s == 509_000 / 2
    assert sent.run is not None
    assert sent.run_per_s == pytest.approx(sent.run / 200e-6)


def test_names_of_other_drivers() -> None:
    text = "rx_pfc_ena_frames_pri3: 5\ntx_priority_3_xoff.nic: 6\nnp_cnp_sent: 7\nother: 1\n"
    found = read(Document("file", text))
    assert [(one.what, one.received, one.priority, one.value) for one in found.known] == [
        ("pause_frames", True, 3, 5),
        ("pause_frames", False, 3, 6),
        ("cnps_sent", False, None, 7),
    ]
    assert found.unknown == 1


def test_the_table_of_nxos_has_both_directions(run: ps.Result) -> None:
    text = (
        "Port               Mode  Oper(VL)  RxPPP  TxPPP\n"
        "Ethernet1/2        On    On (8)    1234   5678\nEthernet1/3        Off   Off       0      0\n"
    )
    found = read(Document("file", text)).known
    assert [(one.port, one.name, one.value, one.received) for one in found] == [
        ("Ethernet1/2", "RxPPP", 1234, True),
        ("Ethernet1/2", "TxPPP", 5678, False),
        ("Ethernet1/3", "RxPPP", 0, True),
        ("Ethernet1/3", "TxPPP", 0, False),
    ]
    # --port names the port of the run for a file of one port.
    rows, _ = beside(run, found[:2], "sw.0->h0")
    port = next(row for row in run.rows("ports") if row["port"] == "sw.0->h0")
    assert [row.run for row in rows] == [port["pauses_received"], port["pauses_sent"]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "hello: 3\n",
            "has no counter that corresponds to a measure of a run; expected the output of ethtool -S",
        ),
        (PFC.replace("PFC7", "PFCX", 1), "file:1: Port Rx .*: expected columns PFC0 to PFC7"),
        (PFC.replace("1,024", "many"), "file:8: the counter is many; expected a whole number"),
        (PFC.replace("N/A", ""), "file:4: .*: expected a port and 8 counters"),
        ("rx_prio3_pause: -4\n", "file:1: the counter is -4; expected a whole number"),
    ],
)
def test_what_is_wrong_names_the_line(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(Document("file", text))


def test_the_command_subtracts_and_refuses(penstock: Command, tmp_path: Path, run: ps.Result) -> None:
    run.save(tmp_path / "out", report=False)
    later, earlier = tmp_path / "later.txt", tmp_path / "earlier.txt"
    later.write_text(ETHTOOL, "utf-8")
    earlier.write_text("rx_prio3_pause: 40\n", "utf-8")
    words = ("counters", tmp_path / "out", later, "--port", "h0", "--before", earlier, "--json")
    done = penstock(*words)
    assert done.returncode == 0, done.stderr
    rows = {row["name"]: row["device"] for row in json.loads(done.stdout)["counters"]}
    assert rows["rx_prio3_pause"] == 1
    assert "1 counters of" in done.stderr  # rx_packets
    earlier.write_text("rx_prio3_pause: 50\n", "utf-8")
    assert "rx_prio3_pause exceeds its later value" in penstock(*words).stderr
    unknown = penstock("counters", tmp_path / "out", later, "--port", "h9")
    assert (unknown.returncode, "--port h9: the run has no such port" in unknown.stderr) == (2, True)
    assert "--interval is soon" in penstock(*words[:5], "--interval", "soon").stderr


@needs_linux
@pytest.mark.parametrize("kind", KINDS)
def test_any_text_is_read_or_refused(kind: str) -> None:
    lines = st.sampled_from([*ETHTOOL.splitlines(), *PFC.splitlines()])

    @quietly
    @given(text=st.one_of(KINDS[kind], st.lists(lines, max_size=30).map("\n".join)))
    def try_one(text: str) -> None:
        with limits():
            try:
                read(Document("file", text))
            except InputError as error:
                assert len(str(error)) < 1_000

    try_one()
