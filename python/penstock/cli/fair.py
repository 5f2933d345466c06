"""``penstock fair``."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from penstock.errors import InputError
from penstock.units import rate

from . import EXIT_DONE, starving
from .console import Table, console, print_json

if TYPE_CHECKING:
    from penstock.analysis.oracle import Assessment
    from penstock.result import Result

SCHEMA = "penstock-fair/1"
COUNTED = {
    "frame": "bytes of frames (DA to FCS)",
    "payload": "payload (18 B a frame less)",
    "wire": "wire time (with line overhead)",
}
"""Description of the bytes that a rate counts, by the value of --counts."""
NAMES = {"max_min": "weighted max-min", "proportional": "proportionally fair"}


def fair(
    result: str,
    /,
    *,
    counts: Literal["frame", "payload", "wire"] = "frame",
    weight: tuple[str, ...] = (),
    by: Literal["flow", "node"] = "flow",
    starvation: Annotated[bool, Parameter(negative=())] = False,
    bound: str | None = None,
    json: Annotated[bool, Parameter(negative=())] = False,
) -> int:
    """Compares the throughput of each flow with its fair share.

    The ideal fabric has the links, paths and demands of the run, but no loss, delay or pauses. Shares are
    weighted max-min fair and proportionally fair.

    Parameters
    ----------
    result
        Directory of a result. Or a scenario, by file or name; it is run first.
    counts
        Bytes that rates count: frames (DA to FCS), payload (18 B less), or wire (with line overhead). Use
        wire for schedulers that divide link time.
    weight
        FLOW=NUMBER, repeatable. A name without [host] means all flows of that name; the weight of other flows
        is 1. Default: the weights of the switches' schedulers, or 1.
    by
        Unit that gets a share: each flow, or each sending node regardless of the number of its flows.
    starvation
        Reports starvation instead: times for which eligible classes were not served, and the affected flows.
    bound
        With --starvation: maximum acceptable time without service, such as "20 us". Default: by scheduler,
        from its latency and guaranteed rate.
    json
        Prints one JSON object instead of a table.
    """
    from penstock.analysis import oracle
    from penstock.analysis.class_weights import accounted_length

    if bound is not None and not starvation:
        raise InputError("--bound: expected --starvation as well")
    if starvation and (weight or by == "node" or counts != "frame"):
        raise InputError("--starvation: remove --weight, --by and --counts, which do not apply")
    longest = None if bound is None else starving.nanoseconds(bound)
    measured, origin = _result(result)
    if starvation:
        starving.show(measured, origin, longest, json=json)
        return EXIT_DONE
    given = _weights(weight)
    if given and by == "node":
        raise InputError("--weight applies to flows; remove it or --by node")
    found = oracle.assess(measured, counts=counts, weights=given or None, by=by)
    if json:
        print_json({"schema": SCHEMA, "run": origin, "by": by, **as_json(found)})
    else:
        _show(found, by, accounted_length(measured))
    return EXIT_DONE


def as_json(found: Assessment) -> dict[str, Any]:
    """Shares and verdicts as JSON values; infinite demands and unknown deviations are ``None``."""
    verdicts = {name: found.verdict(name) for name in NAMES}
    return {
        "counts": found.counts,
        "weights": found.weights_from,
        "notes": found.notes,
        "verdicts": {
            name: verdict
            and {
                "jain": verdict.jain,
                "largest_deviation": verdict.largest_deviation,
                "flow": verdict.flow,
            }
            for name, verdict in verdicts.items()
        },
        "flows": [
            {
                "name": share.flow,
                "weight": share.weight,
                "demand_bps": share.demand_bps if math.isfinite(share.demand_bps) else None,
                "measured_bps": share.measured_bps,
                **{f"{name}_bps": share.fair_bps[name] for name in NAMES},
                **{f"{name}_deviation": share.deviation(name) for name in NAMES},
            }
            for share in found.shares
        ],
    }


def _show(found: Assessment, by: str, accounted: str | None) -> None:
    out = console()
    what = COUNTED[found.counts].partition(" (")[0]
    columns = (by, "weight", "demand", "measured", "max-min", "deviation", "proportional", "deviation")
    shares = Table(f"Fair shares, counted in {what}", *columns, numeric=1)
    for share in found.shares:
        cells = [share.flow, f"{share.weight:g}", _demand(share.demand_bps), rate(share.measured_bps)]
        for name in NAMES:
            cells += [rate(share.fair_bps[name]), percent(share.deviation(name))]
        shares.add_row(*cells)
    out.print(shares)
    for name, called in NAMES.items():
        verdict = found.verdict(name)
        if verdict is not None:
            out.print(
                f"{called}: {verdict.jain:.4f} (Jain), "
                f"largest deviation {percent(verdict.largest_deviation)} ({by} {verdict.flow})",
            )
    out.print(f"weights  {found.weights_from}")
    others = " or ".join(f"--counts {word}" for word in COUNTED if word != found.counts)
    out.print(f"counts   {COUNTED[found.counts]}; for others {others}")
    if accounted is not None and accounted != found.counts:
        divides = f"the scheduler of the switches divides {COUNTED[accounted]}"
        out.print(f"         {divides}: see --counts {accounted}")
    for note in found.notes:
        out.print(note)


def percent(deviation: float | None) -> str:
    """A deviation as text."""
    return "-" if deviation is None else f"{100 * deviation:+.2f} %"


def _demand(bps: float) -> str:
    return rate(bps) if math.isfinite(bps) else "all"


def _result(run: str) -> tuple[Result, str]:
    from penstock import running
    from penstock.result import Result

    from .progress import stop_on_interrupt, watching

    if Path(run).is_dir():
        return Result.load(run), run
    with stop_on_interrupt() as wish, watching(wish) as watch:
        return running.run(run, progress=watch), run


def _weights(texts: tuple[str, ...]) -> dict[str, float]:
    given: dict[str, float] = {}
    for text in texts:
        name, number = _weight(text)
        if name in given:
            raise InputError(f"--weight {text}: {name} has the weight {given[name]:g} already")
        given[name] = number
    return given


def _weight(text: str) -> tuple[str, float]:
    name, equals, number = text.rpartition("=")
    try:
        if not (name and equals):
            raise ValueError
        return name, float(number)
    except ValueError:
        raise InputError(f"--weight {text}: expected FLOW=NUMBER, such as victim=2") from None
