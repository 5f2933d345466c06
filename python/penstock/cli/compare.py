"""``penstock compare``."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, astuple
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from penstock.analysis.verdict import Unfinished, Verdict, together, unfinished
from penstock.errors import InputError, ResultError
from penstock.units import count, duration, plain, rate, share, size

from .beside import Drawing, draw_beside
from .console import Screen, Table, console, print_json, show_verdict
from .flows import GROUPED, grouped

if TYPE_CHECKING:
    from penstock.analysis.pairs import Difference
    from penstock.result import Result

Row = dict[str, Any]
Writer = Callable[[float | None], str]

FLOWS: dict[str, Writer] = {
    "throughput_bps": rate,
    "frames_dropped": count,
    "latency_mean_ns": duration,
    "latency_p99_ns": duration,
}
CONNECTIONS: dict[str, Writer] = {
    "round_trips": count,
    "round_trip_mean_ns": duration,
    "round_trip_p99_ns": duration,
    "exchanges": count,
    "exchange_mean_ns": duration,
    "exchange_p99_ns": duration,
    "completed_ns": duration,
    "segments_sent_again": count,
    "frames_discarded": count,
}
TRANSFERS: dict[str, Writer] = {
    "completion_mean_ns": duration,
    "completion_p99_ns": duration,
    "slowdown_mean": plain,
    "slowdown_p99": plain,
    "unfinished": count,
}
_NO_PICTURE = Drawing()
ROWS_SHOWN = 30
PORTS: dict[str, Writer] = {
    "utilisation": share,
    "queue_bytes_max": size,
    "drops": count,
    "pauses_received": count,
    "paused_s": lambda seconds: duration(None if seconds is None else seconds * 1e9),
}
COMPARED: dict[str, tuple[str, dict[str, Writer]]] = {
    "groups": ("group", {key: FLOWS[key] for key in GROUPED}),
    "flows": ("flow", FLOWS),
    "connections": ("flow", CONNECTIONS),
    "transfers": ("name", TRANSFERS),
    "ports": ("port", PORTS),
}
"""Tables with their key columns and compared metrics."""


def compare(
    first: Path,
    second: Path,
    /,
    *more: Path,
    out: Path | None = None,
    json: Annotated[bool, Parameter(negative=())] = False,
    drawing: Drawing = _NO_PICTURE,
) -> int:
    """Compares results: scenarios, and all flows, connections, transfers and ports that differ.

    Two sets of replications are paired by seed. The output is the mean difference of each flow and of each
    entry of transfers, with its 95 % confidence interval. Single runs are compared with the first one. The
    verdicts on the runs determine the exit code. A warning precedes the tables if the numbers of unfinished
    transfers differ.

    Parameters
    ----------
    first
        Directory of a result, or of replications.
    second
        Directory of another result, or of another set of replications.
    more
        More results to compare with the first.
    out
        Directory for a picture of the differences between two sets, with their intervals. Default: none.
    json
        Prints one JSON object instead of tables.
    drawing
        Picture of all results.
    """
    from penstock.result import Result
    from penstock.running.replications import load_replications

    places = (first, second, *more)
    sets = [load_replications(place) for place in places]
    if any(one is not None for one in sets):
        if len(places) > 2:
            raise InputError(
                "sets of replications are compared in pairs; for more variants: "
                "penstock sweep SCENARIO --vary KEY=VALUES --vary simulation.seed=1..5"
            )
        if drawing.picture is not None:
            raise InputError("--picture applies to single runs; expected --out for sets")
        return _compare_sets((first, second), (sets[0], sets[1]), out, json)
    if out is not None:
        raise InputError("--out applies to two sets of replications; a pair of single runs has no interval")
    results = [Result.load(place) for place in places]
    picture = draw_beside(places, results, drawing)
    exit_code = _compare_runs(places, results, json=json)
    if picture is not None and not json:
        console().print(f"picture  {picture}")
    return exit_code


def _compare_runs(places: Sequence[Path], results: Sequence[Result], *, json: bool) -> int:
    """Compares single runs, each with the first."""
    same = len({result.fingerprint for result in results}) == 1
    scenario = [
        line
        for result, place in zip(results[1:], places[1:], strict=True)
        for line in _scenario_diff(results[0], result, (places[0], place))
    ]
    verdicts = [(str(place), one.verdict) for place, one in zip(places, results, strict=True)]
    judged = together(verdicts, "results")
    left = [unfinished(result) for result in results]
    found = {name: differences(results, name, key, list(of)) for name, (key, of) in COMPARED.items()}
    if json:
        identities = [_identity(place, result) for place, result in zip(places, results, strict=True)]
        print_json(
            _head(judged, left, identities)
            | {
                "results": identities,
                "same_trajectory": same,
                "scenario_diff": scenario,
                **found,
            }
        )
        return judged.exit_code
    screen = console()
    labels = ("first", "second") if len(places) == 2 else tuple(str(n) for n in range(1, len(places) + 1))
    if _differ(left):
        screen.print(_warned(labels, left), style="bold yellow")
    for label, path, result in zip(labels, places, results, strict=True):
        screen.print(
            f"{label:6}  {path}: {result.name}, seed {result.seed}, fingerprint {result.fingerprint}"
        )
        show_verdict(screen, result.verdict, " " * max(len(label), 6))
    screen.print("the trajectories are identical" if same else "the trajectories differ")
    screen.print(*scenario or ("the scenarios are identical",))
    for name, (_, writers) in COMPARED.items():
        _show(screen, f"{name.capitalize()} that differ", found[name], writers, labels)
    return judged.exit_code


def _differ(left: Sequence[Unfinished]) -> bool:
    """True if the results have different numbers of unfinished transfers."""
    return len({one.count for one in left}) > 1


def _warned(labels: Sequence[str], left: Sequence[Unfinished]) -> str:
    text = ", ".join(f"{label}: {one.text}" for label, one in zip(labels, left, strict=True))
    return (
        f"unfinished transfers differ ({text}): statistics exclude them, so they compare different sets of "
        "transfers"
    )


def _scenario_diff(a: Result, b: Result, names: tuple[Path, Path]) -> list[str]:
    first, second = (result.scenario_toml.splitlines() for result in (a, b))
    left, right = map(str, names)
    return list(difflib.unified_diff(first, second, left, right, "", "", n=2, lineterm=""))


def _compare_sets(
    directories: tuple[Path, Path],
    sets: tuple[dict[int, Result] | None, dict[int, Result] | None],
    out: Path | None,
    json: bool,
) -> int:
    """Compares two sets of replications."""
    from penstock.analysis import pairs

    first, second = sets
    if first is None or second is None:
        alone = directories[0 if first is None else 1]
        raise ResultError(f"{alone}: a single run; expected a set of replications like the other result")
    seeds = [seed for seed in first if seed in second]
    if not seeds:
        raise ResultError(f"{directories[0]} and {directories[1]}: expected at least one common seed")
    found = pairs.differences(first, second)
    picture = None if out is None else _draw(found, out)
    named = [
        (f"{path}, seed {seed}", result.verdict)
        for path, own in zip(directories, (first, second), strict=True)
        for seed, result in own.items()
    ]
    judged = together(named, "runs")
    left = [_all_unfinished(own) for own in (first, second)]
    scenario = _scenario_diff(first[seeds[0]], second[seeds[0]], directories)
    if json:
        identities = [
            {"directory": str(path), "seeds": list(own), "unfinished": asdict(one)}
            for path, own, one in zip(directories, (first, second), left, strict=True)
        ]
        print_json(
            _head(judged, left, identities)
            | {
                "pairs": len(seeds),
                "confidence": 0.95,
                "scenario_diff": scenario,
                "differences": [_row(one) for one in found],
            }
        )
        return judged.exit_code
    if _differ(left):
        console().print(_warned(("first", "second"), left), style="bold yellow")
    show_verdict(console(), judged)
    _show_pairs(found, len(seeds), scenario)
    if picture is not None:
        console().print(f"picture  {picture}")
    return judged.exit_code


def _head(judged: Verdict, left: Sequence[Unfinished], identities: Sequence[Row]) -> Row:
    """JSON keys shared by comparisons of runs and of sets of runs."""
    return {
        "schema": "penstock-compare/1",
        "verdict": judged.to_dict(),
        "unfinished_differ": _differ(left),
        "first": identities[0],
        "second": identities[1],
    }


def _row(one: Difference) -> Row:
    return {
        "name": one.name,
        "metric": one.metric,
        "first": one.first,
        "second": one.second,
        "change": one.change.mean,
        "half_width": None if one.change.n < 2 else one.change.half_width,
        "pairs": one.change.n,
    }


def _all_unfinished(results: Mapping[int, Result]) -> Unfinished:
    """Unfinished transfers of all replications."""
    each = [unfinished(result) for result in results.values()]
    return Unfinished(*(sum(counts) for counts in zip(*(astuple(one) for one in each), strict=True)))


def _draw(found: list[Difference], directory: Path) -> Path:
    """Draws the differences and returns the path of the picture."""
    from penstock import plots

    try:
        figure = plots.differences(found)
    except ValueError as error:
        raise InputError(f"--out {directory}: {error}") from None
    return plots.save(figure, directory, "differences")[0]


def _show_pairs(found: list[Difference], seeds: int, scenario: list[str]) -> None:
    out = console()
    out.print(*scenario or ("the scenarios are identical",))
    certain = [one for one in found if one.is_certain]
    title = f"Changes: means over {seeds} pairs with equal seeds, and the change with its 95 % interval"
    shown = Table(title, "name", "metric", "first", "second", "change", numeric=2)
    for one in certain[:ROWS_SHOWN]:
        write = {**FLOWS, **TRANSFERS}[one.metric]
        change = f"{_signed(write, one.change.mean)} ± {write(one.change.half_width)}"
        shown.add_row(one.name, one.metric, write(one.first), write(one.second), change)
    if certain:
        out.print(shown)
    if len(certain) > ROWS_SHOWN:
        out.print(f"{len(certain) - ROWS_SHOWN} more with --json")
    unsure = len(found) - len(certain)
    out.print(
        f"{unsure} of {len(found)} measures show no significant difference: the interval contains zero, or "
        "there is only one pair"
    )


def _signed(write: Writer, change: float) -> str:
    return ("-" if change < 0 else "+") + write(abs(change))


def differences(results: Sequence[Result], name: str, key: str, metrics: list[str]) -> list[Row]:
    """One entry per row and metric whose value differs; ``None`` if a result has no such row."""
    tables = [{row[key]: row for row in _rows(result, name)} for result in results]
    found = []
    for entity in dict.fromkeys(entity for table in tables for entity in table):
        for metric in metrics:
            values = [table.get(entity, {}).get(metric) for table in tables]
            if any(value != values[0] for value in values):
                ends = {"first": values[0], "second": values[1], "values": values}
                found.append({"name": entity, "metric": metric, **ends})
    return found


def _rows(result: Result, name: str) -> list[Row]:
    from penstock.analysis import connections, transfers

    if name == "groups":
        return grouped(result)
    if name == "transfers":
        return [{"name": one.name, **transfers.measures(one)} for one in transfers.totals(result)]
    return connections.rows(result) if name == "connections" else result.rows(name)


def _show(
    out: Screen, title: str, rows: list[Row], writers: dict[str, Writer], labels: Sequence[str]
) -> None:
    # Rows that print equal values are omitted, since they would look like errors.
    entries = [row for row in rows if len({writers[row["metric"]](value) for value in row["values"]}) > 1]
    if entries:
        _show_rows(out, title, entries, writers, labels)
    if alike := len(rows) - len(entries):
        differ = "measure differs" if alike == 1 else "measures differ"
        out.print(f"{alike:,} {differ} by less than the printed precision: see --json")


def _show_rows(
    out: Screen, title: str, rows: list[Row], writers: dict[str, Writer], labels: Sequence[str]
) -> None:
    if len(rows) > ROWS_SHOWN:
        title = f"{title}: the {ROWS_SHOWN} of {len(rows):,} measures that changed most (all with --json)"
        rows = sorted(rows, key=_least_alike)[:ROWS_SHOWN]
    change = ("change",) if len(labels) == 2 else ()
    shown = Table(title, "name", "metric", *labels, *change, numeric=2)
    for row in rows:
        cells = [writers[row["metric"]](value) for value in row["values"]]
        changed = [_change(row["first"], row["second"])] if change else []
        shown.add_row(row["name"], row["metric"], *cells, *changed)
    out.print(shown)


def _least_alike(row: Row) -> float:
    """Sort key: largest relative change first."""
    known = [value for value in row["values"] if value is not None]
    if row["metric"] == "unfinished" or len(known) < len(row["values"]):
        return -math.inf
    return float(-(max(known) - min(known)) / max(map(abs, known)))


def _change(first: float | None, second: float | None) -> str:
    if first is None or second is None or first == 0:
        return "-"
    return f"{100 * (second - first) / first:+.1f} %"


def _identity(path: Path, result: Result) -> Row:
    keys = ("name", "seed", "fingerprint", "engine_version", "simulated_s", "complete")
    record = {"verdict": result.verdict.to_dict(), "unfinished": asdict(unfinished(result))}
    return {"directory": str(path), **record, **{key: result.run.get(key) for key in keys}}
