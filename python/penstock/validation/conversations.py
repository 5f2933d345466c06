"""Request-response applications over TCP: iSCSI, a database, interprocess communication."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from .bench import Bench, chain, fill, only, star, summaries
from .loops import path_time
from .registry import Row, case, exact, extremes
from .theory import GBPS, wire

HEADERS, DATA, ACK = 62, 1460, 64
"""Overhead of a frame in bytes, data of a full frame, and length of an acknowledgement."""

_START, _SERVICE, _THINK, _CABLE = 1_000_000, 20_000_000, 3_000_000, 100_000

_TALK = (
    summaries("$duration ps")
    + """\
$topology
[[flows]]
name = "talk"
from = "$opener"
to = "$peer"
start = "1 us"
source = { conversation = { messages = $messages, outstanding = $outstanding, think = "$think ps", \
service = "20 us", tcp = { initial_window = "100000 frames", ack_every = 1 } } }
"""
)
_STAR = star(4, rate="10 Gb/s", length="20 m")
_CHAIN = chain(4, 1, rate="10 Gb/s", length="20 m")
_NEXT = {"topology": _STAR, "opener": "h0", "peer": "h1"}
_APART = {"topology": _CHAIN, "opener": "h0.0", "peer": "h3.0"}
_PATHS = (("star", _NEXT, 2), ("chain of four", _APART, 5))
"""Name, topology with client and server, and number of links between them."""

_PDU, _HEADER, _FIRST, _BURST = 8_192, 48, 65_536, 262_144


def pdus(data: int) -> int:
    """Bytes of iSCSI PDUs that carry `data` bytes."""
    return data + -(-data // _PDU) * _HEADER


def read(block: int) -> list[int]:
    """Messages of a read: the command, then all data, with the status in the last PDU (RFC 7143, 11.7.3)."""
    return [_HEADER, pdus(block)]


def write(block: int) -> list[int]:
    """Messages of a write: command with first burst, an R2T and data per further burst, then the status."""
    messages = [pdus(min(block, _FIRST))]
    for at in range(_FIRST, block, _BURST):
        messages += [_HEADER, pdus(min(_BURST, block - at))]
    return [*messages, _HEADER]


def frames(size: int) -> list[int]:
    """Returns the lengths of the frames that carry a message."""
    full, rest = divmod(size, DATA)
    return [DATA + HEADERS] * full + ([max(rest + HEADERS, ACK)] if rest else [])


def alone(messages: Sequence[int], links: int) -> int:
    """Picoseconds from the first message of an exchange until the last one has arrived."""
    path = [(10 * GBPS, _CABLE)] * links
    # A host acknowledges a received message before it responds.
    waits = [0, *[wire(ACK)] * (len(messages) - 2), max(_SERVICE, wire(ACK))]
    return sum(wait + path_time(frames(size), path) for wait, size in zip(waits, messages, strict=True))


_APPLICATIONS = (
    ("ipc", '"ipc"', [1_024, 64]),
    ("database entry", '"database_entry"', [65_536, 64]),
    ("database query", '"database_query"', [64, 65_536]),
    ("four messages", '["100 B", "5 kB", "1460 B", "1461 B"]', [100, 5_000, 1_460, 1_461]),
    ("iSCSI read of 4 KiB", '{ iscsi_read = { block = "4 KiB" } }', read(4_096)),
    ("iSCSI read of 1 MiB", '"iscsi_read"', read(1 << 20)),
    ("iSCSI write of 4 KiB", '{ iscsi_write = { block = "4 KiB" } }', write(4_096)),
    ("iSCSI write of 65 KiB", '{ iscsi_write = { block = "65 KiB" } }', write(66_560)),
    ("iSCSI write of 1 MiB", '"iscsi_write"', write(1 << 20)),
)


@case(
    "conversations",
    "Request-response applications over TCP",
    compared="Two hosts take turns sending messages over one connection, one exchange at a time: "
    "interprocess communication, database inserts and queries, and iSCSI reads and writes of 4 "
    "KiB to 1 MiB. The duration of an exchange and the number of exchanges in 20 ms are "
    "compared.",
    formula="A message of M bytes is sent in ⌈M / 1460⌉ segments with 62 B of overhead each, back to "
    "back, over each link as in the section on round trips. Two messages are separated by the "
    "acknowledgement of the first (64 B), or, before the last message, by the service time of "
    "20 us. The next exchange starts 3 us later. iSCSI messages are built from their PDUs.",
    sources=("RFC 7143, sections 11 and 13", "RFC 9293, section 3.8", "Counting by hand"),
    scenario=fill(
        _TALK,
        duration=20_000_000_000,
        **_NEXT,
        messages='"iscsi_write"',
        outstanding=1,
        think=_THINK,
    ),
    ends=(
        "The congestion window holds a whole message from the start, so slow start is not covered.",
        "Hosts take no time for protocol processing; targets have no disk.",
    ),
)
def conversations(bench: Bench) -> Iterator[Row]:
    """Compares applications with one exchange at a time."""
    duration = bench.choose(20, 5) * 1_000_000_000
    for name, path, links in _PATHS:
        for application, text, messages in _APPLICATIONS:
            took = alone(messages, links)
            run = bench.once(
                _TALK,
                duration=duration,
                **path,
                messages=text,
                outstanding=1,
                think=_THINK,
            )
            found = only(run.rows("connections"), flow="talk")
            label = f"{name}, {application}: "
            yield from extremes(label, [took], found, "exchange")
            count = (duration - 1 - _START - took) // (took + _THINK) + 1
            yield exact(label + "number", "exchanges", count, found["exchanges"])
            yield exact(label + "bytes", "B", count * sum(messages), found["application_bytes"])


def ends(messages: Sequence[int], outstanding: int, links: int) -> Iterator[int]:
    """Completion times of exchanges whose data keep the link full from the first exchange on."""
    path = [(10 * GBPS, _CABLE)] * links
    full = wire(DATA + HEADERS)
    reads = len(messages) == 2 and messages[1] > messages[0]
    # All read commands come in one segment; then the target sends without a gap.
    request_time = path_time(frames(outstanding * messages[0]), path) + _SERVICE if reads else 0
    begins = _START + request_time
    first = path_time([DATA + HEADERS], path)
    sent = 0
    while True:
        own = messages[1::2] if reads else messages[::2]
        for step, size in enumerate(own):
            for _ in range(outstanding):
                sent += size
                if step == len(own) - 1:
                    last = begins + first + (-(-sent // DATA) - 1) * full
                    after = 0 if reads else _SERVICE + path_time(frames(messages[-1]), path)
                    yield last + after


@case(
    "queue-depth",
    "Storage with many outstanding commands",
    compared="As above, with 16 outstanding commands and no think time: the number of 1 MiB blocks that "
    "are read or written in 50 ms.",
    formula="The link of the host that sends the data is never idle, and all its segments are full. The "
    "bytes sent before the last byte of a block, in command order, therefore determine when "
    "that byte arrives. A read completes at that time. A write completes 20 us later, plus the "
    "latency of its status.",
    sources=("RFC 7143, section 4.2.2.1 (the order of commands)", "Counting by hand"),
    scenario=fill(
        _TALK,
        duration=50_000_000_000,
        **_NEXT,
        messages='"iscsi_read"',
        outstanding=16,
        think=0,
    ),
    ends=("With few outstanding commands, the link is idle while a request for data is in flight.",),
)
def queue_depth(bench: Bench) -> Iterator[Row]:
    """Compares exchanges that keep the link full."""
    duration = bench.choose(50, 20) * 1_000_000_000
    for name, path, links in _PATHS:
        for what, messages in (("read", read(1 << 20)), ("write", write(1 << 20))):
            run = bench.once(
                _TALK,
                duration=duration,
                **path,
                messages=f'"iscsi_{what}"',
                outstanding=16,
                think=0,
            )
            found = only(run.rows("connections"), flow="talk")
            count = 0
            for at in ends(messages, 16, links):
                if at >= duration:
                    break
                count += 1
            yield exact(f"{name}, iSCSI {what}", "exchanges", count, found["exchanges"])


_RING = (
    summaries("200 ms")
    + """\
