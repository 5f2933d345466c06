"""Windows of TCP: growth, restart, and desynchronization of senders."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.result import Result

from .bench import Bench, fill, flow_text, only, star, summaries
from .registry import Row, case, within

_GROWTH = """\
[simulation]
duration = "1100 ms"

[probes]
bin = "1 ms"

[topology.explicit]
hosts = ["a", "b"]
links = [{ between = ["a", "b"], rate = "1.6 Tb/s", delay = "5 ms", overhead = "0 B", phy = "none" }]

[[flows]]
name = "f"
from = "a"
to = "b"
frame = "1500 B"
source = { tcp = { preset = "ns2", headers = "40 B", initial_window = "$window frames", \
initial_threshold = "$window frames", receive_window = "unlimited", tick = "0 s" } }
"""
SEGMENT = 1460


@case(
    "tcp-growth",
    "Window growth by counting acknowledgements",
    compared='One connection with growth = "acks" above its threshold and without losses: growth of the '
    "window, in segments, in 100 round trips of 10 ms.",
    formula="One segment per round trip: each acknowledgement adds segment²/window, fractions included. "
    "The window W grows while it is being acknowledged, so a round trip adds 1 − 1/2W of a "
    "segment.",
    sources=("RFC 5681, section 3.1, equation 3: at most one segment a round trip",),
    scenario=fill(_GROWTH, window=729),
    ends=(
        "If fractions were truncated to whole bytes, the growth would be 0.52 segments at 729 and "
        "2.13 at 3000.",
    ),
)
def growth(bench: Bench) -> Iterator[Row]:
    """Compares windows of a few segments to windows for which an acknowledgement adds less than one byte."""
    for window in (10, 729, 3000):
        result = bench.once(_GROWTH, window=window)
        found = [row["value"] for row in result.rows("series") if row["metric"] == "window_bytes"]
        grown = (found[1020] - found[20]) / SEGMENT
        expected = sum(1 - 1 / (2 * (window + trip)) for trip in range(2, 102))
        yield within(
            f"{window} segments: growth in 100 round trips",
            "segments",
            expected,
            [grown],
            0.012,
            "round trips do not align with bins",
        )


_TAHOE = (
    summaries("60 s", pauses=True)
    + """\
[topology.explicit]
hosts = ["a", "b"]
switches = ["r"]
links = [
  { between = ["a", "r"], rate = "1 Gb/s", delay = "5 ms", overhead = "0 B", phy = "none" },
  { between = ["r", "b"], rate = "50 Mb/s", delay = "5 ms", overhead = "0 B", phy = "none" },
]

[switch.buffer]
queue = "$room frames"

[[flows]]
name = "f"
from = "a"
to = "b"
frame = "1500 B"
source = { tcp = { preset = "ns2", recovery = "tahoe", initial_threshold = "unlimited", headers = "40 B", \
tick = "1 ms", receive_window = "10000 frames" } }
"""
)
_NS2_TAHOE = {10: 30.12, 12: 31.04, 14: 31.58, 20: 33.75, 30: 42.93, 50: 45.74}
"""Throughput in Mb/s by queue limit in frames, from ns-2.35: Agent/TCP, window_ 10000, tcpTick_ 1 ms."""


def _megabits(result: Result) -> float:
    return float(only(result.rows("flows"), flow="f")["throughput_bps"]) / 1e6


@case(
    "tcp-tahoe",
    "Tahoe compared with ns-2",
    compared="One connection with Tahoe and limited transmit crosses a router from 1 Gb/s to 50 Mb/s, "
    "with a round trip of 20 ms and a given queue limit: the throughput in a minute.",
    formula="Recorded with ns-2.35. After a timeout, a sender restarts with one segment, because "
    "limited transmit applies to new data only (RFC 3042). Three segments into a queue that has "
    "just overflowed would lose two of them again, and 200 ms with them. With 8 to 12 frames of "
    "queue, this would cost a fifth of the throughput.",
    sources=("ns-2.35, Agent/TCP (tcp.cc)", "RFC 3042, section 2"),
    scenario=fill(_TAHOE, room=10),
    ends=("One timeout more or less changes the result by a third of a per cent.",),
)
def tahoe(bench: Bench) -> Iterator[Row]:
    """Compares queue limits from a tenth to half of the path's capacity."""
    for room, recorded in _NS2_TAHOE.items():
        result = bench.once(_TAHOE, room=room)
        yield within(
            f"queue of {room} frames",
            "Mb/s",
            recorded,
            [_megabits(result)],
            0.015,
            "ns-2 counts whole packets, and its queue includes the packet in service",
        )


