"""Running configurations of Cisco NX-OS."""

from __future__ import annotations

import re
from typing import Any

import pytest

from penstock.errors import InputError
from penstock.interchange.formats import format_of
from penstock.interchange.piece import Document, Piece
from switch_configs import NXOS, NXOS_NAMED


def read(text: str, **others: str) -> Piece:
    document = Document("leaf.cfg", text, **others)
    found = format_of(document)
    assert found.name == "nxos"
    return found.read(document)


def test_policies_are_the_settings_of_a_switch() -> None:
    piece = read(NXOS, length="30 m")
    switch = piece.keys["switch"]
    assert switch["queues"] == [0, 0, 0, 3, 0, 0, 0, 7]
    assert switch["maps"] == {"dscp_to_tc": {"24": 3, "26": 3, "48": 7, "other": 0}}
    shares = {one["queues"][0]: one.get("percent") for one in switch["scheduler"]["ets"]["classes"]}
    assert shares == {0: 40, 1: None, 2: None, 3: 60, 4: None, 5: None, 6: None, 7: None}
    (red,) = switch["queue_managers"]
    assert red["classes"] == [3]
    assert (red["red"]["min"], red["red"]["max"]) == ("150000 B", "3000000 B")
    assert (red["red"]["max_probability"], red["red"]["action"]) == (0.07, "mark_only")
    assert switch["mtu"] == "9238 B"
    assert piece.keys["flow_control"] == {"pfc": {"priorities": [3], "accounting": "ingress"}}
    times = piece.keys["watchdog"]
    assert times == {"detection_time": "400 ms", "restoration_time": "1000 ms", "action": "drop"}


def test_ports_keep_their_names_and_rates() -> None:
    piece = read(NXOS, length="30 m")
    fabric = piece.alone["topology"]["explicit"]
    assert (fabric["hosts"], fabric["switches"]) == (
        ["Ethernet1/1", "Ethernet1/2", "Ethernet1/3"],
        ["leaf-101"],
    )
    assert [(one.rate, one.length, len(one.ports)) for one in piece.links] == [
        ("100 Gb/s", "30 m", 2),
        ("400 Gb/s", "30 m", 1),
    ]


def test_named_classes_cos_and_pause_buffers() -> None:
    piece = read(NXOS_NAMED)
    assert piece.keys["switch"]["queues"] == [0, 0, 0, 3, 0, 0, 0, 0]
    assert "maps" not in piece.keys["switch"]
    assert piece.keys["switch"]["queue_managers"] == [{"classes": [3], "step": {"threshold": "300000 B"}}]
    pfc = piece.keys["flow_control"]["pfc"]
    # The headroom is what the buffer holds above the threshold: 101,920 - 46,800 B.
    assert (pfc["xoff"], pfc["xon"], pfc["headroom"]) == ("46800 B", "34320 B", "55120 B")
    assert any("jumbo-queuing" in line and "no imported service-policy" in line for line in piece.remarks)
    assert any(
        ":23: assumed: pause no-drop without pfc-cos: PFC of priority 3" in one for one in piece.remarks
    )


def test_a_pfc_priority_may_differ_from_the_queue() -> None:
    """Frames of the queue have the traffic class that the pauses name."""
    piece = read(NXOS.replace("pause pfc-cos 3", "pause pfc-cos 4"))
    assert piece.keys["flow_control"]["pfc"]["priorities"] == [4]
    assert piece.keys["switch"]["queues"] == [0, 0, 0, 0, 3, 0, 0, 7]
    assert piece.keys["switch"]["maps"]["dscp_to_tc"]["26"] == 4


