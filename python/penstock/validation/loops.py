"""Closed loops without randomness: requests with responses, and windows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from . import theory
from .bench import Bench, chain, fabric, fill, flow_text, link_text, only, picoseconds, star, summaries
from .registry import Row, case, exact, extremes
from .theory import GBPS, OVERHEAD, wire

SEGMENT, ACK = 1000, 64

Links = Sequence[tuple[int, int]]
"""Rate in b/s and delay in picoseconds of each link, starting at the sender."""


def path_time(lengths: Sequence[int], links: Links, latency: int = 0) -> int:
    """Time in picoseconds from the first bit of back-to-back frames until all have crossed an idle path."""
    ready = [0] * len(lengths)
    for place, (rate, delay) in enumerate(links):
        free = 0
        for n, length in enumerate(lengths):
            free = max(free, ready[n]) + wire(length, rate)
            ready[n] = free + delay + (latency if place < len(links) - 1 else 0)
    return ready[-1]


def round_trip(links: Links) -> int:
    """Round trip of a full segment and its acknowledgement on an idle path."""
    return path_time([SEGMENT], links) + path_time([ACK], links[::-1])


def segments(size: int) -> list[int]:
    """Lengths of the frames that carry `size` bytes."""
    rest = size % SEGMENT
    return [SEGMENT] * (size // SEGMENT) + ([rest] if rest else [])


def in_row(rates: Sequence[float], delay: int) -> str:
    """Host `a`, switches `s0`, `s1`, ..., host `b`, with rates in Gb/s and one delay in picoseconds."""
    nodes = ["a", *(f"s{n}" for n in range(len(rates) - 1)), "b"]
    switches = ", ".join(f'"{name}"' for name in nodes[1:-1])
    links = [
        link_text(x, y, f'rate = "{rate:g} Gb/s"\ndelay = "{delay} ps"').rstrip()
        for x, y, rate in zip(nodes[:-1], nodes[1:], rates, strict=True)
    ]
    return "\n".join([f'[topology.explicit]\nhosts = ["a", "b"]\nswitches = [{switches}]', *links])


# Round trips


def _window_keys(start: str, keys: str) -> str:
    """A client that sends requests to a server, which answers each after 700 ns."""
    source = f'source = {{ request_response = {{ {keys}, service = "700 ns" }} }}'
    return flow_text("asks", "$client", "$server", 'frame = "1000 B"', f'start = "{start}"', source)


_ASKS = (
    summaries()
    + """\
