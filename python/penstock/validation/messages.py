"""Messages from a switch to the source of a frame."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from penstock.result import Result

from .bench import Bench, fill, flow_text, only, picoseconds, summaries
from .loops import SEGMENT, in_row
from .registry import Row, bounded, case, exact
from .theory import GBPS, wire

_LATENCY = 250_000

_MESSAGES = (
    summaries("$duration ps", pauses=True)
    + """\
$topology

[switch]
latency = "250 ns"

[switches.s2]
queue_managers = [{ sampling = { threshold = "3 frames", every = $every } }]

$more
"""
    + flow_text(
        "bulk",
        "a",
        "b",
        'frame = "1000 B"',
        'source = { window = { $window, ack_every = 1024, ack_delay = "1 s" } }',
    )
)
_ROW = (10.0, 10.0, 10.0, 1.0)
_FAR = 700_000
_FARTHER = 1_358_000
"""Cable delay in ps for which some messages reach a port during a pause frame; with `_FAR` none do."""
_PFC = '[flow_control.pfc]\nresponse_time = "0 ps"\n'
_STOPPED = """\
[flow_control.pfc]
response_time = "0 ps"

[switch.flow_control.pfc]
response_time = "0 ps"
xoff = "1000 frames"
xon = "500 frames"

[hosts.a.receive]
time_per_frame = "1 ns"
buffer = "7 kB"
script = [{ at = "$stop ps", stop = true }, { at = "$start ps", start = true }]
"""


def notified(interval: int, duration: int) -> Iterator[int]:
    """Arrival times at the last switch of evenly spaced frames that find two or more frames waiting."""
    slow, begins, free = wire(SEGMENT, GBPS), list[int](), 0
    first = 3 * (wire(SEGMENT) + _FAR + _LATENCY)
    for at in range(first, duration, interval):
        if sum(begin > at for begin in begins[-100:]) >= 2:
            yield at
        begins.append(max(free, at))
        free = begins[-1] + slow


@case(
    "messages",
    "Messages from a switch to the source",
    compared="Three switches in a row lead to a slow last link. The last switch sends the source a 64 B "
    "message for every n-th frame that makes its queue three frames or longer. Without flow "
    "control, nothing delays messages. Under PFC, data is paused hop by hop, and messages share "
    "links with pause frames only. Finally, the NIC of the source stops reading and pauses the "
    "first switch, so that messages wait.",
    formula="Without flow control: 3·((64 + 20)·8/C + delay) plus the latency of two switches. Under "
    "PFC the shortest delay is the same, and the longest exceeds it by at most one pause frame "
    "per link. If the pause of the first switch lasts from P to E (measured), a message that "
    "arrives during the pause is sent at max(E, end of the previous one). A message that has "
    "reached the NIC is read when the NIC resumes reading.",
    sources=("Counting by hand",),
    scenario=fill(
        _MESSAGES,
        duration=1_000_000_000,
        topology=in_row(_ROW, _FAR),
        every=1,
        more=_PFC,
        window='size = "unlimited"',
    ),
    ends=("A message has the priority of the frame that triggered it. Messages never trigger messages.",),
)
def messages(bench: Bench) -> Iterator[Row]:
    """Compares messages alone, while data is paused, and while messages are paused."""
    alone = 3 * (wire(64) + _FAR) + 2 * _LATENCY
    paced, interval = 'rate = "1.25 Gb/s"', 6_400_000
    duration = bench.choose(6, 2) * 1_000_000_000
    for every in (1, 3):
        found = bench.once(
            _MESSAGES, duration=duration, topology=in_row(_ROW, _FAR), every=every, more="", window=paced
        )
        created = list(islice(notified(interval, duration), 0, None, every))
        yield from _arrivals(found, f"without flow control, one in {every}: ", created, duration, alone)
    waits = list[int]()
    for delay in (_FAR, _FARTHER):
        found = bench.once(
            _MESSAGES,
            duration=duration,
            topology=in_row(_ROW, delay),
            every=1,
            more=_PFC,
            window='size = "unlimited"',
        )
        connection = only(found.rows("connections"), flow="bulk")
        paused = {row["port"].split(".")[0] for row in found.rows("pauses")} & {"a", "s0", "s1"}
        label = f"data paused, cables of {delay / 1e6:g} us: "
        yield exact(label + "paused links on the path", "links", 3, len(paused))
        shortest = alone + 3 * (delay - _FAR)
        yield exact(label + "shortest delay", "ps", shortest, picoseconds(connection["message_delay_min_ns"]))
        waits.append(picoseconds(connection["message_delay_max_ns"]) - shortest)
    yield bounded(
        "data paused: longest wait for pause frames",
        "ns",
        3 * wire(64) / 1e3,
        max(waits) / 1e3,
        0.2,
        "a message waits for a pause frame on one of its three links, not on all",
    )
    yield from _stopped(bench, paced, interval, duration)


def _arrivals(found: Result, label: str, created: Sequence[int], duration: int, alone: int) -> Iterator[Row]:
    connection = only(found.rows("connections"), flow="bulk")
    sent = sum(row["messages"] for row in found.rows("queues"))
    arrived = sum(at + alone < duration for at in created)
    yield exact(label + "messages sent", "messages", len(created), sent)
    yield exact(label + "messages arrived", "messages", arrived, connection["messages"])
    yield exact(label + "shortest delay", "ps", alone, picoseconds(connection["message_delay_min_ns"]))
    yield exact(label + "longest delay", "ps", alone, picoseconds(connection["message_delay_max_ns"]))


def _stopped(bench: Bench, paced: str, interval: int, duration: int) -> Iterator[Row]:
    stop, start = duration // 3, duration // 3 + 400_000_123
    found = bench.once(
        _MESSAGES,
        duration=duration,
        topology=in_row(_ROW, _FAR),
        every=1,
        more=fill(_STOPPED, stop=stop, start=start),
        window=paced,
    )
    pause = only(found.rows("pauses"))
    paused, resumed = picoseconds(pause["start_ns"]), picoseconds(pause["end_ns"])
    delays, free, read = list[int](), 0, 0
    for created in notified(interval, duration):
        begins = max(free, created + 2 * (wire(64) + _FAR + _LATENCY))
        begins = resumed if paused <= begins < resumed else begins
        free = begins + wire(64)
        read = max(read, free + _FAR)
        read = (start if stop <= read < start else read) + 1_000
        if read < duration:
            delays.append(read - created)
    connection = only(found.rows("connections"), flow="bulk")
    yield exact("messages paused: messages arrived", "messages", len(delays), connection["messages"])
    for name, expected in (("min", min(delays)), ("max", max(delays))):
        word = {"min": "shortest", "max": "longest"}[name]
        measured = picoseconds(connection[f"message_delay_{name}_ns"])
        yield exact(f"messages paused: {word} delay", "ps", expected, measured)
