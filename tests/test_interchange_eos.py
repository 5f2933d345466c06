"""Running configurations of Arista EOS."""

from __future__ import annotations

import re

import pytest

from penstock.errors import InputError
from penstock.interchange.formats import format_of
from penstock.interchange.piece import Document, Piece
from switch_configs import EOS


def read(text: str, **others: str) -> Piece:
    document = Document("leaf.cfg", text, **others)
    found = format_of(document)
    assert found.name == "eos"
    return found.read(document)


def without(*words: str) -> str:
    """The configuration without the lines that have one of these words."""
    return "".join(line for line in EOS.splitlines(keepends=True) if not any(word in line for word in words))


def test_a_profile_and_maps_are_the_settings_of_a_switch() -> None:
    piece = read(EOS)
    switch = piece.keys["switch"]
    assert switch["queues"] == [0, 1, 2, 3, 4, 5, 5, 7]
    classes = switch["maps"]["dscp_to_tc"]
    assert {code: classes.get(code, classes["other"]) for code in ("0", "8", "26", "48", "63")} == {
        "0": 1,
        "8": 0,
        "26": 3,
        "48": 6,
        "63": 7,
    }
    # Queues 0 and 2 are served round robin, since queue 3 is: they get half of what is left.
    shares = [one.get("percent") for one in switch["scheduler"]["ets"]["classes"]]
    assert shares == [2, 5, 2, 91, None, None, None, None]
    (red,) = switch["queue_managers"]
    assert (red["classes"], red["red"]["action"], red["red"]["max_probability"]) == ([3], "mark_only", 0.5)
    assert (red["red"]["min"], red["red"]["max"]) == ("250 KiB", "500 KiB")
    assert switch["mtu"] == "9236 B"
    assert piece.keys["flow_control"]["pfc"]["priorities"] == [3]
    times = piece.keys["watchdog"]
    assert times == {"detection_time": "200 ms", "restoration_time": "500 ms", "action": "drop"}
    assert [(one.rate, one.ports) for one in piece.links] == [
        ("100 Gb/s", ("Ethernet1/1", "Ethernet2/1")),
        ("400 Gb/s", ("Ethernet3/1",)),
    ]


def test_buffers_of_trident_are_pools_and_profiles() -> None:
    memory = read(EOS, buffer="32 MiB").keys["switch"]["buffer"]["memory"]
    assert memory["pools"]["ingress"]["size"] == "28 MiB"
    assert memory["pools"]["ingress"]["headroom"] == "4 MiB"
    assert memory["pools"]["egress"]["size"] == "32 MiB"
    own = memory["profiles"]["ROCE"]
    assert (own["alpha"], own["reserved"], own["headroom"]) == (0.125, "1664 B", "180000 B")
    assert memory["profiles"]["ROCE queue 3"]["alpha"] == 2.0
    assert memory["attach"] == [
        {"profile": "ROCE", "groups": [3]},
        {"profile": "ROCE queue 3", "queues": [3]},
    ]


def test_cells_need_their_size() -> None:
    cells = EOS.replace("headroom bytes 180000", "headroom cells 800")
    assert "groups" not in str(read(cells).keys["switch"]["buffer"]["memory"]["attach"])
    assert any("a size in cells without --cell" in line for line in read(cells).remarks)
    memory = read(cells, cell="208 B").keys["switch"]["buffer"]["memory"]
    assert memory["profiles"]["ROCE"]["headroom"] == "166400 B"


def test_times_and_segments_as_thresholds() -> None:
    times = EOS.replace("256 kbytes", "10 microseconds").replace("512 kbytes", "20 microseconds")
    (red,) = read(times).keys["switch"]["queue_managers"]
    assert (red["red"]["min"], red["red"]["max"]) == ("125000 B", "250000 B")  # at 100 Gb/s
    segments = EOS.replace("256 kbytes", "1000 segments").replace("512 kbytes", "2000 segments")
    assert "queue_managers" not in read(segments).keys["switch"]
    (red,) = read(segments, cell="208 B").keys["switch"]["queue_managers"]
    assert (red["red"]["min"], red["red"]["max"]) == ("208000 B", "416000 B")


