"""Cases of a validation, their rows, and the rules that judge the rows.

A case is one function with the decorator `case`; it yields rows. A row compares a measurement with theory, by
one of four rules:

- *interval*: the measurement is random. Theory must lie within the Student-t interval of the mean over
  replications. Many rows are tested at once, so the probability of a false alarm is divided by `ROWS`
  (Bonferroni): each row is tested at 1 % / `ROWS`, and the probability that a correct simulator fails
  any row of the whole document is at most 1 %. To prevent a wide interval from passing, its 99 %
  half-width must not exceed the row's `precision`.
- *exact*: the measurement is not random. It must equal theory, to the picosecond or the frame.
- *tolerance*: theory describes a slightly different system, as stated in the row. The mean must lie within
the stated share of theory.
- *bound*: theory gives an upper bound. The measurement must not exceed it, and must reach the stated share
of it, so that the worst case is known to have occurred.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from penstock.analysis.statistics import Interval, student_t_interval

from .bench import Bench, picoseconds

ROWS = 150
"""Divisor of the false-alarm probability; a test fails if there are more random rows than this."""
FALSE_ALARM = 0.01
SHOWN_CONFIDENCE = 0.99

Rule = Literal["interval", "exact", "tolerance", "bound"]


@dataclass(frozen=True)
class Row:
    """A quantity with its theoretical value and its measurements.

    Attributes
    ----------
    quantity, unit : str
        Name and unit of the quantity.
    theory : float
        Value by theory.
    values : tuple of float
        One value per replication, or the single measured value.
    rule : str
        ``"interval"``, ``"exact"``, ``"tolerance"`` or ``"bound"``.
    limit : float
        Maximum relative half-width of the 99 % interval; the tolerance; the minimum share of a bound; 0 for
        exact rows.
    reason : str
        Reason for the tolerance, or for the distance from the bound.
    """

    quantity: str
    unit: str
    theory: float
    values: tuple[float, ...]
    rule: Rule
    limit: float = 0.0
    reason: str = ""

    @property
    def mean(self) -> float:
        """Mean of the measurements."""
        return math.fsum(self.values) / len(self.values)

    @property
    def interval(self) -> Interval:
        """The 99 % interval of the mean; its half-width is NaN for a single value."""
        return student_t_interval(self.values, SHOWN_CONFIDENCE)

    @property
    def difference(self) -> float:
        """Measurement divided by theory, minus 1; NaN if theory is zero."""
        return self.mean / self.theory - 1 if self.theory else math.nan

    @property
    def probability(self) -> float:
        """Probability that a correct simulator deviates at least this much; NaN if not random."""
        spread = self.interval
        if spread.n < 2 or not spread.half_width > 0:
            return math.nan
        from scipy.special import stdtr, stdtrit

        standard_error = spread.half_width / float(stdtrit(spread.n - 1, (1 + SHOWN_CONFIDENCE) / 2))
        return 2 * float(stdtr(spread.n - 1, -abs(self.mean - self.theory) / standard_error))

    @property
    def verdict(self) -> str:
        """``"pass"``, or a description of the failure."""
        if self.rule == "exact":
            return "pass" if all(value == self.theory for value in self.values) else "FAIL: not equal"
        if self.rule == "tolerance":
            if abs(self.difference) <= self.limit:
                return "pass"
            return f"FAIL: more than {self.limit:.1%} from theory"
        if self.rule == "bound":
            if max(self.values) > self.theory:
                return "FAIL: above the bound"
            near = max(self.values) >= self.limit * self.theory
            return "pass" if near else f"FAIL: below {self.limit:.1%} of the bound"
        if not self.interval.half_width <= self.limit * abs(self.theory):
            return f"FAIL: interval wider than {self.limit:.1%}"
        if self.probability >= FALSE_ALARM / ROWS:
            return "pass"
        return "FAIL: theory outside the interval"

    @property
    def passed(self) -> bool:
        """True if theory and measurement agree."""
        return self.verdict == "pass"

    def to_dict(self) -> dict[str, Any]:
        """The row as plain values for JSON."""
        spread = self.interval
        return {
            "quantity": self.quantity,
            "unit": self.unit,
            "theory": self.theory,
            "measured": self.mean,
            "half_width_99": _known(spread.half_width),
            "replications": spread.n,
            "difference": _known(self.difference),
            "probability": _known(self.probability),
            "rule": self.rule,
            "limit": self.limit,
            "reason": self.reason,
            "verdict": self.verdict,
        }


def random(
    quantity: str, unit: str, theory: float, values: Sequence[float], *, precision: float = 0.01
) -> Row:
    """Returns a row for a random quantity, with one value per replication."""
    return Row(quantity, unit, float(theory), tuple(map(float, values)), "interval", precision)


def exact(quantity: str, unit: str, theory: float, measured: float) -> Row:
    """Returns a row for a deterministic quantity that must equal theory."""
    return Row(quantity, unit, theory, (measured,), "exact")


def within(
    quantity: str, unit: str, theory: float, values: Sequence[float], tolerance: float, reason: str
) -> Row:
    """Returns a row whose theory describes a slightly different system, as stated in `reason`."""
    return Row(quantity, unit, float(theory), tuple(map(float, values)), "tolerance", tolerance, reason)


def bounded(quantity: str, unit: str, bound: float, worst: float, reached: float, reason: str) -> Row:
    """Returns a row with a bound: `worst` must not exceed it, and must reach the share `reached` of it."""
    return Row(quantity, unit, float(bound), (float(worst),), "bound", reached, reason)


def extremes(label: str, times: Sequence[int], row: Mapping[str, Any], quantity: str) -> Iterator[Row]:
    """Yields rows for the extremes of `times` (ps) and ``QUANTITY_min_ns`` and ``QUANTITY_max_ns``."""
    yield exact(label + "shortest", "ps", min(times), picoseconds(row[f"{quantity}_min_ns"]))
    yield exact(label + "longest", "ps", max(times), picoseconds(row[f"{quantity}_max_ns"]))


@dataclass(frozen=True)
class Case:
    """A section of the validation.

    Attributes
    ----------
    name, title : str
        Name on the command line, and title of the section.
    compared : str
        Description of the comparison and its setup.
    formula : str
        Theory, in Markdown.
    sources : tuple of str
        Sources of the theory.
    scenario : str
        TOML of one of the runs; the rows state the keys that vary.
    ends : tuple of str
        Limits of the model.
    rows : callable
        Yields the rows.
    """

    name: str
    title: str
    compared: str
    formula: str
    sources: tuple[str, ...]
    scenario: str
    ends: tuple[str, ...]
    rows: Callable[[Bench], Iterator[Row]]

    @property
    def topic(self) -> str:
        """Name of the module that contains the case."""
        return self.rows.__module__.rpartition(".")[2]


CASES: dict[str, Case] = {}


def case(
    name: str,
    title: str,
    *,
    compared: str,
    formula: str,
    sources: Sequence[str],
    scenario: str,
    ends: Sequence[str],
) -> Callable[[Callable[[Bench], Iterator[Row]]], Callable[[Bench], Iterator[Row]]]:
    """Registers a case; see `Case` for the arguments.

    Raises
    ------
    ValueError
        If there is already a case with this name.
    """

    def register(rows: Callable[[Bench], Iterator[Row]]) -> Callable[[Bench], Iterator[Row]]:
        if name in CASES:
            raise ValueError(f"there are two validation cases {name!r}")
        CASES[name] = Case(name, title, compared, formula, tuple(sources), scenario, tuple(ends), rows)
        return rows

    return register


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None
