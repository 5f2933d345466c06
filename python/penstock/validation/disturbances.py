"""Ports that serve less than line rate, links that change their rate, and visits of the deficit table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from penstock.result import Result

from .bench import Bench, fill, only
from .registry import Row, case, within

_SHARES = """\
[simulation]
duration = "$duration ms"
warmup = "$warmup ms"

[topology.explicit]
hosts = ["a", "b", "d", "e", "g"]
switches = ["sw"]
links = [
  { between = ["a", "sw"], rate = "40 Gb/s", delay = "500 ns", overhead = "0 B", phy = "none" },
  { between = ["b", "sw"], rate = "40 Gb/s", delay = "500 ns", overhead = "0 B", phy = "none" },
  { between = ["sw", "d"], rate = "$rate", delay = "500 ns", overhead = "0 B", phy = "none" },
  { between = ["e", "sw"], rate = "10 Gb/s", delay = "500 ns", overhead = "0 B", phy = "none" },
  { between = ["g", "sw"], rate = "10 Gb/s", delay = "500 ns", overhead = "0 B", phy = "none" },
]

[switch]
queues = [0, 1, 1, 1, 1, 2, 2, 2]
scheduler = $scheduler
$clock

[[flows]]
name = "x"
from = "a"
to = "d"
frame = "1500 B"
source = { window = { size = "60 frames" } }

[[flows]]
name = "y"
from = "b"
to = "d"
frame = "1500 B"
source = { window = { size = "60 frames" } }
priority = 1

$more
"""
_WFQ = "{ wfq = { weights = [1, 3, 1] } }"
_LEAKY = '{ leaky_bucket = { rate = "3.3 Gb/s" } }'
_PAUSES = """\
[flow_control.pfc]
priorities = [5]
xoff = "12 kB"
xon = "9 kB"
headroom = "200 kB"

[[flows]]
name = "p"
from = ["d", "e"]
to = "g"
frame = "1500 B"
source = "greedy"
priority = 5
"""
_UPDATES = """\
[flow_control.credit]
buffer = "256 KiB"
update_after = "1 B"
update_bytes = "84 B"

[[flows]]
name = "u"
from = "d"
to = "g"
frame = "1500 B"
source = { constant = { rate = "5 Gb/s" } }
priority = 5
"""
_RATE = """\
[[faults]]
link = ["sw", "d"]
at = "1 ms"
rate = "$rate"
"""
DISTURBANCES: dict[str, dict[str, str]] = {
    "a clock within 100 ppm": {"clock": 'clock_tolerance = "100 ppm"'},
    "pause frames sent by the port": {"more": _PAUSES},
    "credit updates": {"more": _UPDATES},
    "a shaper of 3.3 Gb/s": {"scheduler": f"{{ shaper = {{ scheduler = {_WFQ}, port = {_LEAKY} }} }}"},
    "a link that rises from 1 to 10 Gb/s": {"rate": "1 Gb/s", "more": fill(_RATE, rate="10 Gb/s")},
    "a link that falls from 10 to 1 Gb/s": {"more": fill(_RATE, rate="1 Gb/s")},
}


def _shares(duration: int, changes: dict[str, str]) -> str:
    keys = {"rate": "10 Gb/s", "scheduler": _WFQ, "clock": "", "more": "", **changes}
    return fill(_SHARES, duration=duration, warmup=duration // 2, **keys)


def _bytes(result: Result, names: Sequence[str]) -> list[int]:
    rows = result.rows("flows")
    return [int(only(rows, flow=name)["bytes_delivered"]) for name in names]


@case(
    "disturbed-shares",
    "Weighted fair queueing at a port that serves less than line rate",
    compared="Two backlogged classes with weights 1 : 3 and frames of one length share a port that "
    "control frames, a shaper, its clock or a rate fault slow down.",
    formula="The fluid reference advances by the bytes that the link has sent, so classes share by "
    "weight regardless of the other work of the port: x gets 1/4 of all bytes, except for the "
    "frames in transmission.",
    sources=("Parekh and Gallager 1993; reference B.8",),
    scenario=_shares(60, DISTURBANCES["a clock within 100 ppm"]),
    ends=("A class that is paused on its own gives its share to the others; that is not covered here.",),
)
def disturbed_shares(bench: Bench) -> Iterator[Row]:
    """Six disturbances."""
    duration = bench.choose(400, 40)
    for name, changes in DISTURBANCES.items():
        x, y = _bytes(bench.once(_shares(duration, changes)), ("x", "y"))
        reason = "up to three frames are counted in one of the two and not in the other"
        yield within(f"share of x, {name}", "", 0.25, [x / (x + y)], 3 * 1500 / (x + y) / 0.25, reason)


_BUCKET = "{ min_bw = { weights = [1, 0, 1], rate = { share = 0.25 }, use_idle_link = false } }"


@case(
    "rate-faults",
    "Shares of a link that changes its rate",
    compared="A management channel with a quarter of the link is backlogged beside another class when a "
    "fault changes the link rate.",
    formula="A share refers to the current rate of the link: 1/4 of the bytes, apart from the depth of "
    "the bucket (two frames of maximum size), which counts once.",
    sources=("Martinez 2006, section 5.1 (MinBW); IEEE 802.3 for the rates",),
    scenario=_shares(60, {"scheduler": _BUCKET, "more": fill(_RATE, rate="1 Gb/s")}),
    ends=("Headroom and response times remain those of the initial rate.",),
)
def rate_faults(bench: Bench) -> Iterator[Row]:
    """Rate changes in both directions."""
    duration = bench.choose(400, 60)
    for before, after in (("10 Gb/s", "1 Gb/s"), ("1 Gb/s", "10 Gb/s")):
        changes = {
            "scheduler": _BUCKET,
            "rate": before,
            "more": fill(_RATE, rate=after),
        }
        x, y = _bytes(bench.once(_shares(duration, changes)), ("x", "y"))
        reason = "one frame and the depth of the bucket"
        yield within(
            f"share of management, {before} to {after}",
            "",
            0.25,
            [y / (x + y)],
            6000 / (x + y) / 0.25,
            reason,
        )


_VISITS = """\
[simulation]
duration = "$duration us"
warmup = "1000 us"

