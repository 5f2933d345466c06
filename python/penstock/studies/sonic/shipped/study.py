"""Largest incasts without loss, with the buffer configurations that switches ship with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from matplotlib.figure import Figure

from penstock.plots.style import style
from penstock.scenario import Scenario
from penstock.studies.reproduce import Context, Outcome

MEMORY = "switch.buffer.memory"
RATE = 400e9 / 8
"""Bytes per second of a link."""
MOST = 127
"""Largest number of senders at a switch of 128 ports."""
HEADROOM = {5: 86_016, 40: 104_448, 250: 217_088, 300: 243_712, 1000: 610_304}
"""Headroom in bytes of a group of the SN5600 at 400 Gb/s, by cable length in m."""
SHARED_HEADROOM = 29_423_360
"""Shared headroom of the 7060X6-64PE in bytes."""
PEERS = ("immediate", "slowest")
CAUSES = {
    "egress_limit": "egress pool",
    "headroom_violation": "headroom of a group",
    "shared_headroom_exhausted": "shared headroom",
}


@dataclass(frozen=True)
class Memory:
    """A shipped configuration: sizes of the pools, and the profile of a lossless group by cable length."""

    name: str
    ingress: int
    egress: int
    lengths: tuple[int, ...]
    headroom: Callable[[int], int]
    reserved: int
    xon: int
    shared_headroom: int | None = None
    limit: tuple[str, object] = ("alpha", 128.0)
    """Threshold of an egress queue."""

    def scenario(self, base: Scenario, length: int, peers: str) -> Scenario:
        """The scenario with this memory, cables of `length` in m, and peers of this kind."""
        pool: dict[str, object] = {"side": "ingress", "size": f"{self.ingress} B", "mode": "dynamic"}
        lossless = {
            "pool": "ingress",
            "alpha": 1.0,
            "reserved": f"{self.reserved} B",
            "xon": f"{self.xon} B",
            "headroom": f"{self.headroom(length)} B",
        }
        if self.shared_headroom is not None:
            pool["headroom"] = f"{self.shared_headroom} B"
            lossless["xon_offset"] = "3556 B"
        egress = {"side": "egress", "size": f"{self.egress} B", "mode": "dynamic"}
        for key, value in (
            (f"{MEMORY}.pools.ingress", pool),
            (f"{MEMORY}.pools.egress", egress),
            (f"{MEMORY}.profiles.lossless", lossless),
            (f"{MEMORY}.profiles.queues", {"pool": "egress", self.limit[0]: self.limit[1]}),
            ("topology.star.length", f"{length} m"),
        ):
            base = base.with_value(key, value)
        if peers == "immediate":
            base = base.with_value("topology.star.phy", "none")
            base = base.with_value("flow_control.pfc.response_time", "0 s")
        return base


def arista(name: str, ingress: int) -> Memory:
    """The 7060X6-64PE, with one interpretation of its pool."""
    return Memory(
        name,
        ingress=ingress,
        egress=166_115_492,
        lengths=(5, 40, 150),
        headroom=lambda _: 612_140,
        reserved=18_796,
        xon=0,
        shared_headroom=SHARED_HEADROOM,
        limit=("threshold", "167546528 B"),
    )


def nvidia(name: str, ingress: int) -> Memory:
    """The SN5600 with one size of its pool."""
    return Memory(
        name,
        ingress=ingress,
        egress=158_229_504,
        lengths=tuple(HEADROOM),
        headroom=HEADROOM.__getitem__,
        reserved=19_456,
        xon=19_456,
    )


WITHIN = arista("7060X6-64PE, headroom within the pool", 166_115_492 - SHARED_HEADROOM)
OUTSIDE = arista("7060X6-64PE, headroom outside the pool", 166_115_492)
LEAF = nvidia("SN5600, T1", 142_703_616)
RACK = nvidia("SN5600, T0", 125_752_320)


@dataclass(frozen=True)
class Found:
    """The largest incast without loss, and the cause of loss with one more sender, if any."""

    senders: int
    cause: str | None

    def __str__(self) -> str:
        if self.cause is None:
            return f"{self.senders}:1"
        return f"{self.senders}:1, then {self.cause}"


class Incasts:
    """Incasts of the study; each runs only once."""

    def __init__(self, base: Scenario) -> None:
        self.base = base
        self.cause = cache(self._cause)

    def _cause(self, memory: Memory, length: int, peers: str, senders: int) -> str | None:
        """Cause of most losses; `None` if nothing is lost."""
        fills = memory.ingress / (RATE * (senders - 1))
        scenario = memory.scenario(self.base, length, peers)
        scenario = scenario.with_value("topology.star.hosts", senders + 1)
        scenario = scenario.with_value("simulation.duration", f"{round(2e6 * fills) + 100} us")
        lost: dict[str, int] = {}
        for row in scenario.run().rows("drops"):
            lost[row["cause"]] = lost.get(row["cause"], 0) + row["frames"]
        return CAUSES[max(lost, key=lambda cause: lost[cause])] if lost else None

    def largest(self, memory: Memory, length: int, peers: str) -> Found:
        """The largest incast without loss, by bisection."""
        if self.cause(memory, length, peers, MOST) is None:
            return Found(MOST, None)
        low, high = 1, MOST
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.cause(memory, length, peers, middle) is None else (low, middle)
        return Found(low, self.cause(memory, length, peers, high))

    def longest(self, memory: Memory, peers: str, senders: int) -> int:
        """The longest cable without loss in m, in steps of 50 m, with this number of senders."""
        low, high = 1, 100
        while high - low > 1:
            middle = (low + high) // 2
            lost = self.cause(memory, 50 * middle, peers, senders)
            low, high = (middle, high) if lost is None else (low, middle)
        return 50 * low


def run(context: Context) -> list[Outcome]:
    """All experiments."""
    incasts = Incasts(context.scenario("incast"))
    found: dict[Memory, dict[tuple[int, str], Found]] = {}
    for memory in (WITHIN, OUTSIDE, LEAF, RACK):
        context.say(memory.name)
        lengths = (memory.lengths[0], memory.lengths[-1]) if context.quick else memory.lengths
        found[memory] = {
            (length, peers): incasts.largest(memory, length, peers) for length in lengths for peers in PEERS
        }
    context.save_table(
        "shipped",
        "Largest incast without loss, and cause of loss with one more sender",
        ("memory", "cable", *(f"peers: {peers}" for peers in PEERS)),
        [
            (memory.name, f"{length} m", *(str(of[length, peers]) for peers in PEERS))
            for memory, of in found.items()
            for length in dict.fromkeys(length for length, _ in of)
        ],
        note="The switches have 128 ports at 400 Gb/s, so that 127:1 is the largest possible incast.",
    )
    cover = context.save_figure(picture(found), "shipped", cover=True)
    return [
        lossless(context, "SS-1", found[WITHIN], [cover]),
        lossless(context, "SS-2", found[OUTSIDE]),
        longer(context, incasts),
        lossless(context, "SS-4", found[LEAF]),
        lossless(context, "SS-5", found[RACK]),
    ]


def lossless(
    context: Context, experiment: str, of: Mapping[tuple[int, str], Found], pictures: Sequence[str] = ()
) -> Outcome:
    """SS-1, SS-2, SS-4, SS-5."""
    immediate = {length: found for (length, peers), found in of.items() if peers == "immediate"}
    return context.judge(
        experiment,
        {"senders_min": min(found.senders for found in immediate.values())},
        measured="; ".join(f"{length} m {found}" for length, found in immediate.items()),
        pictures=pictures,
    )


def longer(context: Context, incasts: Incasts) -> Outcome:
    """SS-3: bytes in flight of the groups of 32 ports, calculated by hand."""
    senders, frame = 32, 9_216 + 20
    # A pause frame waits for a frame of the switch, crosses the cable, and waits for a frame of the peer. The
    # bytes on the cable then still arrive: 5 ns/m in each direction. A group that pauses has accepted a frame
    # above its threshold. While the first group of a port is paused, the other has the whole link, so each
    # group needs the full amount.
    hand = (SHARED_HEADROOM / (2 * senders) - 3 * frame) / (2 * 5e-9 * RATE)
    longest = incasts.longest(WITHIN, "immediate", senders)
    return context.judge(
        "SS-3",
        {"deviation": abs(longest / hand - 1)},
        measured=f"no loss up to {longest} m, by hand {hand:,.0f} m",
    )


def picture(found: Mapping[Memory, Mapping[tuple[int, str], Found]]) -> Figure:
    """Largest incasts without loss, a panel for each memory."""
    with style():
        figure = Figure(figsize=(7.2, 4.4), layout="constrained")
        figure.suptitle("Largest incast without loss, as shipped")
        panels = figure.subplots(2, 2, sharey=True).flat
        for axes, (memory, of) in zip(panels, found.items(), strict=True):
            lengths = list(dict.fromkeys(length for length, _ in of))
            at = np.arange(len(lengths))
            for nth, (peers, color) in enumerate(zip(PEERS, ("#0072B2", "#D55E00"), strict=True)):
                senders = [of[length, peers].senders for length in lengths]
                bars = axes.bar(at + 0.4 * nth - 0.2, senders, 0.38, color=color, label=f"peers: {peers}")
                axes.bar_label(bars, fontsize=7)
            axes.set_title(memory.name, fontsize=9)
            axes.set_xticks(at, [f"{length} m" for length in lengths])
            axes.set_ylim(0, MOST + 15)
        for axes in (panels[0], panels[2]):
            axes.set_ylabel("senders")
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False)
    return figure
