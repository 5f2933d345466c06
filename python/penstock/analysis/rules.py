"""Rules for sharing links over time: by the active schedulers, by given weights, or by node."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from penstock.errors import InputError
from penstock.measurements import of_result
from penstock.units import duration, rate_back

from . import connections, fairness
from .class_weights import InForce
from .fairness import Array, Problem
from .hierarchy import Hierarchy
from .strict import Strict

if TYPE_CHECKING:
    from penstock.measurements import Measurements


@dataclass(frozen=True)
class Rule:
    """Rule for sharing links from a time on (in seconds): weights of flows, or their levels and groups."""

    begin: float
    weight: Array
    strict: Strict | None
    origin: str

    def allocate(self, problem: Problem, definition: str) -> Array:
        """Returns the rates by a definition of fairness."""
        by = self.strict or fairness
        return by.max_min(problem) if definition == "max_min" else by.proportionally_fair(problem)


def origins(rules: Sequence[Rule]) -> str:
    """Describes the sources of the weights, with start times."""
    later = (f"from {duration(rule.begin * 1e9)} on {rule.origin}" for rule in rules[1:])
    return "; ".join([rules[0].origin, *later])


@of_result
def link_rates(
    result: Measurements, ports: list[dict[str, Any]]
) -> tuple[Array, list[tuple[float, int, float]]]:
    """Initial rate of each port, and changes as time, port and b/s."""
    capacity = np.array([row["rate_bps"] for row in ports], dtype=float)
    changes = result.rows("faults") if "faults" in result.table_names else []
    of_link: dict[tuple[str, str], list[int]] = defaultdict(list)
    for number, row in enumerate(ports):
        of_link[row["node"], row["peer"]].append(number)
    first: dict[int, float] = {}
    between: dict[tuple[str, str], int] = defaultdict(int)
    of_name: dict[str, list[int]] = {}
    for link in result.topology["links"]:
        a, b = link["a"], link["b"]
        ends = (min(a, b), max(a, b))
        nth, between[ends] = between[ends], between[ends] + 1
        rate = float(link["rate_bps"])
        ways = ((of_link[a, b], f"{a}->{b}", rate), (of_link[b, a], f"{b}->{a}", rate_back(link)))
        both = [(own[nth], name, bps) for own, name, bps in ways if nth < len(own)]
        first |= {number: bps for number, _, bps in both}
        for suffix in (f"[{nth}]", *([""] if nth == 0 else [])):
            of_name[f"{a}<->{b}{suffix}"] = [number for number, _, _ in both]
            of_name |= {f"{name}{suffix}": [number] for number, name, _ in both}
    found = []
    for row in changes:
        if row["what"] != "rate" or row["value"] is None:
            continue
        for number in of_name.get(row["where"], []):
            capacity[number] = first[number]
            found.append((row["time_ns"] / 1e9, number, float(row["value"])))
    return capacity, sorted(found)


@of_result
def meeting(result: Measurements) -> frozenset[str]:
    """Switch ports where flows of several classes compete; empty if switches choose paths per frame."""
    if connections.chooses_paths(result):
        return frozenset()
    of_flow = {row["flow"]: row["class"] for row in result.rows("flows")}
    switches = {row["name"] for row in result.topology["nodes"] if row["role"] == "switch"}
    node = {row["port"]: row["node"] for row in result.rows("ports")}
    classes: dict[str, set[int]] = defaultdict(set)
    for row in result.rows("paths"):
        for port in [*row["ports"].split(), *row.get("ports_back", "").split()]:
            if node[port] in switches:
                classes[port].add(of_flow[row["flow"]])
    several = frozenset(port for port, own in classes.items() if len(own) > 1)
    return several or frozenset(classes)


@of_result
def by_flow(
    result: Measurements,
    given: Mapping[str, float] | None,
    promises: Sequence[InForce],
    usage: Array,
    frame: Array,
) -> list[Rule]:
    """Weight by flow, levels, groups and queues of the schedulers if relevant, and the source of each."""
    rows = result.rows("flows")
    names = [row["flow"] for row in rows]
    if given is None:
        of = np.array([row["class"] for row in rows], dtype=int)
        return [_rule_of(one, of, usage, frame) for one in promises]
    weights = np.ones(len(names))
    for name, weight in given.items():
        if not (np.isfinite(weight) and weight > 0):
            raise InputError(f"the weight of {name} is {weight}; expected a number above 0")
        chosen = [i for i, flow in enumerate(names) if name in (flow, flow.partition("[")[0])]
        if not chosen:
            from penstock.library import suggestion

            raise InputError(f"no flow {name!r} in this result; {suggestion(name, names)}")
        weights[chosen] = weight
    return [Rule(0.0, weights, None, "given")]


def _rule_of(guarantee: InForce, of: NDArray[np.int_], usage: Array, frame: Array) -> Rule:
    """Guarantees of the schedulers to flows of these classes."""
    found = guarantee.weights
    by_group = np.array(found.weight)[of] * (frame if found.counts_frames else 1.0)
    hierarchy = Hierarchy(by_group, np.array(found.queue)[of], np.array(found.group)[of])
    level = np.array(found.level)[of]
    divides = hierarchy.divides()
    if not divides and np.unique(level).size < 2:
        return Rule(guarantee.begin, by_group, None, found.origin)
    shown = hierarchy.beside(usage, np.ones(len(of), dtype=bool)) if divides else by_group
    return Rule(guarantee.begin, shown, Strict(level, hierarchy if divides else None), found.origin)


@of_result
def by_node(result: Measurements, usage: Array) -> Rule:
    """Shares by sending node instead of by flow."""
    names = [row["source"] for row in result.rows("flows")]
    _, node = np.unique(names, return_inverse=True)
    hierarchy = Hierarchy(np.ones(len(names)), node, node)
    shown = hierarchy.beside(usage, np.ones(len(names), dtype=bool))
    origin = "each sending node has weight 1, divided over its flows"
    return Rule(0.0, shown, Strict(np.zeros(len(names), dtype=int), hierarchy), origin)
