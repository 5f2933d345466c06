"""``penstock fair --starvation``."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from penstock.errors import InputError
from penstock.units import count, duration

from .console import Table, console, print_json

if TYPE_CHECKING:
    from penstock.analysis.starvation import Service, Span, Starvation
    from penstock.result import Result

SCHEMA = "penstock-starvation/1"
ROWS_SHOWN = 30
_WORDS = ("fair", "starves", "undecided", "no bound")
_UNITS = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}


def show(result: Result, origin: str, bound_ns: float | None, *, json: bool) -> None:
    """Prints the classes and flows with the longest times without service."""
    from penstock.analysis.starvation import starvation

    found = starvation(result, bound_ns)
    if json:
        print_json({"schema": SCHEMA, "run": origin, **as_json(found)})
        return
    out = console()
    title = "Time eligible but not served"
    classes = Table(
        title, "port", "class", "unbroken", "in all", "breaks", "bound", "weakly", "strongly", numeric=1
    )
    for one in found.classes[:ROWS_SHOWN]:
        classes.add_row(one.port, str(one.traffic_class), *_cells(one))
    out.print(classes)
    if len(found.classes) > ROWS_SHOWN:
        out.print(f"{len(found.classes) - ROWS_SHOWN} more classes: see --json")
    flows = Table("Flows, and where each waited longest", "flow", "port", "in all", "silent", numeric=2)
    for flow in found.flows[:ROWS_SHOWN]:
        silent = duration(flow.silent_ns)
        flows.add_row(
            flow.flow, f"{flow.worst.port}/{flow.worst.traffic_class}", _span(flow.worst.strong), silent
        )
    out.print(flows)
    if len(found.flows) > ROWS_SHOWN:
        out.print(f"{len(found.flows) - ROWS_SHOWN} more flows: see --json")
    out.print(_verdict(found, "weakly"), _verdict(found, "strongly"))
    if found.bin_ns:
        out.print(
            f"times are accurate to one bin of {duration(found.bin_ns)}; use a smaller `every` in [[probes]]"
        )
    if any(one.bound_ns is None for one in found.classes):
        out.print("no bound: the scheduler has no guarantee for these classes; set one with --bound")
    if found.unknown:
        text = (
            f"{found.unknown[0]} and {count(len(found.unknown) - 1)} others"
            if found.unknown[1:]
            else found.unknown[0]
        )
        out.print(
            f"unknown: {text}, whose series of queue and class were not recorded, or have different bins"
        )


def as_json(found: Starvation) -> dict[str, Any]:
    """Returns the services as JSON values."""
    return {
        "bin_ns": found.bin_ns,
        "classes": [_service(one) for one in found.classes],
        "flows": [
            {
                "name": one.flow,
                "port": one.worst.port,
                "class": one.worst.traffic_class,
                "silent_ns": one.silent_ns,
            }
            for one in found.flows
        ],
        "unknown": found.unknown,
    }


def nanoseconds(text: str) -> float:
    """Converts ``"20 us"`` to 20000.

    Raises
    ------
    InputError
        If the text is not a time above 0.
    """
    number, _, unit = text.strip().partition(" ")
    try:
        value = float(number) * _UNITS[unit.strip()]
    except (KeyError, ValueError):
        value = math.nan
    if not 0 < value < math.inf:
        raise InputError(f'--bound {text}: expected a time above 0 in ns, us, ms or s, such as "20 us"')
    return value


def _service(one: Service) -> dict[str, Any]:
    spans = {"weak": one.weak, "strong": one.strong}
    judged = {"weak": one.weakly, "strong": one.strongly}
    return {
        "port": one.port,
        "class": one.traffic_class,
        "bound_ns": one.bound_ns,
        "breaks": one.breaks,
        "waits_still": one.waits_still,
        **{
            name: {
                "least_ns": span.least_ns,
                "most_ns": span.most_ns,
                "since_ns": span.since_ns,
                "judgement": judged[name],
            }
            for name, span in spans.items()
        },
    }


def _cells(one: Service) -> tuple[str, ...]:
    bound = duration(one.bound_ns)
    return _span(one.weak), _span(one.strong), count(one.breaks), bound, _word(one, one.weakly), one.strongly


def _word(one: Service, judged: str) -> str:
    return f"{judged}, to the end" if one.waits_still and judged != "fair" else judged


def _span(span: Span) -> str:
    return (
        f"{duration(span.least_ns)} to {duration(span.most_ns)}"
        if span.least_ns
        else f"< {duration(span.most_ns)}"
    )


def _verdict(found: Starvation, how: str) -> str:
    judged = [getattr(one, how) for one in found.classes]
    counted = [f"{judged.count(word)} {word}" for word in _WORDS if word in judged]
    text = f"{how} fair: {', '.join(counted) or 'no class had to wait'}"
    still = sum(one.waits_still and one.bound_ns is None for one in found.classes)
    return f"{text} ({still} of them not served again before the end)" if still else text
