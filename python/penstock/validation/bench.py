"""Runs the scenarios of a validation: concurrent replications with fixed seeds."""

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
"""Factor by which runs are shorter in the quick form (`quick`)."""
QUICK_COARSER = 10.0
"""Factor by which intervals may be wider in the quick form (`quick`)."""


class Bench:
    """Runs for one case.

    Parameters
    ----------
    name : str
        Name of the case. Seeds derive from it, so no two cases share random numbers.
    quick : bool
        Makes fewer and shorter runs with wider intervals.
    pool : ThreadPoolExecutor
        Executes the runs; the engine releases the global interpreter lock.
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
        """Returns the maximum half-width of an interval, given the value for the full form."""
        return full * QUICK_COARSER if self.quick else full

    def choose(self, full: int, quick: int) -> int:
        """Returns the first argument in the full form, the second in the quick form."""
        return quick if self.quick else full

    def milliseconds(self, full: float, warmup: float) -> dict[str, str]:
        """Returns ``duration`` and ``warmup`` for a measurement of `full` milliseconds after `warmup`."""
        measured = max(round(full / QUICK_SHORTER), 1) if self.quick else full
        return {"duration": f"{warmup + measured:g} ms", "warmup": f"{warmup:g} ms"}

    def file(self, name: str, text: str) -> str:
        """Writes a file into the directory of the scenarios and returns its name."""
        (self._directory / name).write_text(text, "utf-8")
        return name

    def replicate(self, scenario: str, read: Reader, /, **keys: object) -> dict[str, list[float]]:
        """Runs a scenario with fresh seeds; returns one value per replication for each quantity."""
        return self.repeat(self.replications, scenario, read, **keys)

    def repeat(self, count: int, scenario: str, read: Reader, /, **keys: object) -> dict[str, list[float]]:
        """Runs the scenario `count` times; otherwise like `replicate`."""
        text = fill(scenario, **keys)
        seeds = range(self._next_seed, self._next_seed + count)
        self._next_seed += count
        found = list(self._pool.map(lambda seed: read(self._run(text, seed)), seeds))
        return {key: [values[key] for values in found] for key in found[0]}

    def each(
        self, scenario: str, read: Reader, variants: Sequence[Mapping[str, object]]
    ) -> list[Mapping[str, float]]:
        """Runs a deterministic scenario once for each set of keys."""
        texts = [fill(scenario, **keys) for keys in variants]
        return list(self._pool.map(lambda text: read(self._run(text, 1)), texts))

    def once(self, scenario: str, **keys: object) -> Result:
        """Returns the result of one run of a deterministic scenario."""
        return self._run(fill(scenario, **keys), 1)

    def _run(self, text: str, seed: int) -> Result:
        file = str(self._directory / f"{self._name}.toml")
        return run_source(Source(text, file), seed=seed, threads=1)


def fill(scenario: str, **keys: object) -> str:
    """Returns the scenario with its ``$keys`` replaced by values.

    Raises
    ------
    KeyError
        If a key has no value.
    """
    return Template(scenario).substitute({key: str(value) for key, value in keys.items()})


def summaries(duration: str = "$duration", *, warmup: str | None = None, pauses: bool = False) -> str:
    """Returns the first tables of a scenario: no time series, and no pause log unless `pauses` is true."""
    begin = "" if warmup is None else f'warmup = "{warmup}"\n'
    log = "" if pauses else "pauses = false\n"
    return f'[simulation]\nduration = "{duration}"\n{begin}\n[probes]\nbin = "off"\n{log}\n'


def fabric(kind: str, sizes: Mapping[str, object], **links: str) -> str:
    """Returns a topology of one `kind` from the keys of its size and the keys of its links.

    Links have no PHY, so their delay is known exactly.
    """
    keys = [f"{key} = {value}" for key, value in sizes.items()]
    keys += [f'{key} = "{value}"' for key, value in links.items()]
    return "\n".join([f"[topology.{kind}]", *keys, 'phy = "none"', ""])


def star(hosts: object, **links: str) -> str:
    """Returns a star of hosts ``h0``, ``h1``, ... around the switch ``sw``, without PHY delays."""
    return fabric("star", {"hosts": hosts}, **links)


def chain(switches: int, hosts_per_switch: int, **links: str) -> str:
    """Returns a chain of switches ``sw0``, ``sw1``, ..., each with its hosts, without PHY delays."""
    return fabric("chain", {"switches": switches, "hosts_per_switch": hosts_per_switch}, **links)


def around_a_switch(**links: str) -> str:
    """Returns a switch ``sw`` with one host per argument; each value holds the TOML keys of the link.

    Links have no PHY, so their delay is known exactly.
    """
    hosts = ", ".join(f'"{host}"' for host in links)
    blocks = (f"\n{link_text(host, 'sw', keys)}" for host, keys in links.items())
    return f'[topology.explicit]\nhosts = [{hosts}]\nswitches = ["sw"]\n{"".join(blocks)}'


def link_text(one: str, other: str, keys: str) -> str:
    """Returns a link of an explicit topology; it has no PHY unless `keys` sets ``interface_delay``."""
    phy = "" if "interface_delay" in keys else 'phy = "none"\n'
    return f'[[topology.explicit.links]]\nbetween = ["{one}", "{other}"]\n{keys}\n{phy}'


def flow_text(name: str, sender: str, receiver: str, *lines: str) -> str:
    """Returns a flow from `sender` (a name or a TOML list) to `receiver`; `lines` are its other keys."""
    origin = sender if sender.startswith("[") else f'"{sender}"'
    return "\n".join(
        ["\n[[flows]]", f'name = "{name}"', f"from = {origin}", f'to = "{receiver}"', *lines, ""]
    )


def picoseconds(nanoseconds: float) -> int:
    """Converts a time of a result table to picoseconds."""
    return round(nanoseconds * 1_000)


def workers() -> int:
    """Number of concurrent runs, one per processor."""
    return os.cpu_count() or 1


def only(rows: Sequence[dict[str, Any]], **wanted: object) -> dict[str, Any]:
    """Returns the only row with these values.

    Raises
    ------
    LookupError
        If no row or more than one row matches.
    """
    found = [row for row in rows if all(row[key] == value for key, value in wanted.items())]
    if len(found) != 1:
        raise LookupError(f"{len(found)} rows with {wanted}")
    return found[0]