$topology
[switch]
forwarding = "$forwarding"
latency = "250 ns"
"""
    + _window_keys("1 us", 'request = "$request B", response = "$response B", think = "300 ns"')
)
_START, _SERVICE, _THINK, _LATENCY, _CABLE = 1_000_000, 700_000, 300_000, 250_000, 100_000
_STAR, _CHAIN, _FAT_TREE = (
    star(6, rate="10 Gb/s", length="20 m"),
    chain(6, 1, rate="10 Gb/s", length="20 m"),
    fabric("fat_tree", {"k": 4}, rate="10 Gb/s", length="20 m"),
)
_PATHS = (
    ("star", _STAR, "h0", "h1", 2),
    ("chain, next switch", _CHAIN, "h2.0", "h3.0", 3),
    ("chain, five switches on", _CHAIN, "h0.0", "h5.0", 7),
    ("fat-tree, same edge", _FAT_TREE, "h0", "h1", 2),
    ("fat-tree, same pod", _FAT_TREE, "h0", "h3", 4),
    ("fat-tree, other pod", _FAT_TREE, "h0", "h13", 6),
)
"""Name, topology, client, server, and number of links between them."""

_BUSY = (
    summaries("$duration ps")
    + "$topology"
    + _window_keys("1000137 ps", 'request = "64 B", response = "1000 B", think = "1234567 ps"')
)
_CROSSING = (
    (True, 1522, 1_522_000, 0),
    (True, 400, 2_000_000, 333_000),
    (False, 1000, 1_000_000, 111_000),
    (False, 700, 3_500_000, 222_000),
)
"""Constant flows as (to the server, length, interval, start) in B and ps: 97.9 % and 98.1 % load."""


def _crossing(client: str, server: str, at_client: str, at_server: str) -> str:
    """Returns constant flows from the last switch before each end."""
    return "".join(
        f'\n[[flows]]\nname = "crossing{n}"\nfrom = "{at_server if there else at_client}"\n'
        f'to = "{server if there else client}"\nframe = "{length} B"\nstart = "{start} ps"\n'
        f'source = {{ constant = {{ rate = "{length * 8 * 10**12 // interval} b/s", '
        "random_phase = false } }\n"
        for n, (there, length, interval, start) in enumerate(_CROSSING)
    )


class _BusyPort:
    """A FIFO port that constant flows share with the frames under test."""

    def __init__(self, to_server: bool, duration: int) -> None:
        self._arrivals = sorted(
            (start + n * interval, wire(length))
            for there, length, interval, start in _CROSSING
            if there == to_server
            for n in range(duration // interval + 1)
        )
        self._next = self._free = 0

    def leaves(self, at: int, length: int) -> int:
        """Departure time of a frame that arrives at `at`, which must increase from call to call."""
        while self._next < len(self._arrivals) and self._arrivals[self._next][0] <= at:
            came, service = self._arrivals[self._next]
            if came == at:
                raise ArithmeticError("two frames in the same picosecond: theory does not know their order")
            self._free = max(self._free, came) + service
            self._next += 1
        self._free = max(self._free, at) + wire(length)
        return self._free


def busy_exchanges(links: int, duration: int) -> list[int]:
    """Durations of the exchanges that complete in time over `links` links between client and server."""
    there, back = _BusyPort(True, duration), _BusyPort(False, duration)
    idle = [(10 * GBPS, _CABLE)] * (links - 1)
    begins, took = 1_000_137, list[int]()
    while True:
        served = there.leaves(begins + path_time([64], idle), 64) + _CABLE + _SERVICE
        ends = back.leaves(served + path_time([1000], idle), 1000) + _CABLE
        if ends >= duration:
            return took
        took.append(ends - begins)
        begins = ends + 1_234_567


@case(
    "round-trips",
    "Requests and responses: round trips",
    compared="A client sends a request, the server responds, and the client sends the next request after "
    "a think time. Paths are a star, a chain of six switches and a fat-tree (k = 4). Requests "
    "and responses have one or several frames; switches are store-and-forward or cut-through. "
    "In the last rows the last links of both directions are 98 % busy, so that each exchange "
    "waits for a different time.",
    formula="Store-and-forward: Lindley's recursion over each link, end(n) = max(end(n−1), arrival(n)) "
    "+ (L + 20)·8/C, plus cable and switch latency, in both directions, plus the service time "
    "of the server. Cut-through: as in the section on latency, in both directions. The next "
    "request follows the response after the think time, which determines the number of "
    "exchanges. Behind busy queues: the same recursion over the merged arrivals at both ports, "
    "request by request.",
    sources=("Lindley, The theory of queues with a single server, 1952", "Counting by hand"),
    scenario=fill(
        _ASKS,
        duration="200 us",
        topology=_FAT_TREE,
        forwarding="store_and_forward",
        client="h0",
        server="h13",
        request=64,
        response=10_000,
    ),
    ends=(
        "A server serves any number of requests concurrently, and hosts take no time for protocol "
        "processing.",
        "The order of two frames that arrive at a port in the same picosecond is defined by the "
        "simulator; the traffic at the busy ports is chosen so that this does not occur.",
    ),
)
def round_trips(bench: Bench) -> Iterator[Row]:
    """Compares idle paths, then busy ports."""
    duration = 200_000_000
    sizes = ((64, 64), (1000, 64), (200, 1000), (64, 10_000), (4321, 64))
    for place, (name, topology, client, server, links) in enumerate(_PATHS):
        for request, response in (sizes[place % 2], sizes[2 + place % 3]):
            path = [(10 * GBPS, _CABLE)] * links
            there, back = (path_time(segments(size), path, _LATENCY) for size in (request, response))
            yield from _requested(
                bench,
                f"{name}: {request} B, {response} B: ",
                there + _SERVICE + back,
                duration,
                topology=topology,
                forwarding="store_and_forward",
                client=client,
                server=server,
                request=request,
                response=response,
            )
        hops = [theory.Hop(10 * GBPS, _CABLE + _LATENCY)] * (links - 1) + [theory.Hop(10 * GBPS, _CABLE)]
        way = theory.path_latency(1000, OVERHEAD, hops, cut_through=True)
        yield from _requested(
            bench,
            f"cut-through, {name}: 1000 B, 1000 B: ",
            2 * way + _SERVICE,
            duration,
            topology=topology,
            forwarding="cut_through",
            client=client,
            server=server,
            request=1000,
            response=1000,
        )
    ends = (("sw", "sw"), ("sw0", "sw5"), ("edge0.0", "edge3.0"))
    for between, switches in zip((_PATHS[0], _PATHS[2], _PATHS[5]), ends, strict=True):
        yield from _busy(bench, between, switches)


def _busy(bench: Bench, path: tuple[str, str, str, str, int], switches: tuple[str, str]) -> Iterator[Row]:
    """Compares exchanges across busy ports of the two switches at the ends of a path."""
    name, topology, client, server, links = path
    duration = bench.choose(20, 2) * 1_000_000_000
    took = busy_exchanges(links, duration)
    scenario = _BUSY + _crossing(client, server, *switches)
    run = bench.once(scenario, duration=duration, topology=topology, client=client, server=server)
    found = only(run.rows("connections"), flow="asks")
    label = f"{name}, behind busy queues: "
    yield exact(label + "exchanges", "exchanges", len(took), found["exchanges"])
    yield from extremes(label, took, found, "exchange")
    summed = round(found["exchange_mean_ns"] * 1_000 * found["exchanges"])
    yield exact(label + "sum", "ps", sum(took), summed)


def _requested(bench: Bench, name: str, expected: int, duration: int, **keys: object) -> Iterator[Row]:
    found = only(bench.once(_ASKS, duration=f"{duration} ps", **keys).rows("connections"), flow="asks")
    yield from extremes(name, [expected], found, "exchange")
    count = (duration - _START - expected) // (expected + _THINK) + 1
    yield exact(name + "number", "exchanges", count, found["exchanges"])


# Windows

_WINDOW = (
    summaries("$duration ps", warmup="$warmup ps")
    + """\
