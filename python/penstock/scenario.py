"""Scenarios from Python: calls that read like the scenario file and make the same model.

A `Scenario` never changes; each call returns a new one, so that variants of one scenario can stand side by
side. Nothing is checked before `Scenario.check`, `Scenario.run` or `Scenario.effective`: then the checker
of the scenario file reads the TOML that the calls made, and its errors are the same.
"""

from __future__ import annotations

import copy
import tomllib
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import library
from .scenario_parts import FlowControl, Topology

if TYPE_CHECKING:
    from .result import Result
    from .running import ProgressCallback, Threads

_ORDER = (
    "simulation",
    "probes",
    "topology",
    "host",
    "hosts",
    "switch",
    "switches",
    "flow_control",
    "flows",
    "faults",
)


class Scenario:
    """A fabric, its traffic and its mechanisms.

    Parameters
    ----------
    duration : str
        Simulated time, such as ``"10 ms"``.
    name, description : str, optional
        For people. Default name: ``"scenario"``.
    warmup : str, optional
        When measuring begins: what happens from then on is counted, also to frames that were sent before.
        Default ``"0 s"``.
    seed : int, optional
        Seed of all random streams. Default 1.
    on_lossless_drop : str, optional
        ``"stop"`` (default) or ``"count"``.
    on_deadlock : str, optional
        ``"stop"`` (default) or ``"count"``.
    deadlock_interval : str, optional
        Simulated time between two looks for deadlocks. Default ``"100 us"``.
    memory_limit : str, optional
        How much memory a run may hold, such as ``"8 GiB"``. Default ``"available"``: four fifths of what is
        free.
    """

    def __init__(
        self,
        duration: str,
        *,
        name: str | None = None,
        description: str | None = None,
        warmup: str | None = None,
        seed: int | None = None,
        on_lossless_drop: str | None = None,
        on_deadlock: str | None = None,
        deadlock_interval: str | None = None,
        memory_limit: str | None = None,
    ) -> None:
        simulation = {
            "name": name,
            "description": description,
            "duration": duration,
            "warmup": warmup,
            "seed": seed,
            "on_lossless_drop": on_lossless_drop,
            "on_deadlock": on_deadlock,
            "deadlock_interval": deadlock_interval,
            "memory_limit": memory_limit,
        }
        self._model: dict[str, Any] = {"simulation": given(simulation)}
        self._file: str | None = None

    @classmethod
    def from_toml(cls, text: str, *, file: str | None = None) -> Scenario:
        """The scenario that a TOML text describes.

        Parameters
        ----------
        text : str
            TOML.
        file : str, optional
            Where it came from: shown in errors, and files it names are looked for beside it.

        Raises
        ------
        tomllib.TOMLDecodeError
            If the text is not TOML.
        """
        scenario = cls.__new__(cls)
        scenario._model = tomllib.loads(text)
        scenario._file = file
        return scenario

    @classmethod
    def from_file(cls, file: str | PathLike[str]) -> Scenario:
        """The scenario in a file, or one that comes with Penstock, such as ``"first-light"``.

        Raises
        ------
        InputError
            If there is no such file or name.
        tomllib.TOMLDecodeError
            If the file is not TOML.
        """
        source = library.read(str(file))
        return cls.from_toml(source.text, file=source.file)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Scenario) and self._model == other._model

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        simulation = self._model.get("simulation", {})
        return f"<Scenario {simulation.get('name', 'scenario')!r}, {len(self._model.get('flows', []))} flows>"

    @property
    def topology(self) -> Topology:
        """Chooses the topology: ``scenario.topology.star(hosts=4, rate="10 Gb/s")``."""
        return Topology(self)

    @property
    def flow_control(self) -> FlowControl:
        """Chooses the flow control: ``scenario.flow_control.pfc(accounting="ingress")``."""
        return FlowControl(self)

    def probes(self, *, bin: str | None = None, pauses: bool | None = None) -> Scenario:
        """What is recorded beside the totals.

        Parameters
        ----------
        bin : str, optional
            Width of the bins of time series, or ``"off"``. Default: a five-hundredth of the duration.
        pauses : bool, optional
            Whether each pause is recorded. Default true.
        """
        return self._merged(("probes",), {"bin": bin, "pauses": pauses})

    def host(
        self,
        name: str | None = None,
        *,
        queues: str | Sequence[int] | None = None,
        scheduler: str | Mapping[str, Any] | None = None,
        queue_limit: str | None = None,
        when_full: str | None = None,
        flow_control: str | Mapping[str, Any] | None = None,
        receive: Mapping[str, Any] | None = None,
        clock_tolerance: str | None = None,
    ) -> Scenario:
        """Settings of all hosts, or of the one with this `name`; see ``penstock explain host``.

        Parameters
        ----------
        receive : mapping, optional
            How it takes in what arrives: ``time_per_frame``, ``rate``, ``buffer`` and ``script``, such as
            ``{"time_per_frame": "1.859 us"}``. Default: at any speed.
        scheduler : str or mapping, optional
            A name, such as ``"drr"``, or a name with keys: ``{"drr": {"weights": [1, 1, 2, 4]}}``.
        flow_control : str or mapping, optional
            Other than for all stations: ``"off"`` or ``{"pfc": {...}}``.
        clock_tolerance : str, optional
            How far clocks may be off, such as the ``"100 ppm"`` of IEEE 802.3. Default: all are equal.
        """
        keys = {
            "queues": queues,
            "scheduler": scheduler,
            "queue_limit": queue_limit,
            "when_full": when_full,
            "flow_control": flow_control,
            "receive": receive,
            "clock_tolerance": clock_tolerance,
        }
        return self._merged(("host",) if name is None else ("hosts", name), keys)

    def switch(
        self,
        name: str | None = None,
        *,
        forwarding: str | None = None,
        latency: str | None = None,
        queueing: str | None = None,
        path_choice: str | Mapping[str, Any] | None = None,
        queues: str | Sequence[int] | None = None,
        scheduler: str | Mapping[str, Any] | None = None,
        buffer: Mapping[str, Any] | None = None,
        queue_managers: Sequence[Mapping[str, Any]] | None = None,
        flow_control: str | Mapping[str, Any] | None = None,
        clock_tolerance: str | None = None,
    ) -> Scenario:
        """Settings of all switches, or of the one with this `name`; see ``penstock explain switch``.

        Parameters
        ----------
        path_choice : str or mapping, optional
            Which of several equal paths a frame takes: ``"hash"``, ``"spray"``, ``"round_robin"``,
            ``"least_queued"`` or ``{"flowlet": {"gap": "50 us"}}``.
        scheduler : str or mapping, optional
            A name, such as ``"drr"``, or a name with keys: ``{"drr": {"weights": [1, 1, 2, 4]}}``.
        buffer : mapping, optional
            Limits ``total``, ``port``, ``class`` and ``queue``, such as ``{"queue": "100 frames"}``, and a
            ``dynamic_threshold``, such as ``{"total": "12 MB", "dynamic_threshold": {"alpha": 0.5}}``.
        queue_managers : sequence of mappings, optional
            Entries of ``red``, ``step`` or ``sampling``, each for some ``classes`` or for all others:
            ``[{"classes": [3], "step": {"threshold": "50 kB"}}, {"red": {}}]``.
        flow_control : str or mapping, optional
            Other than for all stations: ``"off"`` or ``{"pfc": {...}}``.
        clock_tolerance : str, optional
            How far clocks may be off, such as the ``"100 ppm"`` of IEEE 802.3. Default: all are equal.
        """
        keys = {
            "forwarding": forwarding,
            "latency": latency,
            "queueing": queueing,
            "path_choice": path_choice,
            "queues": queues,
            "scheduler": scheduler,
            "buffer": buffer,
            "queue_managers": queue_managers,
            "flow_control": flow_control,
            "clock_tolerance": clock_tolerance,
        }
        return self._merged(("switch",) if name is None else ("switches", name), keys)

    def flow(
        self,
        name: str,
        *,
        from_: str | Sequence[str],
        to: str | Sequence[str] | Mapping[str, Any],
        source: str | Mapping[str, Any],
        priority: int | None = None,
        frame: str | Mapping[str, Any] | None = None,
        start: str | None = None,
        stop: str | None = None,
        rate_counts: str | None = None,
        limit: str | None = None,
        jitter: str | None = None,
        script: Sequence[Mapping[str, Any]] | None = None,
        route: Sequence[str] | None = None,
    ) -> Scenario:
        """Adds a flow.

        Parameters
        ----------
        name : str
            Unique name.
        from_, to : str, sequence or mapping
            Hosts; see ``penstock explain flows.from`` and ``flows.to``.
        source : str or mapping
            ``"greedy"``, or one of `constant`, `poisson`, `bernoulli`, `on_off`, `window`,
            `request_response`.
        priority : int, optional
            0 to 7. Default 0.
        frame : str or mapping, optional
            Length from DA to FCS, such as ``"1522 B"`` (default), or a distribution.
        start, stop : str, optional
            When it begins and ends. Default: with the simulation.
        rate_counts : str, optional
            ``"frame"`` (default) or ``"wire"``: what the bits of the rate count.
        limit : str, optional
            How much it sends at most, such as ``"1 MB"``.
        jitter : str, optional
            Each frame is sent later than it is due, by a random time up to this, such as ``"100 ns"``.
        script : sequence of mappings, optional
            Changes in between: ``[{"at": "3 ms", "stop": True}]``.
        route : sequence of str, optional
            Nodes to pass, from the first switch to the destination. Default: a shortest path.
        """
        keys = {
            "name": name,
            "from": from_,
            "to": to,
            "priority": priority,
            "frame": frame,
            "start": start,
            "stop": stop,
            "source": source,
            "rate_counts": rate_counts,
            "limit": limit,
            "jitter": jitter,
            "script": script,
            "route": route,
        }
        changed = self._copy()
        changed._model.setdefault("flows", []).append(copy.deepcopy(given(keys)))
        return changed

    def fault(
        self,
        *,
        link: str | Sequence[str] | None = None,
        index: int | None = None,
        switch: str | None = None,
        at: str | None = None,
        down: bool | None = None,
        up: bool | None = None,
        rate: str | None = None,
        bit_error_rate: float | None = None,
        pause_loss: float | None = None,
        frame_loss: float | None = None,
        towards: str | None = None,
        from_: str | None = None,
        until: str | None = None,
        restart: str | None = None,
        mean_time_between: str | None = None,
        duration: str | None = None,
        reroute: bool | None = None,
        after: str | None = None,
        waiting: str | None = None,
    ) -> Scenario:
        """Adds something that goes wrong; see ``penstock explain faults``.

        Parameters
        ----------
        link, index : optional
            The names of its two ends, ``"any"`` or ``"all"``; which of several parallel links (default 0).
        switch : str, optional
            The switch that restarts.
        at : str, optional
            When the link goes down or up, changes its rate, or the switch restarts.
        down, up, rate : optional
            Whether the link goes down or comes back; its rate from then on.
        bit_error_rate, pause_loss, frame_loss : float, optional
            Probability of a wrong bit, of a lost pause frame, or of a lost frame of a flow.
        towards : str, optional
            The end that lost frames are on their way to. Default: both directions.
        from_, until : str, optional
            When these probabilities hold. Default: always.
        restart : str, optional
            For how long the switch is deaf and mute.
        mean_time_between, duration : str, optional
            Random outages: mean time between them, and length of each.
        reroute, after : optional
            Whether flows avoid what is dead (default false), and the time until they do (``"50 us"``).
        waiting : str, optional
            Frames that wait for a dead link are ``"lost"`` (default) or ``"kept"``.
        """
        keys = {
            "link": link,
            "index": index,
            "switch": switch,
            "at": at,
            "down": down,
            "up": up,
            "rate": rate,
            "bit_error_rate": bit_error_rate,
            "pause_loss": pause_loss,
            "frame_loss": frame_loss,
            "towards": towards,
            "from": from_,
            "until": until,
            "restart": restart,
            "mean_time_between": mean_time_between,
            "duration": duration,
            "reroute": reroute,
            "after": after,
            "waiting": waiting,
        }
        changed = self._copy()
        changed._model.setdefault("faults", []).append(copy.deepcopy(given(keys)))
        return changed

    def with_value(self, key: str, value: Any) -> Scenario:
        """The scenario with one value of the file set, for example in a sweep.

        Parameters
        ----------
        key : str
            Path in the file: ``"flow_control.pfc.xoff"``; entries of a list by number or name:
            ``"flows.victim.priority"``.
        value
            The value as in the file; ``None`` removes the key.

        Raises
        ------
        KeyError
            If the path goes through a list entry that does not exist.
        """
        *path, last = key.split(".")
        changed = self._copy()
        table: Any = changed._model
        for step in path:
            table = _entry(table, step, key)
        if value is None:
            table.pop(last, None)
        else:
            table[last] = copy.deepcopy(plain(value))
        return changed

    def to_dict(self) -> dict[str, Any]:
        """The model as plain tables, lists, texts and numbers; a copy."""
        return copy.deepcopy(self._model)

    def to_toml(self) -> str:
        """The scenario as the text of a scenario file."""
        import tomli_w

        keys = sorted(self._model, key=lambda key: _ORDER.index(key) if key in _ORDER else len(_ORDER))
        return tomli_w.dumps({key: self._model[key] for key in keys})

    def source(self) -> library.Source:
        """Text and file name for the checker."""
        name = self._model.get("simulation", {}).get("name", "scenario")
        return library.Source(self.to_toml(), self._file or f"{name}.toml")

    def save(self, file: str | PathLike[str]) -> None:
        """Writes the scenario as a file, which must not exist yet.

        Raises
        ------
        FileExistsError
            If there is such a file.
        """
        with Path(file).open("x", encoding="utf-8") as out:
            out.write(self.to_toml())

    def check(self) -> str:
        """The effective scenario as TOML; raises `ScenarioError` if it cannot be run."""
        from .running import check

        return check(self)

    def run(
        self, *, seed: int | None = None, threads: Threads = "auto", progress: ProgressCallback | None = None
    ) -> Result:
        """Runs the scenario; see `penstock.run`."""
        from .running import run

        return run(self, seed=seed, threads=threads, progress=progress)

    def _copy(self) -> Scenario:
        other = type(self).__new__(type(self))
        other._model = copy.deepcopy(self._model)
        other._file = self._file
        return other

    def _merged(self, path: tuple[str, ...], keys: Mapping[str, Any]) -> Scenario:
        """A copy with `keys` added to the table at `path`; keys that are ``None`` are left as they are."""
        changed = self._copy()
        table = changed._model
        for step in path:
            table = table.setdefault(step, {})
        table.update(copy.deepcopy(given(keys)))
        return changed

    def _replaced(self, path: tuple[str, ...], keys: Mapping[str, Any]) -> Scenario:
        """A copy whose table at `path[:-1]` holds `keys` under `path[-1]` and nothing else."""
        changed = self._copy()
        table = changed._model
        for step in path[:-1]:
            table[step] = {}
            table = table[step]
        table[path[-1]] = copy.deepcopy(given(keys))
        return changed


def given(keys: Mapping[str, Any]) -> dict[str, Any]:
    """The keys that have a value, as TOML knows them."""
    return {key: plain(value) for key, value in keys.items() if value is not None}


def plain(value: Any) -> Any:
    """Tuples and mappings as lists and dictionaries."""
    if isinstance(value, Mapping):
        return given(value)
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [plain(entry) for entry in value]
    return value


def _entry(table: Any, step: str, key: str) -> Any:
    if isinstance(table, list):
        for entry in table:
            if isinstance(entry, dict) and entry.get("name") == step:
                return entry
        if step.isdigit() and int(step) < len(table):
            return table[int(step)]
        raise KeyError(f"{key}: no entry {step!r}")
    entry = table.setdefault(step, {})
    if not isinstance(entry, dict | list):
        raise KeyError(f"{key}: {step!r} is a value, not a table")
    return entry
