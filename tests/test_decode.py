"""`penstock decode`: captures of any length, display filters, times and ECN."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import command_line
from penstock import _core
from penstock.cli import main
from penstock.errors import InputError
from penstock.interchange.display_filter import FIELDS, PROTOCOLS, compiled
from penstock.validation.bench import flow_text, star

SCENARIO = (
    '[simulation]\nduration = "60 us"\n'
    + star(3, rate="10 Gb/s")
    + "[flow_control.pfc]\npriorities = [3]\n"
    + flow_text("a", "h1..h2", "h0", "priority = 3", 'source = "greedy"')
    + """\
[[transfers]]
name = "t"
from = "h1"
to = "h0"
sizes = "20 kB"
arrivals = "once"
over = { rdma = { control = "dcqcn" } }
[[probes]]
what = "frames"
which = "*"
"""
)


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("capture")
    (place / "x.toml").write_text(SCENARIO, "utf-8")
    assert main(["capture", str(place / "x.toml"), "--out", str(place / "x.pcapng")]) == 0
    return place / "x.pcapng"


def listed(capsys: pytest.CaptureFixture[str], *words: str) -> list[str]:
    capsys.readouterr()
    assert main(["decode", *words]) == 0
    return capsys.readouterr().out.splitlines()


def test_ecn_and_times(capture: Path, capsys: pytest.CaptureFixture[str]) -> None:
    head, first, second, *_, last = listed(capsys, str(capture))
    assert head.split()[:2] == ["no.", "time"]
    assert "0.000000000 s" in first and "Not-ECT" in first + second
    lines = listed(capsys, str(capture), "--filter", "ip.dsfield.ecn == ECT(0)")
    assert len(lines) > 10
    assert all("ECT(0)" in line and "RoCEv2" in line for line in lines[1:-1])
    assert "frames, 0 of them not legal" in last
    deltas = [float(line.split()[1]) for line in listed(capsys, str(capture), "--time", "delta")[1:-1]]
    times = [float(line.split()[1]) for line in listed(capsys, str(capture), "--time", "absolute")[1:-1]]
    assert sum(deltas) == pytest.approx(times[-1] - times[0], abs=1e-9)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("vlan.priority == 3 and not pfc", "!(vlan.priority != 3 || pfc) && vlan"),
        ("eth.dst == 01:80:c2:00:00:01", "pfc or pause"),
        ("frame.len >= 1000 and frame.len <= 2000", "frame.len gt 999 && frame.len lt 2001"),
        ("infiniband", "udp.dstport == 4791"),
        ("ip.dst == 10.0.0.2 or (ip.dst == 10.0.0.1)", "ip.dst == 10.0.0.1 or ip.dst == 10.0.0.2"),
        ('frame.info contains "rocev2"', "infiniband and not malformed"),
        ("ip.proto == 0x11", "udp"),
    ],
)
def test_filters_that_mean_the_same(
    text: str, same: str, capture: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = listed(capsys, str(capture), "--filter", text)
    assert found == listed(capsys, str(capture), "--filter", same)
    assert len(found) > 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("vlan.prio == 3", "unknown field or protocol vlan.prio; did you mean vlan.priority"),
        ("vlan.priority = 3", "is not an operator"),
        ("vlan.priority ==", "at the end: expected a value after =="),
        ("(pfc", "expected )"),
        ("pfc pause", "expected and, or, or the end"),
        ("frame.len == big", "expected a number"),
        ('frame.comment == "x', "is not closed"),
        ("not " * 400 + "pfc", "expected at most 1,000"),
        ("", "at the end: expected a field"),
    ],
)
def test_filters_that_are_none(text: str, message: str) -> None:
    with pytest.raises(InputError) as wrong:
        compiled(text)
    assert message in str(wrong.value)


WORDS = st.sampled_from(
    [*FIELDS, *PROTOCOLS, "and", "or", "not", "(", ")", "==", "!=", "<", "contains", "3", '"x"', "!"]
)


@given(words=st.lists(WORDS, max_size=12))
@settings(deadline=None)
def test_any_words_are_a_filter_or_an_error(words: list[str]) -> None:
    frame = {
        "number": 1,
        "bytes": 64,
        "time_ns": 1,
        "relative_ns": 0,
        "delta_ns": 0,
        "what": "",
        "vlan": None,
    }
    try:
        compiled(" ".join(words))(frame)
    except InputError as error:
        assert str(error).startswith("--filter")


@pytest.mark.parametrize("json", [False, True])
def test_a_long_capture_is_listed_as_it_is_read(json: bool, tmp_path: Path) -> None:
    """A hundred thousand frames take seconds, and the memory of a few."""
    frame = bytes.fromhex("0180c2000001020000000001880800010001") + bytes(44)
    rows = [
        {"port": 0, "time_ns": number, "direction": "in", "comment": None, "frame": frame}
        for number in range(100_000)
    ]
    path = tmp_path / "long.pcapng"
    _core.write_capture(str(path), [("sw.0", None)], rows)
    began = time.monotonic()
    words = command_line("decode", path, *(["--json"] if json else []))
    script = (
        f"import resource, subprocess, sys\ndone = subprocess.run({words!r}, stdout=subprocess.DEVNULL)\n"
    )
    script += "print(done.returncode, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    done = subprocess.run([words[0], "-c", script], capture_output=True, text=True, check=True)
    code, peak_kib = map(int, done.stdout.split())
    assert code == 0
    assert peak_kib < 250_000
    assert time.monotonic() - began < 20  # 2 s on a machine that does nothing else


@pytest.mark.parametrize("json", [False, True])
def test_a_reader_that_goes_away_ends_the_list_without_a_word(json: bool, tmp_path: Path) -> None:
    frame = bytes.fromhex("0180c2000001020000000001880800010001") + bytes(44)
    row = {"port": 0, "direction": "in", "comment": None, "frame": frame}
    path = tmp_path / "x.pcapng"
    _core.write_capture(str(path), [("sw.0", None)], [{**row, "time_ns": number} for number in range(5_000)])
    words = command_line("decode", path, *(["--json"] if json else []))
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert (process.stderr.read(), process.wait()) == ("", 1)