[topology.explicit]
hosts = ["A", "B0", "B1"]
switches = ["sw"]
links = [
  { between = ["A", "sw"], rate = "2 Gb/s", delay = "0 us", overhead = "0 B", phy = "none" },
  { between = ["sw", "B0"], rate = "2 Gb/s", delay = "0 us", overhead = "0 B", phy = "none" },
  { between = ["sw", "B1"], rate = "2 Gb/s", delay = "0 us", overhead = "0 B", phy = "none" },
]

[flow_control.credit]
buffer = "$buffer B"
update_after = "1 B"
update_delay = "10 ns"

[switch]
forwarding = "cut_through"
queues = [0, 1, 1, 1, 1, 1, 1, 1]

[host]
queues = [0, 1, 1, 1, 1, 1, 1, 1]
scheduler = { dtable = { entries = $entries } }

[[flows]]
name = "small"
from = "A"
to = "B0"
frame = "$small B"
source = "greedy"

[[flows]]
name = "large"
from = "A"
to = "B1"
frame = "$large B"
source = "greedy"
priority = 1
"""
_CREDIT, _PS_A_BYTE, _RETURNS = 64, 4_000, 266_000
"""Bytes per credit, picoseconds per byte at 2 Gb/s, and picoseconds from the start of a frame until its
credits return. A cut-through switch releases credits after the first 64 B; the update takes 10 ns."""


def visited_shares(lengths: Sequence[int], credits: int, end_ps: int, weight: int = 34) -> float:
    """Returns the byte share of class 0 under the rule of Martinez 2006, section 4.

    Table entries alternate between two classes. After each frame of the class, the visit continues if
    credits for the next frame are available and the accumulated weight covers it. Without credits, the
    deficit is reset to 0.
    """
    need = [-(-length // _CREDIT) for length in lengths]
    free, deficit, sent = [credits, credits], [0, 0], [0, 0]
    back: list[tuple[int, int]] = []
    now, position, visiting, left = 0, 0, None, 0
    while now < end_ps:
        for at, queue in [one for one in back if one[0] <= now]:
            free[queue] += need[queue]
            back.remove((at, queue))
        may = [free[queue] >= need[queue] for queue in (0, 1)]
        if visiting is not None and not (may[visiting] and need[visiting] <= left):
            deficit[visiting] = left if may[visiting] else 0
            position, visiting = 1 - position, None
        if visiting is None:
            if not any(may):
                now = min(at for at, _ in back)
                continue
            position = position if may[position] else 1 - position
            left = deficit[position] + weight
            if need[position] > left:
                deficit[position], position = left, 1 - position
                continue
            visiting = position
        free[visiting] -= need[visiting]
        left -= need[visiting]
        sent[visiting] += lengths[visiting]
        back.append((now + _RETURNS, visiting))
        now += lengths[visiting] * _PS_A_BYTE
    return sent[0] / sum(sent)


def _visits(lengths: Sequence[int], buffer: int, duration: int) -> str:
    entries = [0, 1] * 16
    return fill(
        _VISITS, small=lengths[0], large=lengths[1], buffer=buffer, duration=duration, entries=entries
    )


@case(
    "visits",
    "The deficit table when credits return during a frame",
    compared="Two classes of a host whose credits return before the frame has been sent. Their shares "
    "are compared with a short model that checks queue and credits at the end of each "
    "transmission.",
    formula="A visit ends when a frame has been sent and its class is empty, has no credits for its "
    "next frame, or has used up its weight (Martinez 2006, section 4; reference B.13).",
    sources=("Martinez 2006, section 4",),
    scenario=_visits((1100, 2176), 2176, 11_000),
    ends=(
        "Each class has 34 credits, the number that the largest frame needs. Larger buffers never "
        "run out of credits.",
    ),
)
def visits(bench: Bench) -> Iterator[Row]:
    """Compares several frame lengths."""
    duration = bench.choose(41_000, 11_000)
    for lengths in ((1100, 2176), (640, 2176), (1500, 900), (2176, 300)):
        small, large = _bytes(bench.once(_visits(lengths, 2176, duration)), ("small", "large"))
        theory = visited_shares(lengths, 34, (duration - 1000) * 1_000_000)
        reason = "measuring begins and ends within a round"
        yield within(
            f"share of {lengths[0]:,} B beside {lengths[1]:,} B",
            "",
            theory,
            [small / (small + large)],
            4 * 2176 / (small + large) / theory,
            reason,
        )
