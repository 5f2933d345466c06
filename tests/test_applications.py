"""Applications over TCP and RDMA: closed forms on an empty star, and the same results over either."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import penstock as ps
from penstock import _core
from penstock.interchange.captures import write_capture

RATE, DELAY = 10e9, 500e-9
HEADERS, MTU, OVERHEAD = 66, 1024, 20
ACKNOWLEDGEMENT = 70

SCENARIO = """\
[simulation]
duration = "5 ms"
[topology.star]
hosts = 2
rate = "10 Gb/s"
delay = "500 ns"
phy = "none"
[[flows]]
name = "f"
from = "h0"
to = "h1"
limit = "{limit}"
frame = "{frame} B"
source = {{ {source} }}
"""

OVER_TCP = (
    'tcp = { headers = "66 B", ack = "70 B", ack_every = 1, initial_window = "64 frames",'
    ' receive_window = "unlimited" }'
)
OVER_RDMA = 'rdma = { control = "none", mtu = "1024 B" }'


def run(source: str, limit: str) -> ps.Result:
    """A flow alone between two hosts of a star."""
    frame = HEADERS + MTU if "tcp" in source else HEADERS + MTU + 20
    return ps.run(ps.Scenario.from_toml(SCENARIO.format(source=source, limit=limit, frame=frame)))


def exchange(result: ps.Result) -> tuple[int, float, float]:
    """Number of exchanges, and the shortest and the longest one in seconds."""
    (row,) = result.rows("connections")
    return int(row["exchanges"]), float(row["exchange_min_ns"]) / 1e9, float(row["exchange_max_ns"]) / 1e9


def wire(data: int, extended: int = 0) -> float:
    """Seconds that a packet of so much data takes on one link."""
    return (max(HEADERS + data + extended, 64) + OVERHEAD) * 8 / RATE


def packets(data: int, first: int = 0, last: int = 0) -> list[float]:
    """Seconds that each packet of a message takes on one link, with extended headers at both ends."""
    parts = [min(MTU, data - at) for at in range(0, data, MTU)]
    extra = [0] * len(parts)
    extra[0] += first
    extra[-1] += last
    return [wire(part, more) for part, more in zip(parts, extra, strict=True)]


def crosses(*times: float) -> float:
    """Seconds until all of these packets, one behind the other, have crossed both links of the star."""
    leaves = arrives = 0.0
    for time in times:
        leaves += time
        # The switch stores each packet: it follows on the second link when it and all before it have passed.
        arrives = max(arrives, leaves + DELAY) + time
    return arrives + DELAY


def message(data: int, first: int = 0, last: int = 0) -> float:
    """Seconds until all of a message has crossed both links of the star."""
    return crosses(*packets(data, first, last))


@pytest.mark.parametrize(("requested", "answer"), [(100, 100), (1024, 8192), (5000, 1), (20_000, 70_001)])
@pytest.mark.parametrize("over", [OVER_TCP, OVER_RDMA], ids=["tcp", "rdma"])
def test_a_request_on_an_empty_star_takes_what_its_packets_take(
    over: str, requested: int, answer: int
) -> None:
    """Request, service, response; acknowledgements leave during the service."""
    lengths = f'request = "{requested} B", response = "{answer} B"'
    source = f'request_response = {{ {lengths}, service = "2 us", {over} }}'
    count, shortest, longest = exchange(run(source, f"{3 * requested} B"))
    # The acknowledgement of the last response is on the wire when the next request is due.
    first = message(requested) + 2e-6 + message(answer)
    assert count == 3
    assert shortest == pytest.approx(first, abs=1e-12)
    assert longest <= first + wire(ACKNOWLEDGEMENT - HEADERS) + 1e-12


@pytest.mark.parametrize("messages", ['["1 KiB", "64 B", "9000 B", "3 B"]', '"database_query"', '"ipc"'])
def test_a_conversation_takes_the_same_over_tcp_and_rdma(messages: str) -> None:
    """One exchange: where headers, segments and acknowledgements are alike, so is the time."""
    found = [
        exchange(run(f'conversation = {{ messages = {messages}, service = "2 us", {over} }}', "10 KiB"))[1]
        for over in (OVER_TCP, OVER_RDMA)
    ]
    assert found[0] == pytest.approx(found[1], abs=1e-12)


def test_a_write_has_16_bytes_more_in_its_first_packet_and_4_in_its_last() -> None:
    """WRITE with immediate data: RETH and ImmDt."""
    over = 'rdma = { control = "none", mtu = "1024 B", verb = "write" }'
    source = f'request_response = {{ request = "3000 B", response = "10 B", service = "2 us", {over} }}'
    expected = message(3000, 16, 4) + 2e-6 + message(10, 16, 4)
    assert exchange(run(source, "3000 B"))[:2] == (1, pytest.approx(expected, abs=1e-12))


def test_iser_reads_a_block_by_a_write_of_the_target() -> None:
    """A command of 76 B, the data in a WRITE, the response of 76 B behind it (RFC 7145)."""
    messages = '{ iscsi_read = { block = "64 KiB" } }'
    source = f'conversation = {{ messages = {messages}, service = "2 us", {OVER_RDMA} }}'
    count, shortest, _ = exchange(run(source, "76 B"))
    expected = message(76) + 2e-6 + crosses(*packets(64 * MTU, 16), wire(76))
    assert (count, shortest) == (1, pytest.approx(expected, abs=1e-12))


def test_steps_of_mpi_take_the_same_over_tcp_and_rdma() -> None:
    """Eager messages in a ring of four: each rank sends to both neighbours, and waits for both."""
    ring = SCENARIO.replace("hosts = 2", "hosts = 4").replace(
        'from = "h0"\nto = "h1"', 'from = "all"\nto = {{ permutation = {{ shift = 1 }} }}'
    )
    ring = ring.replace('limit = "{limit}"\n', "")
    took = []
    for over in (OVER_TCP, OVER_RDMA):
        frame = HEADERS + MTU if "tcp" in over else HEADERS + MTU + 20
        source = f'mpi_exchange = {{ message = "900 B", steps = 1, {over} }}'
        result = ps.run(ps.Scenario.from_toml(ring.format(source=source, frame=frame)))
        rows = result.rows("connections")
        assert [row["exchanges"] for row in rows] == [1] * 4
        took.append(sorted(float(row["exchange_max_ns"]) for row in rows))
    assert took[0] == pytest.approx(took[1], abs=1e-3)


def test_either_end_has_its_queue_pair_in_the_table_and_its_packets_in_the_capture() -> None:
    """Requests in one direction, responses in the other."""
    source = f'request_response = {{ request = "3000 B", response = "10 B", {OVER_RDMA} }}'
    text = SCENARIO.replace("[topology.star]", '[[probes]]\nwhat = "frames"\n[topology.star]')
    result = ps.run(ps.Scenario.from_toml(text.format(source=source, limit="6000 B", frame=1110)))
    pairs = [
        (row["source"], row["destination"], row["messages"], row["packets_sent"])
        for row in result.rows("queue_pairs")
    ]
    assert pairs == [("h0", "h1", 2, 6), ("h1", "h0", 2, 2)]
    rows = [
        row
        for row in result.rows("frames")
        if row["kind"] == "data" and row["port"].startswith("h") and row["event"] == "sent"
    ]
    assert [(row["source"], row["protocol"], row["verb"]) for row in rows] == [
        ("h0", "rdma", "send"),
        ("h0", "rdma", "send"),
        ("h0", "rdma", "send"),
        ("h1", "rdma", "send"),
    ] * 2


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("fcoe = { rdma = {} }", "fcoe over rdma: FCoE is Fibre Channel"),
        (
            'poisson = { rate = "1 Gb/s", tcp = {} }',
            "frames of a source over tcp: frames are sent at scheduled times",
        ),
        ("window = { rdma = {} }", "unknown key `rdma`: a window sends frames without a transport"),
        ('conversation = { messages = "iwarp_read", rdma = {} }', "iwarp over rdma: iWARP is RDMA over"),
        ('conversation = { messages = "ipc", rdma = { verb = "read" } }', 'verb = "read" in a conversation'),
        ('conversation = { messages = "ipc", tcp = {}, rdma = {} }', "tcp and rdma in a conversation"),
    ],
)
def test_what_does_not_run_says_why(source: str, says: str) -> None:
    with pytest.raises(ps.ScenarioError) as why:
        ps.Scenario.from_toml(SCENARIO.format(source=source, limit="1 MB", frame=1522)).check()
    assert says in str(why.value)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (
            'request_response = { request = "3000 B", response = "1 B",'
            ' rdma = { control = "none", verb = "write" } }',
            {
                "WRITE first for 3000 B",
                "WRITE middle",
                "WRITE with immediate last",
                "WRITE with immediate only for 1 B",
                "ACK",
            },
        ),
        (
            'conversation = { messages = { iscsi_write = { block = "6 KiB", first_burst = "512 B",'
            ' max_burst = "3 KiB" } }, rdma = { control = "none" } }',
            {
                "SEND only",
                "READ request for 0 B",
                "READ response first",
                "READ response middle",
                "READ response last",
                "ACK",
            },
        ),
    ],
    ids=["write", "iser"],
)
def test_captures_tell_operations_of_both_ends(source: str, words: set[str], tmp_path: Path) -> None:
    """All of them are RoCEv2, whichever end sends: its port is that of the receiver."""
    text = SCENARIO.replace("[topology.star]", '[[probes]]\nwhat = "frames"\n[topology.star]')
    result = ps.run(ps.Scenario.from_toml(text.format(source=source, limit="7 kB", frame=1114)))
    write_capture(result, tmp_path / "out.pcapng")
    seen = {json.loads(line)["what"] for line in _core.Capture(str(tmp_path / "out.pcapng"))}
    assert {what.partition(" to queue pair")[0] for what in seen} == {f"RoCEv2 {word}" for word in words}
