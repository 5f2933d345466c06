"""A station of a user's scenario as the device under test: `--scenario FILE --node NAME`.

A case sets the features that it tests (priorities with PFC, shares, a congestion point). All other settings
come from the station: its buffer, thresholds, queues and forwarding. Settings of the case take precedence
over the scenario's. Links are those of the cases, at 10 Gb/s. If the station supports fewer PFC priorities
than a case needs, PFC is enabled for as many as it supports, starting with those that the trial tests. Cases
that need more at once then fail.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any

from penstock import library
from penstock.errors import InputError, PenstockError, ScenarioError
from penstock.units import size

from .controls import MAC_CONTROL, PFC_OPCODE
from .device import Device, Operational, UnfitError
from .frames import Sent
from .registry import Case, Expect, Trial, Within
from .sim import SimDevice
from .testbed import of

Table = dict[str, Any]
ALL_PRIORITIES = 8
PFC = PFC_OPCODE.to_bytes(2, "big")
NOT_OF_A_DEVICE = ("dcbx", "clock_tolerance", "mtu", "path_weights", "maps")
"""Settings of a station that refer to neighbors or do not apply to the star of a case."""


@dataclass(frozen=True)
class Station:
    """A host or a switch of a scenario.

    Attributes
    ----------
    name : str
        Name of the station.
    is_host : bool
        True for a host, false for a switch.
    Table of the station, merged with the table of all stations of its kind.
        Table of the station, merged with that of all stations of its kind.
    flow_control : mapping
        Flow control of the station.
    """

    name: str
    is_host: bool
    settings: Table
    flow_control: Table

    @staticmethod
    def of(file: str, name: str) -> Station:
        """Reads a station from a scenario, by file or name.

        Raises
        ------
        InputError
            If the scenario is invalid, or has no such station.
        """
        from penstock import running

        source = library.read(file)
        running.check(file)  # reports errors of the whole scenario
        model = library.toml(source.text, file)
        kinds = _stations(source)
        if name not in kinds:
            raise InputError(f"--node {name}: {file} has none; {library.suggestion(name, kinds)}")
        is_host = kinds[name] == "host"
        of_all, each = ("host", "hosts") if is_host else ("switch", "switches")
        settings = merged(model.get(of_all, {}), _own(model.get(each, {}), name))
        control = settings.pop("flow_control", model.get("flow_control", {}))
        for key in NOT_OF_A_DEVICE:
            settings.pop(key, None)
        return Station(name, is_host, settings, control if isinstance(control, dict) else {})


def _stations(source: library.Source) -> dict[str, str]:
    """Hosts and switches of a checked scenario, by name."""
    from penstock import _core

    topology = json.loads(_core.topology(source.text, source.file, allow_files=source.allow_files))
    return {node["name"]: node["role"] for node in topology["nodes"]}


def _own(tables: Table, name: str) -> Table:
    """Settings of a station, under its name or else under a pattern."""
    if name in tables:
        return dict(tables[name])
    for key, table in tables.items():
        if _fits(key, name):
            return dict(table)
    return {}


def _fits(key: str, name: str) -> bool:
    """Returns true if a pattern, or a range such as "h0..h7", matches a station."""
    first, dots, last = key.partition("..")
    if not dots:
        return fnmatchcase(name, key)
    stem = first.rstrip("0123456789")
    numbers = [one[len(stem) :] for one in (first, name, last) if one.startswith(stem)]
    return (
        len(numbers) == 3
        and all(n.isdigit() for n in numbers)
        and int(numbers[0]) <= int(numbers[1]) <= int(numbers[2])
    )


def merged(below: Table, above: Table) -> Table:
    """Merges nested tables; values of `above` take precedence."""
    both = copy.deepcopy(dict(below))
    for key, value in above.items():
        known = both.get(key)
        both[key] = (
            merged(known, value)
            if isinstance(known, dict) and isinstance(value, dict)
            else copy.deepcopy(value)
        )
    return both


def device_in(
    scenario: Table, station: Station, requested: Sequence[int] = (), *, limited: bool = False
) -> Table:
    """The scenario of a trial with the station as its device.

    `asked` are the priorities that the trial tests. `limited` is true if it tests a queue with the limits
    set by the case.
    """
    own = copy.deepcopy(station.settings)
    kind = "host" if station.is_host else "switch"
    administered = dict(scenario.get(kind, {}))
    if "memory" in own.get("buffer", {}) and not limited:
        # Pools describe a whole memory; limits of the case apply only to stations without their own.
        administered.pop("buffer", None)
    # There can be only one scheduler: the case's replaces the station's.
    for key in ("scheduler", "queue_managers", "queues", "rate_limiters"):
        if key in administered:
            own.pop(key, None)
    found = {**scenario, kind: merged(own, administered)}
    wanted = scenario.get("flow_control", {}).get("pfc")
    has = station.flow_control.get("pfc")
    if wanted is not None:
        if has is None:
            # Without PFC, the trial shows the consequences.
            found[kind]["flow_control"] = "off"
        else:
            control = merged(has, wanted)
            all_wanted = wanted.get("priorities", list(range(ALL_PRIORITIES)))
            first = sorted(all_wanted, key=lambda priority: priority not in requested)
            control["priorities"] = sorted(first[: _most(has)])
            found[kind]["flow_control"] = {"pfc": control}
    return found


@dataclass
class OwnDevice(SimDevice):
    """A station of a scenario as the device of the cases."""

    name: str = "scenario"
    station: Station = field(default_factory=lambda: Station("", False, {}, {}))
    refused: str = ""

    def start(self, settings: Mapping[str, Any]) -> None:
        """Restarts the trial with the station as its device."""
        self.refused = ""
        scenario = device_in(
            settings["scenario"],
            self.station,
            settings.get("asked", ()),
            limited=settings.get("limited", False),
        )
        super().start({**settings, "scenario": scenario})

    def operational(self) -> Operational:
        """Activity of the port so far.

        Raises
        ------
        UnfitError
            If the station cannot be configured as the case requires.
        """
        try:
            return super().operational()
        except PenstockError as error:
            raise UnfitError(f"it cannot be configured like this: {_reason(error)}") from error


def _reason(error: PenstockError) -> str:
    """Error in a trial's scenario, on one line, without the file name, because the scenario is generated."""
    if not isinstance(error, ScenarioError) or not error.diagnostics:
        return str(error)
    first = json.loads(error.diagnostics)[0]
    return "; ".join(filter(None, (first["message"], first["help"])))


