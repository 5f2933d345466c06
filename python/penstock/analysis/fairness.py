"""Fair allocations of rates over links: weighted max-min and proportionally fair.

Both use the same description. Flow ``f`` at rate ``x[f]`` loads link ``l`` with ``usage[l, f] * x[f]``. The
link has ``capacity[l]``, and the flow has ``demand[f]`` and ``weight[f]``.

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
"""Relative difference below which two levels are equal."""
RESIDUAL = 1e-7
"""Largest relative residual of the Karush-Kuhn-Tucker conditions at which a solution is accepted."""
STEPS = 200
EXTREMES = np.errstate(over="ignore", divide="ignore", invalid="ignore")
"""Extreme weights and demands overflow. The residual detects this, so NumPy warnings are disabled."""


@dataclass(frozen=True)
class Problem:
    """Flows that share links.

    Parameters
    ----------
    usage : array, links x flows
        Load of each flow on each link per unit of rate, at least 0. A flow that sends half of its frames over
        a link has 0.5; a flow whose rate counts payload has more than 1.
    capacity : array, links
        Above 0, in units of ``usage * rate``.
    demand : array, flows
        Maximum rate, at least 0; infinite for a greedy flow.
    weight : array, flows
        Above 0.

    Raises
    ------
    ArgumentError
        If shapes do not match, a value is out of range, or the rate of a flow is unbounded.
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
            raise ArgumentError(f"{self.weight.size} weights for {self.demand.size} flows; expected equal")
        if not (np.isfinite(self.usage).all() and (self.usage >= 0).all()):
            raise ArgumentError("usage: expected finite values of at least 0")
        if not (np.isfinite(self.capacity).all() and (self.capacity > 0).all()):
            raise ArgumentError("capacity: expected finite values above 0")
        if not (np.isfinite(self.weight).all() and (self.weight > 0).all()):
            raise ArgumentError("weight: expected finite values above 0")
        if np.isnan(self.demand).any() or (self.demand < 0).any():
            raise ArgumentError("demand: expected values of at least 0, or infinity")
        if (~np.isfinite(self.demand) & ~(self.usage > 0).any(axis=0)).any():
            raise ArgumentError(
                "the rate of a flow is unbounded; expected a link on its path, or a finite demand"
            )


@EXTREMES
def max_min(problem: Problem) -> Array:
    """Returns the weighted max-min fair rates.

    No rate can increase without decreasing the rate of a flow whose rate per weight is equal or smaller.
    Exact up to rounding: all rates per weight grow together, and a flow stops at its demand or at its first
    full link.
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
            raise ConvergenceError("rates, weights or demands exceed the range of floating-point numbers")
        rate[stops] = np.minimum(level * weight[stops], demand[stops])
        growing &= ~stops
    return rate


@EXTREMES
def proportionally_fair(problem: Problem) -> Array:
    """Returns the weighted proportionally fair rates, which maximise ``sum(weight * log(rate))``.

    Raises
    ------
    ConvergenceError
        If the residual of the Karush-Kuhn-Tucker conditions stays above `RESIDUAL`.
    """
    active = problem.demand > 0
    rate = np.zeros_like(problem.demand)
    if not active.any():
        return rate
    # Scaled so that the max-min rates and their weights are near 1; residuals are then relative.
    scale = max_min(problem)[active]
    weight = problem.weight[active] / problem.weight[active].mean()
    usage = problem.usage[:, active] * scale / problem.capacity[:, None]
    usage = usage[(usage > 0).any(axis=1)]
    bounds = problem.demand[active] / scale
    bounded = np.flatnonzero(np.isfinite(bounds))
    rows = np.zeros((bounded.size, scale.size))
    rows[np.arange(bounded.size), bounded] = 1.0 / bounds[bounded]
    matrix = np.vstack([usage, rows])  # all constraints have the form matrix @ x <= 1
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
    """Solves: maximise ``weight @ log(x)`` subject to ``matrix @ x <= 1``. Returns rates and prices."""
    x = np.full(weight.size, 0.9)  # 0.9 of the max-min rates satisfies every constraint with slack
    slack = 1.0 - matrix @ x
    price = weight.sum() / (slack.size * slack)
    for _ in range(STEPS):
        if _residual(matrix, weight, x, price) <= RESIDUAL / 10:
            break
        target = 0.1 * (price @ slack) / slack.size
        step, price_step = _newton_step(matrix, weight, x, slack, price, target)
        slack_step = -matrix @ step
        # Longest step that keeps all variables positive, with a margin.
        ratios = np.concatenate([-step / x, -slack_step / slack, -price_step / price])
        length = min(1.0, 0.995 / max(ratios.max(), 1e-300))
        # Slack is updated incrementally: the difference of nearly equal numbers would lose precision.
        x, slack, price = x + length * step, slack + length * slack_step, price + length * price_step
    return x, price


def _newton_step(
    matrix: Array, weight: Array, x: Array, slack: Array, price: Array, target: float
) -> tuple[Array, Array]:
    """Newton step towards ``weight / x = matrix.T @ price`` and ``price * slack = target``."""
    from scipy.linalg import LinAlgWarning, solve

    # Scaled to a diagonal near 1: close to the optimum prices and slacks differ by orders of magnitude.
    by_flow = x / np.sqrt(weight)
    by_row = 1.0 / np.sqrt(np.maximum(slack / price, 1.0))
    scaled = by_row[:, None] * matrix * by_flow
    system = np.block([[np.eye(x.size), scaled.T], [scaled, -np.diag(by_row**2 * slack / price)]])
    flows = by_flow * (weight / x - matrix.T @ price)
    rows = by_row * (slack - target / price)
    # Duplicate rows make the system singular up to their slack, which does not affect the rates.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LinAlgWarning)
        try:
            step = solve(system, np.concatenate([flows, rows]), assume_a="sym", check_finite=False)
        except np.linalg.LinAlgError as error:
            raise ConvergenceError("rates or weights differ by too many orders of magnitude") from error
    return step[: x.size] * by_flow, step[x.size :] * by_row


def _residual(matrix: Array, weight: Array, x: Array, price: Array) -> float:
    """Relative distance from the optimum: maximum of stationarity, complementarity and feasibility."""
    slack = 1.0 - matrix @ x
    stationarity = np.abs(1.0 - x * (matrix.T @ price) / weight).max()
    complementarity = np.abs(price * slack).sum() / weight.sum()
    return float(max(stationarity, complementarity, -slack.min(), -price.min(), 0.0))
