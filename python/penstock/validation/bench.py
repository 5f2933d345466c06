"""Runs the scenarios of a validation: replications on threads, with fixed seeds."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from string import Template
from typing import Any

from penstock.library import Source
from penstock.result import Result
from penstock.running import run_source

Reader = Callable[[Result], Mapping[str, float]]
"""Extracts the values of a case from the result of a run."""

REPLICATIONS = 10
QUICK_REPLICATIONS = 5
QUICK_SHORTER = 10
"""Factor by which runs are shorter in the quick form."""
QUICK_COARSER = 10.0
"""Factor by which intervals may be wider in the quick form."""


class Bench:
    """Runs for one case.

    Parameters
    ----------
    name : str
        Name of the case. Seeds derive from it, so no two cases share random numbers.
    quick : bool
        Makes fewer and shorter runs with wider intervals.
    pool : ThreadPoolExecutor
        Executes the runs; the engine releases Python's global lock.
    directory : path
        Directory for the files that scenarios refer to.
    """

    def __init__(self, name: str, *, quick: bool, pool: ThreadPoolExecutor, directory: Path) -> None:
        self.quick = quick
        self._name = name
        self._pool = pool
        self._directory = directory
        self._next_seed = zlib.crc32(name.encode()) << 20

    @property
    def replications(self) -> int:
        """Number of runs per row."""
        return QUICK_REPLICATIONS if self.quick else REPLICATIONS

    def precision(self, full: float) -> float:
        """The largest half-width of an interval, from that of the full form."""
        return full * QUICK_COARSER if self.quick else full

    def choose(self, full: int, quick: int) -> int:
        """Returns the number for the full or the quick form."""
        return quick if self.quick else full

    def milliseconds(self, full: float, warmup: float) -> dict[str, str]:
        """Keys ``duration`` and ``warmup`` for a measurement of `full` milliseconds after `warmup`."""
        measured = max(round(full / QUICK_SHORTER), 1) if self.quick else full
        return {"duration": f"{warmup + measured:g} ms", "warmup": f"{warmup:g} ms"}

    def file(self, name: str, text: str) -> str:
        """Writes a file beside the scenarios and returns its name."""
        (self._directory / name).write_text(text, "utf-8")
        return name

    def replicate(self, scenario: str, read: Reader, /, **keys: object) -> dict[str, list[float]]:
        """Runs a scenario with fresh seeds; returns one value per replication for each quantity."""
        return self.repeat(self.replications, scenario, read, **keys)

    def repeat(self, count: int, scenario: str, read: Reader, /, **keys: object) -> dict[str, list[float]]:
        """Runs `replicate` with `count` replications."""
        text = fill(scenario, **keys)
        seeds = range(self._next_seed, self._next_seed + count)
        self._next_seed += count
        found = list(self._pool.map(lambda seed: read(self._run(text, seed)), seeds))
        return {key: [values[key] for values in found] for key in found[0]}

    def each(
        self, scenario: str, read: Reader, variants: Sequence[Mapping[str, object]]
    ) -> list[Mapping[str, float]]:
        """Runs a scenario without randomness once for each set of keys."""
        texts = [fill(scenario, **keys) for keys in variants]
        return list(self._pool.map(lambda text: read(self._run(text, 1)), texts))

    def once(self, scenario: str, **keys: object) -> Result:
        """The result of one run of a scenario without randomness."""
        return self._run(fill(scenario, **keys), 1)

    def _run(self, text: str, seed: int) -> Result:
        file = str(self._directory / f"{self._name}.toml")
        return run_source(Source(text, file), seed=seed, threads=1)


def fill(scenario: str, **keys: object) -> str:
    """The scenario with its ``$keys`` filled in.

    Raises
    ------
    KeyError
        If one is missing.
    """
    return Template(scenario).substitute({key: str(value) for key, value in keys.items()})


def summaries(duration: str = "$duration", *, warmup: str | None = None, pauses: bool = False) -> str:
    """The beginning of a scenario that records no time series, and the log of pauses only on request."""
    begin = "" if warmup is None else f'warmup = "{warmup}"\n'
    log = "" if pauses else "pauses = false\n"
    return f'[simulation]\nduration = "{duration}"\n{begin}\n[probes]\nbin = "off"\n{log}\n'


def around_a_switch(**links: str) -> str:
    """A topology of the switch ``sw`` with one host per argument, whose value has the keys of its link.

    Links have no PHY, so that theory knows their delay.
    """
    hosts = ", ".join(f'"{host}"' for host in links)
    own = {
        host: keys if "interface_delay" in keys else f'{keys}\nphy = "none"' for host, keys in links.items()
    }
    blocks = (
        f'\n[[topology.explicit.links]]\nbetween = ["{host}", "sw"]\n{keys}\n' for host, keys in own.items()
    )
    return f'[topology.explicit]\nhosts = [{hosts}]\nswitches = ["sw"]\n{"".join(blocks)}'


def workers() -> int:
    """Number of concurrent runs."""
    return os.cpu_count() or 1


def only(rows: Sequence[dict[str, Any]], **wanted: object) -> dict[str, Any]:
    """The one row with these values.

    Raises
    ------
    LookupError
        If there is none or more than one.
    """
    found = [row for row in rows if all(row[key] == value for key, value in wanted.items())]
    if len(found) != 1:
        raise LookupError(f"{len(found)} rows with {wanted}")
    return found[0]