_SENDERS = 32


def _incast() -> str:
    """32 senders of 45 segments each that begin within 250 us and share a queue of 64 frames."""
    names = [f"s{nth}" for nth in range(_SENDERS)]
    link = 'rate = "1 Gb/s", delay = "25 us", overhead = "0 B"'
    links = ",\n".join(f'  {{ between = ["{name}", "a"], {link} }}' for name in [*names, "b"])
    flows = "\n".join(
        f"""\
[[flows]]
name = "f{nth}"
from = "{name}"
to = "b"
frame = "1500 B"
start = "{(nth * 37 % _SENDERS) * 8 + nth} us"
limit = "65700 B"
source = {{ tcp = {{ preset = "ns2", receive_window = "10000 frames", initial_threshold = "10000 frames", \
headers = "40 B", initial_timeout = "200 ms", tick = "100 us", send_jitter = "$jitter" }} }}
"""
        for nth, name in enumerate(names)
    )
    hosts = ", ".join(f'"{name}"' for name in [*names, "b"])
    return f"""\
[simulation]
duration = "3 s"

[probes]
bin = "off"

[topology.explicit]
hosts = [{hosts}]
switches = ["a"]
links = [
{links},
]

[switch]
queues = "shared"
buffer = {{ queue = "64 frames" }}

{flows}"""


def _last_ms(result: Result) -> dict[str, float]:
    return {"end": max(float(row["completed_ns"]) for row in result.rows("connections")) / 1e6}


@case(
    "tcp-ties",
    "Synchronized senders with jitter",
    compared="32 senders of 45 segments each begin within 250 us and share a queue of 64 frames, with "
    "the random delay that the warning about ties recommends: the time at which the last one "
    "completes.",
    formula="ns-2 and ns-3 need 202 to 214 ms: some senders wait for one timeout of 200 ms, then share "
    "the link for up to 17 ms. Without the delay, the same senders lose again and again, for "
    "two timeouts more.",
    sources=(
        "S. Floyd and V. Jacobson, On traffic phase effects in packet-switched gateways, 1992",
        "ns-2.35 and ns-3.37",
    ),
    scenario=fill(_incast(), jitter="12 us"),
    ends=("The senders that lose segments are random.",),
)
def ties(bench: Bench) -> Iterator[Row]:
    """Compares senders with a random delay of up to one frame."""
    ends = bench.replicate(_incast(), _last_ms, jitter="12 us")["end"]
    yield within("last sender done", "ms", 208.0, ends, 0.03, "ns-2 and ns-3 give 208 ms within 3 %")


_VIDEO = (
    summaries(pauses=True)
    + star(2, rate="100 Gb/s")
    + flow_text(
        "f", "h0", "h1", 'source = { video = { rate = "100 Mb/s", interval = "$interval", count = $count } }'
    )
)


@case(
    "video-rate",
    "Rate of the video generator",
    compared="Streams of pictures from the generator, at intervals in which the rate yields 64 B or "
    "more: the offered rate.",
    formula="Number of streams times the rate. A frame has at least 64 B; the padding of a picture is "
    "subtracted from the next ones.",
    sources=("Martinez 2006, section 6.2",),
    scenario=fill(_VIDEO, duration="400 ms", interval="6 us", count=1),
    ends=("Pictures are random: their sizes have coefficients of variation of 0.3 to 0.5.",),
)
def video(bench: Bench) -> Iterator[Row]:
    """Compares pictures of one frame to pictures of thousands of bytes."""
    for interval, count, duration in (("5.12 us", 1, "400 ms"), ("20 us", 3, "400 ms"), ("1 ms", 5, "4 s")):
        result = bench.once(_VIDEO, duration=duration, interval=interval, count=count)
        yield within(
            f"{count} streams, one picture per {interval}",
            "Mb/s",
            100.0 * count,
            [float(only(result.rows("flows"), flow="f")["offered_bps"]) / 1e6],
            0.02,
            "picture sizes are random",
        )
