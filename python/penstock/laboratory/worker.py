"""Worker of a sweep: executes one run and computes its measures. Does not import plotting or page modules."""

from __future__ import annotations

import functools
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from penstock.analysis.verdict import unfinished
from penstock.errors import PenstockError, SimulationError
from penstock.library import Source
from penstock.running import run_source
from penstock.running.cache import engine as engine_hash

from .measures import Measure
from .store import Record

if TYPE_CHECKING:
    from penstock.result import Result

_ACCOUNT = ("seed", "fingerprint", "simulated_s", "frame_hops", "wall_s")


@dataclass(frozen=True)
class Task:
    """One run, serializable for other processes."""

    run: str
    source: Source
    seed: int | None
    measures: tuple[tuple[str, str], ...]
    keep: str | None
    beside: int


def carry_out(task: Task) -> Record:
    """Executes one run in a worker.

    A broken invariant is a result of the run, since it is reproducible. Errors that depend on the machine,
    such as lack of memory, are raised and not stored.
    """
    if not task.run.endswith(engine_hash()):
        raise PenstockError("the worker and the client have different versions of Penstock; install one")
    record = Record(task.run, task.source.text, {"seed": task.seed}, {})
    try:
        result = run_source(task.source, seed=task.seed, threads=1, beside=task.beside)
    except SimulationError as error:
        facts = record.facts if error.result is None else _account(error.result)
        return replace(record, facts=facts, error=str(error))
    record = replace(record, facts=_account(result))
    if not result.complete:
        if result.run.get("cut_short_by"):
            raise PenstockError(str(result.run["cut_short_by"]))
        return replace(record, error=str(result.run.get("ended_by")))
    measures = {text: _measure(name, text).of(result) for name, text in task.measures}
    if task.keep is not None:
        result.save(task.keep)
    return replace(record, measures=measures)


@functools.lru_cache(maxsize=256)
def _measure(name: str, text: str) -> Measure:
    """Returns a measure; cached so that a worker parses each expression only once."""
    return Measure(name, text)


def _account(result: Result) -> dict[str, Any]:
    judged, left = result.verdict, unfinished(result)
    return {
        **{key: result.run.get(key) for key in _ACCOUNT},
        "verdict": [asdict(one) for one in judged.findings],
        "unfinished": left.count,
        "transfers": left.begun + left.waiting,
    }
