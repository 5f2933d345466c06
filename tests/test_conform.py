"""Conformance cases against our agent, simulated ports, lldpad, and devices that are wrong."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pytest

from penstock import conformance
from penstock.cli import conform, main
from penstock.conformance import device, lldpad
from penstock.conformance.controls import pfc
from penstock.conformance.device import AgentDevice, Operational
from penstock.conformance.sim import SimDevice

MISSING = lldpad.missing()
FAMILIES = {"PF": 27, "ET": 13, "QN": 16, "TR": 13, "DX": 34}
LEFT_OUT = {"TR-07", "TR-11"}
"""Cases of what no scenario has: access lists and SRv6."""
ALL = [f"{family}-{number:02}" for family, count in FAMILIES.items() for number in range(1, count + 1)]


@pytest.mark.parametrize("family", ["PF", "ET", "QN", "TR"])
def test_simulated_ports_pass_all_that_apply(family: str) -> None:
    """The number of cases is complete, and every case expects something."""
    chosen = [case for case in conformance.cases() if case.id.startswith(family)]
    assert len(chosen) == FAMILIES[family]
    outcomes = list(conformance.run(chosen, SimDevice()))
    assert [f"{one.case.id} {one.trial}" for one in outcomes if one.verdict == "fail"] == []
    left_out = {one.case.id for one in outcomes if one.verdict == "not applicable"}
    assert left_out == {name for name in LEFT_OUT if name.startswith(family)}
    assert all(one.expected for one in outcomes if one.verdict == "pass")


class DeafPort(SimDevice):
    """A device that ignores all frames."""

    def send(self, frame: bytes) -> None:
        """Nothing comes in."""


class GulliblePort(SimDevice):
    """Takes any frame for PFC that stops priority 3 for ever."""

    def send(self, frame: bytes) -> None:
        """Another frame comes in."""
        super().send(pfc({3: 0xFFFF}).octets)


def test_cases_of_ports_bite() -> None:
    """A deaf device fails cases with effects; a credulous one fails cases of rejection and of times."""
    obeyed = [
        "PF-03",
        "PF-04",
        "PF-05",
        "PF-06",
        "PF-07",
        "PF-08",
        "PF-14",
        "PF-16",
        "PF-27",
        "QN-10",
        "QN-11",
    ]
    refused = ["PF-03", "PF-04", "PF-11", "PF-12", "PF-13", "PF-15", "PF-16"]
    for device_, names in ((DeafPort(), obeyed), (GulliblePort(), refused)):
        outcomes = conformance.run(conformance.cases(names), device_)
        assert {one.case.id for one in outcomes if one.verdict == "fail"} == set(names)


def test_the_report_has_the_capture_of_each_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(conform.DEVICES, "sim", DeafPort)
    words = ["--against", "sim", "--case", "PF-04", "--case", "DX-03", "--out", str(tmp_path)]
    assert main(["conform", *words]) == 1
    capsys.readouterr()
    page = (tmp_path / "report.html").read_text("utf-8")
    assert "2 cases, 3 trials: 0 pass, 2 fail, 1 not applicable." in page
    for name in ("PF-04-host.pcapng", "PF-04-switch.pcapng"):
        assert f'href="{name}"' in page
        assert main(["decode", str(tmp_path / name), "--json"]) == 0
        assert len(json.loads(capsys.readouterr().out)["frames"]) > 100
    assert pfc({3: 0xFFFF}).octets.hex() in page and "runs no agent" in page


def test_our_agent_passes_all_that_apply(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["conform", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["schema"], document["against"]) == ("penstock-conformance/1", "agent")
    verdicts = {one["case"]: one["verdict"] for one in document["outcomes"]}
    assert list(verdicts) == ALL
    unread = [case for case, verdict in verdicts.items() if verdict == "not applicable"]
    assert not [case for case in unread if case.startswith("DX-")]
    assert len(unread) == len(ALL) - FAMILIES["DX"]
    assert set(verdicts.values()) == {"pass", "not applicable"}
    assert all(one["expected"] == one["observed"] for one in document["outcomes"])


POOR = """
simulation = { duration = "1 ms" }
topology.star = { hosts = 9, rate = "10 Gb/s", length = "10 m", phy = "none" }
flow_control.pfc = { priorities = [3, 4] }
[switches."s*"]
buffer = { queue = "60 kB" }
[hosts."h0..h7"]
flow_control = "off"
[[flows]]
name = "f"
from = "h0"
to = "h8"
source = "greedy"
"""


def verdicts(
    node: str, cases: list[str], file: Path, capsys: pytest.CaptureFixture[str]
) -> dict[str, set[str]]:
    """Results of cases for a station of a scenario."""
    words = [word for case in cases for word in ("--case", case)]
    code = main(["conform", "--scenario", str(file), "--node", node, *words, "--json"])
    found: dict[str, set[str]] = {}
    for one in json.loads(capsys.readouterr().out)["outcomes"]:
        found.setdefault(one["case"], set()).add(one["verdict"])
    assert code == int(any("fail" in own for own in found.values()))
    return found


def test_stations_of_a_scenario(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A small buffer loses, PFC for two priorities is none for eight, and a host has shares."""
    file = tmp_path / "poor.toml"
    file.write_text(POOR, "utf-8")
    poor = verdicts("sw", ["PF-19", "PF-24", "ET-04", "QN-13", "DX-03"], file, capsys)
    none = {"not applicable"}
    assert poor == {
        "PF-19": {"fail"},
        "PF-24": {"pass", "fail"},
        "ET-04": {"pass"},
        "QN-13": none,
        "DX-03": none,
    }
    file.write_text(POOR.replace("60 kB", "1 MB").replace("[3, 4]", "[0, 1, 2, 3, 4, 5, 6, 7]"), "utf-8")
    assert verdicts("sw", ["PF-19", "PF-24"], file, capsys) == {"PF-19": {"pass"}, "PF-24": {"pass"}}
    # h7 has no PFC, by a range; h8 has that of all.
    cases = ["PF-03", "ET-04", "QN-13"]
    assert verdicts("h7", cases, file, capsys) == {
        "PF-03": {"pass", "fail"},
        "ET-04": {"pass"},
        "QN-13": {"pass"},
    }
    assert verdicts("h8", cases, file, capsys) == {case: {"pass"} for case in cases}


