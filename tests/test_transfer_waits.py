"""Transfers that begin when others have ended: against what the table of transfers says of those."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from penstock import cli

HOSTS = 5
OVER = {
    "pushed": "",
    "tcp": "over = { tcp = { recovery = 'sack' } }",
    "write": "over = { rdma = { control = { dcqcn = {} } } }",
    "send": "over = { rdma = { verb = 'send', queue_pairs = 'free' } }",
    "read": "over = { rdma = { verb = 'read' } }",
}


def scenario(folder: Path, rows: list[str], *, over: str = "pushed", more: str = "") -> Path:
    """A star of hosts, and the transfers of a list."""
    (folder / "list.csv").write_text("\n".join(["time_us,from,to,bytes,id,after", *rows, ""]), "utf-8")
    file = folder / "waits.toml"
    file.write_text(
        f"""
        [simulation]
        duration = "20 ms"
        [topology.star]
        hosts = {HOSTS}
        rate = "10 Gb/s"
        delay = "300 ns"
        phy = "none"
        {more}
        [[transfers]]
        name = "t"
        arrivals = {{ file = "list.csv" }}
        {OVER[over]}
        """,
        "utf-8",
    )
    return file


def test_a_ring_by_hand(tmp_path: Path) -> None:
    """Each passes on what has come: a frame of 1,018 B, over two links of 10 Gb/s and 300 ns."""
    rows = ["3,h0,h1,1000,a,", ",h1,h2,1000,b,a", ",h2,h3,1000,c,b"]
    result = ps.run(scenario(tmp_path, rows))
    took = 2 * ((1_018 + 20) * 0.8 + 300)
    found = list(result.rows("transfers"))
    assert [row["start_ns"] for row in found] == pytest.approx([3_000, 3_000 + took, 3_000 + 2 * took])
    assert [row["completion_ns"] for row in found] == pytest.approx([took] * 3)
    assert not result.table("waiting_transfers").num_rows


@st.composite
def programs(draw: st.DrawFn) -> tuple[str, list[tuple[int, int, int, int | None, set[int]]]]:
    """What carries transfers, and of each its ends, its bytes, its start or those that it waits for."""
    over = draw(st.sampled_from(sorted(OVER)))
    found: list[tuple[int, int, int, int | None, set[int]]] = []
    for _ in range(draw(st.integers(2, 14))):
        sender = draw(st.integers(0, HOSTS - 1))
        receiver = draw(st.integers(0, HOSTS - 2).map(lambda nth, own=sender: nth + (nth >= own)))
        begins = receiver if over == "read" else sender
        known = [
            nth
            for nth, (other, to, *_) in enumerate(found)
            if begins == to or (begins == other and over in ("tcp", "write", "send"))
        ]
        after = set(draw(st.lists(st.sampled_from(known), max_size=3))) if known else set()
        start = None if after else max((one[3] or 0 for one in found), default=0) + draw(st.integers(0, 9))
        found.append((sender, receiver, draw(st.integers(1, 400)), start, after))
    return over, found


@settings(max_examples=20, deadline=None)
@given(programs(), st.sampled_from(["", "[switch.buffer]\nport = '20 KiB'"]), st.randoms())
def test_each_begins_with_the_last_end_that_it_waits_for(
    tmp_path_factory: pytest.TempPathFactory,
    program: tuple[str, list[tuple[int, int, int, int | None, set[int]]]],
    more: str,
    random: Any,
) -> None:
    """Whatever carries them, in any order in the file, on any number of threads."""
    over, transfers = program
    timed = [nth for nth, one in enumerate(transfers) if one[3] is not None]
    order = [nth for nth, one in enumerate(transfers) if one[3] is None]
    for nth in timed:
        order.insert(max([order.index(other) + 1 for other in timed if other in order], default=0), nth)
    waits = [nth for nth in order if nth not in timed]
    random.shuffle(waits)
    # Those that wait stand anywhere between the others, which are in order of time.
    listed = [*timed]
    for nth in waits:
        listed.insert(random.randint(0, len(listed)), nth)
    rows = [
        f"{'' if after else start},h{sender},h{receiver},{100 * size + nth},{nth},"
        f"{' '.join(map(str, sorted(after)))}"
        for nth in listed
        for sender, receiver, size, start, after in [transfers[nth]]
    ]
    file = scenario(tmp_path_factory.mktemp("waits"), rows, over=over, more=more)
    result = ps.run(file)
    # Each is known by its bytes.
    found = {row["bytes"] % 100: row for row in result.rows("transfers")}
    never = {row["bytes"] % 100 for row in result.rows("waiting_transfers")}
    assert sorted([*found, *never]) == list(range(len(transfers)))
    for nth, (sender, receiver, _, start, after) in enumerate(transfers):
        begins = receiver if over == "read" else sender
        took = {
            other: found[other]["completion_ns" if transfers[other][1] == begins else "acknowledged_ns"]
            for other in after & found.keys()
        }
        ends = [found[other]["start_ns"] + took[other] for other in took if took[other] is not None]
        # What is lost may not arrive before the run ends.
        assert (nth in never) == (len(ends) < len(after))
        if nth in found:
            expected = max(ends) if start is None else start * 1_000
            assert found[nth]["start_ns"] == pytest.approx(expected, abs=1e-3)
    assert {ps.run(file, threads=threads).run["fingerprint"] for threads in (1, 2, 3)} == {
        result.run["fingerprint"]
    }


def test_what_never_begins_is_reported(tmp_path: Path) -> None:
    rows = ["0,h0,h1,1000000000,a,", ",h1,h2,1,b,a", ",h2,h3,1,c,b", "1,h2,h0,1,d,", ",h0,h3,1,e,d"]
    result = ps.run(scenario(tmp_path, rows))
    assert list(result.rows("waiting_transfers")) == [
        {"name": "t", "source": "h1", "destination": "h2", "bytes": 1, "after": 1, "missing": 1},
        {"name": "t", "source": "h2", "destination": "h3", "bytes": 1, "after": 1, "missing": 1},
    ]


@pytest.mark.parametrize(
    ("over", "rows", "message"),
    [
        ("pushed", [",h0,h1,5,a,b"], 'no transfer has the id "b"\n --> list.csv:2:12'),
        (
            "pushed",
            ["0,h0,h1,5,a,", ",h2,h1,5,b,a"],
            '"h2" waits for a transfer from "h0" to "h1", whose end',
        ),
        ("pushed", ["0,h0,h1,5,a,", ",h0,h1,5,b,a"], "which is not acknowledged"),
        ("read", ["0,h0,h1,5,a,", ",h2,h0,5,b,a"], "whose end only the reading host can observe"),
        ("tcp", ["0,h0,h1,5,a,", "0,h0,h1,5,a,"], 'the id "a" is there twice'),
        ("tcp", ["0,h0,h1,5,a b,"], 'a blank in the id "a b"'),
        ("tcp", ["0,h0,h1,5,a,", "1,h0,h1,5,b,a"], 'a time beside after = "a"'),
        ("tcp", ["0,h0,h1,5,a,", ",h0,h1,5,b,"], '"" is not a time'),
        ("tcp", [",h0,h1,5,a,c", ",h0,h1,5,b,a", ",h0,h1,5,c,a"], "waits, over others, for itself"),
        ("tcp", [",h0,h1,5,a,a"], '"a" waits, over others, for itself'),
    ],
)
def test_what_cannot_be_is_refused_by_line(tmp_path: Path, over: str, rows: list[str], message: str) -> None:
    with pytest.raises(ps.ScenarioError) as error:
        ps.run(scenario(tmp_path, rows, over=over))
    assert message in str(error.value)


def test_those_behind_one_that_begins_too_late_are_not_sent(tmp_path: Path) -> None:
    rows = ["0,h0,h1,5,a,", "30000,h1,h2,5,b,", ",h2,h3,5,c,b", ",h3,h4,5,d,c", ",h1,h4,5,e,a"]
    result = ps.run(scenario(tmp_path, rows))
    assert [row["source"] for row in result.rows("transfers")] == ["h0", "h1"]
    assert not result.table("waiting_transfers").num_rows


def test_a_list_is_imported_as_it_is(tmp_path: Path) -> None:
    """Names, and what they wait for, with a transport where acknowledgements are waited for."""
    rows = ["3,h0,h1,1000,a,", ",h1,h2,1000,b,a", ",h0,h3,1000,c,a"]
    like = scenario(tmp_path, rows, over="tcp")
    out = tmp_path / "imported.toml"
    words = [
        "import",
        str(tmp_path / "list.csv"),
        "--like",
        str(like),
        "--duration",
        "20 ms",
        "--out",
        str(out),
    ]
    assert cli.main(words) == 0
    entries = [
        [row[key] for key in ("source", "start_ns", "completion_ns")] for row in ps.run(out).rows("transfers")
    ]
    own = [
        [row[key] for key in ("source", "start_ns", "completion_ns")]
        for row in ps.run(like).rows("transfers")
    ]
    # Times of what is imported begin with the first transfer.
    assert [[name, start + 3_000, took] for name, start, took in entries] == own
    for change, output in (("b,a", "b,z"), ("c,a", "b,a"), ("a,\n", "a,c\n"), (",h0,h3", "5,h0,h3")):
        text = (tmp_path / "list.csv").read_text("utf-8")
        assert change in text, output
        (tmp_path / "wrong.csv").write_text(text.replace(change, output, 1), "utf-8")
        assert cli.main(["import", str(tmp_path / "wrong.csv"), "--like", str(like)]) == 2


def test_captures_have_the_ports_of_those_that_waited(tmp_path: Path) -> None:
    """Over TCP with given ports: those of the table, in the frames of each."""
    more = """[[probes]]
        what = "frames"
        which = ["h0.0->sw"]"""
    file = scenario(tmp_path, [], over="tcp", more=more)
    rows = ["0,h0,h1,1100,a,,81", ",h0,h1,1300,b,a,82", ",h0,h1,1200,c,b,83"]
    (tmp_path / "list.csv").write_text(
        "\n".join(["time_us,from,to,bytes,id,after,from_port", *rows, ""]), "utf-8"
    )
    result = ps.run(file)
    sent = [row for row in result.rows("frames") if row["event"] == "sent" and row["bytes"] > 500]
    # Headers are less than 100 B: bytes tell which it is.
    assert [(row["bytes"] // 100, row["source_port"]) for row in sent] == [(11, 81), (13, 82), (12, 83)]


BESIDE = {
    "spray": '[switch]\npath_choice = "spray"',
    "flowlet": '[switch.path_choice.flowlet]\ngap = "5 us"',
    "cut-through": '[switch]\nforwarding = "cut_through"',
    "pfc": "[flow_control.pfc]\npriorities = [0]",
    "credit": "[flow_control.credit]",
    "link-down": '[[faults]]\nlink = ["leaf0", "spine0"]\nat = "15 us"\ndown = true\nreroute = true',
    "link-rate": '[[faults]]\nlink = ["leaf0", "spine0"]\nat = "15 us"\nrate = "40 Gb/s"',
    "slow-receivers": '[host.receive]\ntime_per_frame = "700 ns"',
    "slow-senders": '[host.send]\ntime_per_frame = "700 ns"',
    "full-nics": '[host]\nqueue_limit = "20 kB"\nwhen_full = "block"',
    "qcn": "[[switch.queue_managers]]\nqcn = {}\n[host]\nrate_limiters = { qcn = {} }",
    "frame-log": '[[probes]]\nwhat = "frames"\nwhich = "all"',
}


@pytest.mark.parametrize("over", ["pushed", "tcp", "write"])
@pytest.mark.parametrize("beside", BESIDE)
def test_beside_other_mechanisms_of_64_hosts(tmp_path: Path, over: str, beside: str) -> None:
    """Each begins with the last end that it waits for, and threads change nothing."""
    draws = random.Random(beside)
    ends: list[tuple[int, int, list[int]]] = []
    for nth in range(40):
        sender, receiver = draws.sample(range(64), 2)
        known = [
            other
            for other, (first, last, _) in enumerate(ends)
            if sender == last or (sender == first and over != "pushed")
        ]
        ends.append((sender, receiver, draws.sample(known, min(2, len(known))) if nth > 15 else []))
    rows = [
        f"{'' if after else nth},h{sender},h{receiver},{(50 + nth) * 1_000},{nth},{' '.join(map(str, after))}"
        for nth, (sender, receiver, after) in enumerate(ends)
    ]
    rows.sort(key=lambda row: row.startswith(","))
    file = scenario(tmp_path, rows, over=over, more=BESIDE[beside])
    star = file.read_text("utf-8")
    fabric = 'leaves = 8\nspines = 2\nhosts_per_leaf = 8\nrate = "25 Gb/s"\nuplink_rate = "100 Gb/s"'
    head, tail = star.split("[topology.star]")[0], star.partition('delay = "300 ns"\n')[2]
    file.write_text(f"{head}[topology.leaf_spine]\n{fabric}\n{tail}", "utf-8")
    result = ps.run(file, threads=1)
    found = {row["bytes"] // 1_000 - 50: row for row in result.rows("transfers")}
    waited = 0
    for nth, (sender, _, after) in enumerate(ends):
        if after and nth in found:
            waited += 1
            took = {
                other: found[other]["completion_ns" if ends[other][1] == sender else "acknowledged_ns"]
                for other in after
            }
            last = max(found[other]["start_ns"] + took[other] for other in after)
            assert found[nth]["start_ns"] == pytest.approx(last, abs=1e-3)
    assert waited > 2
    assert len(found) + result.table("waiting_transfers").num_rows == len(ends)
    assert ps.run(file, threads=3).run["fingerprint"] == result.run["fingerprint"]
