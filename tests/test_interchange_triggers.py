"""Connections of htsim that begin when others end."""

from __future__ import annotations

from pathlib import Path

import pytest

import penstock as ps
from penstock import cli
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


def test_those_that_wait_name_what_they_wait_for() -> None:
    piece = htsim.read(Document("x.cm", CHAIN))
    assert {one.line: one.after for one in piece.transfers} == {4: (), 5: (), 6: (4, 5), 7: (6,)}
    assert [one.note for one in piece.transfers] == ["id 1", "id 2", "id 3", "id 4"]
    # Node 1 observes the arrival of the data of node 0, and node 2 that of node 1.
    assert piece.remarks[0] == (
        "x.cm: connections that wait for events that their host does not observe begin when the last byte "
        "arrives: lines 6 (for line 4), 7 (for line 6)"
    )


def test_an_arrival_elsewhere_is_its_acknowledgement() -> None:
    text = "Nodes 4\n0->1 start 0 size 9 recv_done_trigger 1\n0->2 trigger 1 size 9\ntrigger id 1 oneshot\n"
    piece = htsim.read(Document("x.cm", text))
    assert piece.remarks[0] == (
        "x.cm: connections that wait for events that their host does not observe begin when the last byte is "
        "acknowledged: lines 3 (for line 2)"
    )


def test_who_waits_for_acknowledgements_has_a_transport(tmp_path: Path) -> None:
    text = CHAIN.replace("1->2 id 3", "0->2 id 3").replace("2->1 id 2", "2->0 id 2")
    like = tmp_path / "like.toml"
    like.write_text(
        "simulation.duration = '1 ms'\ntopology.star = { hosts = 4, rate = '10 Gb/s' }\n", "utf-8"
    )
    matrix, out = tmp_path / "x.cm", tmp_path / "x.toml"
    matrix.write_text(text, "utf-8")
    assert cli.main(["import", str(matrix), "--like", str(like), "--out", str(out)]) == 0
    result = ps.run(out)
    starts = {row["source"] + row["destination"]: row for row in result.rows("transfers")}
    done = max(
        starts["h0h1"]["start_ns"] + starts["h0h1"]["acknowledged_ns"],
        starts["h2h0"]["start_ns"] + starts["h2h0"]["completion_ns"],
    )
    assert starts["h0h2"]["start_ns"] == pytest.approx(done)
    assert len(starts) == 4


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            ("2->3 id 4", "3->0 id 4"),
            ":7: begins when trigger 2 (line 9) fires, by line 6 (1->2) when its "
            "last byte is acknowledged: node 3 does not observe it; expected connections from or to",
        ),
        (
            ("barrier count 2", "oneshot"),
            ":6: begins when trigger 1 (line 8) fires, at the first of 2: expected a barrier with count 2",
        ),
        (
            ("barrier count 2", "barrier count 3"),
            ":6: begins when trigger 1 (line 8) fires, after 3 of "
            "2 connections, which is never: expected a barrier with count 2",
        ),
        (
            ("0->1 id 1 start 0 size 1000", "0->1 id 1 start 0"),
            ":6: begins when trigger 1 (line 8) fires, "
            "by line 4 (0->1) when its last byte is acknowledged: it has no end",
        ),
        (("trigger 2 size 1000", "trigger 2"), ":7: waits for a trigger and has no end; expected a size"),
        (
            ("0->1 id 1 start 0", "0->1 id 1 trigger 2"),
            ":4: begins when trigger 2 (line 9) fires, by line 6 "
            "(1->2) when its last byte is acknowledged: node 0 does not observe it",
        ),
        (("2->1 id 2 start 0", "2->1 id 2 trigger 2"), ":5: waits for itself indirectly: lines "),
    ],
)
def test_what_cannot_be_is_refused_by_line(change: tuple[str, str], message: str) -> None:
    assert change[0] in CHAIN
    with pytest.raises(InputError) as error:
        htsim.read(Document("x.cm", CHAIN.replace(*change)))
    assert f"x.cm{message}" in str(error.value)


def test_triggers_that_nothing_waits_for_are_kept_in_a_comment() -> None:
    piece = htsim.read(
        Document("x.cm", "Nodes 4\n0->1 start 0 size 9 send_done_trigger 1\ntrigger id 1 oneshot\n")
    )
    assert piece.transfers[0].note == "send_done_trigger 1"