$topology
"""
    + flow_text(
        "bulk",
        "$sender",
        "$receiver",
        'frame = "1000 B"',
        'source = { window = { size = "$window frames" } }',
    )
)


def delivered(window: int, links: Links, duration: int) -> int:
    """Number of segments that arrive in time if no link is slower than the first."""
    sends = list[int]()
    back, card = round_trip(links), wire(SEGMENT, links[0][0])
    one_way = path_time([SEGMENT], links)
    while not sends or sends[-1] + one_way < duration:
        opened = sends[-window] + back if len(sends) >= window else 0
        sends.append(max(opened, sends[-1] + card if sends else 0))
    return len(sends) - 1


@case(
    "windows",
    "Windows clocked by acknowledgements",
    compared="A transfer has W segments of 1,000 B in flight, each acknowledged with 64 B. With equal "
    "links, W ranges from 1 to beyond the capacity of the path; segments delivered from the "
    "start, and later in whole round trips, are compared. With a slow last link, the queue "
    "holds the part of the window that exceeds the capacity of the path.",
    formula="Segment n + W leaves one round trip R after segment n, or as soon as the link is free. "
    "With S the transmission time of a segment, W segments leave per R as long as W·S ≤ R, and "
    "one per S otherwise. Before a slow link (segment time S), the path holds R/S segments, its "
    "bandwidth-delay product. The queue holds the rest, W − R/S on average; each segment waits "
    "W·S − R, and the round trip is W·S.",
    sources=("Bertsekas and Gallager, Data Networks, 1992, section 6.2.1 (window flow control)",),
    scenario=fill(
        _WINDOW,
        duration=1_000_000_000,
        warmup=0,
        topology=in_row([10, 1], 100_000),
        sender="a",
        receiver="b",
        window=20,
    ),
    ends=(
        "No frame is lost, and the window is constant; congestion controls are compared in the "
        "sections on TCP and RDMA.",
    ),
)
def windows(bench: Bench) -> Iterator[Row]:
    """Compares windows below, at and beyond the capacity of the path."""
    duration = bench.choose(5, 1) * 1_000_000_000
    for name, topology, sender, receiver, count in _PATHS[::2] + _PATHS[5:]:
        links = [(10 * GBPS, _CABLE)] * count
        back, segment = round_trip(links), wire(SEGMENT)
        full = math.ceil(back / segment)
        for window in (1, full - 1, full, full + 3, 3 * full):
            keys = {"topology": topology, "sender": sender, "receiver": receiver, "window": window}
            found = bench.once(_WINDOW, duration=duration, warmup=0, **keys)
            flow = only(found.rows("flows"), flow="bulk")
            label = f"{name}, R/S = {back / segment:.3f}, W = {window}: "
            expected = delivered(window, links, duration)
            yield exact(label + "delivered", "frames", expected, flow["frames_delivered"])
            period, each = (back, window) if window * segment <= back else (segment, 1)
            warm, periods = 50 * back + 1, duration // 2 // period
            found = bench.once(_WINDOW, duration=warm + periods * period, warmup=warm, **keys)
            flow = only(found.rows("flows"), flow="bulk")
            what = "R" if each > 1 or window == 1 else "S"
            label += f"delivered in {periods} {what}"
            yield exact(label, "frames", periods * each, flow["frames_delivered"])
    for rates in ((10, 1), (10, 10, 2.5), (40, 10, 4, 10)):
        yield from _bottleneck(bench, rates)


def _bottleneck(bench: Bench, rates: Sequence[float]) -> Iterator[Row]:
    links = [(round(rate * GBPS), _CABLE) for rate in rates]
    slow, place = wire(SEGMENT, round(min(rates) * GBPS)), rates.index(min(rates))
    back = round_trip(links)
    periods = bench.choose(1000, 200)
    for window in (math.ceil(back / slow), math.ceil(back / slow) + 1, 10, 57):
        warm = (window + 50) * slow + 7
        found = bench.once(
            _WINDOW,
            duration=warm + periods * slow,
            warmup=warm,
            topology=in_row(rates, _CABLE),
            sender="a",
            receiver="b",
            window=window,
        )
        ahead = [row for row in found.rows("queues") if row["port"].startswith(f"s{place - 1}.")]
        queue = only([row for row in ahead if row["port"].endswith(("->b", f"->s{place}"))])
        connection = only(found.rows("connections"), flow="bulk")
        label = f"{'-'.join(f'{rate:g}' for rate in rates)} Gb/s, R/S = {back / slow:.3f}, W = {window}: "
        yield exact(label + "round trip", "ps", window * slow, picoseconds(connection["round_trip_max_ns"]))
        yield exact(label + "longest wait", "ps", window * slow - back, picoseconds(queue["wait_max_ns"]))
        mean = round(queue["queue_frames_mean"] * slow * periods)
        yield exact(label + "queue over time", "frame·ps", periods * (window * slow - back), mean)
