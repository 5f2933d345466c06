"""Configurations of Juniper Junos."""

from __future__ import annotations

import re

import pytest

from penstock.errors import InputError
from penstock.interchange.formats import format_of
from penstock.interchange.junos_text import statements_of
from penstock.interchange.piece import Document, Piece
from switch_configs import JUNOS, JUNOS_SET


def read(text: str, **others: str) -> Piece:
    document = Document("leaf.cfg", text, **others)
    found = format_of(document)
    assert found.name == "junos"
    return found.read(document)


def as_commands(text: str) -> str:
    """The configuration as `set` commands."""
    statements = statements_of(Document("leaf.cfg", text))
    return "".join(f"set {one.text}\n" for one in statements.every())


def test_forwarding_classes_are_the_queues_of_a_switch() -> None:
    piece = read(JUNOS)
    switch = piece.keys["switch"]
    # Frames of queue 4 have traffic class 3, that of their pauses (pfc-priority).
    assert switch["queues"] == [0, 3, 0, 4, 0, 0, 0, 0]
    assert switch["maps"]["dscp_to_tc"] == {"26": 3, "34": 3, "48": 1, "other": 0}
    assert piece.keys["flow_control"]["pfc"]["priorities"] == [3]
    shares = {one["queues"][0]: one.get("percent") for one in switch["scheduler"]["ets"]["classes"]}
    assert (shares[0], shares[3], shares[4]) == (50, None, 50)
    times = piece.keys["watchdog"]
    assert times == {"detection_time": "200 ms", "restoration_time": "200 ms", "action": "drop"}
    assert any("assumed: poll-interval 100, detection 2, recovery 200" in line for line in piece.remarks)
    # The MTU of an interface counts the header of Ethernet, and not the FCS.
    assert switch["mtu"] == "9220 B"


def test_blocks_and_commands_are_alike() -> None:
    one, other = read(JUNOS, buffer="160 MiB"), read(as_commands(JUNOS), buffer="160 MiB")
    assert (one.keys, one.links, one.alone) == (other.keys, other.links, other.alone)


def test_parts_of_a_port_keep_their_names_and_cable() -> None:
    piece = read(JUNOS)
    assert [(one.rate, one.length, one.ports) for one in piece.links] == [
        ("400 Gb/s", "40 m", ("et-0/0/0:0", "et-0/0/0:1")),
        ("800 Gb/s", "40 m", ("et-0/0/2",)),
    ]
    assert piece.alone["topology"]["explicit"]["switches"] == ["GPU-R1-L1"]


def test_shares_of_the_memory_need_its_size() -> None:
    piece = read(JUNOS)
    assert "queue_managers" not in piece.keys["switch"]
    assert any(
        "fill levels are per cent of a queue's capacity: set the memory with --buffer" in one
        for one in piece.remarks
    )
    sized = read(JUNOS, buffer="100 MiB")
    pool = sized.keys["switch"]["buffer"]["memory"]["pools"]["lossless"]
    assert (pool["size"], pool["headroom"]) == ("66 MiB", "24 MiB")
    assert sized.assumed is not None
    assert sized.assumed.exponent == 3  # dynamic-threshold 10
    (red,) = sized.keys["switch"]["queue_managers"]
    # Alone with alpha 1 the queue can hold half of 66 MiB; marks begin at 55 % of that.
    depth = 66 * 1024**2 // 2
    assert (red["red"]["min"], red["red"]["max"]) == (f"{depth * 55 // 100} B", f"{depth * 90 // 100} B")
    assert (red["red"]["action"], red["red"]["max_probability"]) == ("mark_only", 1.0)


def test_default_classes_rates_and_the_remainder() -> None:
    piece = read(JUNOS_SET)
    assert piece.keys["switch"]["queues"] == [0, 0, 0, 3, 0, 0, 7, 7]
    assert "maps" not in piece.keys["switch"]
    assert piece.keys["flow_control"]["pfc"]["priorities"] == [3]
    classes = piece.keys["switch"]["scheduler"]["ets"]["classes"]
    # 5g of an interface of 10 Gb/s (xe), and what is left.
    assert [one.get("percent") for one in classes] == [50, None, None, 50, None, None, None, None]
    assert [(one.rate, one.ports) for one in piece.links] == [("10 Gb/s", ("xe-0/0/1", "xe-0/0/2"))]


def test_pauses_may_stop_another_queue() -> None:
    piece = read(JUNOS.replace("flow-control-queue 4", "flow-control-queue 3"))
    assert piece.keys["switch"]["maps"]["pfc_to_queue"] == [0, 3, 0, 3, 0, 0, 0, 0]


def test_a_class_with_pfc_that_is_not_no_loss_is_reported() -> None:
    piece = read(JUNOS.replace("queue-num 4 no-loss", "queue-num 4"))
    assert any("forwarding class NO-LOSS has PFC without no-loss" in line for line in piece.remarks)


def test_a_pattern_alone_needs_a_fabric() -> None:
    text = JUNOS[JUNOS.index("class-of-service {") :]
    piece = read(text)
    assert piece.keys["flow_control"]["pfc"]["priorities"] == [3]
    assert piece.alone == {}


