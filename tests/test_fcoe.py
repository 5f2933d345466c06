"""FCoE: exchanges against a count by hand, what a loss costs, and where T11 has it sent at all."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

import penstock as ps
from conftest import command_line
from penstock import _core
from penstock.analysis import forensics

PS_PER_BYTE, CABLE, SERVICE, START = 800, 100_000, 20_000_000, 1_000_000
"""10 Gb/s, a cable of 20 m, the target's time, the begin of the flow, in picoseconds."""

FIELD, OVERHEAD, LINE = 2_112, 14 + 4 + 14 + 24 + 4 + 4 + 4, 20
"""Data of a full frame; what it has beside them; preamble and gap."""

FABRIC = """\
[simulation]
duration = "20 ms"
[topology.star]
hosts = 3
rate = "10 Gb/s"
length = "20 m"
phy = "none"
"""


def call(*words: str) -> tuple[int, str]:
    done = subprocess.run(command_line(*words), capture_output=True, text=True, timeout=120, check=False)
    return done.returncode, done.stderr


def flow(keys: str, *, name: str = "san", from_: str = "h0", to: str = "h1", more: str = "") -> str:
    return (
        f'[[flows]]\nname = "{name}"\nfrom = "{from_}"\nto = "{to}"\npriority = 3\nframe = "2180 B"\n'
        f'start = "1 us"\n{more}\nsource = {{ fcoe = {{ {keys} }} }}\n'
    )


def run(*parts: str, fabric: str = FABRIC, threads: int = 1) -> ps.Result:
    return ps.run(ps.Scenario.from_toml(fabric + "\n".join(parts)), threads=threads)


