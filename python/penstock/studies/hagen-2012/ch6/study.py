"""Chapter 6: what small frames lose under deficit round robin, and weights that give it back."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence

from penstock.analysis.statistics import jain
from penstock.studies.reproduce import Context, Outcome

from . import awc, pictures, tables
from .billing import BINS, CANDIDATES, LARGE_BYTES, METRICS, REPORTED_MIX, WIRE, Billing, Metric, formula
from .search import Found, Ledger, each, fair_weight, fair_weights, ratio_of

SIZES = (68, 96, 128, 160, 192, 256, 384, 512, 768, 1024, 1522)
QUICK_SIZES = (68, 256, 1024)
JUMBO = (2500, 5000)
MIXES = ((68, 256), (68, 512), (68, 1024), (128, 512), (128, 1024))
LONG = "25 ms"

Weights = dict[tuple[Metric, int], Found]


def run(context: Context) -> list[Outcome]:
    """All experiments."""
    ledger = Ledger()
    switch = Switch(context, ledger)
    lost = switch.lost()
    beside = {large: switch.weights(large) for large in (LARGE_BYTES, *JUMBO)}
    pairs = switch.pairs()
    mixes = switch.mixes()
    accounted = switch.billings()
    adapted = awc.measure(context, ledger)
    outcomes = [
        small_frames(context, lost),
        fair_beside_1522(context, beside),
        *(fair_beside_jumbo(context, large, beside[large]) for large in JUMBO),
        two_queues(context, pairs, beside[LARGE_BYTES]),
        two_sizes(context, mixes, beside[LARGE_BYTES]),
        awc.formulas(context, adapted),
        awc.fairness(context, adapted, lost),
        awc.learned(context, adapted),
        which_billing(context, accounted),
    ]
    tables.mechanism_or_fit(context, lost, beside[LARGE_BYTES], mixes, adapted)
    tables.weights(context, beside)
    tables.billings(context, accounted, mixes)
    tables.cells(context)
    context.save_figure(pictures.cover(beside[LARGE_BYTES], lost, adapted), "ch6", cover=True)
    return outcomes


class Switch:
    """The switch of the chapter: what is asked of it in each experiment."""

    def __init__(self, context: Context, ledger: Ledger) -> None:
        self.context = context
        self.ledger = ledger
        self.quick = context.quick
        self.sizes = QUICK_SIZES if self.quick else SIZES

    def lost(self) -> dict[int, dict[Metric, float]]:
        """Throughput of small frames over that of 1522 B with equal weights."""
        self.context.say("what small frames get with equal weights")
        streams = self.context.scenario("two-streams")

        def work(size: int) -> dict[Metric, float]:
            sized = streams.with_value("flows.small.frame", f"{size} B")
            return {metric: ratio_of(self.ledger, sized, metric, 1.0) for metric in METRICS}

        return each(self.sizes, work, lambda *_: None)

    def weights(self, large: int) -> Weights:
        """Fair weights beside frames of `large` bytes, by bisection."""
        streams = self.context.scenario("two-streams").with_value("flows.large.frame", f"{large} B")
        if large > LARGE_BYTES:
            streams = streams.with_value("simulation.duration", LONG)
        sizes = self.sizes if large == LARGE_BYTES or not self.quick else self.sizes[:1]
        keys = list(itertools.product(METRICS if large == LARGE_BYTES else METRICS[:1], sizes))

        def work(key: tuple[Metric, int]) -> Found:
            metric, size = key
            return fair_weight(self.ledger, streams.with_value("flows.small.frame", f"{size} B"), metric)

        return each(
            keys, work, self.told(len(keys), lambda key: f"{key[1]} B beside {large} B, equal {key[0]}")
        )

    def pairs(self) -> dict[tuple[int, int], list[float]]:
        """Fair weights of two queues of small frames beside the large ones."""
        streams = self.context.scenario("three-streams")
        keys = list(itertools.combinations(BINS, 2))[: 1 if self.quick else None]

        def work(key: tuple[int, int]) -> list[float]:
            sized = streams
            for flow, size in zip(("small-1", "small-2"), key, strict=True):
                sized = sized.with_value(f"flows.{flow}.frame", f"{size} B")
            return fair_weights(self.ledger, sized, ["small-1", "small-2"], "payload")

        self.context.say(f"{len(keys)} pairs of small sizes beside 1522 B")
        return each(keys, work, lambda *_: None)

    def mixes(self) -> dict[tuple[int, int, bool], Found]:
        """Fair weights of a queue with two sizes, half of the bytes each (true) or half of the frames."""
        streams = self.context.scenario("mixed-queue")
        chosen = MIXES[:1] if self.quick else MIXES
        keys = [(*mix, by_load) for mix in chosen for by_load in (True, False)]

        def work(key: tuple[int, int, bool]) -> Found:
            one, other, by_load = key
            share = other / (one + other) if by_load else 0.5
            frames = {"small": f"{one} B", "large": f"{other} B", "small_share": share}
            return fair_weight(
                self.ledger, streams.with_value("flows.small.frame", {"bimodal": frames}), "payload"
            )

        name = {True: "bytes", False: "frames"}
        return each(
            keys,
            work,
            self.told(len(keys), lambda key: f"{key[0]} B and {key[1]} B, half of the {name[key[2]]}"),
        )

    def billings(self) -> dict[tuple[Billing, Metric, int], Found]:
        """Fair weights with every billing that comes into question."""
        streams = self.context.scenario("two-streams")
        candidates = CANDIDATES[2:] if self.quick else CANDIDATES
        sizes = BINS[:1] if self.quick else BINS
        keys = list(itertools.product(candidates, METRICS, sizes))

        def work(key: tuple[Billing, Metric, int]) -> Found:
            billing, metric, size = key
            sized = streams.with_value("flows.small.frame", f"{size} B")
            for name, value in billing.keys().items():
                sized = sized.with_value(f"switch.scheduler.drr.{name}", value)
            return fair_weight(self.ledger, sized, metric)

        return each(
            keys,
            work,
            self.told(len(keys), lambda key: f"{key[2]} B, accounted {key[0].name}, equal {key[1]}"),
        )

    def told(self, total: int, name: Callable[..., str]) -> Callable[..., None]:
        """Says what a search has found and how many are left."""
        done = itertools.count(1)

        def tell(key: object, found: Found) -> None:
            self.context.say(
                f"[{next(done)}/{total}] {name(key)}: fair weight {found.weight:.4f} after {found.runs} runs"
            )

        return tell


def falls(weights: Sequence[float]) -> bool:
    """Whether each is less than the one before, up to what the search tells apart."""
    return all(after < before * 1.002 for before, after in itertools.pairwise(weights))


def small_frames(context: Context, lost: Mapping[int, Mapping[Metric, float]]) -> Outcome:
    """H6-1."""
    least = lost[68]
    rises = all(
        after[metric] >= before[metric]
        for metric in METRICS
        for before, after in itertools.pairwise(lost.values())
    )
    index = {metric: jain([1.0, least[metric]]) for metric in METRICS}
    return context.outcome(
        "H6-1",
        measured=f"68 B: {least['frame']:.4f} in frames, {least['payload']:.4f} in payload; Jain's index "
        f"{index['frame']:.4f} and {index['payload']:.4f}",
        passed=abs(least["frame"] / 0.783 - 1) <= 0.01
        and abs(least["payload"] / 0.583 - 1) <= 0.02
        and rises,
        note='20 B of overhead are 29 % of 68 B. Nearest to the "almost 25 %" of the source is the loss '
        "in frames (22 %), while its 1.72 of Figure 6-3 is 1 over the payload",
        pictures=[context.save_figure(pictures.lost(lost), "figure-6-1")],
    )


def fair_beside_1522(context: Context, beside: Mapping[int, Weights]) -> Outcome:
    """H6-3."""
    found = {size: beside[LARGE_BYTES]["payload", size].weight for _, size in sizes_of(beside[LARGE_BYTES])}
    off = {size: found[size] / formula(size) - 1 for size in BINS if size in found}
    return context.outcome(
        "H6-3",
        measured="; ".join(f"{size} B {found[size]:.3f} ({off[size]:+.1%} of the formula)" for size in off),
        passed=max(map(abs, off.values())) <= 0.1 and falls(list(found.values())),
        note=f"nothing was fitted: only the line overhead is accounted. Printed are 1.72 at 68 B (here "
        f"{found[68]:.3f}) "
        f"and 1.08 at 256 B (here {found[256]:.3f}). Between 140 and 190 B, where the source has no bin, "
        "the two lines "
        "are up to 14 % below",
        pictures=[context.save_figure(pictures.fair(beside), "figures-6-3-to-6-5")],
    )


def sizes_of(weights: Weights) -> list[tuple[Metric, int]]:
    """The keys of equal payload, in order of size."""
    return sorted(key for key in weights if key[0] == "payload")


def fair_beside_jumbo(context: Context, large: int, weights: Weights) -> Outcome:
    """H6-4 and H6-5."""
    experiment, expected = {2500: ("H6-4", 1.733), 5000: ("H6-5", 1.747)}[large]
    found = [weights[key].weight for key in sizes_of(weights)]
    return context.outcome(
        experiment,
        measured=f"68 B {found[0]:.4f}",
        passed=abs(found[0] / expected - 1) <= 0.02 and falls(found),
        note="the size of the large frames hardly matters: their own overhead is small",
    )


def two_queues(context: Context, pairs: Mapping[tuple[int, int], list[float]], beside: Weights) -> Outcome:
    """H6-6."""
    off = [
        (abs(weight / single(size, beside) - 1), size, key)
        for key, weights in pairs.items()
        for size, weight in zip(key, weights, strict=True)
    ]
    worst = max(off)
    return context.outcome(
        "H6-6",
        measured=f"{len(pairs)} pairs: at most {worst[0]:.2%} from the weight found alone "
        f"({worst[1]} B in the pair of {worst[2][0]} and {worst[2][1]} B)",
        passed=worst[0] <= 0.03,
        pictures=[context.save_figure(pictures.pairs(pairs, beside), "figures-6-6-and-6-7")],
    )


def single(size: int, beside: Weights) -> float:
    """The weight found for one size alone; the closed form where the quick study did not look."""
    found = beside.get(("payload", size))
    return found.weight if found else WIRE.weight("payload", size)


def two_sizes(context: Context, mixes: Mapping[tuple[int, int, bool], Found], beside: Weights) -> Outcome:
    """H6-8."""
    first = {by_load: mixes[68, 256, by_load].weight for by_load in (True, False)}
    between = all(
        single(other, beside) < found.weight < single(one, beside) for (one, other, _), found in mixes.items()
    )
    by_load = {mix[:2]: found.weight for mix, found in mixes.items() if mix[2]}
    return context.outcome(
        "H6-8",
        measured="half of the bytes each: "
        + "; ".join(f"{one} B and {other} B {weight:.3f}" for (one, other), weight in by_load.items()),
        passed=abs(first[True] / REPORTED_MIX - 1) <= 0.05 and between,
        note=f"half of the frames each, as the text says, {first[False]:.3f} for 68 B and 256 B: the "
        "source's 1.39 "
        "fits half of the bytes",
        pictures=[context.save_figure(pictures.mixes(mixes), "figure-6-8")],
    )


def which_billing(context: Context, accounted: Mapping[tuple[Billing, Metric, int], Found]) -> Outcome:
    """P6-2."""
    off = max(abs(found.weight / key[0].weight(*key[1:]) - 1) for key, found in accounted.items())
    plain = [(b.worst(metric), b, metric) for b in CANDIDATES if not b.cell for metric in METRICS]
    nearest = min(plain, key=lambda one: one[0])
    cells = Billing("wire", 40)
    return context.outcome(
        "P6-2",
        measured=f"{len(accounted)} searches, at most {off:.2%} from the closed form; without cells the "
        "nearest is "
        f"{nearest[1].name}, equal {nearest[2]}: at most {nearest[0]:.1%} from the source. "
        f"Cells of 40 B, equal frames: {cells.worst('frame'):.1%}, and "
        f"{cells.mixed_weight('frame', 68, 256, by_load=True):.3f} "
        "for the mix",
        passed=off <= 0.005 and nearest[1:] == (WIRE, "payload"),
        note="the line overhead has no free parameter; the cell of 40 B was chosen by its fit to these "
        "very numbers, "
        "and contradicts Figure 6-1 (68 B would lose 42 % in frames). Frames of 141 and of 180 B would "
        "decide: "
        f"{WIRE.weight('payload', 141):.2f} and {WIRE.weight('payload', 180):.2f} for the overhead, "
        f"{cells.weight('frame', 141):.2f} and {cells.weight('frame', 180):.2f} for the cells",
        pictures=[context.save_figure(pictures.billings(accounted), "billing")],
    )
