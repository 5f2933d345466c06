"""Sections 6.3 and 6.4: weights that the switch adapts itself."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

from penstock.analysis.statistics import jain
from penstock.studies.reproduce import Context, Outcome

from . import pictures
from .billing import BINS, CANDIDATES, LARGE_BYTES, METRICS, WIRE, Billing, Metric, formula
from .search import Ledger, each

RULES = ("published", "analytic", "learned")
Key = tuple[str, Billing, int]
"""Rule, accounting and frame size."""
Adapted = dict[Key, dict[Metric, float]]
"""Throughput of the small frames divided by that of the large ones."""


def measure(context: Context, ledger: Ledger) -> Adapted:
    """Throughput ratios after the weights have settled."""
    streams = context.scenario("awc")
    candidates = (WIRE, CANDIDATES[-1]) if context.quick else CANDIDATES
    sizes = (BINS[0], BINS[-1]) if context.quick else BINS
    keys = [
        (rule, billing, size)
        for rule, billing, size in itertools.product(RULES, candidates, sizes)
        if billing == WIRE or rule != "analytic"  # the analytic rule assumes that line overhead is accounted
    ]

    def work(key: Key) -> dict[Metric, float]:
        rule, billing, size = key
        sized = streams.with_value("flows.small.frame", f"{size} B")
        settings = {"formula": rule, **billing.keys()}
        if rule != "published":
            settings["metric"] = "payload"
        for name, value in settings.items():
            sized = sized.with_value(f"switch.scheduler.drr_awc.{name}", value)
        got = ledger.throughputs(sized)
        return {metric: got["small"][metric] / got["large"][metric] for metric in METRICS}

    context.say(f"{len(keys)} runs of DRR-AWC")
    return each(keys, work, lambda *_: None)


def index(ratio: float) -> float:
    """Jain's index of two throughputs with this ratio."""
    return jain([1.0, ratio])


def formulas(context: Context, adapted: Adapted) -> Outcome:
    """H6-9."""
    applied = {}
    for (rule, billing, size), ratio in adapted.items():
        if rule == "published" and billing == WIRE:
            accounted = ratio["frame"] * (WIRE.bytes(size) / size) / (WIRE.bytes(LARGE_BYTES) / LARGE_BYTES)
            applied[size] = accounted
    off = {size: value / (formula(size) / formula(LARGE_BYTES)) - 1 for size, value in applied.items()}
    return context.judge(
        "H6-9",
        {"off": max(map(abs, off.values()))},
        measured="; ".join(
            f"{size} B: f = {formula(size):.3f}, over f(1522) = {formula(LARGE_BYTES):.3f} "
            f"{formula(size) / formula(LARGE_BYTES):.3f}, "
            f"accounted {value:.3f}"
            for size, value in applied.items()
        ),
        note=f"at the pivot f(146) = {formula(146):.3f}; the two lines intersect at 147.8 B",
    )


def fairness(
    context: Context,
    adapted: Adapted,
    lost: Mapping[int, Mapping[Metric, float]],
    more: Mapping[Metric, float],
) -> list[Outcome]:
    """H6-10 in payload and in frames, and the meaning of the index."""
    without = {metric: index(lost[68][metric]) for metric in METRICS}
    settled = {
        metric: min(
            index(ratio[metric])
            for (rule, billing, _), ratio in adapted.items()
            if rule == "published" and billing == WIRE
        )
        for metric in METRICS
    }
    rows = []
    for size in (size for size in BINS if size in lost):
        cells = [f"{index(lost[size][metric]):.4f}" for metric in METRICS]
        for rule in RULES:
            ratio = adapted.get((rule, WIRE, size))
            cells += [f"{index(ratio[metric]):.4f}" if ratio else "" for metric in METRICS]
        rows.append((f"{size} B", *cells))
    context.save_table(
        "jain",
        "Jain's index of a small and a large stream (1522 B), accounted with line overhead",
        ("small frames", *(f"{name}, {metric}" for name in ("DRR", *RULES) for metric in METRICS)),
        rows,
        note="DRR with equal weights; DRR-AWC with the published formulas, the analytic rule and the "
        "learned rule.",
    )
    drawn = [context.save_figure(pictures.jain_index(lost, adapted), "figure-6-10")]
    gain, gain_with_4 = (1 / of["frame"] - 1 for of in (lost[68], more))
    ids: dict[str, Metric] = {"H6-10": "payload", "H6-10-frames": "frame"}
    return [
        *(
            context.judge(
                name,
                {"drr": without[metric], "awc": settled[metric]},
                also=f"DRR with 24 B accounted {index(more[metric]):.4f}",
                pictures=drawn if name == "H6-10" else [],
            )
            for name, metric in ids.items()
        ),
        context.judge("H6-10-gain", {"gain": gain}, also=f"with 24 B accounted {gain_with_4:+.1%}"),
    ]


def learned(context: Context, adapted: Adapted) -> Outcome:
    """P6-1."""
    worst = {
        rule: min(
            (index(ratio["payload"]), billing.name, size)
            for (of, billing, size), ratio in adapted.items()
            if of == rule
        )
        for rule in ("published", "learned")
    }
    billings = list(dict.fromkeys(billing for _, billing, _ in adapted))
    sizes = sorted({size for _, _, size in adapted})
    context.save_table(
        "learned",
        "Jain's index in payload: published formulas and learned rule, by accounting",
        ("accounted", "rule", *(f"{size} B" for size in sizes)),
        [
            (billing.name, rule, *(f"{index(adapted[rule, billing, size]['payload']):.4f}" for size in sizes))
            for billing in billings
            for rule in ("published", "learned")
        ],
        note="The formulas were fitted to one switch. The learned rule counts frames and bytes; it needs no "
        "accounting rule.",
    )
    return context.judge(
        "P6-1",
        {rule: low for rule, (low, _, _) in worst.items()},
        measured="; ".join(
            f"{rule}: at least {low:.4f} ({size} B, accounted {billing})"
            for rule, (low, billing, size) in worst.items()
        ),
    )
