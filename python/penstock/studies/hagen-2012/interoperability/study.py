"""Section 3.3 of Hagen 2012: switches of three vendors, individually and in a line."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.result import Result
from penstock.scenario import Scenario
from penstock.studies.reproduce import Context, Outcome

from . import arrange, pictures
from .arrange import (
    ADAPTERS,
    EITHER,
    ENOUGH,
    JUMBO,
    LATEST,
    LEAST,
    MIDDLE,
    ORDERS,
    OWN,
    PUNCTUAL,
    ROTATION,
    TOO_LATE,
    TOO_LITTLE,
    VENDORS,
)

ISCSI = 0.6
"""Configured share of iSCSI."""
MARGINAL_PERCENT = 55
"""Percentage within the tolerance of 60."""
PFC_CASES = tuple(f"PF-{number:02}" for number in range(1, 28))
QUICK_CASES = ("PF-07", "PF-08", "PF-19", "PF-21")
SEED = 1

Runs = Mapping[str, Result]
"""Results by order."""


def run(context: Context) -> list[Outcome]:
    """All experiments."""
    fabric, screening = context.scenario("fabric"), context.scenario("screening")
    context.say("the rotation")
    alike = {order: arrange.placed(fabric, order, EITHER).run(seed=SEED) for order in ORDERS}
    own = {order: arrange.placed(fabric, order, OWN).run(seed=SEED) for order in ORDERS}
    table(context, alike, own)
    cover = context.save_figure(pictures.orders(alike, own), "figure-3-4", cover=True)
    return [
        screened(context, fabric, screening),
        rotation(context, alike, cover),
        cascade(context, alike),
        ets(context, alike),
        dialects(context, alike, own),
        core(context, fabric),
        margins(context, screening),
        line(context, fabric),
    ]


def screened(context: Context, fabric: Scenario, screening: Scenario) -> Outcome:
    """H3-4-screening."""
    context.say("the screening phase")
    switches = fabric.to_dict()["switches"]
    rows, wrong, out = [], 0, []
    for vendor in VENDORS:
        for adapter in ADAPTERS:
            scenario = arrange.screened(screening, switches[vendor], OWN[vendor], adapter)
            result = scenario.run(seed=SEED)
            has = all(arrange.in_force(result).values())
            frames = sum(arrange.lost(result).values())
            stopped = arrange.paused_ms(result)["adapter.0->switch"]
            fits = arrange.agree(OWN[vendor], adapter)
            wrong += (has, frames == 0, stopped > 0) != (fits, fits, fits)
            out += [] if fits else [f"{adapter} at {vendor} ({frames})"]
            rows.append((vendor, OWN[vendor], adapter, "yes" if has else "no", f"{stopped:.2f}", f"{frames}"))
    context.save_table(
        "screening",
        "The screening phase: one adapter, one switch, one target",
        (
            "switch",
            "DCBX of the switch",
            "DCBX of the adapter",
            "PFC",
            "adapter paused (ms)",
            "iSCSI frames lost",
        ),
        rows,
        note="Run time 10 ms.",
    )
    return context.judge(
        "H3-4-screening",
        {"deviating": wrong},
        also=f"{len(rows)} pairs; without PFC (frames lost): {', '.join(out)}",
    )


def rotation(context: Context, runs: Runs, cover: str) -> Outcome:
    """H3-4."""
    met = {
        arrange.ends(port)
        for order in ROTATION
        for port, has in arrange.in_force(runs[order]).items()
        if has and arrange.ends(port)[1] in VENDORS
    }
    connections = [row for result in runs.values() for row in result.rows("connections")]
    figures = {
        "agreed": len(met),
        "without_pfc": sum(not has for result in runs.values() for has in arrange.in_force(result).values()),
        "lost": sum(sum(arrange.lost(result).values()) for result in runs.values()),
        "retransmitted": sum(row["segments_sent_again"] for row in connections),
        "commands": min(row["exchanges"] for row in connections),
    }
    return context.judge("H3-4", figures, pictures=[cover])


def cascade(context: Context, runs: Runs) -> Outcome:
    """H3-4-cascade."""
    inner: list[float] = []
    outer: list[float] = []
    for order, result in runs.items():
        for port, stopped in arrange.paused_ms(result).items():
            station, peer = arrange.ends(port)
            edges = set(order) - {order[MIDDLE]}
            if station in edges and peer == order[MIDDLE]:
                inner.append(stopped)
            elif station not in VENDORS and peer in edges:
                outer.append(stopped)
    return context.judge(
        "H3-4-cascade",
        {"switches": sum(ms > 0 for ms in inner), "hosts": sum(ms > 0 for ms in outer)},
        also=f"paused time in 30 ms: {min(inner):.1f} to {max(inner):.1f} ms of a switch, "
        f"{min(outer):.1f} to {max(outer):.1f} ms of a host",
    )


def ets(context: Context, runs: Runs) -> Outcome:
    """H3-4-ets."""
    out: list[float] = []
    into: list[float] = []
    for order, result in runs.items():
        for port, share in arrange.shares(result).items():
            (out if arrange.ends(port)[0] == order[MIDDLE] else into).append(share)
    figures = {
        "links": len(out) + len(into),
        "iscsi_out": min(out),
        "other_out": 1 - max(out),
        "other_into": 1 - max(into),
    }
    return context.judge("H3-4-ets", figures)


def without(order: str) -> set[str]:
    """Stations without PFC in this order: switches incompatible with the middle one, and their hosts."""
    switches = {name for name in order if not arrange.agree(OWN[name], OWN[order[MIDDLE]])}
    hosts = {f"{kind}{order.index(name) + 1}" for name in switches for kind in "it"}
    return switches | hosts


def dialects(context: Context, alike: Runs, own: Runs) -> Outcome:
    """H3-4-dialects."""
    frames = {order: sum(arrange.lost(result).values()) for order, result in own.items()}
    figures = {
        "deviating_ports": sum(
            has == (arrange.ends(port)[0] in without(order))
            for order, result in own.items()
            for port, has in arrange.in_force(result).items()
        ),
        "deviating_orders": sum((count > 0) != bool(without(order)) for order, count in frames.items()),
        "lost_with_common": sum(sum(arrange.lost(result).values()) for result in alike.values()),
    }
    text = ", ".join(f"{order} {count}" for order, count in frames.items())
    return context.judge("H3-4-dialects", figures, also=f"iSCSI frames lost by order: {text}")


def core(context: Context, fabric: Scenario) -> Outcome:
    """H3-4-core."""
    context.say("from the core to the end nodes")
    counts: dict[bool, list[int]] = {}
    for uplinks in (False, True):
        for order in ORDERS:
            placed = arrange.placed(fabric, order, EITHER, uplinks=uplinks)
            now = arrange.in_force(placed.with_value("simulation.duration", "10 us").run(seed=SEED))
            hosts = [
                has
                for port, has in now.items()
                if arrange.ends(port)[0] not in VENDORS and arrange.ends(port)[1] != order[MIDDLE]
            ]
            counts.setdefault(uplinks, []).append(sum(hosts))
    return context.judge("H3-4-core", {"standard": max(counts[False]), "uplink": min(counts[True])})


def margins(context: Context, screening: Scenario) -> Outcome:
    """H3-4-margins."""
    context.say("devices at the margins")
    cases = QUICK_CASES if context.quick else PFC_CASES

    def trials(station: str, response: str, headroom: str) -> dict[str, int]:
        device = arrange.at_the_margin(screening, JUMBO[0], response, headroom)
        return arrange.compliance(device, station, cases)

    marginal = {name: trials(name, LATEST, LEAST) for name in ("adapter", "switch")}
    beyond = {name: trials(name, TOO_LATE, TOO_LITTLE)["fail"] for name in marginal}
    pairs = {"both": (LATEST, LEAST), "adapter": (LATEST, ENOUGH), "switch": (PUNCTUAL, LEAST)}
    frames = {
        name: [
            sum(arrange.lost(arrange.at_the_margin(screening, frame, *pair).run(seed=SEED)).values())
            for frame in JUMBO
        ]
        for name, pair in pairs.items()
    }
    context.save_table(
        "margins",
        "iSCSI frames lost by devices that pass all PFC cases",
        ("at the margin", *(f"frames of {frame}" for frame in JUMBO)),
        [(name, *(f"{count}" for count in counts)) for name, counts in frames.items()],
        note="A connection reduces its rate after its first loss, so few frames are lost in 10 ms.",
    )
    together, late, short = (counts[0] for counts in frames.values())
    figures = {
        "passed": min(one["pass"] for one in marginal.values()),
        "failed": sum(one["fail"] for one in marginal.values()),
        "failed_beyond": min(beyond.values()),
        "lost_together": together,
        "lost_alone": late + short,
    }
    counts = ", ".join(f"{name} {one['pass']}, {beyond[name]}" for name, one in marginal.items())
    return context.judge("H3-4-margins", figures, also=f"passed, and failed one step further: {counts}")


def line(context: Context, fabric: Scenario) -> Outcome:
    """H3-4-line."""
    context.say("marginal shares in a line")
    result = arrange.marginal(fabric, MARGINAL_PERCENT).run(seed=SEED)
    share = arrange.shares(result)
    last = [share["B.1->C"], share["B.0->A"]]
    return context.judge(
        "H3-4-line",
        {"off": max(abs(one / ISCSI - 1) for one in last)},
        also=f"share of iSCSI after the last switch {min(last):.1%} and {max(last):.1%}",
    )


def table(context: Context, alike: Runs, own: Runs) -> None:
    """Table of all orders, with a common DCBX version and with versions by vendor."""
    rows = []
    for kind, runs in (("both", alike), ("by vendor", own)):
        for order, result in runs.items():
            stopped, share = arrange.paused_ms(result), arrange.shares(result)
            middle = order[MIDDLE]
            between = [ms for port, ms in stopped.items() if set(arrange.ends(port)) <= set(VENDORS)]
            hosts = [ms for port, ms in stopped.items() if arrange.ends(port)[0] not in VENDORS]
            leaving = [one for port, one in share.items() if arrange.ends(port)[0] == middle]
            rows.append(
                (
                    kind,
                    "-".join(order),
                    f"{sum(not has for has in arrange.in_force(result).values())}",
                    f"{sum(between):.1f}",
                    f"{sum(hosts):.1f}",
                    " and ".join(f"{one:.1%}" for one in leaving),
                    f"{sum(row['exchanges'] for row in result.rows('connections'))}",
                    f"{sum(arrange.lost(result).values())}",
                )
            )
    context.save_table(
        "orders",
        "All orders of the switches",
        (
            "DCBX versions",
            "order",
            "ports without PFC",
            "switches paused (ms)",
            "hosts paused (ms)",
            "iSCSI out of the middle",
            "commands",
            "iSCSI frames lost",
        ),
        rows,
        note="Run time 30 ms; times are sums over ports.",
    )
