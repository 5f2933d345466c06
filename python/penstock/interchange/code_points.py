"""The DSCP of logged frames.

Frames of the engine carry a priority, which the maps of switches derive from the DSCP when the scenario is
read. This module inverts the mapping: among a flow's DSCP and the DSCPs to which switches rewrite it, it
selects the one whose traffic class is the priority of the frame.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

NONE = 0
"""DSCP in the header of a frame without one: best effort (RFC 2474)."""


@dataclass(frozen=True)
class CodePoints:
    """The DSCP settings of a scenario."""

    own: Mapping[str, int]
    """DSCP of the flows and transfers that have one, by name."""
    classes: Mapping[int, int]
    """Traffic class of each DSCP by the maps of all switches."""
    changes: tuple[tuple[int, int], ...]
    """Pairs of DSCPs: one that some switch rewrites, and its new value."""
    trimmed: tuple[int, ...] = ()
    """DSCPs that switches set in trimmed frames."""
    priorities: Mapping[str, int] = field(default_factory=dict)
    """Priority of the flows and transfers, by name."""

    @classmethod
    def of(cls, scenario: Mapping[str, Any]) -> CodePoints:
        """The DSCP settings of an effective scenario, as a result has it."""
        entries = [*scenario.get("flows", []), *scenario.get("transfers", [])]
        keys = scenario.get("switch", {}).get("maps", {}).get("dscp_to_tc")
        classes = {
            code: code // 8 if keys is None else keys.get(str(code), keys.get("other", 0))
            for code in range(64)
        }
        return cls(
            own={entry["name"]: entry["dscp"] for entry in entries if "name" in entry and "dscp" in entry},
            classes=classes,
            changes=tuple(_changes(scenario)),
            trimmed=tuple(dict.fromkeys(_trimmed(scenario))),
            priorities={
                entry["name"]: entry["priority"] for entry in entries if {"name", "priority"} <= entry.keys()
            },
        )

    def trimmed_at(self, flow: str, priority: int) -> int | None:
        """The DSCP of a data frame that a switch has trimmed, so that its priority is not that of its flow.

        Returns None if no switch makes such a frame.
        """
        name = flow if flow in self.priorities else flow.partition("[")[0]
        if self.priorities.get(name) == priority or self.at(flow, priority):
            return None
        return next((code for code in self.trimmed if self.classes[code] == priority), None)

    def at(self, flow: str, priority: int) -> list[int]:
        """The DSCPs that a frame of a flow may have at a priority, the original one first.

        Parameters
        ----------
        flow : str
            Name as in the table ``frames``: with a host in brackets if the flow has several.
        priority : int
            Priority of the frame.
        """
        name = flow if flow in self.own else flow.partition("[")[0]
        found = [self.own[name]] if name in self.own else []
        for code in found:
            new = {after for before, after in self.changes if before == code}
            found.extend(sorted(new - set(found)))
        return [code for code in found if self.classes[code] == priority]


def _trimmed(scenario: Mapping[str, Any]) -> Iterator[int]:
    for switch in (scenario.get("switch", {}), *scenario.get("switches", {}).values()):
        trimming = switch.get("trimming", {})
        yield from (entry["dscp"] for entry in (trimming, *trimming.get("dscp_to", [])) if "dscp" in entry)


def _changes(scenario: Mapping[str, Any]) -> Iterator[tuple[int, int]]:
    for switch in (scenario.get("switch", {}), *scenario.get("switches", {}).values()):
        for entry in switch.get("maps", {}).get("remap", []):
            yield from ((int(before), after) for before, after in entry["dscp"].items())


def ranges(numbers: Iterable[int]) -> str:
    """Formats numbers with consecutive ones as ranges, such as "0-2, 4"."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)
