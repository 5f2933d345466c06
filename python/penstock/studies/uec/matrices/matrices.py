"""Connection matrices of uet-htsim, and its figures for each.

Source: uet-htsim 40ccb05, `validate_outputs`. A matrix is a list of flows: sender, receiver, bytes and start
in us. uet-htsim reads permutations from files; here they are drawn. Figures of several permutations are
means.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

CONTROLS = ("NSCC", "RCCC", "both")
FLOW_BYTES = 2_000_000
WINDOW = "207500 B"
"""Initial window of NSCC with `-cwnd 50`: 50 packets."""
PACKET_BYTES = 4150

Flow = tuple[int, int, int, float]
"""Sender, receiver, bytes, start in us."""


@dataclass(frozen=True)
class Reference:
    """Figures that uet-htsim prints for one control."""

    tail_us: float
    fastest_us: float | None = None
    retransmitted: int | None = None


@dataclass(frozen=True)
class Row:
    """A matrix with its options, and the figures of uet-htsim.

    Attributes
    ----------
    experiment : str
        Experiment of `study.toml`.
    matrix : str
        Name of the matrix in tables.
    flows : callable
        Flows by number of the draw.
    references : tuple of Reference
        Figures of uet-htsim with NSCC, RCCC and both.
    k : int
        Size of the fat tree; 0: leaf-spine.
    spines : int
        Number of spines of the leaf-spine.
    entropies : int
        Entropy values per flow; 0: a single path.
    draws : int
        Number of permutations; results are means over them.
    slowed : int
        Number of core links at a quarter of their rate.
    window : bool
        True for an initial window of 50 packets (`-cwnd 50`).
    """

    experiment: str
    matrix: str
    flows: Callable[[int], Sequence[Flow]]
    references: tuple[Reference, Reference, Reference]
    k: int = 4
    spines: int = 0
    entropies: int = 64
    draws: int = 1
    slowed: int = 0
    window: bool = False


def fixed(*flows: tuple[int, int], size: int = FLOW_BYTES) -> Callable[[int], Sequence[Flow]]:
    """Flows between these pairs; all start at 0."""
    return lambda _: [(sender, to, size, 0.0) for sender, to in flows]


def incast(senders: int, size: int = FLOW_BYTES) -> Callable[[int], Sequence[Flow]]:
    """Flows from this number of hosts to host 1."""
    return fixed(*((n, 1) for n in range(senders + 1) if n != 1), size=size)


def overlapped(_: int) -> Sequence[Flow]:
    """A flow of 2 MB, and two of 250 kB that start 40 us later."""
    return [(127, 0, FLOW_BYTES, 0.0), (95, 0, 250_000, 40.0), (61, 0, 250_000, 40.0)]


def outcast(_: int) -> Sequence[Flow]:
    """Flows from three hosts to host 0; two of the three also send to nine other hosts each."""
    pairs = [(1, 0), (2, 0), (3, 0), *((2, 4 + n) for n in range(9)), *((3, 13 + n) for n in range(9))]
    return [(sender, to, FLOW_BYTES, 0.0) for sender, to in pairs]


def permutation(hosts: int) -> Callable[[int], Sequence[Flow]]:
    """Permutations without fixed points: each host sends to one other host, and receives from one."""

    def draw(number: int) -> Sequence[Flow]:
        order, to = random.Random(13 + number), list(range(hosts))  # noqa: S311
        while any(at == host for at, host in enumerate(to)):
            order.shuffle(to)
        return [(sender, receiver, FLOW_BYTES, 0.0) for sender, receiver in enumerate(to)]

    return draw


def references(*figures: tuple[float, float | None, int | None]) -> tuple[Reference, Reference, Reference]:
    """Figures of uet-htsim with NSCC, RCCC and both."""
    first, second, third = (Reference(*one) for one in figures)
    return first, second, third


ROWS: Sequence[Row] = (
    Row(
        "UM-1",
        "one flow, 16 hosts",
        fixed((0, 13)),
        references((176.20, None, 0), (177.37, None, 0), (177.37, None, 0)),
    ),
    Row(
        "UM-2",
        "bidirectional, 16 hosts",
        fixed((0, 13), (13, 0)),
        references((176.80, None, 0), (178.18, None, 0), (178.18, None, 0)),
    ),
    Row(
        "UM-3",
        "10 packets",
        fixed((0, 13), size=10 * 4086),
        references((17.0107, None, 0), (17.0107, None, 0), (17.0107, None, 0)),
    ),
    Row(
        "UM-3",
        "100 packets",
        fixed((0, 13), size=100 * 4086),
        references((46.8907, None, 0), (46.8907, None, 0), (46.8907, None, 0)),
    ),
    Row(
        "UM-4",
        "incast 15:1, 16 hosts",
        incast(15),
        references((2478.5, 1273.6, 811), (2464.4, 2368.4, 762), (2462.9, 2387.9, 758)),
    ),
    Row(
        "UM-5",
        "incast 127:1, 128 hosts",
        incast(127),
        references((21029, 10788, 72623), (20891, 20355, 6218), (20892, 20354, 6226)),
        k=8,
    ),
    Row(
        "UM-6",
        "incast 1023:1 of 100 kB, initial window of 50 packets",
        incast(1023, 100_000),
        references((10556, 128, 448242), (8902, 5468, 33864), (8803, 4387, 26625)),
        k=16,
        window=True,
    ),
    Row(
        "UM-7",
        "2 MB, and two of 250 kB 40 us later, initial window of 50 packets",
        overlapped,
        references((221.7, 74.1, 80), (217.1, 94.2, 48), (217.6, 100.6, 49)),
        k=8,
        window=True,
    ),
    Row(
        "UM-8",
        "three to one, two of which send to nine others each",
        outcast,
        references((1638.1, 208.0, 0), (1637.8, 235.1, 0), (1634.1, 200.1, 0)),
        k=8,
    ),
    Row(
        "UM-9",
        "permutation of 16",
        permutation(16),
        references((194.0, 188.0, 0), (195.7, 186.9, 3), (196.8, 188.5, 0)),
        entropies=128,
        draws=4,
    ),
    Row(
        "UM-10",
        "permutation of 16, one core link at a quarter of its rate",
        permutation(16),
        references((238.2, 188.4, 99), (229.8, 190.2, 284), (238.3, None, 100)),
        entropies=128,
        draws=4,
        slowed=1,
    ),
    Row(
        "UM-11",
        "permutation of 16, single path",
        permutation(16),
        references((527.8, 178.4, 279), (515.2, 181.4, 7493), (518.7, None, 270)),
        entropies=0,
        draws=4,
    ),
    Row(
        "UM-12",
        "permutation of 1,024",
        permutation(1024),
        references((200.5, 167.6, 0), (203.4, 168.9, 199), (202.6, None, 0)),
        k=16,
        entropies=128,
    ),
    Row(
        "UM-13",
        "permutation of 1,024, one core link at a quarter of its rate",
        permutation(1024),
        references((202.3, None, 77), (200.9, None, 308), (205.1, None, 67)),
        k=16,
        entropies=128,
        slowed=1,
    ),
    Row(
        "UM-14",
        "permutation of 1,024, single path",
        permutation(1024),
        references((889.9, 168.0, 25621), (1063, 169.9, 751044), (1047, None, 25032)),
        k=16,
        entropies=0,
    ),
    Row(
        "UM-15",
        "permutation of 1,024, leaf-spine 4:1",
        permutation(1024),
        references((785.8, 167.6, 31934), (749.7, 167.8, 47945), (814.1, None, 31622)),
        k=0,
        spines=8,
        entropies=128,
    ),
    Row(
        "UM-16",
        "permutation of 1,024, leaf-spine 8:1",
        permutation(1024),
        references((1443.4, 167.3, 39531), (1459.1, 167.7, 67853), (1479.4, None, 39251)),
        k=0,
        spines=4,
        entropies=128,
    ),
)

LOAD_BALANCING: Mapping[tuple[str, bool], tuple[float, float]] = {
    ("oblivious", False): (212.8, 280.8),
    ("bitmap", False): (200.5, 220.3),
    ("reps", True): (198.2, 206.7),
    ("reps", False): (208.2, 245.8),
    ("mixed", True): (193.2, 211.8),
    ("mixed", False): (200.5, 219.6),
}
"""Completion of the slowest flow with NSCC in us, without and with 8 slow core links, by path selection and
whether each packet is acknowledged."""


def control_keys(control: str, row: Row) -> Any:
    """Keys of a congestion control of UET."""
    nscc = {"initial_window": WINDOW} if row.window else {}
    if control == "NSCC":
        return {"nscc": nscc}
    rccc: dict[str, Any] = {"oversubscription": 32 / row.spines} if row.spines else {}
    return {"rccc": {**rccc, "nscc": nscc} if control == "both" else rccc}
