"""``penstock sensitivity``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from . import EXIT_DONE
from .console import Table, console, print_json
from .options import Whole
from .sweep import Place, Varied, assignments, resumable

if TYPE_CHECKING:
    from penstock.laboratory.sensitivity import Effect

SCHEMA = "penstock-sensitivity/1"


@Parameter(name="*")
@dataclass(frozen=True)
class Ranges(Varied):
    """Keys to vary, their ranges, and the measures.

    Parameters
    ----------
    measure
        NAME=EXPRESSION over the tables of a result, once for each measure:
        "p99_ns=max(flows.latency_p99_ns)". Default: sums, means and maxima over flows and ports.
    """

    measure: Annotated[tuple[str, ...], Parameter(negative=())] = ()


def sensitivity(
    scenario: str,
    /,
    *,
    ranges: Ranges = Ranges(),
    place: Place = Place(),  # noqa: B008, frozen
    method: str = "morris",
    number: Whole = 10,
    out: Path | None = None,
    json: Annotated[bool, Parameter(negative=())] = False,
) -> int:
    """Ranks keys by their effect on a measure, over the full ranges of all keys.

    Finished runs are saved: after an interruption, repeat the command to resume.

    Parameters
    ----------
    scenario
        Scenario file, or a name printed by "penstock list".
    method
        "morris" (default): mean change, one key at a time. "sobol": shares of the variance.
    number
        Trajectories of Morris (K + 1 points each for K keys), or base samples of Sobol (K + 2 points each), a
        power of two. Default: 10.
    out
        Output directory. Default: out/NAME-sensitivity.
    json
        Prints one JSON object instead of tables.
    """
    from penstock.laboratory.measures import DEFAULT_MEASURES
    from penstock.laboratory.sensitivity import sensitivity as find

    measures = assignments("--measure", ranges.measure) or DEFAULT_MEASURES
    plan = ranges.plan(scenario, measures)
    directory = out if out is not None else Path("out") / f"{Path(scenario).stem}-sensitivity"
    with resumable(place, directory) as (engine, watch):
        found = find(plan, directory, method=method, number=number, executor=engine, progress=watch)
    if json:
        print_json({"schema": SCHEMA, "method": method, "effects": [vars(effect) for effect in found]})
        return EXIT_DONE
    _show(found)
    console().print(f"table    {directory / 'sensitivity.parquet'}")
    console().print(f"picture  {directory / 'pictures' / 'sensitivity.png'}")
    return EXIT_DONE


def _show(found: list[Effect]) -> None:
    """Prints one table per measure, with a row per key and a column per index."""
    from penstock.laboratory.sensitivity import unit
    from penstock.units import written

    measures: dict[str, dict[str, list[str]]] = {}
    for effect in found:
        cell = written(effect.value, unit(effect))
        if effect.half_width == effect.half_width:
            cell += f" ± {written(effect.half_width, unit(effect))}"
        measures.setdefault(effect.measure, {}).setdefault(effect.key, []).append(cell)
    for measure, rows in measures.items():
        indices = dict.fromkeys(effect.index for effect in found if effect.measure == measure)
        shown = Table(measure, "key", *indices, numeric=1)
        for key, cells in rows.items():
            shown.add_row(key, *cells)
        console().print(shown)
