"""Raw Ethernet, MPI and iSCSI between hosts that are slower than their links, with and without PFC."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import median

from penstock.result import Result
from penstock.scenario import Scenario
from penstock.studies.reproduce import Context, Outcome

from . import low_load, mpi, pictures
from .measure import BLOCK, NO_PFC, SLOWED, changed, flow, sent

PLATEAU, RECEIVER = 835.0, 538.0
"""Rates in MB/s."""
BUFFERS_KIB = (32, 40, 48, 56, 64, 72, 80, 96, 112, 128)
QUICK_BUFFERS_KIB = (64,)
STREAMS = (
    "H5-2",
    "H5-2-linear",
    "H5-3",
    "H5-3-cascade",
    "H5-3-lost",
    "H5-4",
    "H5-4-reduced",
    "H5-4-link",
    "H5-4-victim",
)
"""Experiments with blasters at full load."""
CASCADE = ("sw2.1->cna3", "sw1.2->sw2", "cna1.0->sw1")
"""Ports on the path of the first stream, from CNA 3 back to CNA 1."""


def run(context: Context) -> list[Outcome]:
    """All experiments."""
    text = (context.study.folder / "four-hosts.toml").read_text("utf-8")
    both, alone = (
        context.scenario("four-hosts"),
        Scenario.from_toml(text[: text.index('[[flows]]\nname = "TS2"')]),
    )
    context.say("threads, and two streams")
    found = context.over_seeds(lambda seed: streams(alone, both, seed), *STREAMS)
    figures = [of for of, _, _ in found]
    _, threads, full = found[0]
    context.say("a stream of low load")
    low = low_load.measure(context, alone, both)
    context.say("MPI")
    ring = context.scenario("mpi")
    lossy = changed(ring, NO_PFC)
    times, little = mpi.measure(context, ring, lossy), mpi.with_little(lossy)
    context.say("iSCSI")
    gains = storage(context)
    cover = context.save_figure(pictures.cover(threads, full, low.chosen), "chapter-5", cover=True)
    off = (
        sum(of["off_sent"] for of in figures) / len(figures),
        sum(of["sent"] for of in figures) / len(figures),
    )
    drawn = {
        "H5-2": cover,
        "H5-3": context.save_figure(pictures.on_and_off(off[::-1], (RECEIVER, PLATEAU)), "figure-5-3"),
    }
    return [
        *(context.judge(one, figures, pictures=[drawn[one]] if one in drawn else ()) for one in STREAMS),
        *low_load.judge(context, low),
        *mpi.judge(context, times, little),
        *iscsi(context, gains),
    ]


def streams(
    alone: Scenario, both: Scenario, seed: int
) -> tuple[dict[str, float], dict[int, float], list[float]]:
    """Figures 5-2 to 5-4 with one seed, rates by number of threads, and rates of TS1 in three phases."""
    threads = {
        n: sent(changed(alone, {**NO_PFC, "flows.TS1.source.threads.count": n}).run(seed=seed))
        for n in range(1, 7)
    }
    phases = [phase.run(seed=seed) for phase in (alone, both, changed(both, SLOWED))]
    off = flow(changed(alone, NO_PFC).run(seed=seed))
    more, full = list(threads.values()), rates(phases)
    link = next(
        row for row in phases[1].rows("ports") if row["port"].startswith("sw1.") and "->sw2" in row["port"]
    )
    figures = {
        "one": more[0],
        "four": more[3],
        "step": min(later - before for before, later in pairwise(more)),
        "off": max(abs(rate / PLATEAU - 1) for rate in more[3:]),
        "growth": (more[1] - more[0]) / (more[3] - more[0]),
        "sent": full[0],
        "lost": flow(phases[0])["frames_dropped"],
        "cascade_ms": min(paused_ms(phases[0], port) for port in CASCADE),
        "off_sent": float(off["offered_bps"]) / 8e6,
        "off_lost": off["frames_dropped"] / off["frames_sent"],
        "apart": abs(full[1] / sent(phases[1], "TS2") - 1),
        "reduced": 1 - full[1] / full[0],
        "busy": link["utilisation"],
        "beside_slow": full[2],
    }
    return figures, threads, full


def paused_ms(result: Result, port: str) -> float:
    """Time for which a port was paused, in ms."""
    return next(float(row["paused_s"]) for row in result.rows("ports") if row["port"] == port) * 1e3


def rates(phases: Sequence[Result]) -> list[float]:
    """Rate of TS1 in each phase, in MB/s."""
    return [sent(phase) for phase in phases]


def storage(context: Context) -> dict[int, tuple[float, float]]:
    """Relative gain of reads and writes by PFC, by adapter buffer in KiB."""
    base = context.scenario("storage")
    reads, writes = (
        changed(base, {"flows.dd.source.conversation.messages": messages})
        for messages in ("iscsi_read", "iscsi_write")
    )
    kept = moved_mbps(reads), moved_mbps(writes)
    rows, gains = [], {}
    for kib in QUICK_BUFFERS_KIB if context.quick else BUFFERS_KIB:
        changes = {"host.receive.buffer": f"{kib} KiB", **NO_PFC}
        lossy = moved_mbps(changed(reads, changes)), moved_mbps(changed(writes, changes))
        gains[kib] = (kept[0] / lossy[0] - 1, kept[1] / lossy[1] - 1)
        rates = (lossy[0], kept[0], lossy[1], kept[1])
        rows.append((str(kib), *(f"{rate:.0f}" for rate in rates), *(f"{gain:+.0%}" for gain in gains[kib])))
    context.save_table(
        "iscsi",
        "iSCSI by adapter buffer",
        ("buffer (KiB)", "read, off", "read, PFC", "write, off", "write, PFC", "reads gain", "writes gain"),
        rows,
        note="MB/s. With PFC the buffer is 64 KiB. A write that loses its last segments waits 200 ms.",
    )
    return gains


def moved_mbps(scenario: Scenario) -> float:
    """MB/s of blocks that are transferred one after the other."""
    took_ns = next(row["exchange_mean_ns"] for row in scenario.run(seed=1).rows("connections"))
    return float(BLOCK / took_ns * 1e3)


def iscsi(context: Context, gains: Mapping[int, tuple[float, float]]) -> list[Outcome]:
    """H5-8, over all buffers."""
    reads, writes = ([gain[way] for gain in gains.values()] for way in (0, 1))
    figures = {
        "reads_least": min(reads),
        "reads_most": max(reads),
        "writes_least": min(writes),
        "ahead": min(read - write for read, write in gains.values()),
    }
    drawn = [context.save_figure(pictures.iscsi((median(reads), median(writes))), "figure-5-8")]
    ahead = sum(read > write for read, write in gains.values())
    return [
        context.judge("H5-8", [figures], also=f"median {median(reads):+.0%}", pictures=drawn),
        context.judge("H5-8-writes", [figures], also=f"largest {max(writes):+.0%}"),
        context.judge("H5-8-order", [figures], also=f"reads gain more with {ahead} of {len(gains)} buffers"),
    ]
