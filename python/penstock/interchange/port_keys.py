"""Converts the settings of a switch port, from any configuration, to keys of a scenario.

The settings are in `sonic_port.View`. Priorities of a scenario are traffic classes, and its queues are the
queues of the switch. A scenario has one set of settings for all ports of a switch, except for buffer
profiles, which differ by rate and cable.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from .piece import size
from .shares import percentages
from .sonic_links import NAMED
from .sonic_port import ACTIONS, CODE_POINTS, PRIORITIES, View, Wred

FRAME_BYTES = 22
"""Bytes of a frame that the MTU of a port excludes: addresses, type, VLAN tag and FCS."""


class Reporter(Protocol):
    """A configuration that collects remarks on differences between it and the scenario."""

    def report(self, where: str, message: str) -> None:
        """Reports a difference once."""


class PortKeys:
    """Writes the settings of a port as keys of a scenario.

    Parameters
    ----------
    reporter : Reporter
        The configuration.
    port : View
        The settings.
    lossless : sequence of int, optional
        Priorities with PFC.
    where : mapping, optional
        The configuration's terms for "pfc", "watchdog", "remap", "queue", "scheduler" and "wred", with which
        the reports begin. Default: those of CONFIG_DB.
    """

    def __init__(
        self,
        reporter: Reporter,
        port: View,
        lossless: Sequence[int] | None,
        where: Mapping[str, str] | None = None,
    ) -> None:
        self._reporter = reporter
        self._port = port
        self._lossless = lossless
        self._queue_of = port.queue_of.use()
        self._where = where or {
            "watchdog": "PFC_WD",
            "remap": "TC_TO_DSCP_MAP",
            "queue": "QUEUE",
            "scheduler": "SCHEDULER",
            "wred": "WRED_PROFILE",
        }

    @property
    def queues(self) -> set[int]:
        """The queues that priorities use."""
        return {*self._queue_of}

    def _report(self, what: str, message: str) -> None:
        self._reporter.report(self._where[what], message)

    def keys(self, buffer: Mapping[str, Any]) -> dict[str, Any]:
        """All keys; `buffer` contains those of ``switch.buffer``."""
        queues = [*self._queue_of]
        every = [*range(max(queues) + 1)]
        switch: dict[str, Any] = {"queues": "per_priority" if queues == [*PRIORITIES] else queues}
        if scheduler := self._scheduler(every, set(queues)):
            switch["scheduler"] = scheduler
        if managers := self._managers(set(queues)):
            switch["queue_managers"] = managers
        if maps := self._maps():
            switch["maps"] = maps
        if (mtu := self._port.mtu.use()) is not None:
            switch["mtu"] = f"{mtu + FRAME_BYTES} B"
        if buffer:
            switch["buffer"] = dict(buffer)
        keys: dict[str, Any] = {"switch": switch}
        if self._lossless:
            keys["flow_control"] = {"pfc": {"priorities": [*self._lossless], "accounting": "ingress"}}
            if watchdog := self._port.watchdog.use():
                detection, restoration, action = watchdog
                keys["watchdog"] = {
                    "detection_time": f"{detection} ms",
                    "restoration_time": f"{restoration} ms",
                    "action": ACTIONS[action],
                }
        elif self._port.watchdog.value:
            self._report("watchdog", "the port has no priority with PFC: no watchdog")
        return keys

    def _maps(self) -> dict[str, Any]:
        """Maps of DSCPs and pauses, unless they equal the defaults."""
        maps: dict[str, Any] = {}
        port = self._port
        if (classes := port.class_of_dscp.use()) is not None:
            maps["dscp_to_tc"] = _shortest(dict(classes))
        for key, found, usual in (
            ("pfc_to_queue", port.stops.use(), self._queue_of),
            ("pfc_to_group", port.pause_group.use(), port.group_of.use()),
        ):
            if found != usual:
                maps[key] = [*found]
        if remap := self._remap():
            maps["remap"] = [{"to": ["*"], "dscp": remap}]
        return maps

    def _remap(self) -> dict[str, int]:
        """The new code point of each code point that is rewritten at the egress."""
        port = self._port
        classes = port.class_of_dscp.value
        if port.new_dscp.value and classes is None:
            self._report("remap", "the port has no DSCP map, so no DSCP is rewritten")
            return {}
        class_of = dict.fromkeys(CODE_POINTS, 0) | dict(classes or ())
        new = dict(port.new_dscp.use())
        changed = {dscp: new.get(one, dscp) for dscp, one in class_of.items()}
        changed = {dscp: to for dscp, to in changed.items() if to != dscp}
        elsewhere = [
            dscp
            for dscp, to in changed.items()
            if self._queue_of[class_of[dscp]] != self._queue_of[class_of[to]]
        ]
        if elsewhere:
            named = ", ".join(map(str, elsewhere[:NAMED])) + (", ..." if len(elsewhere) > NAMED else "")
            self._report(
                "remap",
                f"frames of DSCP {named} wait in the queue of their old code point, in a scenario in that of "
                "the new one: they keep their DSCP",
            )
        return {str(dscp): to for dscp, to in changed.items() if dscp not in elsewhere}

    def _scheduler(self, queues: list[int], used: set[int]) -> dict[str, Any] | str | None:
        """The scheduler of the port's queues; ``None`` if there is no setting."""
        own = self._port.schedulers
        named = {
            number: found for number in queues if number in own and (found := own[number].use()) is not None
        }
        if not named:
            self._report("queue", "queues have no scheduler: taken from --like, or strict priority")
            return None
        without = [number for number in queues if number not in named and number in used]
        if without:
            self._report(
                "queue", f"queues {', '.join(map(str, without))} have no scheduler: taken as strict priority"
            )
        weights = self._weights({one: found.weight for one, found in named.items()}, used)
        if not weights:
            return "strict_priority"
        shares = percentages(weights)
        exact = all(
            shares[number] * sum(weights.values()) == 100 * weight for number, weight in weights.items()
        )
        if not exact and used <= weights.keys():
            return {"drr": {"weights": [weights.get(number, 1) for number in queues]}}
        if not exact:
            given_weights = ", ".join(map(str, weights.values()))
            given_shares = ", ".join(map(str, shares.values()))
            self._report(
                "scheduler",
                f"weights {given_weights} with strict priority: as whole per cent, {given_shares}",
            )
        how: dict[int, dict[str, Any]] = {number: {"percent": shares[number]} for number in weights}
        return {"ets": {"classes": [{"queues": [one], **how.get(one, {"strict": True})} for one in queues]}}

    def _weights(self, named: Mapping[int, int | None], used: set[int]) -> dict[int, int]:
        """Weights of queues that are not strict; 0 becomes the smallest weight, or none if unused."""
        weights = {number: one for number, one in named.items() if one is not None}
        for number in [number for number, one in weights.items() if one == 0]:
            if number not in used:
                del weights[number]
                continue
            weights[number] = 1
            self._report("scheduler", f"queue {number} has a share of 0: taken as 1")
        return weights

    def _managers(self, queues: set[int]) -> list[dict[str, Any]]:
        """Marking and early drops by queue; queues with equal settings share one entry."""
        alike: dict[Wred, list[int]] = {}
        for number, wred in sorted(self._port.wred.items()):
            if number in queues and (found := wred.use()) is not None:
                alike.setdefault(found, []).append(number)
        return [{"classes": numbers, **self._manager(wred)} for wred, numbers in alike.items()]

    def _manager(self, wred: Wred) -> dict[str, Any]:
        if not wred.rises:
            if wred.drops:
                self._report("wred", f"marks above {wred.most} B; frames without ECN are not dropped there")
            if wred.percent != 100:
                self._report("wred", f"the probability of {wred.percent} % at {wred.most} B has no effect")
            return {"step": {"threshold": size(wred.most)}}
        green = _line(wred)
        keys: dict[str, Any] = {
            "weight": 2.0**-wred.weight,
            **green,
            "gentle": False,
            "spacing": "geometric",
            **{color: _other(_line(one), green) for color, one in wred.others},
        }
        if wred.marks or any(one.marks for _, one in wred.others):
            keys["mark_above_max"] = True
        return {"red": keys}


def _line(wred: Wred) -> dict[str, Any]:
    """Thresholds, probability and action for frames of a color."""
    return {
        "min": size(wred.least),
        "max": size(wred.most),
        "max_probability": wred.percent / 100,
        "action": ("mark" if wred.drops else "mark_only") if wred.marks else "drop",
    }


def _other(keys: Mapping[str, Any], green: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in keys.items() if value != green[key]}


def _shortest(named: Mapping[int, int]) -> dict[str, int]:
    """A map of code points; if all are mapped, the most frequent value becomes the default."""
    if len(named) < len(CODE_POINTS):
        return {str(dscp): one for dscp, one in named.items()}
    counts = Counter(named.values())
    other = max(sorted(counts), key=lambda one: counts[one])
    return {str(dscp): one for dscp, one in named.items() if one != other} | {"other": other}
