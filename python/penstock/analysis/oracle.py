"""Fair shares: the rates that an ideal fabric would give each flow, compared with the measured rates.

The ideal fabric is a fluid model with the links, paths and demands of the run. It has no loss, delay or
pauses. At each moment the active flows get their weighted max-min fair (or proportionally fair) rates
(`penstock.analysis.fairness`), strict classes first. Unmet demand queues in the NIC of the host, up to its
capacity, and is sent later. Rates are averages over the measured time.

A link carries bits on the wire. A flow whose rate counts L bytes per frame occupies (L + overhead) / L of its
rate, with the overhead of that link, so small and large frames share a link exactly. A flow to several hosts
is one flow; each link carries the share destined for hosts behind that link.

The demand of a connection is the rate that its window or outstanding requests allow at the round-trip time of
an empty fabric, or its pacing rate. Its unmet demand is not sent later. Acknowledgements or responses load
the reverse path in proportion. Rates of requests, conversations and MPI count both directions; otherwise a
short request for a long response would be a small flow that fills a link. The model has no queues, so windows
do not lengthen the round-trip time.

Schedulers include changes by DCBX and `[[faults]]`; link rates include changes by `[[faults]]`.

Not modelled: per-frame path choice (the planned path is used), shapers, different schedulers at the ports
where classes compete, slow receivers, other faults, pause frames, randomness of sources (their mean rate is
used).
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from penstock.errors import ConvergenceError, InputError
from penstock.measurements import of_result

from . import connections, copies
from .class_weights import InForce, in_force
from .fairness import Array, Problem
from .rules import Rule, by_flow, by_node, link_rates, meeting, origins
from .statistics import jain

if TYPE_CHECKING:
    from penstock.measurements import Measurements

Counts = Literal["frame", "payload", "wire"]
COUNTS: tuple[Counts, ...] = ("frame", "payload", "wire")
HEADER_BYTES = 18
MOST_FLOWS = 1_000
"""Maximum number of flows: allocations use matrices of flows times links."""
MOST_STEPS = 100_000
PATIENCE_S = 60.0
"""Time limit for the shares by one definition, in seconds."""
_AS_LONG = 8
"""Number of flows in classes at which a step takes as long as one without classes."""
FOLLOWED = {"rate", "scheduler"}
"""Kinds of faults that the ideal fabric includes."""
_NOTHING_BPS = 1.0
"""Share in b/s below which a class counts as starved by stricter classes."""
_EMPTY = 1e-3
"""Bits below which a backlog counts as empty."""


@dataclass(frozen=True)
class Share:
    """Demand, throughput and fair share of a flow.

    Attributes
    ----------
    flow : str
        Name.
    weight : float
        Weight while all flows are active.
    demand_bps : float
        Mean demand; infinite for a greedy flow without limit.
    measured_bps : float
        Throughput of the run.
    fair_bps : dict
        Fair share by definition, ``"max_min"`` or ``"proportional"``.
    """

    flow: str
    weight: float
    demand_bps: float
    measured_bps: float
    fair_bps: Mapping[str, float]

    def deviation(self, definition: str) -> float | None:
        """Returns measured / fair - 1; ``None`` if the fair share is 0."""
        fair = self.fair_bps[definition]
        return self.measured_bps / fair - 1 if fair > _NOTHING_BPS else None


@dataclass(frozen=True)
class Verdict:
    """Deviation of all flows from one definition of fairness.

    Attributes
    ----------
    jain : float
        Jain's index of the ratios measured / fair; 1 if all ratios are equal.
    largest_deviation : float
        Deviation with the largest absolute value, relative to the fair rate; negative below the fair rate.
    flow : str
        Flow with that deviation.
    """

    jain: float
    largest_deviation: float
    flow: str


@dataclass(frozen=True)
class Assessment:
    """Fair shares of a run. `counts` defines the bytes that rates count.

    Attributes
    ----------
    counts : str
        ``"frame"`` (DA to FCS), ``"payload"`` (without header and FCS, 18 B) or ``"wire"`` (with line
        overhead).
    weights_from : str
        Source of the weights, as text.
    shares : list of Share
        One share per flow, in the order of the scenario.
    notes : list of str
        Effects in the run that the ideal fabric does not model.
    is_guaranteed : bool
        True if the schedulers of the run guarantee the shares. False if connections or shapers limit rates,
        links changed, or switches differ.
    """

    counts: str
    weights_from: str
    shares: list[Share]
    notes: list[str]
    is_guaranteed: bool = True

    def verdict(self, definition: str = "max_min") -> Verdict | None:
        """Compares the run with a definition of fairness; ``None`` if no flow has a fair share."""
        deviations = [(share.flow, share.deviation(definition)) for share in self.shares]
        known = [(flow, value) for flow, value in deviations if value is not None]
        if not known:
            return None
        flow, largest = max(known, key=lambda one: abs(one[1]))
        return Verdict(jain([1 + value for _, value in known]), largest, flow)


@of_result
def assess(
    result: Measurements,
    *,
    counts: Counts = "frame",
    weights: Mapping[str, float] | None = None,
    by: Literal["flow", "node"] = "flow",
    proportional: bool = True,
    most_steps: int = MOST_STEPS,
) -> Assessment:
    """Computes the fair shares of a run.

    Parameters
    ----------
    result : Result
        Result with the tables ``flows``, ``demands``, ``paths`` and ``ports``.
    counts : str
        Bytes that rates count and that are shared fairly: ``"frame"`` (default), ``"payload"`` or ``"wire"``.
    weights : mapping, optional
        Weight by flow, above 0; a name without ``[host]`` applies to all its flows. Default: the weights of
        the switch schedulers by class, or 1.
    by : {"flow", "node"}
        Unit that gets a share: each flow (default) or each sending node. A node has weight 1 on every link,
        divided over its flows there.
    proportional : bool
        Also computes the proportionally fair rates. Default true.
    most_steps : int
        Maximum number of changes of the shares, at least 1. Default 100,000.

    Raises
    ------
    InputError
        If the result has no paths or too many flows, a weight is invalid, or weights are combined with
        `by="node"`.
    ConvergenceError
        If the proportionally fair rates were not found, or the shares change more than `most_steps` times.
    """
    if counts not in COUNTS:
        raise InputError(f"counts is {counts!r}; expected one of {', '.join(COUNTS)}")
    fluid = _fluid(result, counts)
    if by == "node" and weights is not None:
        raise InputError('weights apply to flows; expected none with by="node"')
    promises = in_force(result, meeting(result)) if weights is None else []
    rules = (
        [by_node(result, fluid.usage)]
        if by == "node"
        else by_flow(result, weights, promises, fluid.usage, fluid.frame)
    )
    if any(rule.strict is not None and rule.strict.within is not None for rule in rules):
        most_steps = max(1, most_steps * _AS_LONG // len(fluid.flows))  # a step takes longer with more flows
    definitions = ("max_min", "proportional") if proportional else ("max_min",)
    fair = {name: fluid.run(rules, name, most_steps) for name in definitions}
    measured = _measured(result, counts) | fluid.exchanged
    demands = fluid.demands()
    names = fluid.flows
    shares = [
        Share(
            name,
            float(rules[0].weight[i]),
            float(demands[i]),
            measured[name],
            {key: float(rates[i]) for key, rates in fair.items()},
        )
        for i, name in enumerate(names)
    ]
    notes, is_guaranteed = _notes(result, promises)
    if by == "node":
        shares, is_guaranteed = _of_nodes(result, shares), False
    return Assessment(counts, origins(rules), shares, notes, is_guaranteed)


@dataclass(frozen=True)
class Fluid:
    """Fluid model: flows, links and demands over time. Rates are in counted bits/s, times in seconds.

    `capacity` applies at the start; `rates` lists changes as time, link and b/s. `closed` marks connections;
    `frame` is the number of counted bits of a mean frame.
    """

    flows: list[str]
    usage: Array
    capacity: Array
    rates: list[tuple[float, int, float]]
    changes: list[tuple[float, int, float]]
    limit: Array
    room: Array
    closed: NDArray[np.bool_]
    frame: Array
    exchanged: dict[str, float]
    begin: float
    end: float

    def run(self, rules: Sequence[Rule], definition: str, most_steps: int) -> Array:
        """Simulates an allocation over time; returns mean rates of the measured time."""
        capacity, rule = self.capacity.copy(), rules[0]
        later = sorted({*(at for at, _, _ in self.rates), *(one.begin for one in rules)}, reverse=True)
        count = len(self.flows)
        source_rates, waiting, offered, carried = (np.zeros(count) for _ in range(4))
        now, coming = 0.0, list(reversed(self.changes))
        began = time.monotonic()
        for _ in range(most_steps):
            if now >= self.end:
                break
            if time.monotonic() - began > PATIENCE_S:
                raise ConvergenceError(
                    f"the fair shares take more than {PATIENCE_S:g} s to compute: "
                    f"{now:.3g} s of {self.end:.3g} s were done"
                )
            while coming and coming[-1][0] <= now:
                _, flow, rate = coming.pop()
                source_rates[flow] = rate
            while later and later[-1] <= now:
                at = later.pop()
                rule = next((one for one in rules if one.begin == at), rule)
                for _, link, rate in (one for one in self.rates if one[0] == at):
                    capacity[link] = rate
            source_rates = np.where(self.limit - offered <= _EMPTY, 0.0, source_rates)
            greedy = np.isinf(source_rates) | self.closed
            wanted = np.where(waiting > 0, np.inf, source_rates)
            rates = rule.allocate(Problem(self.usage, capacity, wanted, rule.weight), definition)
            arriving = np.where(greedy, rates, source_rates)
            growth = arriving - rates
            ahead = [coming[-1][0]] if coming else []
            horizon = min([*ahead, *later[-1:], self.end]) - now
            with np.errstate(divide="ignore", invalid="ignore"):
                emptied = np.where(growth < 0, waiting / -growth, np.inf).min(initial=np.inf)
                spent = np.where(arriving > 0, (self.limit - offered) / arriving, np.inf).min(initial=np.inf)
            step = min(horizon, emptied, spent)
            measured = max(now + step - max(now, self.begin), 0.0)
            carried += rates * measured
            offered += arriving * step
            waiting = np.minimum(waiting + growth * step, self.room)
            waiting[waiting < _EMPTY] = 0.0
            now = now + step if step < horizon else now + horizon
            if step == 0.0 and horizon == 0.0:
                now = min([*ahead, *later[-1:], self.end])
        if now < self.end:
            raise ConvergenceError(f"the fair shares change more than {most_steps:,} times in this run")
        return carried / (self.end - self.begin)

    def demands(self) -> Array:
        """Mean demand of each flow in the measured time."""
        total = np.zeros(len(self.flows))
        changes: list[list[tuple[float, float]]] = [[] for _ in self.flows]
        for at, of, rate in self.changes:
            changes[of].append((at, rate))
        for flow, own in enumerate(changes):
            edges = [*[at for at, _ in own], self.end][1:]  # empty for a flow that never starts
            offered = 0.0
            for (at, rate), until in zip(own, edges, strict=True):
                before = offered
                offered = min(before + (rate * (until - at) if until > at else 0.0), self.limit[flow])
                # Demand is constant within an interval until the limit is reached.
                if rate > 0 and np.isfinite(rate):
                    stop = at + (offered - before) / rate
                    total[flow] += rate * max(stop - max(at, self.begin), 0.0)
                elif rate > 0 and until > max(at, self.begin):
                    total[flow] += offered - before if np.isfinite(before) else np.inf
        return total / (self.end - self.begin)


def _fluid(result: Measurements, counts: Counts) -> Fluid:
    flows, paths = _flows_and_paths(result)
    names = [row["flow"] for row in flows]
    number = {name: index for index, name in enumerate(names)}
    wanted = _Wanted.of(result, number)
    mean, back, back_mean = wanted.mean, wanted.back, wanted.back_mean
    ports = result.rows("ports")
    link = {row["port"]: index for index, row in enumerate(ports)}
    overhead = np.array([row["overhead_bytes"] for row in ports], dtype=float)
    capacity, rates = link_rates(result, ports)
    usage, returning = np.zeros((len(ports), len(names))), np.zeros((len(ports), len(names)))
    first = np.zeros(len(names))
    copied = copies.receivers(result)
    for row in paths:
        flow = number[row["flow"]]
        way = [link[port] for port in row["ports"].split()]
        if row["flow"] not in copied:
            usage[way, flow] += row["share"]
        returning[[link[port] for port in row.get("ports_back", "").split()], flow] += row["share"]
        first[flow] = overhead[way[0]]
    for name, port in copies.ports_of(paths, copied):
        usage[link[port], number[name]] += 1.0
    alone = {"frame": mean, "payload": np.maximum(mean - HEADER_BYTES, 1e-9), "wire": mean + first}[counts]
    frames_back = mean * back / back_mean
    around: Array = {"frame": 0.0 * first, "payload": 0.0 * first - HEADER_BYTES, "wire": first}[counts]
    rows = connections.rows(result)
    source_rates = {row["flow"]: row for row in rows if row["endpoint"] == "requester"}
    talks = {row["flow"]: row for row in rows if row["endpoint"] in ("conversation", "mpi_exchange", "fcoe")}
    two_way = [name in source_rates or name in talks for name in names]
    counted = alone + np.where(two_way, frames_back * (back_mean + around), 0.0)
    usage *= (mean + overhead[:, None]) / counted
    usage += returning * back * (back_mean + overhead[:, None]) / back_mean * mean / counted
    used = (usage > 0).any(axis=1) & (capacity > 0)
    factor = counted / mean
    begin = min(float(result.run.get("warmup_s", 0.0)), float(result.run["simulated_s"]))
    end = float(result.run["simulated_s"])
    # Requests without a response are excluded: both directions are counted together.
    of_frames = counted / (mean + frames_back * back_mean)
    exchanged = {
        name: row["application_bytes"] * 8 / (end - begin) * float(of_frames[number[name]])
        for name, row in source_rates.items()
        if end > begin
    }
    if end > begin:
        bits = wanted.turn_frames * counted * 8 / (end - begin)
        exchanged |= {name: row["exchanges"] * float(bits[number[name]]) for name, row in talks.items()}
    return Fluid(
        flows=names,
        usage=usage[used],
        capacity=capacity[used],
        rates=[(at, int(used[:n].sum()), bps) for at, n, bps in rates if used[n]],
        changes=sorted((at, flow, rate * factor[flow]) for at, flow, rate in wanted.changes),
        limit=wanted.limit * 8 * factor,
        room=wanted.room * 8 * factor,
        closed=back > 0,
        frame=counted,
        exchanged=exchanged,
        begin=begin,
        end=end,
    )


def _flows_and_paths(result: Measurements) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    for name in ("paths", "demands"):
        if name not in result.table_names:
            raise InputError(f'this result has no table "{name}"; run the scenario again with this version')
    flows = result.rows("flows")
    if len(flows) > MOST_FLOWS:
        raise InputError(f"{len(flows):,} flows; fair shares are computed for at most {MOST_FLOWS:,}")
    paths = result.table("paths").to_pylist()
    if flows and not paths:
        raise InputError("the table of paths is empty because there are more than 100,000 paths")
    return flows, paths


@dataclass(frozen=True)
class _Wanted:
    """Demands of flows: bytes of frames in both directions, limits, frames per turn, rates over time."""

    mean: Array
    limit: Array
    room: Array
    back: Array
    back_mean: Array
    turn_frames: Array
    changes: list[tuple[float, int, float]]

    @classmethod
    def of(cls, result: Measurements, number: Mapping[str, int]) -> _Wanted:
        count = len(number)
        mean, limit, room = np.full(count, np.nan), np.full(count, np.inf), np.full(count, np.inf)
        back, back_mean, turn_frames = np.zeros(count), np.ones(count), np.zeros(count)
        changes = []
        for row in result.table("demands").to_pylist():
            flow = number[row["flow"]]
            if row.get("back_share", 0.0) > 0:
                back[flow], back_mean[flow] = row["back_share"], row["back_frame_bytes_mean"]
            mean[flow], limit[flow] = row["frame_bytes_mean"], row["limit_bytes"]
            room[flow] = row["room_bytes"]
            turn_frames[flow] = row.get("turn_frames", 0)
            changes.append((row["time_ns"] / 1e9, flow, row["rate_bps"]))
        # NaN: a flow without demand.
        mean = np.where(np.isnan(mean), 1.0, mean)
        return cls(mean, limit, room, back, back_mean, turn_frames, changes)


def _measured(result: Measurements, counts: Counts) -> dict[str, float]:
    rows = copies.for_each(result, result.rows("flows"))
    if counts == "payload":
        return {row["flow"]: row["goodput_bps"] or 0.0 for row in rows}
    first: dict[str, int] = {}
    if counts == "wire":
        overhead = {row["port"]: row["overhead_bytes"] for row in result.rows("ports")}
        first = {row["flow"]: overhead[row["ports"].split()[0]] for row in result.rows("paths")}

    def bps(row: dict[str, Any]) -> float:
        rate = float(row["throughput_bps"] or 0.0)
        if counts == "wire" and row["bytes_delivered"]:
            rate *= 1 + first[row["flow"]] * row["frames_delivered"] / row["bytes_delivered"]
        return rate

    return {row["flow"]: bps(row) for row in rows}


def _of_nodes(result: Measurements, shares: Sequence[Share]) -> list[Share]:
    """Sums the shares of flows by sending node."""
    of_node: dict[str, list[Share]] = {}
    for row, share in zip(result.rows("flows"), shares, strict=True):
        of_node.setdefault(row["source"], []).append(share)
    return [
        Share(
            node,
            1.0,
            sum(one.demand_bps for one in of),
            sum(one.measured_bps for one in of),
            {key: sum(one.fair_bps[key] for one in of) for key in of[0].fair_bps},
        )
        for node, of in of_node.items()
    ]


def _notes(result: Measurements, promises: Sequence[InForce]) -> tuple[list[str], bool]:
    """Effects that are not modelled, and whether the schedulers guarantee the shares regardless."""
    notes = []
    classes = {row["class"] for row in result.rows("flows")}
    if any(one.weights.limited[of] for one in promises for of in classes):
        notes.append("The switches have shapers; the ideal fabric has none.")
    is_guaranteed = not (notes or any(one.weights.differ for one in promises))
    faults = {row["what"] for row in result.rows("faults")} if "faults" in result.table_names else set()
    if faults - FOLLOWED:
        notes.append("The run had faults; the ideal fabric includes only faults of rates and schedulers.")
    if connections.rows(result):
        notes.append(
            "The demand of a connection is what its window or requests allow on an empty fabric; "
            "acknowledgements and responses load the reverse path. Rates of requests include their responses."
        )
    if connections.chooses_paths(result):
        notes.append("Switches chose a path for each frame; the shares assume the planned path.")
    is_guaranteed &= not notes
    if not result.complete:
        notes.append("The run was cut short; the shares cover the time until then.")
    return notes, is_guaranteed