def frames(data: int) -> list[int]:
    """Lengths of the frames of a sequence."""
    full, rest = divmod(data, FIELD)
    return [FIELD + OVERHEAD] * full + ([-(-rest // 4) * 4 + OVERHEAD] if rest else [])


def across(lengths: list[int], links: int = 2) -> int:
    """Until the last of some frames has come over links, with switches between them that store each."""
    ready = [0] * len(lengths)
    for _ in range(links):
        free = 0
        for n, length in enumerate(lengths):
            free = max(ready[n], free) + (length + LINE) * PS_PER_BYTE
            ready[n] = free + CABLE
    return ready[-1]


def alone(writes: bool, block: int, burst: int) -> int:
    """An exchange that has the fabric to itself: units there and back, each in one piece."""
    bursts = [min(burst, block - at) for at in range(0, block, burst)]
    if not writes:
        return across([100]) + SERVICE + across([*[length for one in bursts for length in frames(one)], 92])
    return across([100]) + sum(across([80]) + across(frames(one)) for one in bursts) + SERVICE + across([92])


@pytest.mark.parametrize("operation", ["read", "write"])
@pytest.mark.parametrize(
    ("block", "burst"), [(1, 512), (2_112, 4_096), (2_113, 512), (65_536, 65_536), (1 << 20, 262_144)]
)
def test_an_exchange_lasts_as_counted(operation: str, block: int, burst: int) -> None:
    least = f', max_burst = "{burst} B"' if burst < block else ""
    keys = f'operation = "{operation}", block = "{block} B"{least}, service = "20 us", think = "3 us"'
    (row,) = run("[flow_control.pfc]", flow(keys)).rows("connections")
    took = alone(operation == "write", block, burst)
    assert [round(row[f"exchange_{what}_ns"] * 1_000) for what in ("min", "max")] == [took, took]
    count = (20_000_000_000 - 1 - START - took) // (took + 3_000_000) + 1
    assert (row["exchanges"], row["application_bytes"]) == (count, count * block)
    assert (row["endpoint"], row["exchanges_aborted"], row["withheld_at"]) == ("fcoe", 0, "")


def test_enough_exchanges_fill_the_link_with_data() -> None:
    """The link of the data is never idle: 2,112 of 2,200 B on the wire, less one response a block."""
    block = 100 * FIELD
    keys = f'operation = "read", block = "{block} B", outstanding = 8'
    (row,) = run("[flow_control.pfc]", flow(keys)).rows("connections")
    on_wire = 100 * (FIELD + OVERHEAD + LINE) + 92 + LINE
    assert row["application_bytes"] == pytest.approx(20e-3 * 10e9 / 8 * block / on_wire, abs=9 * block)


@pytest.mark.parametrize("operation", ["read", "write"])
def test_a_loss_costs_the_whole_exchange_and_its_timer(operation: str) -> None:
    """A link that is down for a while takes frames from the midst of the data of the first exchange."""
    fault = '[[faults]]\nlink = ["h1", "sw"]\nat = "300 us"\ndown = true\nduration = "1 us"\n'
    keys = f'operation = "{operation}", service = "20 us", ulp_tov = "5 ms"'
    result = run("[flow_control.pfc]", flow(keys), fault)
    (row,) = result.rows("connections")
    took = alone(operation == "write", 1 << 20, 1 << 20)
    aborted = 5_000_000_000 + across([68]) + across([80])
    assert row["exchanges_aborted"] == 1
    assert round(row["exchange_max_ns"] * 1_000) == aborted + took
    assert round(row["exchange_min_ns"] * 1_000) == took
    assert row["exchanges"] == (20_000_000_000 - 1 - START - aborted) // took
    assert row["segments_sent_again"] > 100
    output = "\n".join(forensics.why(result, "san"))
    assert "Exchanges that exceeded ulp_tov, and were aborted and repeated: 1." in output


ISCSI = """
[[flows]]
name = "iscsi"
from = "h2"
to = "h1"
priority = 1
source = { conversation = { messages = "iscsi_write" } }
"""


@pytest.mark.parametrize(
    ("fabric", "rule", "withheld"),
    [
        ("[flow_control.pfc]\npriorities = [3]", "", ""),
        ("[flow_control.pause]", "", ""),
        ("[flow_control.credit]", "", ""),
        ("", "", "h0.0->sw h1.0->sw"),
        ("[flow_control.pfc]\npriorities = [1]", "", "h0.0->sw h1.0->sw"),
        ("[hosts.h1.flow_control.pfc]\npriorities = [3]", "", "h0.0->sw"),
        ("", ", requires_lossless = false", ""),
    ],
    ids=["PFC", "PAUSE", "credits", "none", "another class", "target alone", "best effort"],
)
def test_t11_has_fcoe_on_lossless_ethernet_only(
    fabric: str, rule: str, withheld: str, tmp_path: Path
) -> None:
    """ISCSI beside it needs no such class."""
    text = FABRIC + fabric + "\n" + flow(f'operation = "write", think = "900 us"{rule}') + ISCSI
    result = ps.run(ps.Scenario.from_toml(text))
    san, iscsi = result.rows("connections")
    assert (san["withheld_at"], san["exchanges"] > 0) == (withheld, not withheld)
    assert iscsi["exchanges"] > 0
    sent = {row["flow"]: row["frames_sent"] for row in result.rows("flows")}
    assert (sent["san"] > 0) == (not withheld)
    (tmp_path / "t11.toml").write_text(text)
    assert ("sends nothing to" in call("check", str(tmp_path / "t11.toml"))[1]) == bool(withheld)
    output = "\n".join(forensics.why(result, "san"))
    for port in withheld.split():
        assert f"Nothing is sent through {port}" in output


def test_pauses_hold_exchanges_and_threads_change_nothing() -> None:
    """Two initiators write to one target; ends of FCoE lose nothing, and pause."""
    fabric = FABRIC.replace("hosts = 3", "hosts = 6")
    flows = [
        flow(f'operation = "{what}", block = "64 KiB", outstanding = 4', name=f"f{n}", from_=f"h{n}", to="h5")
        for n, what in enumerate(["write", "write", "read", "write"])
    ]
    results = [run("[flow_control.pfc]", *flows, fabric=fabric, threads=threads) for threads in (1, 2, 3)]
    assert len({result.fingerprint for result in results}) == 1
    assert sum(row["pauses_received"] for row in results[0].rows("ports")) > 0
    assert all(
        row["exchanges"] > 0 and row["exchanges_aborted"] == 0 for row in results[0].rows("connections")
    )


def test_a_capture_has_frames_of_fcoe(tmp_path: Path) -> None:
    probe = '[[probes]]\nwhat = "frames"\nwhich = ["h0.0->sw"]\n'
    (tmp_path / "san.toml").write_text(
        FABRIC.replace("20 ms", "200 us") + "[flow_control.pfc]\n" + flow('operation = "write"') + probe
    )
    path = tmp_path / "san.pcapng"
    code, err = call("capture", str(tmp_path / "san.toml"), "--out", str(path))
    assert code == 0, err
    entries = [json.loads(line) for line in _core.Capture(str(path))]
    # Encapsulation and header, 50 B without the data: of a command, a full frame, FCP_XFER_RDY.
    assert {one["what"] for one in entries} == {f"FCoE, {46 + data} B" for data in (32, 2_112, 12)}
    assert not [one for one in entries if "error" in one]


def test_the_bundled_scenario_tells_the_two_apart(tmp_path: Path) -> None:
    text = (Path(ps.__file__).parent / "scenarios/fcoe-and-iscsi.toml").read_text("utf-8")
    assert "priorities = [3]" in text

    def outcome(text: str) -> tuple[list[int], list[int], list[int], list[int]]:
        rows = ps.run(ps.Scenario.from_toml(text)).rows("connections")
        fcoe = [row for row in rows if row["endpoint"] == "fcoe"]
        iscsi = [row for row in rows if row["endpoint"] == "conversation"]
        return (
            [row["exchanges"] for row in fcoe],
            [row["exchanges_aborted"] for row in fcoe],
            [row["exchanges"] for row in iscsi],
            [row["segments_sent_again"] for row in iscsi],
        )

    done, aborted, over_tcp, repaired = outcome(text)
    assert min(done) > 50 and sum(aborted) == 0 and min(over_tcp) > 30 and min(repaired) > 0
    other = text.replace("priorities = [3]", "priorities = [1]")
    done, aborted, over_tcp, repaired = outcome(other)
    assert (done, aborted, repaired) == ([0, 0, 0], [0, 0, 0], [0, 0, 0])
    assert min(over_tcp) > 100
    sent = other.replace('ulp_tov = "5 ms"', 'ulp_tov = "5 ms", requires_lossless = false')
    done, aborted, _, _ = outcome(sent)
    assert min(aborted) > 0
