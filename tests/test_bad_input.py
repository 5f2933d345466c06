"""Scenarios that cannot be run: each ends in a message with its place, exit code 2 and nothing written."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from penstock.cli import main

GOOD = """\
[simulation]
duration = "1 ms"
seed = 1

[topology.star]
hosts = 4
rate = "10 Gb/s"
length = "20 m"

[switch]
latency = "300 ns"

[switch.buffer]
queue = "200 frames"

[flow_control.pfc]
accounting = "egress"
xoff = "66 frames"
xon = "11 frames"
pause_quanta = 65535

[flow_control.pfc.target]
method = "fair_bandwidth"
watermark = "55 frames"

[[flows]]
name = "a"
from = "h0"
to = "h3"
priority = 3
frame = "1522 B"
start = "10 us"
source = { constant = { rate = "2.5 Gb/s" } }

[[flows]]
name = "b"
from = "h1"
to = "h3"
priority = 3
source = "greedy"
"""

# What is replaced, by what, and what the message must contain. The line of the message is that of the change.
CASES = [
    ('duration = "1 ms"', 'durations = "1 ms"', "duration"),
    ('duration = "1 ms"', 'duration = "1"', "unit"),
    ('duration = "1 ms"', "duration = 1", "1"),
    ('duration = "1 ms"', 'duration = "1 msec"', "ms"),
    ('duration = "1 ms"', 'duration = "0 ms"', "0"),
    ('duration = "1 ms"', 'duration = "-1 ms"', "negative"),
    ('duration = "1 ms"', 'duration = "0.5 ps"', "0.5 ps"),
    ('duration = "1 ms"', 'duration = "99999999999999 s"', "large"),
    ("seed = 1", "seed = -1", "-1"),
    ("seed = 1", 'seed = "one"', "one"),
    ("seed = 1", "seeds = 1", "seed"),
    ("seed = 1", "seed = 1\nseed = 2", "seed"),
    ("seed = 1", 'warmup = "2 ms"', "warmup"),
    ("seed = 1", 'on_lossless_drop = "ignore"', "stop"),
    ("[topology.star]", "[topology.stra]", "star"),
    ("[topology.star]", "[topologie.star]", "topology"),
    ("hosts = 4", "hosts = 0", "0"),
    ("hosts = 4", "hosts = 4.5", "4.5"),
    ("hosts = 4", "hots = 4", "hosts"),
    ('rate = "10 Gb/s"', 'rate = "10 Gbit"', "10 Gb/s"),
    ('rate = "10 Gb/s"', 'rate = "0 Gb/s"', "0"),
    ('rate = "10 Gb/s"', 'rate = "-10 Gb/s"', "negative"),
    ('rate = "10 Gb/s"', 'rate = "ten Gb/s"', "ten"),
    ('rate = "10 Gb/s"', 'rate = "10 ms"', "ms"),
    ('length = "20 m"', 'length = "20 furlongs"', "furlongs"),
    ('length = "20 m"', 'length = "20 m"\ndelay = "1 us"', "delay"),
    ('latency = "300 ns"', 'forwarding = "cut_throug"', "cut_through"),
    ('latency = "300 ns"', 'queueing = "input"', "input"),
    ('latency = "300 ns"', 'scheduler = "strict"', "strict_priority"),
    ('latency = "300 ns"', "queues = [0, 1]", "eight"),
    ('latency = "300 ns"', "queues = [0, 1, 2, 3, 4, 5, 6, 9]", "9"),
    ('queue = "200 frames"', 'queue = "200 boxes"', "boxes"),
    ('queue = "200 frames"', 'queue = "60 frames"', "66"),
    ('accounting = "egress"', 'accounting = "outgress"', "egress"),
    ('accounting = "egress"', 'accounting = "egress"\npriorities = [8]', "8"),
    ('xoff = "66 frames"', 'xoff = "5 frames"', "xo"),
    ('xon = "11 frames"', 'xon = "70 frames"', "xo"),
    ('xon = "11 frames"', 'xonn = "11 frames"', "xon"),
    ("pause_quanta = 65535", "pause_quanta = 65536", "65535"),
    ("pause_quanta = 65535", "pause_quanta = 0", "0"),
    ('watermark = "55 frames"', 'watermark = "67 frames"', "67"),
    ('watermark = "55 frames"', 'watermark = "10 frames"', "10"),
    ('method = "fair_bandwidth"', 'method = "fair_bandwith"', "fair_bandwidth"),
    ('from = "h0"', 'from = "h9"', "h0"),
    ('from = "h0"', 'from = "nobody"', "nobody"),
    ('from = "h0"', 'from = "h3"', "h3"),
    ("priority = 3", "priority = 8", "8"),
    ("priority = 3", "prioritty = 3", "priority"),
    ('frame = "1522 B"', 'frame = "0 B"', "9238 B"),
    ('frame = "1522 B"', 'frame = "70000 B"', "70000"),
    ('frame = "1522 B"', 'frame = { empirical = "no-such.csv" }', "no-such.csv"),
    (
        'frame = "1522 B"',
        'frame = { bimodal = { small = "64 B", large = "1522 B", small_share = 1.5 } }',
        "1.5",
    ),
    ('start = "10 us"', 'start = "10 us"\nstop = "5 us"', "stop"),
    ('start = "10 us"', 'route = ["h1", "h3"]', "h1"),
    ("{ constant =", "{ constnat =", "constant"),
    ('source = "greedy"', 'source = "gready"', "greedy"),
    ('name = "b"', 'name = "a"', "a"),
    ('name = "b"', "", "name"),
    ('[[flows]]\nname = "b"', '[flows]\nname = "b"', "flows"),
    ("seed = 1", "seed = [1", "TOML"),
    ("seed = 1", 'seed = "é', "TOML"),
]


def outcome(file: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """The message, the same from ``check`` and ``run``; neither leaves anything behind."""
    before = sorted(file.parent.iterdir())
    messages = []
    for words in (
        ["check", str(file)],
        ["run", str(file), "--out", str(file.parent / "out")],
        ["run", str(file), "--json"],
    ):
        assert main(words) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert "Traceback" not in err
        messages.append(err)
    assert sorted(file.parent.iterdir()) == before
    assert len(set(messages)) == 1
    return messages[0]


def test_the_good_scenario_is_good(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "good.toml").write_text(GOOD)
    assert main(["check", str(tmp_path / "good.toml")]) == 0, capsys.readouterr().err


@pytest.mark.parametrize(
    ("good", "bad", "expected"), CASES, ids=[bad or f"no {good}" for good, bad, _ in CASES]
)
def test_a_bad_value_is_named_with_its_place(
    good: str, bad: str, expected: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "bad.toml"
    assert good in GOOD
    file.write_text(GOOD.replace(good, bad, 1), "utf-8")
    message = outcome(file, capsys)
    assert re.search(r"bad\.toml:\d+:\d+", message), message
    assert expected in message, message


@pytest.mark.parametrize(
    ("content", "place"),
    [
        (b"", r":1:1"),
        (b"\x00\x01\x02", r":1:1"),
        (b"\xff\xfe[\x00s\x00", r":1:1"),
        (b'[simulation]\nname = "caf\xe9"\n', r":2:12"),
        (b'{"simulation": {}}', r":1:\d+"),
        (b"[" * 100_000, r":1:\d+"),
        (b"a = " + b"[" * 100_000, r":1:\d+"),
        (b"a." * 50_000 + b"b = 1", r":1:\d+"),
    ],
    ids=["empty", "control characters", "UTF-16", "Latin-1", "JSON", "brackets", "deep array", "deep key"],
)
def test_files_that_are_no_scenario(
    content: bytes, place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "bad.toml"
    file.write_bytes(content)
    assert re.search(rf"bad\.toml{place}", outcome(file, capsys))


def test_a_file_of_100_mb(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "bad.toml"
    with file.open("wb") as out:
        out.truncate(100 * 10**6)
    assert re.search(r"bad\.toml:1:1: the file has 95 MiB", outcome(file, capsys))
