"""Verdicts: every experiment of every study is judged here.

A criterion of ``study.toml`` bounds figures. Runs that draw random numbers are repeated with seeds 1, 2, ...,
and each bound is compared with an interval over the seeds:

- Bound on the mean (the default): the Student-t interval of the mean, 95 %. Met if the whole interval is
  within the bounds, not met if the whole interval is outside, not decided otherwise.
- Bound on every run (``every = true``): met if every seed is within the bounds; not met if the
  Clopper-Pearson interval (95 %) of the share of runs that are lies below nine in ten; not decided otherwise.
  Ten runs out of ten show that the share is at least 69 %. With ten seeds six or fewer that hold are
  "not met", seven to nine "not decided".

A criterion is met if all its bounds are, not met if one is not met, and not decided otherwise. Each interval
is a 95 % interval by itself. Fewer seeds than ``study.toml`` has, as in a quick run, decide nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.analysis.statistics import clopper_pearson_interval, student_t_interval
from penstock.errors import StudyError

from .description import FULL, UNDECIDED, Bound, Experiment

MET, NOT_MET = "met", "not met"
USUAL_SHARE = 0.9
"""Share of runs that a statement on every run has to hold in; an interval below it refutes the statement."""
CONFIDENCE = 0.95
NEEDS_FULL = "needs the full study"
"""Reason why a quick run does not judge an experiment."""


@dataclass(frozen=True)
class Finding:
    """One bound of a criterion, the figure over the seeds, and the verdict on it.

    Attributes
    ----------
    values : tuple of float
        One value a seed.
    mean, low, high : float
        Mean of the values, and ends of its interval; NaN for a single value, and if a value is not finite.
    holds : int
        Number of seeds whose value is within the bounds.
    share : tuple of float
        Interval of the share of runs whose value is within the bounds.
    verdict : str
        ``"met"``, ``"not met"`` or ``"not decided"``.
    """

    bound: Bound
    values: tuple[float, ...]
    mean: float
    low: float
    high: float
    holds: int
    share: tuple[float, float]
    verdict: str

    @property
    def within(self) -> bool:
        """True if the mean is within the bounds; each value, if the bound is on every run."""
        each = self.bound.every or not math.isfinite(self.mean)
        return self.holds == len(self.values) if each else self.bound.holds(self.mean)

    def text(self) -> str:
        """The mean, with its interval if that is wide enough to show, or the number of seeds that hold."""
        shown = self.bound.shown.format
        if len(self.values) == 1:
            return f"{self.bound.name} {shown(self.values[0])}"
        if self.bound.every or not math.isfinite(self.mean):
            spread = " to ".join(dict.fromkeys(map(shown, (min(self.values), max(self.values)))))
            return (
                f"{self.bound.name} {spread}, {self.bound.text} on {self.holds} of {len(self.values)} seeds"
            )
        ends = dict.fromkeys((shown(self.low), shown(self.high)))
        interval = f" ({' to '.join(ends)})" if len(ends) > 1 else ""
        return f"{self.bound.name} {shown(self.mean)}{interval}"

    def to_dict(self) -> dict[str, Any]:
        """As plain values; what is not finite is ``None``."""
        bound = self.bound
        numbers = {"mean": self.mean, "low": self.low, "high": self.high}
        return {
            "figure": bound.name,
            "rule": "every" if bound.every else "mean",
            "at_least": bound.at_least,
            "at_most": bound.at_most,
            "above": bound.above,
            "below": bound.below,
            **{name: value if math.isfinite(value) else None for name, value in numbers.items()},
            "holds": self.holds,
            "share": list(self.share),
            "seeds": len(self.values),
            "verdict": self.verdict,
        }


@dataclass(frozen=True)
class Judgement:
    """The verdict on an experiment.

    Attributes
    ----------
    verdict : str
        ``"met"``, ``"not met"`` or ``"not decided"``.
    why : str
        Reason why it is not decided; empty otherwise.
    seeds : int
        Number of seeds that it rests on; 0 if it is not judged over seeds.
    findings : tuple of Finding
        Bounds of the criterion with their figures.
    """

    verdict: str
    why: str = ""
    seeds: int = 0
    findings: tuple[Finding, ...] = ()

    @property
    def within(self) -> bool:
        """True if it is met, or undecided with every figure within its bounds: the mean, or each seed."""
        if self.verdict != UNDECIDED:
            return self.verdict == MET
        return bool(self.findings) and all(finding.within for finding in self.findings)

    def text(self) -> str:
        """All figures, after the number of seeds."""
        begin = f"{self.seeds} seeds: " if self.seeds else ""
        return begin + "; ".join(finding.text() for finding in self.findings)


def judge(experiment: Experiment, figures: Sequence[Mapping[str, float]], *, quick: bool) -> Judgement:
    """The verdict on a criterion, from the figures of each seed.

    Raises
    ------
    StudyError
        If a figure is missing, or there are too few seeds.
    """
    wanted = experiment.seeds
    used = figures[:wanted]
    if not used or (len(used) < wanted and not quick):
        raise StudyError(f"{experiment.id}: figures of {len(used)} seeds; expected {wanted}")
    try:
        findings = tuple(
            finding(bound, [float(of_seed[bound.figure]) for of_seed in used]) for bound in experiment.bounds
        )
    except KeyError as missing:
        known = ", ".join(sorted(used[0]))
        raise StudyError(f"{experiment.id}: no figure {missing}; the study measures {known}") from None
    seeds = len(used) if wanted > 1 else 0
    if quick and experiment.requires == FULL:
        return Judgement(UNDECIDED, NEEDS_FULL, seeds, findings)
    if len(used) < wanted:
        return Judgement(UNDECIDED, f"{len(used)} seeds; judged over {wanted}", seeds, findings)
    verdict = together([one.verdict for one in findings])
    open_ones = "; ".join(one.text() for one in findings if one.verdict == UNDECIDED)
    why = open_ones if verdict == UNDECIDED else ""
    return Judgement(verdict, why, seeds, findings)


def finding(bound: Bound, values: Sequence[float]) -> Finding:
    """The verdict on one bound.

    A figure that is not finite with some seed, such as the time of an event that did not occur, has no mean:
    the bound is then one on every run.
    """
    holds = sum(bound.holds(value) for value in values)
    finite = all(math.isfinite(value) for value in values)
    mean = low = high = math.nan
    if finite:
        over = student_t_interval(values, CONFIDENCE)
        mean, low, high = over.mean, over.low, over.high
    share = clopper_pearson_interval(holds, len(values), CONFIDENCE)
    if len(values) == 1:
        verdict = MET if holds else NOT_MET
    elif bound.every or not finite:
        verdict = _of_every_run(holds, len(values), share)
    else:
        verdict = _of_mean(bound, low, high)
    return Finding(bound, tuple(values), mean, low, high, holds, share, verdict)


def together(verdicts: Sequence[str]) -> str:
    """The verdict on a criterion from those on its bounds."""
    if NOT_MET in verdicts:
        return NOT_MET
    return UNDECIDED if UNDECIDED in verdicts else MET


def _of_mean(bound: Bound, low: float, high: float) -> str:
    if bound.holds(low) and bound.holds(high):
        return MET
    return NOT_MET if bound.too_low(high) or bound.too_high(low) else UNDECIDED


def _of_every_run(holds: int, runs: int, share: tuple[float, float]) -> str:
    if holds == runs:
        return MET
    return NOT_MET if share[1] < USUAL_SHARE else UNDECIDED