def test_trust_decides_what_classifies() -> None:
    switched = without("no switchport", "qos trust")
    piece = read(switched + "interface Ethernet4/1\n   qos trust cos\n   service-profile ROCE-LEAF\n")
    # CoS 0 is traffic class 1 and CoS 1 class 0 without a map.
    assert piece.keys["switch"]["queues"] == [1, 0, 2, 3, 4, 5, 5, 7]
    assert "maps" not in piece.keys["switch"]
    untrusted = EOS.replace("   no switchport\n", "   no qos trust\n   qos cos 5\n")
    assert read(untrusted).keys["switch"]["queues"] == [5] * 8


def test_pfc_needs_its_switch() -> None:
    piece = read(without("priority-flow-control on"))
    assert piece.keys["flow_control"] == "off"
    assert any("priority 3 no-drop: PFC is not enabled on the port" in line for line in piece.remarks)
    assert read(EOS + "priority-flow-control all off\n").keys["flow_control"] == "off"


def test_shares_of_strict_queues_are_reported() -> None:
    piece = read(without("no priority"))
    assert piece.keys["switch"]["scheduler"] == "strict_priority"
    assert any("bandwidth percent" in line and "without no priority" in line for line in piece.remarks)


def test_ecn_and_drops_of_a_queue_are_one_line() -> None:
    extra = "      random-detect drop minimum-threshold 100 kbytes maximum-threshold 200 kbytes\n"
    text = EOS.replace("      bandwidth percent 5\n", extra + "      bandwidth percent 5\n")
    drops, _ = read(text).keys["switch"]["queue_managers"]
    assert (drops["classes"], drops["red"]["action"]) == ([1], "drop")


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("dscp 26 to", "dscp 64 to", "6: dscp is 64; expected a whole number from 0 to 63"),
        ("traffic-class 3\n", "traffic-class 9\n", "traffic-class is 9; expected a whole number from 0 to 7"),
        ("qos trust dscp", "qos trust me", "qos trust is me; expected dscp or cos"),
        (
            "service-profile ROCE-LEAF",
            "service-profile ROCE",
            "no qos profile is named ROCE; there are: ROCE-L",
        ),
        ("threshold 1/8", "threshold 1/3", "threshold is 1/3; expected one of 1/256"),
        ("timeout 0.2", "timeout 90", "timeout is 90; expected 0.01 to 60 s"),
        ("speed 400g-8", "speed fast", "speed fast: expected a speed, such as 100gfull or 400g-8"),
        ("256 kbytes", "600 kbytes", "minimum-threshold 600000 B is above maximum-threshold 512000 B"),
        ("256 kbytes", "256 quarks", "minimum-threshold is 256 quarks; expected a number with bytes"),
        ("3 no-drop", "3 never", "expected drop or no-drop"),
        ("profile ROCE apply", "profile RICE apply", "no profile is named RICE; there are: ROCE"),
        ("uc-tx-queue 5", "uc-tx-queue 8", "uc-tx-queue is 8; expected a whole number from 0 to 7"),
    ],
)
def test_errors_name_the_line(before: str, after: str, message: str) -> None:
    with pytest.raises(InputError, match=r"leaf\.cfg:\d+: ") as reported:
        read(EOS.replace(before, after))
    assert re.search(re.escape(message), str(reported.value)), str(reported.value)


def test_sizes_of_the_command_line_are_checked() -> None:
    with pytest.raises(InputError, match='--buffer is wide; expected a size, such as "208 B"'):
        read(EOS, buffer="wide")


def test_the_watchdog_of_a_port_counts_before_that_of_the_switch() -> None:
    own = (
        "   priority-flow-control pause watchdog\n"
        "   priority-flow-control pause watchdog port action no-drop\n"
        "   priority-flow-control pause watchdog port timer timeout 0.05 polling-interval auto "
        "recovery-time 1.1 forced\n"
    )
    text = EOS.replace("   priority-flow-control on\n", "   priority-flow-control on\n" + own)
    times = read(text).keys["watchdog"]
    assert times == {"detection_time": "50 ms", "restoration_time": "1100 ms", "action": "forward"}
    off = EOS.replace(
        "   priority-flow-control on\n",
        "   priority-flow-control on\n   no priority-flow-control pause watchdog\n",
    )
    assert "watchdog" not in read(off).keys


@pytest.mark.parametrize(
    ("speed", "rate"),
    [("forced 1000full", "1 Gb/s"), ("100g-2", "100 Gb/s"), ("auto 2.5gfull", "2500 Mb/s"), ("auto", None)],
)
def test_speeds(speed: str, rate: str | None) -> None:
    piece = read(EOS.replace("forced 100gfull", speed).replace("400g-8", speed))
    assert [one.rate for one in piece.links] == [rate]
