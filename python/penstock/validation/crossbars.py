"""Crossbars: throughput of switches whose frames wait at inputs, and crossing times."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from penstock.result import Result

from .bench import Bench, fill, flow_text, star, summaries
from .registry import Row, case, exact, random

_SATURATED = (
    summaries("$duration us", warmup="$warmup us")
    + star("$hosts", rate="10 Gb/s", delay="1 us")
    + """\
overhead = "0 B"

[switch.queueing.crossbar]
inputs = "fifo"
speedup = 1
arbitration = "$arbitration"
output_buffer = "1 MB"

[[flows]]
name = "all"
from = "h0..h$last"
to = $receivers
frame = "1000 B"
source = "greedy"
"""
)

_ALONE = (
    summaries("50 us")
    + star(3, rate="10 Gb/s", delay="1 us")
    + """\
overhead = "0 B"

[switch]
forwarding = "$forwarding"
latency = "145 ns"
queueing = { crossbar = { speedup = $speedup } }
"""
    + flow_text(
        "a", "h0", "h1", 'frame = "1000 B"', 'source = "greedy"', 'start = "1 us"', 'limit = "1000 B"'
    )
    + flow_text("b", "h0", "h2", 'frame = "100 B"', 'source = "greedy"', 'start = "1 us"', 'limit = "100 B"')
)
_TERMS = 400
"""Steps of the chain, after which the weight of the initial state is below 1e-12."""

_Heads = tuple[int, ...]
"""Counts of inputs by the output of their head-of-line frame, in descending order."""


def _after_a_slot(heads: _Heads, ports: int) -> dict[_Heads, float]:
    """Advances one slot: each of these outputs takes a frame, and the input draws the output of its next."""
    left = tuple(sorted((count - 1 for count in heads if count > 1), reverse=True))
    found: dict[_Heads, float] = {left: 1.0}
    for _ in heads:
        drawn: dict[_Heads, float] = defaultdict(float)
        for now, chance in found.items():
            for nth, count in enumerate(now):
                more = sorted((*now[:nth], count + 1, *now[nth + 1 :]), reverse=True)
                drawn[tuple(more)] += chance / ports
            drawn[(*now, 1)] += chance * (ports - len(now)) / ports
        found = drawn
    return found


def saturation(ports: int) -> float:
    """Saturation throughput of FIFO inputs with frames for random outputs, from a Markov chain."""
    steps: dict[_Heads, dict[_Heads, float]] = {}
    chances: dict[_Heads, float] = {(ports,): 1.0}
    for _ in range(_TERMS):
        later: dict[_Heads, float] = defaultdict(float)
        for heads, chance in chances.items():
            if heads not in steps:
                steps[heads] = _after_a_slot(heads, ports)
            for to, share in steps[heads].items():
                later[to] += chance * share
        chances = later
    return sum(len(heads) * chance for heads, chance in chances.items()) / ports


def _load(result: Result) -> dict[str, float]:
    rates = [row["throughput_bps"] for row in result.rows("flows")]
    return {"load": sum(rates) / (len(rates) * 10e9)}


@case(
    "crossbar-saturation",
    "Crossbars: FIFO inputs saturate",
    compared="N hosts send at line rate to random hosts among N others. Their frames pass a crossbar as "
    "fast as the links, with FIFO inputs. The delivered load, as a share of the link rate, "
    "equals theory with either arbiter.",
    formula="The state is the number of head-of-line frames for each output. In a slot, each output "
    "with at least one such frame takes one, and the input that it came from draws the output "
    "of its next frame. This is a Markov chain, solved here for each N. Two inputs carry 3/4 of "
    "their links, many inputs 2 − √2 (58.6 %).",
    sources=(
        "Karol, Hluchyj and Morgan, Input versus output queueing on a space-division packet switch, 1987, "
        "section III and table I",
    ),
    scenario=fill(
        _SATURATED,
        duration=4_000,
        warmup=400,
        hosts=8,
        last=3,
        receivers='["h4", "h5", "h6", "h7"]',
        arbitration="round_robin",
    ),
    ends=(
        "Frames have one length, links have no overhead, and all hosts start at once, so time is slotted.",
        "The cited papers do not specify the arbitration of the crossbar; the saturation throughput "
        "does not depend on it.",
    ),
)
def saturated(bench: Bench) -> Iterator[Row]:
    """Compares two to sixteen inputs."""
    for ports in (2, 3, 4, 8, 16):
        arbitration = "islip" if ports == 3 else "round_robin"
        receivers = [f"h{n}" for n in range(ports, 2 * ports)]
        measured = bench.repeat(
            bench.replications,
            _SATURATED,
            _load,
            duration=4_400,
            warmup=400,
            hosts=2 * ports,
            last=ports - 1,
            receivers=str(receivers).replace("'", '"'),
            arbitration=arbitration,
        )
        name = f"{ports} inputs, {arbitration}: load carried"
        yield random(name, "", saturation(ports), measured["load"], precision=bench.precision(0.01))


_TREE = (
    summaries("$duration us", warmup="$warmup us")
    + """\
[topology.n_tree]
k = $k
n = $n
rate = "10 Gb/s"
delay = "1 us"
phy = "none"
overhead = "0 B"

