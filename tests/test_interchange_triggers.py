"""Connections of htsim that begin when others end: refused, with all that waits and what it waits for."""

from __future__ import annotations

import re

import pytest

from penstock.errors import InputError
from penstock.interchange import htsim
from penstock.interchange.piece import Document

CHAIN = """\
Nodes 4
Connections 4
Triggers 2
0->1 id 1 start 0 size 1000 send_done_trigger 1
2->1 id 2 start 0 size 1000 recv_done_trigger 1
1->2 id 3 trigger 1 size 1000 send_done_trigger 2
2->3 id 4 trigger 2 size 1000
trigger id 1 barrier count 2
trigger id 2 oneshot
"""


def refused(text: str) -> str:
    with pytest.raises(InputError) as error:
        htsim.read(Document("x.cm", text))
    return str(error.value)


def test_all_that_wait_are_named() -> None:
    assert refused(CHAIN) == (
        "x.cm:6: begins when trigger 1 (line 8) fires, by line 4 when its last byte is acknowledged and 1 "
        "more after 2 of them; so does line 7 (trigger 2): transfers of a scenario begin at times, not when "
        "others end"
    )


def test_what_has_arrived_and_long_lists() -> None:
    chain = "0->1 start 0 size 1 recv_done_trigger 1\n" + "1->2 trigger 1 size 1\n" * 20
    told = refused(f"Nodes 4\n{chain}trigger id 1 multishot\n")
    assert "by line 2 when its last byte has arrived; so do lines 4 (trigger 1), 5 (trigger 1)" in told
    assert re.search(r"15 \(trigger 1\) and 7 more: transfers", told)


def test_triggers_that_nothing_waits_for_are_kept_in_a_comment() -> None:
    piece = htsim.read(
        Document("x.cm", "Nodes 4\n0->1 start 0 size 9 send_done_trigger 1\ntrigger id 1 oneshot\n")
    )
    assert piece.transfers[0].note == "send_done_trigger 1"
