"""Traffic pools of NVUE: shares of a switch's memory, and the switch priorities in each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .nvue_ranges import listed
from .piece import Assumed, Document, brief, size


@dataclass
class TrafficPools:
    """Percentage of the memory and priorities of each pool, with their lines."""

    percent: dict[str, tuple[str, int]] = field(default_factory=dict)
    members: dict[str, list[tuple[str, int]]] = field(default_factory=dict)

    def take(self, line: int, words: Sequence[str]) -> None:
        """Handles the words after ``qos traffic-pool``."""
        if len(words) == 3 and words[1] == "memory-percent":
            self.percent[words[0]] = (words[2], line)
        elif len(words) == 3 and words[1] == "switch-priority":
            self.members.setdefault(words[0], []).extend((one, line) for one in listed(words[2]))

    def fit(
        self, document: Document, keys: Mapping[str, Any], switch: dict[str, Any], reported: list[str]
    ) -> Assumed | None:
        """Writes the pool of lossless priorities as the memory of the switch, without profiles.

        Raises
        ------
        InputError
            If a share or a priority is not a number.
        """
        memory, control = document.given_bytes("buffer"), keys.get("flow_control")
        lossless = set(control["pfc"]["priorities"]) if isinstance(control, Mapping) else set()
        assumed = None
        for name, (text, line) in self.percent.items():
            percent = document.whole(line, "memory-percent", text, 0, 100)
            own = {
                document.whole(place, "switch-priority", one, 0, 7)
                for one, place in self.members.get(name, ())
            }
            if memory is None or not lossless & own or assumed is not None:
                reason = "it has no lossless priority, or another pool has one"
                reported.append(f"{line}: not read: traffic-pool {brief(name)}: {reason}")
                continue
            pool = {"side": "ingress", "size": size(memory * percent // 100), "mode": "dynamic"}
            switch["buffer"] = {"memory": {"pools": {name: pool}, "profiles": {}, "attach": []}}
            assumed = Assumed((), name, None)
        return assumed