[switch]
path_choice = "d_mod_k"
queueing = $queueing
$flows"""
)


_FLOW = """
[[flows]]
name = "$name"
from = $senders
to = $receivers
frame = "1000 B"
source = $source
"""


def _flow(name: str, senders: list[int] | str, receivers: list[int] | str, source: str) -> str:
    def hosts(of: list[int] | str) -> str:
        return of if isinstance(of, str) else "[" + ", ".join(f'"h{host}"' for host in of) + "]"

    return fill(_FLOW, name=name, senders=hosts(senders), receivers=hosts(receivers), source=source)


def _across(k: int, n: int) -> str:
    """Saturated flows of a k-ary n-tree to hosts in the opposite half by all digits except the lowest."""

    def side(host: int) -> int:
        return sum((host // k**digit % k >= k // 2) << digit for digit in range(1, n))

    sides = defaultdict[int, list[int]](list)
    for host in range(k**n):
        sides[side(host)].append(host)
    opposite = sum(1 << digit for digit in range(1, n))
    flows = (_flow(f"from-{at}", own, sides[opposite - at], '"greedy"') for at, own in sides.items())
    return "".join(flows)


_FIFO = '{ crossbar = { inputs = "fifo", speedup = 1, output_buffer = "1 MB" } }'
_ISLIP = '{ crossbar = { arbitration = "islip", speedup = 1, output_buffer = "1 MB" } }'


@case(
    "tree-saturation",
    "Crossbars: a tree of switches saturates",
    compared="The hosts of a k-ary n-tree send to random others. Each frame goes up, and then down, by "
    "the digits of its destination. The delivered load, as a share of the link rate, equals "
    "theory: hosts send at line rate with FIFO inputs, and uniformly at 0.9 of it with iSLIP "
    "and with output queues.",
    formula="No link has to carry more than a host link, so with output queues or iSLIP the tree "
    "carries the whole load. FIFO inputs of the lowest level are never empty. They carry as "
    "much as k inputs of one switch (`crossbar-saturation`), provided that the levels above can "
    "carry more. To ensure this, each host sends to hosts that have all digits but the lowest "
    "in the other half. Further up, k/2 inputs then compete for k/2 outputs. On the way down "
    "there is no contention, because all frames for a host take the same path.",
    sources=(
        "Karol, Hluchyj and Morgan 1987 (as in `crossbar-saturation`)",
        "Petrini and Vanneschi, k-ary n-trees, 1997, with the digits of Martinez 2006, section 6.1",
    ),
    scenario=fill(_TREE, duration=4_400, warmup=400, k=4, n=2, queueing=_FIFO, flows=_across(4, 2)),
    ends=(
        "Inputs hold every arriving frame. With credits, a level would also wait for the next one "
        "and carry less.",
    ),
)
def tree(bench: Bench) -> Iterator[Row]:
    """Compares four trees with FIFO inputs at saturation, and one with iSLIP and with output queues."""
    for k, n in ((2, 2), (4, 2), (8, 2), (4, 3)):
        keys = {"duration": 4_400, "warmup": 400, "k": k, "n": n, "queueing": _FIFO, "flows": _across(k, n)}
        measured = bench.repeat(bench.replications, _TREE, _load, **keys)
        name = f"{k}-ary {n}-tree, FIFO inputs: load carried"
        yield random(name, "", saturation(k), measured["load"], precision=bench.precision(0.01))
    source = '{ bernoulli = { rate = "9 Gb/s" } }'
    flows = _flow("all", '"all"', '{ uniform = "all" }', source)
    for name, queueing in (("iSLIP", _ISLIP), ("output queues", '"output"')):
        keys = {"duration": 4_400, "warmup": 400, "k": 4, "n": 3, "queueing": queueing, "flows": flows}
        measured = bench.repeat(bench.replications, _TREE, _load, **keys)
        name = f"4-ary 3-tree, {name}: load carried of 0.9"
        yield random(name, "", 0.9, measured["load"], precision=bench.precision(0.01))


@case(
    "crossbar-latency",
    "Crossbars: latency",
    compared="A host sends two frames to two others across an idle crossbar. Their latencies equal "
    "arithmetic to the picosecond.",
    formula="A frame with transmission time t crosses in t/s at speed-up s. It waits while its input "
    "sends another frame. A cut-through switch starts the crossing after the first 64 B; the "
    "input is busy until the whole frame has arrived and crossed.",
    sources=("Martinez 2006, section 6.1 (145 ns, 1.5)", "Counting by hand"),
    scenario=fill(_ALONE, forwarding="cut_through", speedup=1.5),
    ends=("The latency of the switch is added before the crossing.",),
)
def alone(bench: Bench) -> Iterator[Row]:
    """Compares store-and-forward and cut-through switches at three speed-ups."""
    cable, latency, long, short, head = 1_000_000, 145_000, 800_000, 80_000, 51_200
    for speedup in (1.0, 1.5, 4.0):
        for forwarding in ("store_and_forward", "cut_through"):
            found = bench.once(_ALONE, forwarding=forwarding, speedup=speedup)
            took = {row["flow"]: round(row["latency_max_ns"] * 1e3) for row in found.rows("flows")}
            if forwarding == "cut_through":
                first = head + cable + latency
                busy = first + max(-(-long * 10 // round(speedup * 10)), long - head)
                there = long + head + cable + latency
                leaves, ends = first, max(there, busy)
            else:
                first = long + cable + latency
                busy = first + -(-long * 10 // round(speedup * 10))
                there = long + short + cable + latency
                leaves, ends = busy, max(there, busy) + -(-short * 10 // round(speedup * 10))
            name = f"{forwarding}, speed-up {speedup:g}: "
            yield exact(name + "first frame", "ps", leaves + long + cable, took["a"])
            yield exact(name + "second frame", "ps", ends + short + cable, took["b"])
