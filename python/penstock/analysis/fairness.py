"""Fair allocations of rates over links: weighted max-min and proportionally fair.

Both take the same description. Flow ``f`` at rate ``x[f]`` puts ``usage[l, f] * x[f]`` on link ``l``, which
carries ``capacity[l]``; it asks for ``demand[f]`` at most and counts ``weight[f]``.

Max-min by progressive filling: D. Bertsekas and R. Gallager, "Data Networks", 2nd ed. 1992, §6.5.2.
Proportional fairness: F. Kelly, A. Maulloo and D. Tan, "Rate control for communication networks", J. Oper.
Res. Soc. 49, 1998; solved by a primal-dual interior-point method: S. Boyd and L. Vandenberghe, "Convex
Optimization", 2004, §11.7.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from penstock.errors import ArgumentError, ConvergenceError

Array = NDArray[np.float64]

SAME = 1e-12
"""Levels this near to each other, relatively, are the same level."""
RESIDUAL = 1e-7
"""Largest residual of the Karush-Kuhn-Tucker conditions that counts as solved, relative."""
STEPS = 200
EXTREMES = np.errstate(over="ignore", divide="ignore", invalid="ignore")
"""Weights and demands beyond all measure overflow; the residual judges what comes of it, not a warning."""


@dataclass(frozen=True)
class Problem:
    """Flows that share links.

    Parameters
    ----------
    usage : array, links x flows
        What a unit of each flow's rate puts on each link, at least 0. A flow that takes a link with half of
        its frames has 0.5 there; one whose rate counts payload has more than 1.
    capacity : array, links
        Above 0, in the unit of ``usage * rate``.
    demand : array, flows
        Largest rate, at least 0; infinite for a flow that takes all it can get.
    weight : array, flows
        Above 0.

    Raises
    ------
    ArgumentError
        If shapes do not fit, a value is out of its range, or nothing bounds the rate of a flow.
    """

    usage: Array
    capacity: Array
    demand: Array
    weight: Array

    def __post_init__(self) -> None:
        for name in ("usage", "capacity", "demand", "weight"):
            object.__setattr__(self, name, np.asarray(getattr(self, name), dtype=float))
        if self.usage.ndim != 2 or self.usage.shape != (self.capacity.size, self.demand.size):
            raise ArgumentError(
                f"usage is {' x '.join(map(str, self.usage.shape))}; expected links x flows, "
                f"{self.capacity.size} x {self.demand.size}"
            )
        if self.weight.shape != self.demand.shape:
            raise ArgumentError(f"there are {self.weight.size} weights for {self.demand.size} flows")
        if not (np.isfinite(self.usage).all() and (self.usage >= 0).all()):
            raise ArgumentError("usage has to be finite and at least 0")
        if not (np.isfinite(self.capacity).all() and (self.capacity > 0).all()):
            raise ArgumentError("every capacity has to be finite and above 0")
        if not (np.isfinite(self.weight).all() and (self.weight > 0).all()):
            raise ArgumentError("every weight has to be finite and above 0")
        if np.isnan(self.demand).any() or (self.demand < 0).any():
            raise ArgumentError("every demand has to be at least 0, or infinite")
        if (~np.isfinite(self.demand) & ~(self.usage > 0).any(axis=0)).any():
            raise ArgumentError(
                "nothing bounds the rate of a flow; expected a link on its way, or a finite demand"
            )


@EXTREMES
def max_min(problem: Problem) -> Array:
    """The weighted max-min fair rates.

    No rate can grow without that of a flow with the same or a smaller rate per weight becoming less. Exact up
    to rounding: all rates per weight grow together, and a flow stops at its demand or at its first full link.
    """
    usage, capacity, demand, weight = problem.usage, problem.capacity, problem.demand, problem.weight
    rate = np.zeros_like(demand)
    growing = demand > 0
    while growing.any():
        speed = usage @ np.where(growing, weight, 0.0)
        room = np.maximum(capacity - usage @ np.where(growing, 0.0, rate), 0.0)
        full_at = np.where(speed > 0, room / speed, np.inf)
        sated_at = np.where(growing, demand / weight, np.inf)
        level = min(full_at.min(initial=np.inf), sated_at.min())
        full = full_at <= level * (1 + SAME)
        stops = growing & ((sated_at <= level * (1 + SAME)) | (usage[full] > 0).any(axis=0))
        if not stops.any():
            raise ConvergenceError("rates, weights or demands are beyond what numbers can hold")
        rate[stops] = np.minimum(level * weight[stops], demand[stops])
        growing &= ~stops
    return rate


@EXTREMES
def proportionally_fair(problem: Problem) -> Array:
    """The weighted proportionally fair rates: those that maximise ``sum(weight * log(rate))``.

    Raises
    ------
    ConvergenceError
        If the residual of the Karush-Kuhn-Tucker conditions stays above `RESIDUAL`.
    """
    active = problem.demand > 0
    rate = np.zeros_like(problem.demand)
    if not active.any():
        return rate
    # In units in which the max-min rates and their weights are near 1, so that residuals are relative.
    scale = max_min(problem)[active]
    weight = problem.weight[active] / problem.weight[active].mean()
    usage = problem.usage[:, active] * scale / problem.capacity[:, None]
    usage = usage[(usage > 0).any(axis=1)]
    bounds = problem.demand[active] / scale
    bounded = np.flatnonzero(np.isfinite(bounds))
    rows = np.zeros((bounded.size, scale.size))
    rows[np.arange(bounded.size), bounded] = 1.0 / bounds[bounded]
    matrix = np.vstack([usage, rows])  # every constraint is: matrix @ x <= 1
    solution, prices = _interior_point(matrix, weight)
    worst = _residual(matrix, weight, solution, prices)
    if not worst <= RESIDUAL:
        raise ConvergenceError(
            "proportionally fair rates were not found: the residual of the optimality conditions is "
            f"{worst:.1e}, expected at most {RESIDUAL:.0e}"
        )
    rate[active] = solution * scale
    return rate


def _interior_point(matrix: Array, weight: Array) -> tuple[Array, Array]:
    """Rates and prices of: maximise ``weight @ log(x)`` subject to ``matrix @ x <= 1``."""
    x = np.full(weight.size, 0.9)  # 0.9 of the max-min rates: every constraint has room
    slack = 1.0 - matrix @ x
    price = weight.sum() / (slack.size * slack)
    for _ in range(STEPS):
        if _residual(matrix, weight, x, price) <= RESIDUAL / 10:
            break
        target = 0.1 * (price @ slack) / slack.size
        step, price_step = _newton_step(matrix, weight, x, slack, price, target)
        slack_step = -matrix @ step
        # The longest step that keeps everything above zero, with a little to spare.
        ratios = np.concatenate([-step / x, -slack_step / slack, -price_step / price])
        length = min(1.0, 0.995 / max(ratios.max(), 1e-300))
        # Slack is carried along: as a difference of nearly equal numbers it would lose its digits.
        x, slack, price = x + length * step, slack + length * slack_step, price + length * price_step
    return x, price


def _newton_step(
    matrix: Array, weight: Array, x: Array, slack: Array, price: Array, target: float
) -> tuple[Array, Array]:
    """The step towards ``weight / x = matrix.T @ price`` and ``price * slack = target``."""
    from scipy.linalg import LinAlgWarning, solve

    # Scaled so that the diagonal is near 1: near the end prices and slacks differ by many orders.
    by_flow = x / np.sqrt(weight)
    by_row = 1.0 / np.sqrt(np.maximum(slack / price, 1.0))
    scaled = by_row[:, None] * matrix * by_flow
    system = np.block([[np.eye(x.size), scaled.T], [scaled, -np.diag(by_row**2 * slack / price)]])
    flows = by_flow * (weight / x - matrix.T @ price)
    rows = by_row * (slack - target / price)
    # Rows that say the same make the system singular up to their slack; that does not harm the rates.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LinAlgWarning)
        try:
            step = solve(system, np.concatenate([flows, rows]), assume_a="sym", check_finite=False)
        except np.linalg.LinAlgError as error:
            raise ConvergenceError("rates or weights differ by too many orders of magnitude") from error
    return step[: x.size] * by_flow, step[x.size :] * by_row


def _residual(matrix: Array, weight: Array, x: Array, price: Array) -> float:
    """Distance from the optimum: the worst of stationarity, complementarity and feasibility, relative."""
    slack = 1.0 - matrix @ x
    stationarity = np.abs(1.0 - x * (matrix.T @ price) / weight).max()
    complementarity = np.abs(price * slack).sum() / weight.sum()
    return float(max(stationarity, complementarity, -slack.min(), -price.min(), 0.0))
