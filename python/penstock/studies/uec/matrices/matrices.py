"""Connection matrices of uet-htsim, and what it prints for each.

Source: uet-htsim 40ccb05, `validate_outputs`. A matrix is a list of flows: sender, receiver, bytes and start
in us. Permutations are drawn here, since those of htsim are files; where there are several, the figure is
the mean over four of them.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

CONTROLS = ("NSCC", "RCCC", "both")
FLOW_BYTES = 2_000_000
WINDOW = "207500 B"
"""50 packets, the option `-cwnd 50`: the first window of NSCC."""
PACKET_BYTES = 4150

Flow = tuple[int, int, int, float]
"""Sender, receiver, bytes, start in us."""


@dataclass(frozen=True)
class Printed:
    """Figures of uet-htsim for one control."""

    tail_us: float
    fastest_us: float | None = None
    retransmitted: int | None = None


@dataclass(frozen=True)
class Row:
    """A matrix with its options, and what uet-htsim prints.

    Attributes
    ----------
    experiment : str
        Of `study.toml`.
    matrix : str
        In words.
    flows : callable
        The flows of a draw, by its number.
    printed : tuple of Printed
        For NSCC, RCCC and both.
    band : tuple of float
        Least and greatest tail, as a share of the printed one.
    k : int
        Size of the fat tree; 0: leaf-spine.
    spines : int
        Of the leaf-spine.
    entropies : int
        Values of each flow; 0: a single path.
    draws : int
        Permutations, over which the mean is taken.
    slowed : int
        Core links at a quarter of their rate.
    window : bool
        With `-cwnd 50`.
    quick : bool
        Part of a quick run.
    """

    experiment: str
    matrix: str
    flows: Callable[[int], Sequence[Flow]]
    printed: tuple[Printed, Printed, Printed]
    band: tuple[float, float]
    k: int = 4
    spines: int = 0
    entropies: int = 64
    draws: int = 1
    slowed: int = 0
    window: bool = False
    quick: bool = False


def fixed(*flows: tuple[int, int], size: int = FLOW_BYTES) -> Callable[[int], Sequence[Flow]]:
    """These pairs, from the start."""
    return lambda _: [(sender, to, size, 0.0) for sender, to in flows]


def incast(senders: int, size: int = FLOW_BYTES) -> Callable[[int], Sequence[Flow]]:
    """All others to host 1."""
    return fixed(*((n, 1) for n in range(senders + 1) if n != 1), size=size)


def overlapped(_: int) -> Sequence[Flow]:
    """A flow of 2 MB, and two of 250 kB that begin 40 us later."""
    return [(127, 0, FLOW_BYTES, 0.0), (95, 0, 250_000, 40.0), (61, 0, 250_000, 40.0)]


def outcast(_: int) -> Sequence[Flow]:
    """Three to host 0, two of which have nine others each to send to."""
    pairs = [(1, 0), (2, 0), (3, 0), *((2, 4 + n) for n in range(9)), *((3, 13 + n) for n in range(9))]
    return [(sender, to, FLOW_BYTES, 0.0) for sender, to in pairs]


def permutation(hosts: int) -> Callable[[int], Sequence[Flow]]:
    """Each host sends to another one, and receives from one."""

    def draw(number: int) -> Sequence[Flow]:
        order, to = random.Random(13 + number), list(range(hosts))  # noqa: S311
        while any(at == host for at, host in enumerate(to)):
            order.shuffle(to)
        return [(sender, receiver, FLOW_BYTES, 0.0) for sender, receiver in enumerate(to)]

    return draw


def within(share: float) -> tuple[float, float]:
    """A band around the printed figure."""
    return 1 - share, 1 + share


def printed(*figures: tuple[float, float | None, int | None]) -> tuple[Printed, Printed, Printed]:
    """For NSCC, RCCC and both."""
    first, second, third = (Printed(*one) for one in figures)
    return first, second, third


ROWS: Sequence[Row] = (
    Row(
        "UM-1",
        "one flow, 16 hosts",
        fixed((0, 13)),
        printed((176.20, None, 0), (177.37, None, 0), (177.37, None, 0)),
        within(0.02),
        quick=True,
    ),
    Row(
        "UM-2",
        "both ways, 16 hosts",
        fixed((0, 13), (13, 0)),
        printed((176.80, None, 0), (178.18, None, 0), (178.18, None, 0)),
        within(0.02),
        quick=True,
    ),
    Row(
        "UM-3",
        "10 packets",
        fixed((0, 13), size=10 * 4086),
        printed((17.0107, None, 0), (17.0107, None, 0), (17.0107, None, 0)),
        within(0.01),
        quick=True,
    ),
    Row(
        "UM-3",
        "100 packets",
        fixed((0, 13), size=100 * 4086),
        printed((46.8907, None, 0), (46.8907, None, 0), (46.8907, None, 0)),
        within(0.01),
        quick=True,
    ),
    Row(
        "UM-4",
        "incast 15:1, 16 hosts",
        incast(15),
        printed((2478.5, 1273.6, 811), (2464.4, 2368.4, 762), (2462.9, 2387.9, 758)),
        within(0.03),
        quick=True,
    ),
    Row(
        "UM-5",
        "incast 127:1, 128 hosts",
        incast(127),
        printed((21029, 10788, 72623), (20891, 20355, 6218), (20892, 20354, 6226)),
        within(0.03),
        k=8,
        quick=True,
    ),
    Row(
        "UM-6",
        "incast 1023:1 of 100 kB, first window of 50 packets",
        incast(1023, 100_000),
        printed((10556, 128, 448242), (8902, 5468, 33864), (8803, 4387, 26625)),
        (0.85, 1.15),
        k=16,
        window=True,
    ),
    Row(
        "UM-7",
        "2 MB and two of 250 kB later, first window of 50 packets",
        overlapped,
        printed((221.7, 74.1, 80), (217.1, 94.2, 48), (217.6, 100.6, 49)),
        within(0.05),
        k=8,
        window=True,
        quick=True,
    ),
    Row(
        "UM-8",
        "three to one, two of them busy with nine others each",
        outcast,
        printed((1638.1, 208.0, 0), (1637.8, 235.1, 0), (1634.1, 200.1, 0)),
        within(0.03),
        k=8,
        quick=True,
    ),
    Row(
        "UM-9",
        "permutation of 16",
        permutation(16),
        printed((194.0, 188.0, 0), (195.7, 186.9, 3), (196.8, 188.5, 0)),
        within(0.05),
        entropies=128,
        draws=4,
        quick=True,
    ),
    Row(
        "UM-10",
        "permutation of 16, one core link at a quarter of its rate",
        permutation(16),
        printed((238.2, 188.4, 99), (229.8, 190.2, 284), (238.3, None, 100)),
        within(0.10),
        entropies=128,
        draws=4,
        slowed=1,
        quick=True,
    ),
    Row(
        "UM-11",
        "permutation of 16, single path",
        permutation(16),
        printed((527.8, 178.4, 279), (515.2, 181.4, 7493), (518.7, None, 270)),
        (350 / 527.8, 900 / 527.8),
        entropies=0,
        draws=4,
        quick=True,
    ),
    Row(
        "UM-12",
        "permutation of 1,024",
        permutation(1024),
        printed((200.5, 167.6, 0), (203.4, 168.9, 199), (202.6, None, 0)),
        within(0.04),
        k=16,
        entropies=128,
    ),
    Row(
        "UM-13",
        "permutation of 1,024, one core link at a quarter of its rate",
        permutation(1024),
        printed((202.3, None, 77), (200.9, None, 308), (205.1, None, 67)),
        within(0.04),
        k=16,
        entropies=128,
        slowed=1,
    ),
    Row(
        "UM-14",
        "permutation of 1,024, single path",
        permutation(1024),
        printed((889.9, 168.0, 25621), (1063, 169.9, 751044), (1047, None, 25032)),
        (700 / 1000, 1300 / 1000),
        k=16,
        entropies=0,
    ),
    Row(
        "UM-15",
        "permutation of 1,024, leaf-spine 4:1",
        permutation(1024),
        printed((785.8, 167.6, 31934), (749.7, 167.8, 47945), (814.1, None, 31622)),
        within(0.06),
        k=0,
        spines=8,
        entropies=128,
    ),
    Row(
        "UM-16",
        "permutation of 1,024, leaf-spine 8:1",
        permutation(1024),
        printed((1443.4, 167.3, 39531), (1459.1, 167.7, 67853), (1479.4, None, 39251)),
        within(0.06),
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
"""By path selection and whether each packet is acknowledged: tails of NSCC in us, healthy and with 8 core
links slowed."""


def control_keys(control: str, row: Row) -> Any:
    """The control of UET, with its keys."""
    nscc = {"initial_window": WINDOW} if row.window else {}
    if control == "NSCC":
        return {"nscc": nscc}
    rccc: dict[str, Any] = {"oversubscription": 32 / row.spines} if row.spines else {}
    return {"rccc": {**rccc, "nscc": nscc} if control == "both" else rccc}
