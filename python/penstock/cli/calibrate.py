"""``penstock calibrate``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from penstock.errors import InputError
from penstock.units import duration, size

from . import EXIT_DONE
from .console import Table, console, print_json
from .options import Whole

SCHEMA = "penstock-calibrate/1"


def calibrate(
    measured: Path,
    /,
    *,
    collective: str = "",
    ranks: Whole | None = None,
    in_place: Annotated[bool, Parameter(negative=())] = False,
    rate: str | None = None,
    latency: str | None = None,
    json: Annotated[bool, Parameter(negative=())] = False,
) -> int:
    """Fits latency and bandwidth to measurements of nccl-tests or perftest, with the error by size.

    Parameters
    ----------
    measured
        Output of nccl-tests or perftest, or a table (csv) with bytes and time_us, busbw_GBps or algbw_GBps.
    collective
        The collective, such as "all-reduce", if the file does not name it.
    ranks
        Number of ranks, if the file does not state it.
    in_place
        Uses the in-place times of nccl-tests instead of the out-of-place ones.
    rate
        Rate of a link, such as "400 Gb/s". With --latency, the remaining time is attributed to the hosts.
    latency
        One-way latency of the network, such as "2 us".
    json
        Prints one JSON object instead of tables.
    """
    from penstock.programs import calibration, formats
    from penstock.programs import measured as reading

    text = formats.contents(measured).decode("utf-8-sig", errors="replace")
    if ranks is not None and ranks < 2:
        raise InputError(f"--ranks is {ranks}; expected at least 2")
    if (rate is None) != (latency is None):
        raise InputError("--rate and --latency: expected both, for the network to simulate")
    found = reading.read(str(measured), text, in_place=in_place, collective=collective, ranks=ranks)
    known = reading.check(found)
    fitted = calibration.fit(found.times_us, str(measured))
    factor, steps = known["factor"], int(known["steps"])
    network = None if rate is None or latency is None else _network(rate, latency)
    rows = [_row(one, factor, steps, network) for one in fitted.ranges]
    about = {
        "source": found.source,
        "collective": found.collective,
        "ranks": found.ranks,
        "steps": steps,
        "is_interval": found.is_interval,
        "ranges": rows,
        "error_rms": fitted.rms,
        "sizes": [
            {"bytes": own, "measured_us": time, "fitted_us": fitted.at(own), "error": fitted.errors[own]}
            for own, time in sorted(found.times_us.items())
        ],
    }
    if json:
        print_json({"schema": SCHEMA, "file": str(measured), **about})
        return EXIT_DONE
    _print(about, fitted.worst)
    return EXIT_DONE


def _network(rate: str, latency: str) -> tuple[float, float]:
    """Latency in us and rate in bytes per second."""
    from penstock.laboratory.quantity import Quantity

    values = []
    for name, text, dimension, example in (
        ("latency", latency, "time", "2 us"),
        ("rate", rate, "rate", "400 Gb/s"),
    ):
        found = Quantity.read(text)
        if found is None or found.dimension != dimension or found.amount <= 0:
            raise InputError(f'--{name} is {text}; expected a {dimension}, such as "{example}"')
        values.append(float(found.amount))
    return values[0] / 1e6, values[1] / 8


def _row(one: Any, factor: float, steps: int, network: tuple[float, float] | None) -> dict[str, Any]:
    from penstock.programs.calibration import host_cost

    row = {
        "first_bytes": one.first,
        "last_bytes": one.last,
        "latency_us": one.latency_us,
        "latency_per_step_us": one.latency_us / steps,
        "bus_bandwidth_GBps": one.bytes_per_s * factor / 1e9,
    }
    if network is not None:
        cost = host_cost(one, factor, steps, *network)
        row |= {"overhead_us": cost.overhead_us, "overhead_ns_per_byte": cost.overhead_ns_per_byte}
    return row


def _print(about: dict[str, Any], worst: tuple[int, float]) -> None:
    out = console()
    over = f" over {about['ranks']} ranks" if about["collective"] != "message" else ""
    times = "intervals between messages" if about["is_interval"] else "times"
    out.print(f"{about['source']}: {about['collective']}{over}, {len(about['sizes'])} sizes, {times}")
    has_costs = "overhead_us" in about["ranges"][0]
    costs = ("o", "O (ns/B)") if has_costs else ()
    table = Table("", "from", "to", "latency", "a step", "bus bandwidth", *costs, numeric=0)
    for row in about["ranges"]:
        cells = [size(row["first_bytes"]), size(row["last_bytes"])]
        cells += [duration(row[one] * 1e3) for one in ("latency_us", "latency_per_step_us")]
        cells.append(f"{row['bus_bandwidth_GBps']:.4g} GB/s")
        if has_costs:
            cells += [duration(row["overhead_us"] * 1e3), f"{row['overhead_ns_per_byte']:.4g}"]
        table.add_row(*cells)
    out.print(table)
    table = Table("", "bytes", "measured", "fitted", "error", numeric=0)
    for row in about["sizes"]:
        cells = [f"{row['bytes']:,}"]
        cells += [duration(row[one] * 1e3) for one in ("measured_us", "fitted_us")]
        table.add_row(*cells, f"{row['error']:+.1%}")
    out.print(table)
    if has_costs:
        last = about["ranges"][-1]
        per_byte = f"{last['overhead_ns_per_byte'] * 1e3:.0f} ps"
        keys = f'overhead = "{last["overhead_us"] * 1e3:.0f} ns", overhead_per_byte = "{per_byte}"'
        out.print(f"job keys for messages of the last range: {keys}")
    out.print(f"error {about['error_rms']:.1%} RMS, {worst[1]:+.1%} at {worst[0]:,} B")