$topology
[[flows]]
name = "ring"
from = ["$opener", "$peer"]
to = { permutation = { shift = 1 } }
start = "1 us"
source = { mpi_exchange = { message = "$message B", steps = $steps, ${ranks}\
tcp = { initial_window = "100000 frames", ack_every = 1024, ack_delay = "1 s" } } }
"""
)
_ENVELOPE, _EAGER = 64, 65_536


def step(message: int, links: int) -> int:
    """Picoseconds from the start of a step until both messages have arrived (two connections)."""
    path = [(10 * GBPS, _CABLE)] * links
    if message <= _EAGER:
        return path_time(in_turn(frames(_ENVELOPE + message)), path)
    announced = path_time(frames(_ENVELOPE), path)
    return 2 * announced + path_time(in_turn(frames(message)), path)


def in_turn(lengths: Sequence[int]) -> list[int]:
    """Interleaves the frames of two equal messages; the NIC queues two frames of the first one in advance."""
    first, *more = lengths
    return [first, *(length for pair in zip(more, lengths, strict=False) for length in pair), lengths[-1]]


@case(
    "mpi-exchange",
    "MPI ranks in a ring",
    compared="Two hosts, each both neighbours of the other, run steps in which each sends two messages "
    "of 0 B to 1 MiB. There is one rank per host, or two ranks whose copies through memory take "
    "longer than the network. The duration of a step and the number of steps in 20 ms are "
    "compared.",
    formula="The messages of both connections alternate frame by frame, and a step ends with the last "
    "frame. For messages above 64 KiB, an envelope of 64 B is first sent in each direction. "
    "With two ranks, a step takes as long as a copy.",
    sources=("Intel MPI Benchmarks, Exchange", "Counting by hand"),
    scenario=fill(_RING, message=4_096, steps=10, ranks="", **_NEXT),
    ends=(
        "No acknowledgements are sent during the steps, so they delay no data.",
        "More than two hosts are not covered: their messages would share switch ports.",
    ),
)
def mpi_exchange(bench: Bench) -> Iterator[Row]:
    """Compares steps that follow one another."""
    for name, path, links in _PATHS:
        for message in (0, 1, 1_396, 1_397, 4_096, _EAGER, _EAGER + 1, 1 << 20):
            steps = max(1, min(100, 1_000 * DATA // (message + 3 * _ENVELOPE) // 2))
            took = step(message, links)
            yield from _steps(
                bench, f"{name}, {message:,} B", path | {"message": message, "ranks": ""}, steps, took
            )
        two = 'ranks = 2, copy_time = "50 us", copy_rate = "8 Gb/s", '
        for message in (0, 1_000):
            took = 50_000_000 + message * 1_000
            label = f"{name}, {message:,} B, two ranks"
            yield from _steps(bench, label, path | {"message": message, "ranks": two}, 100, took)


def _steps(bench: Bench, label: str, keys: Mapping[str, object], steps: int, took: int) -> Iterator[Row]:
    """Returns the rows for both hosts."""
    run = bench.once(_RING, steps=steps, **keys)
    for row in run.rows("connections"):
        yield exact(f"{label}, {row['flow']}: steps", "steps", steps, row["exchanges"])
        yield from extremes(f"{label}, {row['flow']}: ", [took], row, "exchange")
