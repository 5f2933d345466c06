"""Blasters, MPI and iSCSI between hosts that are slower than their links, with and without PFC."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

from penstock.result import Result
from penstock.scenario import Scenario
from penstock.studies.reproduce import Context, Outcome

from . import low_load, mpi, pictures
from .measure import BLOCK, NO_PFC, SLOWED, changed, flow, sent

PLATEAU, RECEIVER, SLOW = 835.0, 538.0, 350.0
"""Rates in MB/s."""
BUFFERS_KIB = (56, 60, 62, 64, 66, 68, 70, 72, 76)
QUICK_BUFFERS_KIB = (62, 64, 70)
ABOUT_LOST = 0.4


def run(context: Context) -> list[Outcome]:
    """All experiments."""
    text = (context.study.folder / "four-hosts.toml").read_text("utf-8")
    both, alone = (
        context.scenario("four-hosts"),
        Scenario.from_toml(text[: text.index('[[flows]]\nname = "TS2"')]),
    )
    context.say("threads")
    threads = {
        n: sent(changed(alone, {**NO_PFC, "flows.TS1.source.threads.count": n}).run(seed=1))
        for n in range(1, 7)
    }
    context.say("two streams")
    full = [phase.run(seed=1) for phase in (alone, both, changed(both, SLOWED))]
    off = changed(alone, NO_PFC).run(seed=1)
    context.say("a stream of low load")
    low = low_load.measure(context, alone, both)
    context.say("MPI")
    ring = context.scenario("mpi")
    lossy = changed(ring, NO_PFC)
    times, little = mpi.measure(context, ring, lossy), mpi.with_little(lossy)
    context.say("iSCSI")
    gains = storage(context)
    cover = context.save_figure(pictures.cover(threads, rates(full), low.chosen), "chapter-5", cover=True)
    return [
        *more_threads(context, threads, [cover]),
        *on_and_off(context, full[0], off),
        *two_streams(context, full),
        *low_load.judge(context, low),
        *mpi.judge(context, times, little),
        *iscsi(context, gains),
    ]


def rates(phases: Sequence[Result]) -> list[float]:
    """Rate of TS1 in each phase, in MB/s."""
    return [sent(phase) for phase in phases]


def more_threads(context: Context, threads: Mapping[int, float], pictures: list[str]) -> list[Outcome]:
    """H5-2, and the growth of the rate."""
    rates = list(threads.values())
    text = ", ".join(f"{n}: {rate:.0f}" for n, rate in threads.items()) + " MB/s"
    steady = all(abs(rate / PLATEAU - 1) <= 0.02 for rate in rates[3:])
    growth = (rates[1] - rates[0]) / (rates[3] - rates[0])
    return [
        context.outcome("H5-2", measured=text, passed=steady and rates == sorted(rates), pictures=pictures),
        context.outcome(
            "H5-2-linear",
            measured=f"2 threads {growth:.0%} of the way from 1 to 4",
            passed=growth <= 0.9,
        ),
    ]


def on_and_off(context: Context, on: Result, off: Result) -> list[Outcome]:
    """H5-3."""
    kept, lost = flow(on)["frames_dropped"], flow(off)["frames_dropped"] / flow(off)["frames_sent"]
    figure = pictures.on_and_off((sent(on), sent(off)), (RECEIVER, PLATEAU))
    return [
        context.outcome(
            "H5-3",
            measured=f"on: {sent(on):.0f} MB/s, {kept} frames lost; off: {sent(off):.0f} MB/s sent",
            passed=kept == 0 and 500 < sent(on) < 550 and sent(off) > 800,
            pictures=[context.save_figure(figure, "figure-5-3")],
        ),
        context.outcome("H5-3-lost", measured=f"{lost:.1%}", passed=abs(lost - ABOUT_LOST) <= 0.02),
    ]


def two_streams(context: Context, phases: list[Result]) -> list[Outcome]:
    """H5-4."""
    alone, beside, victim = rates(phases)
    other = sent(phases[1], "TS2")
    link = next(
        row for row in phases[1].rows("ports") if row["port"].startswith("sw1.") and "->sw2" in row["port"]
    )
    return [
        context.outcome(
            "H5-4",
            measured=f"TS1 {beside:.0f}, TS2 {other:.0f} MB/s",
            passed=abs(beside / other - 1) <= 0.03,
        ),
        context.outcome(
            "H5-4-reduced",
            measured=f"alone {alone:.0f}, with TS2 {beside:.0f} MB/s: {beside / alone - 1:+.1%}",
            passed=0.02 <= 1 - beside / alone <= 0.06,
        ),
        context.outcome(
            "H5-4-link",
            measured=f"the link between the switches is busy {link['utilisation']:.1%} of the time",
            passed=link["utilisation"] >= 0.99,
        ),
        context.outcome(
            "H5-4-victim",
            measured=f"alone {alone:.0f}, while CNA 4 is slow {victim:.0f} MB/s; CNA 4 takes in {SLOW:.0f}",
            passed=abs(victim / SLOW - 1) <= 0.05,
        ),
    ]


def storage(context: Context) -> dict[int, tuple[float, float]]:
    """Relative gain of reads and writes by PFC, by the buffer of the adapters in KiB."""
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
        "iSCSI by the buffer of the adapters",
        ("buffer (KiB)", "read, off", "read, PFC", "write, off", "write, PFC", "reads gain", "writes gain"),
        rows,
        note="MB/s. With PFC the buffer is 64 KiB. A write whose last segments are lost waits 200 ms.",
    )
    return gains


def moved_mbps(scenario: Scenario) -> float:
    """MB/s of blocks that are transferred one after the other."""
    took_ns = next(row["exchange_mean_ns"] for row in scenario.run(seed=1).rows("connections"))
    return float(BLOCK / took_ns * 1e3)


def iscsi(context: Context, gains: Mapping[int, tuple[float, float]]) -> list[Outcome]:
    """H5-8: the median over all buffers, so that a resonance of one of them does not decide."""
    reads, writes = (median(gain[way] for gain in gains.values()) for way in (0, 1))
    ranges = [f"{min(of):+.0%} to {max(of):+.0%}" for of in zip(*gains.values(), strict=True)]
    sizes = f"{len(gains)} buffers of {min(gains)} to {max(gains)} KiB"
    return [
        context.outcome(
            "H5-8",
            measured=f"{reads:+.0%} ({ranges[0]} with {sizes})",
            passed=0.8 <= reads <= 1.0,
            pictures=[context.save_figure(pictures.iscsi((reads, writes)), "figure-5-8")],
        ),
        context.outcome(
            "H5-8-writes",
            measured=f"{writes:+.0%} ({ranges[1]} with {sizes})",
            passed=writes > 0.25,
        ),
        context.outcome(
            "H5-8-order",
            measured=f"reads gain more with {sum(r > w for r, w in gains.values())} of {sizes}",
            passed=reads > writes,
        ),
    ]
