"""Section 3.3 of Hagen 2012: switches of three vendors, individually and in a row."""

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

ISCSI, MARGIN = 0.6, 0.1
"""The share of iSCSI, and the relative tolerance of ETS."""
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
        ("switch", "it speaks", "the adapter speaks", "PFC", "adapter paused (ms)", "iSCSI frames lost"),
        rows,
        note="Of 10 ms.",
    )
    return context.outcome(
        "H3-4-screening",
        measured=f"{len(rows)} pairs, {wrong} otherwise than their dialects say; no PFC, and frames lost: "
        + ", ".join(out),
        passed=wrong == 0,
    )


def rotation(context: Context, runs: Runs, cover: str) -> Outcome:
    """H3-4."""
    met = {
        arrange.ends(port)
        for order in ROTATION
        for port, has in arrange.in_force(runs[order]).items()
        if has and arrange.ends(port)[1] in VENDORS
    }
    stations = {station for station, _ in met}
    every = all((station, switch) in met for station in stations for switch in VENDORS if station != switch)
    has = all(all(arrange.in_force(result).values()) for result in runs.values())
    frames = [sum(arrange.lost(result).values()) for result in runs.values()]
    talks = [row for result in runs.values() for row in result.rows("connections")]
    again = sum(row["segments_sent_again"] for row in talks)
    fewest = min(row["exchanges"] for row in talks)
    return context.outcome(
        "H3-4",
        measured=f"{len(met)} pairs of {len(stations)} stations and 3 switches agreed; six orders: PFC "
        f"{'everywhere' if has else 'not everywhere'}, {sum(frames)} iSCSI frames lost, {again} sent again, "
        f"{fewest} commands of each conversation at least",
        passed=len(stations) == 9 and every and has and sum(frames) == again == 0 and fewest > 0,
        pictures=[cover],
    )


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
    return context.outcome(
        "H3-4-cascade",
        measured=f"of 30 ms the middle stops each other switch for {min(inner):.1f} to {max(inner):.1f} ms, "
        f"and these their hosts for {min(outer):.1f} to {max(outer):.1f} ms",
        passed=len(inner) == 12 and len(outer) == 24 and min(inner) > 0 and min(outer) > 0,
    )


def ets(context: Context, runs: Runs) -> Outcome:
    """H3-4-ets."""
    out: list[float] = []
    into: list[float] = []
    for order, result in runs.items():
        for port, share in arrange.shares(result).items():
            (out if arrange.ends(port)[0] == order[MIDDLE] else into).append(share)
    low, high = ISCSI * (1 - MARGIN), 1 - (1 - ISCSI) * (1 - MARGIN)
    both = all(low <= share <= min(high, ISCSI * (1 + MARGIN)) for share in out)
    return context.outcome(
        "H3-4-ets",
        measured=f"iSCSI has {min(out):.1%} to {max(out):.1%} of what leaves the middle; other traffic has "
        f"{1 - max(into):.1%} to {1 - min(into):.1%} of what comes to it",
        passed=len(out) == len(into) == 12 and both and max(into) <= high,
    )


def without(order: str) -> set[str]:
    """Stations without PFC in this order: switches incompatible with the middle one, and their hosts."""
    deaf = {name for name in order if not arrange.agree(OWN[name], OWN[order[MIDDLE]])}
    hosts = {f"{kind}{order.index(name) + 1}" for name in deaf for kind in "it"}
    return deaf | hosts


def dialects(context: Context, alike: Runs, own: Runs) -> Outcome:
    """H3-4-dialects."""
    frames = {order: sum(arrange.lost(result).values()) for order, result in own.items()}
    ports = all(
        {port for port, has in arrange.in_force(result).items() if not has}
        == {port for port in arrange.in_force(result) if arrange.ends(port)[0] in without(order)}
        for order, result in own.items()
    )
    losing = {order for order, count in frames.items() if count}
    before = sum(sum(arrange.lost(result).values()) for result in alike.values())
    text = ", ".join(f"{order} {count}" for order, count in frames.items())
    return context.outcome(
        "H3-4-dialects",
        measured=f"iSCSI frames lost: {text}; with one dialect {before}; ports without PFC are "
        f"{'those' if ports else 'not those'} beyond a link without a common dialect",
        passed=ports and losing == {order for order in ORDERS if without(order)} and before == 0,
    )


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
    return context.outcome(
        "H3-4-core",
        measured=f"of four hosts of edge switches {several(counts[False])} have PFC by the standard alone, "
        f"{several(counts[True])} with `uplink`",
        passed=max(counts[False]) == 0 and min(counts[True]) == 4,
    )


def several(counts: list[int]) -> str:
    """The distinct counts, as text."""
    return " or ".join(f"{count}" for count in sorted(set(counts)))


def margins(context: Context, screening: Scenario) -> Outcome:
    """H3-4-margins."""
    context.say("devices at the margin")
    cases = QUICK_CASES if context.quick else PFC_CASES

    def trials(station: str, response: str, headroom: str) -> dict[str, int]:
        device = arrange.at_the_margin(screening, JUMBO[0], response, headroom)
        return arrange.compliance(device, station, cases)

    said = {name: trials(name, LATEST, LEAST) for name in ("adapter", "switch")}
    beyond = {name: trials(name, TOO_LATE, TOO_LITTLE)["fail"] for name in said}
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
        "iSCSI frames lost by devices that pass all cases of PFC",
        ("at the margin", *(f"frames of {frame}" for frame in JUMBO)),
        [(name, *(f"{count}" for count in counts)) for name, counts in frames.items()],
        note="A connection slows down after its first loss, so that few are lost in 10 ms.",
    )
    passes = all(one["pass"] and not one["fail"] for one in said.values())
    text = "; ".join(
        f"the {name} passes {one['pass']} trials and fails {one['fail']}, {beyond[name]} if a step beyond"
        for name, one in said.items()
    )
    together, late, short = (counts[0] for counts in frames.values())
    return context.outcome(
        "H3-4-margins",
        measured=f"{text}; frames of {JUMBO[0]}: {together} lost together, {late} and {short} with others",
        passed=passes and min(beyond.values()) > 0 and together > 0 and late == short == 0,
    )


def line(context: Context, fabric: Scenario) -> Outcome:
    """H3-4-line."""
    context.say("marginal shares in a line")
    result = arrange.marginal(fabric, MARGINAL_PERCENT).run(seed=SEED)
    share = arrange.shares(result)
    last = [share["B.1->C"], share["B.0->A"]]
    off = max(abs(one / ISCSI - 1) for one in last)
    return context.outcome(
        "H3-4-line",
        measured=f"behind the last iSCSI has {min(last):.1%} and {max(last):.1%}, off by {off:.1%}",
        passed=off > MARGIN,
    )


def table(context: Context, alike: Runs, own: Runs) -> None:
    """Table of all orders, with a common version and with those of the vendors."""
    rows = []
    for kind, runs in (("either", alike), ("their own", own)):
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
            "dialects",
            "order",
            "ports without PFC",
            "switches paused (ms)",
            "hosts paused (ms)",
            "iSCSI out of the middle",
            "commands",
            "iSCSI frames lost",
        ),
        rows,
        note="Of 30 ms; times are sums over ports.",
    )