def test_mode_decides_which_ports_are_lossless() -> None:
    off = NXOS.replace("priority-flow-control mode on", "priority-flow-control mode off")
    assert read(off).keys["flow_control"] == "off"
    auto = NXOS.replace("  priority-flow-control mode on\n", "")
    piece = read(auto)
    assert piece.keys["flow_control"]["pfc"]["priorities"] == [3]
    assert any("assumed: mode auto" in line for line in piece.remarks)
    one_off = NXOS.replace("priority-flow-control mode on", "priority-flow-control mode off", 1)
    reported = read(one_off).remarks
    assert any("Ethernet1/1 differ from Ethernet1/2 (pfc_enable)" in line for line in reported)


def test_every_line_that_is_not_read_is_reported() -> None:
    text = NXOS.replace("hostname", "feature bgp\nhostname").replace(
        "    bandwidth remaining percent 60\n",
        "    bandwidth remaining percent 60\n    queue-limit dynamic 8\n",
    )
    reported = read(text).remarks
    assert any(":2: not read: feature bgp: not a setting of queues" in line for line in reported)
    assert any(":20: not read: queue-limit dynamic 8: limits of queues depend" in line for line in reported)


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("set qos-group 3", "set qos-group 9", "9: qos-group is 9; expected a whole number from 0 to 7"),
        ("match dscp 24,26", "match dscp 24,99", "4: dscp is 99; expected a whole number from 0 to 63"),
        ("150 kbytes", "150 quarks", "minimum-threshold is 150 quarks; expected a number with bytes"),
        ("150 kbytes", "4000 kbytes", "minimum-threshold 4000000 B is above maximum-threshold 3000000 B"),
        ("mode on", "mode maybe", "mode is maybe; expected on, off or auto"),
        (
            "qos input ROCE-INGRESS",
            "qos input ROCE",
            "no policy-map of type qos is named ROCE; there are: ROCE-",
        ),
        ("c-out-8q-q7", "c-out-8q-q9", "15: the queue is 9; expected a whole number from 0 to 7"),
        ("class ROCE-DATA", "class ROCE", "no class-map of type qos is named ROCE"),
        ("pause pfc-cos 3", "pause pfc-cos 8", "pfc-cos is 8; expected a whole number from 0 to 7"),
        ("speed 100000", "speed fast", "speed is fast; expected a whole number"),
        (
            "watch-dog interval 200",
            "watch-dog interval 20",
            "interval is 20; expected a whole number from 100",
        ),
    ],
)
def test_errors_name_the_line(before: str, after: str, message: str) -> None:
    with pytest.raises(InputError, match=r"leaf\.cfg:\d+: ") as reported:
        read(NXOS.replace(before, after))
    assert re.search(re.escape(message), str(reported.value)), str(reported.value)


def test_a_share_of_nothing_and_levels_of_priority() -> None:
    text = NXOS.replace(
        "    bandwidth remaining percent 40\n",
        "    bandwidth remaining percent 0\n"
        "  class type queuing c-out-8q-q1\n    bandwidth remaining percent 0\n",
    )
    piece = read(text)
    classes: list[dict[str, Any]] = piece.keys["switch"]["scheduler"]["ets"]["classes"]
    assert [one.get("percent") for one in classes][:4] == [2, None, None, 98]
    assert any("queue 0 has a share of 0: taken as 1" in line for line in piece.remarks)
    strict = NXOS.replace("bandwidth remaining percent 60", "priority level 1").replace(
        "priority level 1", "priority level 2", 1
    )
    assert any("queues 3, 7 have strict priority in this order" in line for line in read(strict).remarks)


def test_too_many_ports_are_refused_at_once() -> None:
    with pytest.raises(InputError, match="expected at most 1024 ports"):
        read(NXOS + "interface Ethernet1/1-99999\n  priority-flow-control mode on\n")


def test_policies_of_the_system_and_comments_behind_a_line() -> None:
    text = NXOS.replace("output ROCE-EGRESS", "output default-8q-out-policy ! as shipped")
    piece = read(text)
    assert "scheduler" not in piece.keys["switch"]
    assert any("assumed: default-8q-out-policy has the predefined settings" in line for line in piece.remarks)