def test_every_line_that_is_not_read_is_reported() -> None:
    text = JUNOS.replace(
        "transmit-rate percent 5;", "transmit-rate percent 5;\n            shaping-rate 10g;"
    )
    reported = read(text).remarks
    assert any("shaping-rate 10g: queues have no maximum rate" in line for line in reported)
    assert any("dynamic-threshold 10" in line or "shared-buffer" in line for line in reported)


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("queue-num 4", "queue-num 14", "queue-num is 14; expected a whole number from 0 to 11"),
        (
            "code-points 110000",
            "code-points 11000",
            "code point 11000: expected 6 binary digits, such as 011010",
        ),
        ("code-point 011 {", "code-point 11 {", "code point 11: expected 3 binary digits, such as 011"),
        (
            "forwarding-class CNP {",
            "forwarding-class XNP {",
            "no forwarding class is named XNP; there are: CNP",
        ),
        ("scheduler s1", "scheduler s3", "no scheduler is named s3; there are: s1, s2-cnp"),
        ("drop-profile dp1", "drop-profile dp2", "no drop profile is named dp2; there are: dp1"),
        ("scheduler-map sm1", "scheduler-map sm2", "no scheduler map is named sm2; there are: sm1"),
        ("dscp mydscp;", "dscp yours;", "no classifier of dscp is named yours; there are: mydscp"),
        (
            "profile cnp;",
            "profile nocnp;",
            "no congestion-notification-profile is named nocnp; there are: cnp",
        ),
        ("speed 800g", "speed 80x", "speed is 80x; expected a speed, such as 400g"),
        ("percent 66;", "percent 166;", "percent is 166; expected a whole number from 0 to 100"),
        (
            "fill-level [ 55 90 ]",
            "fill-level [ 95 90 ]",
            "2 fill levels and 2 probabilities; expected increasing",
        ),
        ("fill-level [ 55 90 ];", "fill-level [ 55 90 ;", "; without a statement before it"),
        ("host-name GPU-R1-L1;", "host-name GPU-R1-L1", "} after host-name GPU-R1-L1; expected ;"),
    ],
)
def test_errors_name_the_line(before: str, after: str, message: str) -> None:
    with pytest.raises(InputError, match=r"leaf\.cfg:\d+: ") as reported:
        read(JUNOS.replace(before, after, 1), buffer="160 MiB")
    assert re.search(re.escape(message), str(reported.value)), str(reported.value)


def test_a_block_without_an_end_is_refused() -> None:
    with pytest.raises(InputError, match=r"leaf\.cfg:\d+: class-of-service is not closed"):
        read(JUNOS.rstrip().removesuffix("}"))
    with pytest.raises(InputError, match="not a block"):
        read("class-of-service {\n" + "a {\n" * 100)


def test_traffic_control_profiles_share_their_guaranteed_rates() -> None:
    """Hierarchical scheduling of older QFX: 60 % for storage, 40 % for the rest, half of it each."""
    sets = (
        "set class-of-service traffic-control-profiles storage scheduler-map one\n"
        "set class-of-service traffic-control-profiles storage guaranteed-rate percent 60\n"
        "set class-of-service traffic-control-profiles other scheduler-map two\n"
        "set class-of-service traffic-control-profiles other guaranteed-rate percent 40\n"
        "set class-of-service scheduler-maps one forwarding-class fcoe scheduler half\n"
        "set class-of-service scheduler-maps two forwarding-class best-effort scheduler half\n"
        "set class-of-service scheduler-maps two forwarding-class network-control scheduler half\n"
        "set class-of-service forwarding-class-sets lossless class fcoe\n"
    )
    text = JUNOS_SET.replace(
        " scheduler-map sm\n", " forwarding-class-set lossless output-traffic-control-profile storage\n"
    )
    for port in ("xe-0/0/1", "xe-0/0/2"):
        start = f"set class-of-service interfaces {port}"
        text += f"{start} forwarding-class-set lossy output-traffic-control-profile other\n"
    piece = read(text + sets)
    classes = piece.keys["switch"]["scheduler"]["ets"]["classes"]
    assert {one["queues"][0]: one.get("percent") for one in classes if "percent" in one} == {
        0: 20,
        3: 60,
        7: 20,
    }
    with pytest.raises(InputError, match="no traffic control profile is named other; there are: storage"):
        read(text + "".join(line for line in sets.splitlines(keepends=True) if "profiles other" not in line))


def test_comments_and_quotes() -> None:
    """A hash within quotes is no comment, and a comment may go over lines."""
    secret = (
        "system {\n    root-authentication {\n"
        '        encrypted-password "$6$a#b/*c"; ## SECRET-DATA\n    }\n    host-name'
    )
    text = JUNOS.replace("system {\n    host-name", secret).replace("/* leaf of", "/* first\nline of")
    assert read(text).keys == read(JUNOS).keys
    for line in ('a "x # y" z; # end', 'a "x # y" z;'):
        [one] = statements_of(Document("file", f"b {{\n{line}\n}}\n")).every()
        assert one.words == ("b", "a", "x # y", "z")
    [one] = statements_of(Document("file", "a /* x */ b; /* y\n; */\n")).every()
    assert one.words == ("a", "b")
