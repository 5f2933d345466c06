"""Tiers of the fabric for the report page, in a compact form for tens of thousands of links."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.analysis.film import film
from penstock.analysis.node_numbers import node_numbers
from penstock.analysis.tiers import Direction, Tier, tiers
from penstock.measurements import of_result

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from penstock.measurements import Measurements

_UNKNOWN = -1


@of_result
def fabric(result: Measurements) -> dict[str, Any]:
    """Returns ``nodes``, all names; ``tiers``, top first, with nodes as indexes of names; and ``film``.

    Each tier has ``groups``, the switches of the blocks; ``sizes``, the number of links per block; ``low``
    and ``high``, the ends of each link; and ``ends``, the traffic sent by `low` and by `high`: ``name``,
    ``utilisation`` and ``paused`` in thousandths, and ``drops``. A list of zeros is empty; -1 is unknown.
    With a `film`, ``ports`` are indexes of the ports in it.
    """
    nodes = node_numbers(result).names
    number = {name: n for n, name in enumerate(nodes)}
    played = film(result)
    named = [_tier(tier, number, ports=played is not None) for tier in tiers(result)]
    return {"nodes": nodes, "tiers": named, "film": played}


def _tier(tier: Tier, number: dict[str, int], *, ports: bool) -> dict[str, Any]:
    return {
        "groups": [number[name] for name in tier.groups],
        "sizes": np.bincount(tier.group).tolist(),
        "low": tier.low.tolist(),
        "high": tier.high.tolist(),
        "ends": [_end(tier.up, ports=ports), _end(tier.down, ports=ports)],
    }


def _end(one: Direction, *, ports: bool) -> dict[str, Any]:
    known = np.where(np.isnan(one.utilisation), _UNKNOWN / 1_000, one.utilisation)
    return {
        "name": one.name,
        "utilisation": np.rint(1_000 * known).astype(int).tolist(),
        "paused": _sparse(np.ceil(1_000 * one.paused).astype(np.int64)),
        "drops": _sparse(one.drops),
        "ports": one.rows.tolist() if ports else [],
    }


def _sparse(values: NDArray[np.int64]) -> list[int]:
    found: list[int] = values.tolist() if values.any() else []
    return found
