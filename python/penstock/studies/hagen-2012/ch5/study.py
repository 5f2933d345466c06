"""Blasters, MPI and iSCSI between hosts that are slower than their links, with and without PFC."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from matplotlib.figure import Figure

from penstock.plots.style import style
from penstock.result import Result
from penstock.scenario import Scenario
from penstock.studies.reproduce import Context, Outcome

from . import mpi

PLATEAU, RECEIVER, SLOW = 835.0, 538.0, 350.0
"""MB/s."""
BUFFERS_KIB = (60, 64, 66, 68, 70, 72, 76)
BLOCK = 1 << 20
LOW = {"threads": {"rate": "5.76 Gb/s", "count": 16, "burst": 16, "delay": "1 ms"}}

Changes = Mapping[str, Any]
NO_PFC: Changes = {"flow_control": None}
AT_EGRESS: Changes = {
    "switch.flow_control": {"pfc": {"accounting": "egress", "xoff": "64 KiB", "xon": "32 KiB"}}
}
SLOWED: Changes = {"hosts.cna4.receive.time_per_frame": "2857 ns"}


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
    phases = [changed(phase, {"flows.TS1.source": LOW}) for phase in (alone, both, changed(both, SLOWED))]
    low = [phase.run(seed=1) for phase in phases]
    others = [changed(phase, AT_EGRESS).run(seed=1) for phase in phases]
    context.say("MPI")
    ring = context.scenario("mpi")
    lossy = changed(ring, NO_PFC)
    times, little = mpi.measure(ring, lossy), mpi.with_little(lossy)
    context.say("iSCSI")
    gains = storage(context)
    cover = context.save_figure(picture(threads, full, low), "chapter-5", cover=True)
    return [
        *more_threads(context, threads, [cover]),
        on_and_off(context, full[0], changed(alone, NO_PFC).run(seed=1)),
        two_streams(context, full),
        low_load(context, low, others),
        *mpi.judge(context, times, little),
        iscsi(context, gains),
    ]


def changed(scenario: Scenario, changes: Changes) -> Scenario:
    """The scenario with other values."""
    for key, value in changes.items():
        scenario = scenario.with_value(key, value)
    return scenario


def flow(result: Result, name: str = "TS1") -> Mapping[str, Any]:
    """A row of the table of flows."""
    return next(row for row in result.rows("flows") if row["flow"] == name)


def sent(result: Result, name: str = "TS1") -> float:
    """MB/s that the sender of a stream sends, as netstat at it counts."""
    return float(flow(result, name)["offered_bps"]) / 8e6


def more_threads(context: Context, threads: Mapping[int, float], pictures: list[str]) -> list[Outcome]:
    """H5-2, and how the rate grows."""
    rates = list(threads.values())
    told = ", ".join(f"{n}: {rate:.0f}" for n, rate in threads.items()) + " MB/s"
    steady = all(abs(rate / PLATEAU - 1) <= 0.02 for rate in rates[3:])
    growth = (rates[1] - rates[0]) / (rates[3] - rates[0])
    return [
        context.outcome("H5-2", measured=told, passed=steady and rates == sorted(rates), pictures=pictures),
        context.outcome(
            "H5-2-linear",
            measured=f"2 threads {growth:.0%} of the way from 1 to 4",
            passed=growth <= 0.9,
        ),
    ]


def on_and_off(context: Context, on: Result, off: Result) -> Outcome:
    """H5-3."""
    kept, lost = flow(on)["frames_dropped"], flow(off)["frames_dropped"] / flow(off)["frames_sent"]
    return context.outcome(
        "H5-3",
        measured=f"on: {sent(on):.0f} MB/s, {kept} frames lost; "
        f"off: {sent(off):.0f} MB/s sent, {lost:.1%} lost",
        passed=abs(sent(on) / RECEIVER - 1) <= 0.03 and kept == 0 and 0.34 <= lost <= 0.42,
    )


def two_streams(context: Context, phases: list[Result]) -> Outcome:
    """H5-4."""
    alone, beside, victim = (sent(result) for result in phases)
    other = sent(phases[1], "TS2")
    return context.outcome(
        "H5-4",
        measured=f"alone {alone:.0f}, with TS2 {beside:.0f} (TS2 {other:.0f}), "
        f"while CNA 4 is slow {victim:.0f} MB/s",
        passed=beside >= 0.93 * alone
        and abs(beside / other - 1) <= 0.03
        and victim <= 0.75 * alone
        and abs(victim / SLOW - 1) <= 0.1,
    )


def low_load(context: Context, phases: list[Result], others: list[Result]) -> Outcome:
    """H5-5; `others`: the same with switches that count at the egress."""
    alone, beside, victim = (sent(result) for result in phases)
    resumes = [
        next(row["resumes_sent"] for row in phases[1].rows("ports") if row["port"] == port)
        for port in ("sw1.0->cna1", "sw1.1->cna2")
    ]
    near = all(
        abs(ours / theirs - 1) <= 0.25 for ours, theirs in ((alone, 250), (beside, 200), (victim, 240))
    )
    return context.outcome(
        "H5-5",
        measured=f"alone {alone:.0f}, with TS2 {beside:.0f}, while CNA 4 is slow {victim:.0f} MB/s; "
        f"{resumes[0]} XON to CNA 1 and {resumes[1]} to CNA 2; counted at the egress "
        + ", ".join(f"{sent(result):.0f}" for result in others),
        passed=near and beside < alone and victim > beside,
    )


def storage(context: Context) -> dict[int, tuple[float, float]]:
    """By the buffer of the adapters in KiB, how much more reads and writes move with PFC, as a share."""
    base = context.scenario("storage")
    reads, writes = (
        changed(base, {"flows.dd.source.conversation.messages": messages})
        for messages in ("iscsi_read", "iscsi_write")
    )
    kept = moved_mbps(reads), moved_mbps(writes)
    rows, gains = [], {}
    for kib in BUFFERS_KIB:
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
        note="MB/s. With PFC the buffer is 256 KiB. A write whose last segments are lost waits 200 ms.",
    )
    return gains


def moved_mbps(scenario: Scenario) -> float:
    """MB/s of blocks, one of which follows the other."""
    took_ns = next(row["exchange_mean_ns"] for row in scenario.run(seed=1).rows("connections"))
    return float(BLOCK / took_ns * 1e3)


def iscsi(context: Context, gains: Mapping[int, tuple[float, float]]) -> Outcome:
    """H5-8."""
    kib = min(gains, key=lambda kib: abs(gains[kib][0] - 1))
    reads, writes = gains[kib]
    return context.outcome(
        "H5-8",
        measured=f"with {kib} KiB reads {reads:+.0%}, writes {writes:+.0%}",
        passed=0.5 <= reads <= 1.5 and writes >= 0.15 and reads > writes,
    )


def picture(threads: Mapping[int, float], full: list[Result], low: list[Result]) -> Figure:
    """Throughput by threads, and of TS1 in the phases, beside what the source reports."""
    with style():
        figure = Figure(figsize=(9.0, 3.6), layout="constrained")
        left, *others = figure.subplots(1, 3)
        left.plot(list(threads), list(threads.values()), marker="o", color="#0072B2")
        left.set_title("H5-2: threads of the blaster")
        left.set_xlabel("threads")
        left.set_ylabel("sent (MB/s)")
        names = ("alone", "with TS2", "CNA 4 slow")
        for axes, of, reported, title in (
            (others[0], full, (550, 530, 350), "H5-4: TS1, 4 threads"),
            (others[1], low, (250, 200, 240), "H5-5: TS1, low load"),
        ):
            axes.bar(
                [n - 0.2 for n in range(3)], [sent(one) for one in of], 0.4, color="#0072B2", label="Penstock"
            )
            axes.bar([n + 0.2 for n in range(3)], reported, 0.4, color="#E69F00", label="Hagen")
            axes.set_xticks(range(3), names)
            axes.set_title(title)
        others[0].legend(frameon=False)
    return figure
