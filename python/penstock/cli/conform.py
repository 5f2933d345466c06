"""``penstock conform``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from penstock import conformance
from penstock.conformance.page import counts, page
from penstock.errors import InputError

from . import EXIT_DONE, EXIT_FAILED
from .console import Mark, Table, console, print_json, say

SCHEMA = "penstock-conformance/1"
MARKS = {"pass": Mark("✓", "green"), "fail": Mark("✗", "red"), "not applicable": "-"}


@Parameter(name="*")
@dataclass(frozen=True)
class Switch:
    """A real switch as the device under test.

    Parameters
    ----------
    interface
        Interface of this machine, cabled to a port of a real switch. Tests the PFC reaction of that port.
        Needs Linux, and root or CAP_NET_RAW.
    feed
        Another interface, cabled to another port of that switch. It sends frames to `interface` through the
        switch.
    priorities
        Priority for which the real switch has PFC enabled, repeatable.
    """

    interface: str | None = None
    feed: str | None = None
    priorities: Annotated[tuple[int, ...], Parameter(negative=())] = ()


def conform(
    *,
    against: Literal["agent", "sim", "lldpad"] | None = None,
    scenario: str | None = None,
    node: str | None = None,
    switch: Switch = Switch(),
    case: tuple[str, ...] = (),
    out: Path | None = None,
    json: Annotated[bool, Parameter(negative=())] = False,
) -> int:
    """Checks a data-center bridging device against conformance cases.

    Parameters
    ----------
    against
        Device under test: "agent", the DCBX agent of Penstock, in memory; "sim", ports of simulated hosts and
        switches; or "lldpad", the open-source agent, which must be installed. lldpad needs root and runs in a
        temporary network namespace. Default: "agent"; with `scenario`, a station of that scenario.
    scenario
        Scenario, by file or name, whose station `node` is the device. The station keeps its buffers,
        thresholds, queues and PFC; each case overrides only the settings that it tests.
    node
        Host or switch of `scenario` to test.
    switch
        A real switch.
    case
        Number of a case, such as "DX-03", repeatable. Default: all cases.
    out
        Directory for `report.html` and a capture of each failed trial; created if it does not exist.
    json
        Prints one JSON object instead of a table.
    """
    chosen = conformance.cases(case)
    if out is not None and out.exists() and not out.is_dir():
        raise InputError(f"--out {out}: is not a directory; choose another name")
    device, chosen, called = _device(against, scenario, node, switch, chosen)
    outcomes: list[conformance.Outcome] = []
    captures: dict[int, Path] = {}
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
    try:
        for outcome in conformance.run(chosen, device):
            if called != "agent":
                say(f"{outcome.case.id} {outcome.trial}: {outcome.verdict}")
            if out is not None and outcome.verdict == "fail":
                captures[len(outcomes)] = _capture(outcome, device, out)
            outcomes.append(outcome)
    finally:
        device.close()
    if out is not None:
        (out / "report.html").write_text(page(called, outcomes, captures), "utf-8")
    if json:
        print_json({"schema": SCHEMA, "against": called, "outcomes": [_json(one) for one in outcomes]})
    else:
        _show(outcomes)
        if out is not None:
            console().print(f"report   {out / 'report.html'}")
    return EXIT_FAILED if any(one.verdict == "fail" for one in outcomes) else EXIT_DONE


def _device(
    against: str | None,
    scenario: str | None,
    node: str | None,
    switch: Switch,
    chosen: list[conformance.Case],
) -> tuple[conformance.Device, list[conformance.Case], str]:
    """Returns the device, the cases to run, and the name of the device in a report."""
    if switch != Switch():
        if (against, scenario, node) != (None, None, None):
            raise InputError(
                "--interface selects a device of its own; remove --against, --scenario and --node"
            )
        return _port(switch, chosen)
    if scenario is None and node is None:
        name = against or "agent"
        return DEVICES[name](), chosen, name
    if scenario is None or node is None:
        raise InputError("--scenario and --node: expected both, since the device is a station of a scenario")
    if against is not None:
        raise InputError(f"--against {against}: remove it, or --scenario, which selects another device")
    from penstock.conformance.own import OwnDevice, Station, fitting

    station = Station.of(scenario, node)
    return OwnDevice(station=station), fitting(chosen, station), f"{node} of {scenario}"


def _port(
    switch: Switch, chosen: list[conformance.Case]
) -> tuple[conformance.Device, list[conformance.Case], str]:
    """Creates a device for a port of a real switch."""
    from penstock.conformance import port

    if switch.interface is None or switch.feed is None:
        raise InputError("--interface and --feed: expected both, cabled to the same switch")
    wire = port.Cables(switch.interface, switch.feed)
    try:
        fitting = port.fitting(chosen, wire.rate_bps, switch.priorities)
    except BaseException:
        wire.close()
        raise
    return port.PortDevice(wire), fitting, switch.interface


def _lldpad() -> conformance.Device:
    from penstock.conformance.lldpad import Lldpad

    return Lldpad()


def _agent() -> conformance.Device:
    from penstock.conformance.device import AgentDevice

    return AgentDevice()


def _sim() -> conformance.Device:
    from penstock.conformance.sim import SimDevice

    return SimDevice()


DEVICES: dict[str, Callable[[], conformance.Device]] = {"agent": _agent, "sim": _sim, "lldpad": _lldpad}


def _show(outcomes: Sequence[conformance.Outcome]) -> None:
    shown = Table("", "", "case", "purpose", "stimulus", "expected", "observed")
    for one in outcomes:
        purpose = one.case.purpose + (f" ({one.trial})" if one.trial else "")
        last = one.stimulus[-1] if one.stimulus else one.reason
        cells = (one.case.id, purpose, last, "; ".join(one.expected), "; ".join(one.observed))
        shown.add_row(MARKS[one.verdict], *cells)
    out = console()
    out.print(shown)
    out.print(counts(outcomes))


def _json(one: conformance.Outcome) -> dict[str, Any]:
    return {
        "case": one.case.id,
        "purpose": one.case.purpose,
        "trial": one.trial,
        "verdict": one.verdict,
        "reason": one.reason,
        "stimulus": one.stimulus,
        "expected": one.expected,
        "observed": one.observed,
        "frames": [{"time_s": time_s, "hex": sent.octets.hex()} for time_s, sent in one.frames],
    }


def _capture(one: conformance.Outcome, device: conformance.Device, folder: Path) -> Path:
    """Writes a capture of the frames sent by a simulated port, or received by another device."""
    from penstock import _core
    from penstock.conformance.sim import SimDevice

    words = "".join(letter if letter.isalnum() else " " for letter in one.trial).split()
    file = folder / f"{'-'.join([one.case.id, *words])}.pcapng"
    if isinstance(device, SimDevice):
        device.capture(file)
        return file
    rows: list[Mapping[str, object]] = [
        {
            "port": 0,
            "time_ns": round(time_s * 1e9),
            "direction": "in",
            "comment": sent.what,
            "frame": sent.octets,
        }
        for time_s, sent in one.frames
    ]
    _core.write_capture(str(file), [("device", None)], rows)
    return file
