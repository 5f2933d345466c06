"""TLVs of DCBX as lldptool prints them."""

from __future__ import annotations

import re

import pytest

from penstock.errors import InputError
from penstock.interchange.formats import format_of
from penstock.interchange.piece import Document, Piece
from switch_configs import LLDPTOOL, LLDPTOOL_CEE


def read(text: str) -> Piece:
    document = Document("tlvs.txt", text)
    found = format_of(document)
    assert found.name == "lldptool"
    return found.read(document)


def test_tlvs_of_ieee() -> None:
    piece = read(LLDPTOOL)
    assert piece.keys["flow_control"] == {"pfc": {"priorities": [3]}}
    assert piece.keys["switch"]["scheduler"] == {
        "ets": {
            "classes": [
                {"queues": [0, 1, 2, 4, 5, 6], "percent": 70},
                {"queues": [3], "percent": 30},
                {"queues": [7], "strict": True},
            ]
        }
    }
    assert piece.keys["switch"]["dcbx"]["applications"] == [
        {"selector": "stream_port", "protocol": 3260, "priority": 4},
        {"selector": "datagram_port", "protocol": 4791, "priority": 3},
    ]
    entries = [line for line in piece.remarks if "not a setting of queues" in line]
    assert re.search(r"tlvs\.txt:1: not read: .*\(lines 1-6, 9-10, 15-17, 30\)", entries[0]), entries


def test_tlvs_of_cee() -> None:
    piece = read(LLDPTOOL_CEE)
    assert piece.keys["flow_control"] == {"pfc": {"priorities": [3, 4]}}
    assert piece.keys["switch"]["scheduler"]["ets"]["classes"] == [
        {"queues": [0, 1, 2, 5], "percent": 60},
        {"queues": [3, 4], "percent": 40},
        {"queues": [6, 7], "strict": True},
    ]
    (application,) = piece.keys["switch"]["dcbx"]["applications"]
    assert application == {"selector": "ether_type", "protocol": 0x8906, "priority": 3}


def test_a_part_and_the_form_of_a_nic() -> None:
    only = "IEEE 8021QAZ PFC TLV\n\t Willing: yes\n\t PFC enabled: none\n"
    assert read(only).keys["flow_control"] == "off"
    nic = (
        "IEEE 8021QAZ ETS Configuration TLV:\n         PRIO_MAP: 0:0 1:0 2:0 3:1 4:0 5:0 6:0 7:2\n"
        "         TC Bandwidth: 50% 50% 0%\n         TSA_MAP: 0:ets 1:ets 2:strict\n"
        "IEEE 8021QAZ PFC TLV:\n         PFC enabled: 3\nIEEE 8021QAZ APP TLV:\n         APP#0:\n"
        "          Priority: 7\n          Sel: 5\n          DSCP: 48\n"
        "         APP#1:\n          Priority: 3\n          Sel: 3\n          UDP or DCCP: 4791\n"
    )
    piece = read(nic)
    assert piece.keys["flow_control"] == {"pfc": {"priorities": [3]}}
    assert {"selector": "dscp", "protocol": 48, "priority": 7} in piece.keys["switch"]["dcbx"]["applications"]


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("PFC enabled: 3", "PFC enabled: 9", "18: PFC enabled is 9; expected a whole number from 0 to 7"),
        ("3:1", "3:9", "PRIO_MAP is 9; expected a whole number from 0 to 7"),
        ("3:1", "2:1", "2 appears twice; expected each number once"),
        ("70%", "80%", "the shares of ets classes sum to 110; expected 100"),
        ("1:ets", "1:round", "tc_tsa is"),
        ("Willing: no", "Willing: maybe", "Willing: maybe: expected yes or no"),
        ("Sel: 3", "Sel: 6", "of selector 6: expected a protocol, selector 1 to 5"),
        ("End of LLDPDU TLV", "IEEE 8021QAZ PFC TLV", "IEEE 8021QAZ PFC TLV is already in line 14"),
    ],
)
def test_errors_name_the_line(before: str, after: str, message: str) -> None:
    with pytest.raises(InputError, match=r"tlvs\.txt:\d+: ") as reported:
        read(LLDPTOOL.replace(before, after, 1))
    assert re.search(re.escape(message), str(reported.value)), str(reported.value)