def test_a_station_with_pfc_for_one_priority(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It has PFC for the one that a trial is about, and fails what is about several at once alone."""
    file = tmp_path / "one.toml"
    file.write_text(POOR.replace("60 kB", "1 MB").replace("[3, 4]", "[5]"), "utf-8")
    several = {"PF-01": {"fail"}, "PF-02": {"fail"}, "PF-24": {"pass", "fail"}}
    one = ["PF-03", "PF-04", "PF-05", "PF-06", "PF-07", "PF-09", "PF-10", "PF-14", "PF-16", "PF-18"]
    found = verdicts("sw", [*one, *several, "PF-21", "PF-22"], file, capsys)
    assert {case for case, verdict in found.items() if verdict != {"pass"}} == set(several)
    assert {case: found[case] for case in several} == several
    host = ["PF-03", "PF-06", "PF-08", "PF-16"]
    assert verdicts("h8", host, file, capsys) == {case: {"pass"} for case in host}


SMALL = """
[simulation]
duration = "1 ms"
on_lossless_drop = "count"
[topology.star]
hosts = 3
rate = "10 Gb/s"
length = "300 m"
phy = "none"
[flow_control.pfc]
priorities = {priorities}
{levels}
[[flows]]
name = "f"
from = ["h0", "h1"]
to = "h2"
priority = 3
source = "greedy"
"""
LEVELS = 'xoff = "40 kB"\nxon = "20 kB"\nheadroom = "6 kB"'


def test_whatever_check_accepts_is_tried(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Too little headroom fails the case of it, and two lossless classes are none for eight."""
    file = tmp_path / "small.toml"
    file.write_text(SMALL.format(priorities=[3], levels=LEVELS), "utf-8")
    assert main(["check", str(file)]) == 1  # a promise is broken
    capsys.readouterr()
    assert verdicts("sw", ["PF-19"], file, capsys) == {"PF-19": {"fail"}}
    file.write_text(SMALL.format(priorities=[3, 4], levels=""), "utf-8")
    assert verdicts("sw", ["PF-01", "PF-19"], file, capsys) == {"PF-01": {"fail"}, "PF-19": {"pass"}}
    main(["conform", "--scenario", str(file), "--node", "sw", "--case", "PF-01", "--json"])
    outcomes = json.loads(capsys.readouterr().out)["outcomes"]
    assert all("priorities with PFC at the same time: 2" in one["observed"] for one in outcomes)
    file.write_text(SMALL.format(priorities=list(range(8)), levels=""), "utf-8")
    assert verdicts("sw", ["PF-01"], file, capsys) == {"PF-01": {"pass"}}


def test_the_packaged_memory_passes_or_says_what_it_lacks(capsys: pytest.CaptureFixture[str]) -> None:
    cases = [
        "PF-03",
        "PF-09",
        "PF-18",
        "PF-19",
        "PF-20",
        "PF-21",
        "PF-22",
        "PF-23",
        "PF-26",
        "ET-13",
        "ET-01",
        "ET-07",
    ]
    words = [word for case in cases for word in ("--case", case)]
    code = main(["conform", "--scenario", "sonic-memory", "--node", "sw", *words, "--json"])
    outcomes = json.loads(capsys.readouterr().out)["outcomes"]
    assert code == 0
    for one in outcomes:
        assert one["verdict"] == "pass" or "its memory holds all" in one["reason"], one
    assert {one["case"] for one in outcomes if one["verdict"] == "pass"} >= {"PF-03", "ET-01", "ET-07"}


def test_the_report_goes_where_it_is_wanted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The output directory is created, and its path is printed, as in other commands."""
    place = tmp_path / "new" / "place"
    assert main(["conform", "--case", "DX-03", "--out", str(place)]) == 0
    assert capsys.readouterr().out.rstrip().endswith(f"report   {place / 'report.html'}")
    assert (place / "report.html").is_file()
    (tmp_path / "file").write_text("")
    assert main(["conform", "--case", "DX-03", "--out", str(tmp_path / "file")]) == 2


class Deaf(AgentDevice):
    """An agent that ignores all frames."""

    name = "deaf"

    def send(self, frame: bytes) -> None:
        """Nothing arrives."""


class Gullible(AgentDevice):
    """Has for PFC what the last PFC TLV said, whatever it was."""

    name = "gullible"
    _last: tuple[int, ...] = (5,)

    def start(self, settings: object) -> None:
        """Begins anew."""
        super().start(settings)  # type: ignore[arg-type]
        self._last = (5,)

    def send(self, frame: bytes) -> None:
        """Looks for a PFC TLV anywhere."""
        super().send(frame)
        place = frame.find(bytes.fromhex("0080c20b"))
        if place > 0:
            self._last = tuple(bit for bit in range(8) if frame[place + 5] >> bit & 1)

    def operational(self) -> Operational:
        """The last state that was reported."""
        now = super().operational()
        return Operational(self._last, now.shares, now.classes, now.applications, now.conditions)


def failed(broken: device.Device) -> set[str]:
    outcomes = conformance.run(conformance.cases(), broken)
    return {outcome.case.id for outcome in outcomes if outcome.verdict == "fail"}


def test_the_cases_bite() -> None:
    """A deaf agent fails cases of adoption; a credulous one fails cases of rejection."""
    assert failed(Deaf()) >= {"DX-03", "DX-05", "DX-08", "DX-11", "DX-12", "DX-22", "DX-25", "DX-30"}
    assert failed(Gullible()) >= {
        *("DX-02", "DX-04", "DX-05", "DX-06", "DX-16", "DX-17", "DX-18", "DX-19", "DX-20", "DX-21"),
        *("DX-23", "DX-26", "DX-27", "DX-28"),
    }


@pytest.mark.skipif(bool(MISSING), reason=f"lldpad: {MISSING}")
def test_lldpad_adopts_and_reads_past_the_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One case that it passes, one that it is known to fail, and ageing: what holds for 3 s is forgotten."""
    words = [
        "--against",
        "lldpad",
        "--case",
        "DX-03",
        "--case",
        "DX-17",
        "--case",
        "DX-27",
        "--out",
        str(tmp_path),
        "--json",
    ]
    assert main(["conform", *words]) == 1
    outcomes = json.loads(capsys.readouterr().out)["outcomes"]
    assert [one["verdict"] for one in outcomes] == ["pass", "fail", "pass"]
    assert main(["decode", str(tmp_path / "DX-17.pcapng"), "--json"]) == 0
    frames = json.loads(capsys.readouterr().out)["frames"]
    assert frames[-1]["error"] == "the PFC TLV occurs more than once"


def test_a_log_that_is_half_written() -> None:
    """Lines of settings, the last of them cut."""
    text = '{"pfc_en":8,"tc_tx_bw":[40,60,0,0,0,0,0,0]}\n{"app_set":[[1,35078,3],[2,860,5]]}\n'
    now = lldpad.read_log(text + '{"app_del":[[2,860,5]]}\n{"pfc_en":32')
    assert (now.pfc, now.shares[:2], now.applications) == ((3,), (40, 60), {(1, 35078, 3)})


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--case", "DX-99"], "no such case"),
        (["--case", "DX-3"], "did you mean DX-3"),
        (["--against", "switch"], "agent"),
        (["--node", "sw"], "expected both"),
        (["--scenario", "incast", "--node", "nobody"], "has none"),
        (["--scenario", "incast", "--node", "sw", "--against", "sim"], "which selects another device"),
    ],
)
def test_what_cannot_be(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["conform", *words]) == 2
    assert message in capsys.readouterr().err


def test_lldpad_that_is_not_there(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with contextlib.ExitStack() as stack:
        stack.enter_context(monkeypatch.context()).setattr(lldpad, "PROGRAMS", ("no-such-program",))
        assert main(["conform", "--against", "lldpad"]) == 2
    assert "no-such-program not installed" in capsys.readouterr().err
