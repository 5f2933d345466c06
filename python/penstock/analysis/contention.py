"""Bytes sent by classes while they competed for a port, compared with the guarantee of the scheduler."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.analysis.class_weights import ClassWeights, in_force
from penstock.measurements import of_result

if TYPE_CHECKING:
    from penstock.measurements import Measurements

_WEIGHED = "those of "


@dataclass(frozen=True)
class Split:
    """Division of the bytes that a port sent while exactly these classes were eligible.

    A class is eligible if it has frames and is not paused.

    Attributes
    ----------
    port : str
        As in the table ``ports``.
    classes : tuple of int
        Two or more traffic classes, in ascending order.
    sent_bytes : int
        Total bytes that they sent in this time (DA to FCS).
    kept : tuple of float
        Share of each class; the shares sum to 1.
    promised : tuple of float or None
        Share of each class by the weights of the scheduler; ``None`` if it has no weights that count bytes.
    """

    port: str
    classes: tuple[int, ...]
    sent_bytes: int
    kept: tuple[float, ...]
    guaranteed: tuple[float, ...] | None


@of_result
def splits(result: Measurements) -> list[Split]:
    """Returns the splits of all ports (table ``contention``), most bytes first."""
    if "contention" not in result.table_names:
        return []
    sent: dict[tuple[str, str], dict[int, int]] = defaultdict(dict)
    for row in result.rows("contention"):
        sent[row["port"], row["classes"]][row["class"]] = row["bytes_sent"]
    found = []
    for (port, _), by_class in sent.items():
        classes, total = tuple(sorted(by_class)), sum(by_class.values())
        kept = tuple(by_class[one] / total for one in classes)
        promises = in_force(result, {port})
        weights = promises[0].weights if len(promises) == 1 else None  # the guarantee changed during the run
        found.append(Split(port, classes, total, kept, _guaranteed(weights, classes)))
    return sorted(found, key=lambda split: (-split.sent_bytes, split.port, split.classes))


def _guaranteed(weights: ClassWeights | None, classes: tuple[int, ...]) -> tuple[float, ...] | None:
    if weights is None or not weights.origin.startswith(_WEIGHED) or weights.counts_frames:
        return None
    of_class = {queue: at for at, queue in reversed(list(enumerate(weights.queue)))}
    if any(one not in of_class for one in classes):
        return None
    if len({weights.level[of_class[one]] for one in classes}) > 1:
        return None  # strict priority between two of the classes
    groups = [weights.group[of_class[one]] for one in classes]
    weight = {group: weights.weight[of_class[one]] for group, one in zip(groups, classes, strict=True)}
    total = sum(weight.values())
    return tuple(weight[group] / total / groups.count(group) for group in groups)