def fitting(cases: Sequence[Case], station: Station) -> list[Case]:
    """The cases, each with the trials that fit the station's kind. ETS cases also run at a host.

    A case without such trials has a reason instead.
    """
    kind = "host" if station.is_host else "switch"
    found = []
    for case in cases:
        trials = [own for trial in case.trials if (own := _trial(case, trial, station)) is not None]
        if case.reason or trials:
            found.append(replace(case, trials=trials))
        else:
            found.append(replace(case, trials=[], reason=f"it has no trials for a {kind}"))
    return found


def _trial(case: Case, trial: Trial, station: Station) -> Trial | None:
    if "scenario" not in trial.settings:
        return None
    settings = {**trial.settings, "limited": case.id.startswith(("QN-", "TR-"))}
    hosts_device = str(settings["station"]).startswith("h")
    if hosts_device == station.is_host:
        steps = (*trial.steps, *_together(trial, station), *_reached(case))
        return replace(trial, steps=steps, settings={**settings, "asked": about(trial)})
    if station.is_host and case.id.startswith("ET-") and "star" in settings["scenario"]["topology"]:
        return replace(trial, settings=_at_host(settings))
    return None


def _together(trial: Trial, station: Station) -> tuple[Expect, ...]:
    """Makes a trial fail whose flows use more lossless priorities than the station supports."""
    scenario, has = trial.settings["scenario"], station.flow_control.get("pfc")
    wanted = scenario.get("flow_control", {}).get("pfc", {}).get("priorities", ())
    needed = len({flow["priority"] for flow in scenario["flows"]}.intersection(wanted))
    if has is None or needed <= (most := _most(has)):
        return ()
    value = needed if needed == ALL_PRIORITIES else Within(needed, ALL_PRIORITIES)
    return (Expect("priorities with PFC at the same time:", value, lambda *_: most),)


MUST_FILL = frozenset({"ET-13", "PF-09", *(f"PF-{number}" for number in (18, 19, 20, 21, 22, 23, 24, 26))})
"""Cases that must fill the memory of the device."""


def _reached(case: Case) -> tuple[Expect, ...]:
    """Rejects a trial whose frames all fit into the memory of the station, since it would show nothing."""
    if case.id not in MUST_FILL:
        return ()

    def observe(_: Device, now: Operational) -> None:
        traffic = of(now)
        lost = sum(row["frames"] for row in traffic.result.rows("drops"))
        ports = traffic.result.rows("ports")
        node = next(row["node"] for row in ports if row["port"] == traffic.port)
        own = [row for row in ports if row["node"] == node]
        if not lost and not any(row["pauses_sent"] for row in own):
            most = max(row["queue_bytes_max"] for row in own)
            raise UnfitError(
                f"its memory holds all that the trial sends, at most {size(most)} per port: it neither "
                "pauses nor drops"
            )

    return (Expect("", None, observe),)


def _most(pfc: Table) -> int:
    """Maximum number of priorities with PFC at the same time."""
    return len(pfc.get("priorities", range(ALL_PRIORITIES)))


def about(trial: Trial) -> list[int]:
    """Priorities of a trial's flows that the tester pauses, or all of them if it pauses none."""
    used = {flow["priority"] for flow in trial.settings["scenario"]["flows"]}
    octets = [step.octets for step in trial.steps if isinstance(step, Sent)]
    vectors = [one[17] for one in octets if one[12:14] == MAC_CONTROL and one[14:16] == PFC]
    paused = {n for n in range(ALL_PRIORITIES) if any(bits >> n & 1 for bits in vectors)}
    return sorted(used & paused or used)


def _at_host(settings: Mapping[str, Any]) -> Table:
    """Moves the classes of a switch's port to the NIC of h0, which sends all flows."""
    scenario = copy.deepcopy(dict(settings["scenario"]))
    for flow in scenario["flows"]:
        flow["from"] = "h0"
    switch = scenario.get("switch", {})
    host = {key: switch.pop(key) for key in ("queues", "scheduler") if key in switch}
    scenario["switch"] = {key: value for key, value in switch.items() if key != "buffer"}
    scenario["host"] = {**scenario.get("host", {}), **host}
    for fault in scenario.get("faults", ()):
        if "scheduler" in fault:
            fault.update(link=["h0", "sw"], towards="sw")
    return {**settings, "scenario": scenario, "port": "h0.0->sw", "link": ("h0", "sw"), "station": "h0"}
