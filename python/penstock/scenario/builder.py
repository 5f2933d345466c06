"""Builds scenarios in Python; the calls mirror the scenario file.

A `Scenario` is immutable; each call returns a new one. `Scenario.check` and `Scenario.run` pass it as TOML to
the checker of scenario files, so errors are the same.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from html import escape
from os import PathLike
from typing import TYPE_CHECKING, Any, Unpack

from penstock import library
from penstock.errors import ArgumentError
from penstock.library import text_of
from penstock.units import visible

from .keys import (
    TABLES,
    FaultKeys,
    FlowKeys,
    HostKeys,
    JobKeys,
    LinkKeys,
    ProbeKeys,
    ProbesKeys,
    SimulationKeys,
    SwitchKeys,
    TransfersKeys,
    WatchdogKeys,
)
from .parts import FlowControl, Topology
from .values import given, known, set_value, spelled

if TYPE_CHECKING:
    from penstock.result import Result
    from penstock.running import ProgressCallback, Threads


class Scenario:
    """A fabric, its traffic and its mechanisms.

    Parameters
    ----------
    duration : str
        Simulated time, such as ``"10 ms"``.
    **keys
        Other keys of ``[simulation]``; see `SimulationKeys`.
    """

    @spelled(SimulationKeys)
    def __init__(self, duration: str, **keys: Unpack[SimulationKeys]) -> None:
        self._model: dict[str, Any] = {
            "simulation": {**given({"duration": duration}), **known(keys, SimulationKeys, "Scenario")}
        }
        self._file: str | None = None
        self._text: str | None = None

    @classmethod
    def from_toml(cls, text: str, *, file: str | None = None) -> Scenario:
        r"""Creates a scenario from TOML text.

        Parameters
        ----------
        text : str
            The scenario as TOML.
        file : str, optional
            Path of its file, for errors. Files that the scenario names are searched in the same directory.

        Raises
        ------
        TomlError
            If the text is not valid TOML.

        Examples
        --------
        >>> import penstock as ps
        >>> text = 'simulation.duration = "1 us"\ntopology.star = { hosts = 2, rate = "1 Gb/s" }'
        >>> ps.Scenario.from_toml(text).to_dict()["topology"]
        {'star': {'hosts': 2, 'rate': '1 Gb/s'}}
        """
        scenario = cls.__new__(cls)
        scenario._model = library.toml(text_of("text", text), file)
        scenario._file, scenario._text = file, text
        return scenario

    @classmethod
    def from_file(cls, file: str | PathLike[str]) -> Scenario:
        """Reads a scenario from a file, or one that is included in Penstock, such as ``"first-light"``.

        Raises
        ------
        InputError
            If there is no such file or included scenario.
        TomlError
            If the file is not valid TOML.
        """
        source = library.read(str(library.path_of("file", file)))
        return cls.from_toml(source.text, file=source.file)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Scenario) and self._model == other._model

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        simulation = self._model.get("simulation", {})
        return f"<Scenario {simulation.get('name', 'scenario')!r}, {len(self._model.get('flows', []))} flows>"

    def _repr_html_(self) -> str:
        """Returns the contents and the file name, for notebooks."""
        simulation = self._model.get("simulation", {})
        parts = {
            "duration": simulation.get("duration", "-"),
            "topology": ", ".join(self._model.get("topology", {})) or "none yet",
            "flow control": self._one_of("flow_control"),
            "flows": len(self._model.get("flows", [])),
            "transfers": len(self._model.get("transfers", [])),
            "jobs": len(self._model.get("jobs", [])),
            "faults": len(self._model.get("faults", [])),
        }
        cells = "".join(
            f"<tr><th>{escape(key)}</th><td>{escape(visible(str(value)))}</td></tr>"
            for key, value in parts.items()
            if value != 0
        )
        name = escape(visible(str(simulation.get("name", "scenario"))))
        text = escape(visible(self.to_toml(), keep="\n\t"))
        file = f"<details><summary>file</summary><pre>{text}</pre></details>"
        return f"<p><b>{name}</b></p><table>{cells}</table>{file}"

    def _one_of(self, key: str) -> str:
        """Returns the word or the names of a choice."""
        chosen = self._model.get(key, "off")
        return chosen if isinstance(chosen, str) else ", ".join(chosen)

    @property
    def topology(self) -> Topology:
        """Chooses the topology: ``scenario.topology.star(hosts=4, rate="10 Gb/s")``."""
        return Topology(self)

    @property
    def flow_control(self) -> FlowControl:
        """Chooses the flow control: ``scenario.flow_control.pfc(accounting="ingress")``."""
        return FlowControl(self)

    @spelled(ProbesKeys)
    def probes(self, **keys: Unpack[ProbesKeys]) -> Scenario:
        """Selects time series and other optional results, in addition to the totals.

        Parameters
        ----------
        **keys
            `ProbesKeys`, such as ``bin="1 us"``; see ``penstock explain probes``.

        Examples
        --------
        >>> import penstock as ps
        >>> scenario = ps.Scenario(duration="100 us").topology.star(hosts=3, rate="10 Gb/s")
        >>> scenario.probes(bin="1 us").to_dict()["probes"]
        {'bin': '1 us'}
        """
        if isinstance(self._model.get("probes"), list):
            raise ArgumentError("probes have already been selected one by one with probe()")
        return self._merged(("probes",), known(keys, ProbesKeys, "probes"))

    @spelled(WatchdogKeys)
    def watchdog(self, **keys: Unpack[WatchdogKeys]) -> Scenario:
        """Adds the pause watchdog, which detects pause storms at the egress queues of all switches.

        Parameters
        ----------
        **keys
            `WatchdogKeys`, such as ``action="report"``; see ``penstock explain watchdog``.

        Examples
        --------
        >>> import penstock as ps
        >>> scenario = ps.Scenario(duration="100 us").topology.star(hosts=3, rate="10 Gb/s")
        >>> scenario.watchdog(detection_time="200 us").to_dict()["watchdog"]
        {'detection_time': '200 us'}
        """
        return self._merged(("watchdog",), known(keys, WatchdogKeys, "watchdog"))

    @spelled(ProbeKeys)
    def probe(self, what: str, **keys: Unpack[ProbeKeys]) -> Scenario:
        """Records one kind of result; results that no probe selects are not recorded.

        Parameters
        ----------
        what : str
            Time series: ``"flow"``, ``"port"``, ``"class"`` (of a port), ``"queue"``. Distributions:
            ``"occupancy"``, ``"latency"``. Lists: ``"pauses"``, ``"frames"``.
        **keys
            `ProbeKeys`, such as ``which="the 20 busiest"``; see ``penstock explain probes``.

        Examples
        --------
        >>> import penstock as ps
        >>> scenario = ps.Scenario(duration="1 ms").topology.star(hosts=2, rate="10 Gb/s")
        >>> scenario.probe("queue", which="sw.0->h0").to_dict()["probes"]
        [{'what': 'queue', 'which': 'sw.0->h0'}]
        """
        if isinstance(self._model.get("probes"), dict):
            raise ArgumentError("probes() already records everything; use either probes() or probe()")
        return self._appended("probes", {"what": what, **known(keys, ProbeKeys, "probe")})

    @spelled(HostKeys)
    def host(self, name: str | None = None, **keys: Unpack[HostKeys]) -> Scenario:
        """Sets keys of all hosts, or of the host with this `name`.

        Parameters
        ----------
        name : str, optional
            Default: all hosts.
        **keys
            `HostKeys`, such as ``receive={"time_per_frame": "1.859 us"}``; see ``penstock explain host``.

        Examples
        --------
        >>> import penstock as ps
        >>> scenario = ps.Scenario(duration="100 us").topology.star(hosts=3, rate="10 Gb/s")
        >>> scenario.host(queues="per_priority").to_dict()["host"]
        {'queues': 'per_priority'}
        """
        path = ("host",) if name is None else ("hosts", name)
        return self._merged(path, known(keys, HostKeys, "host"))

    @spelled(LinkKeys)
    def link(self, between: str | None = None, **keys: Unpack[LinkKeys]) -> Scenario:
        """Sets keys of all links, or of the links `between` two ends such as ``"leaf*<->spine*"``.

        Parameters
        ----------
        **keys
            `LinkKeys`, such as ``llr="on"``; see ``penstock explain llr``.

        Examples
        --------
        >>> import penstock as ps
        >>> ps.Scenario(duration="1 ms").link(llr="on").to_dict()["link"]
        {'llr': 'on'}
        """
        path = ("link",) if between is None else ("links", between)
        return self._merged(path, known(keys, LinkKeys, "link"))

    @spelled(SwitchKeys)
    def switch(self, name: str | None = None, **keys: Unpack[SwitchKeys]) -> Scenario:
        """Sets keys of all switches, or of the switch with this `name`.

        Parameters
        ----------
        name : str, optional
            Default: all switches.
        **keys
            `SwitchKeys`, such as ``scheduler="drr"``; see ``penstock explain switch``.

        Examples
        --------
        >>> import penstock as ps
        >>> scenario = ps.Scenario(duration="100 us").topology.star(hosts=3, rate="10 Gb/s")
        >>> scenario.switch(buffer={"total": "1 MiB"}).to_dict()["switch"]
        {'buffer': {'total': '1 MiB'}}
        """
        path = ("switch",) if name is None else ("switches", name)
        return self._merged(path, known(keys, SwitchKeys, "switch"))

    @spelled(FlowKeys)
    def flow(self, name: str, **keys: Unpack[FlowKeys]) -> Scenario:
        """Adds a flow.

        Parameters
        ----------
        name : str
            Unique name.
        **keys
            `FlowKeys`, such as ``from_="h0", to="h3", source="greedy", priority=3``; see
            ``penstock explain flows``.

        Examples
        --------
        >>> import penstock as ps
        >>> scenario = ps.Scenario(duration="100 us").topology.star(hosts=3, rate="10 Gb/s")
        >>> scenario = scenario.flow("one", from_="h0", to="h2", source=ps.constant("4 Gb/s"))
        >>> scenario.run().rows("flows")[0]["frames_sent"]
        33
        """
        return self._appended("flows", {"name": text_of("flow.name", name), **known(keys, FlowKeys, "flow")})

    @spelled(TransfersKeys)
    def transfers(self, name: str, **keys: Unpack[TransfersKeys]) -> Scenario:
        """Adds transfers, each with a number of bytes from one host to another.

        Parameters
        ----------
        name : str
            Unique name.
        **keys
            `TransfersKeys`, such as ``from_="all", to="all", arrivals=ps.poisson(load=0.5),
            sizes="web_search"``; see ``penstock explain transfers``.

        Examples
        --------
        >>> import penstock as ps
        >>> scenario = ps.Scenario(duration="100 us").topology.star(hosts=3, rate="10 Gb/s")
        >>> scenario = scenario.transfers("pair", from_="h0", to="h1", arrivals="once", sizes="10 kB")
        >>> round(scenario.run().rows("transfers")[0]["completion_ns"])
        11924
        """
        entry = {"name": text_of("transfers.name", name), **known(keys, TransfersKeys, "transfers")}
        return self._appended("transfers", entry)

    @spelled(JobKeys)
    def job(self, name: str, **keys: Unpack[JobKeys]) -> Scenario:
        """Adds a job: ranks that together run a collective or a schedule.

        Parameters
        ----------
        name : str
            Unique name.
        **keys
            `JobKeys`, such as ``ranks="all", workload={"collective": "all_reduce", "bytes": "1 GB"}``; see
            ``penstock explain jobs``.

        Examples
        --------
        >>> import penstock as ps
        >>> scenario = ps.Scenario(duration="10 ms").topology.star(hosts=4, rate="100 Gb/s")
        >>> ring = {"collective": "all_reduce", "bytes": "1 MB"}
        >>> scenario = scenario.job("train", ranks="all", workload=ring, over="rdma")
        >>> scenario.run().rows("jobs")[0]["step_ns"]
        146664.32
        """
        return self._appended("jobs", {"name": text_of("job.name", name), **known(keys, JobKeys, "job")})

    @spelled(FaultKeys)
    def fault(self, **keys: Unpack[FaultKeys]) -> Scenario:
        """Adds a fault of a link, or the restart of a switch.

        Parameters
        ----------
        **keys
            `FaultKeys`, such as ``link=("h0", "sw"), at="1 ms", down=True``; see ``penstock explain faults``.

        Examples
        --------
        >>> import penstock as ps
        >>> scenario = ps.Scenario(duration="100 us").topology.star(hosts=3, rate="10 Gb/s")
        >>> scenario.fault(link=["h0", "sw"], at="20 us", down=True).to_dict()["faults"]
        [{'link': ['h0', 'sw'], 'at': '20 us', 'down': True}]
        """
        return self._appended("faults", known(keys, FaultKeys, "fault"))

    def with_value(self, key: str, value: Any) -> Scenario:
        """Returns the scenario with one value set, for example for a sweep.

        Parameters
        ----------
        key : str
            Path in the file, such as ``"flow_control.pfc.xoff"``. List entries are given by number or name,
            as in ``"flows.victim.priority"``.
        value
            New value, as in the file; ``None`` removes the key.

        Raises
        ------
        UnknownNameError
            If the path contains a list entry that does not exist.

        Examples
        --------
        >>> import penstock as ps
        >>> scenario = ps.Scenario(duration="100 us").topology.star(hosts=3, rate="10 Gb/s")
        >>> scenario.with_value("topology.star.hosts", 5).to_dict()["topology"]["star"]["hosts"]
        5
        """
        changed = self._copy()
        set_value(changed._model, text_of("key", key), value)
        return changed

    def to_dict(self) -> dict[str, Any]:
        """Returns a copy of the scenario as plain dictionaries, lists, texts and numbers.

        Examples
        --------
        >>> import penstock as ps
        >>> scenario = ps.Scenario(duration="100 us").topology.star(hosts=3, rate="10 Gb/s")
        >>> scenario.to_dict()["simulation"]
        {'duration': '100 us'}
        """
        return copy.deepcopy(self._model)

    def to_toml(self) -> str:
        """Returns the scenario as the text of a scenario file.

        Examples
        --------
        >>> import penstock as ps
        >>> scenario = ps.Scenario(duration="100 us").topology.star(hosts=3, rate="10 Gb/s")
        >>> print(scenario.to_toml().strip())
        [simulation]
        duration = "100 us"
        <BLANKLINE>
        [topology.star]
        hosts = 3
        rate = "10 Gb/s"
        """
        import tomli_w

        keys = sorted(self._model, key=lambda key: TABLES.index(key) if key in TABLES else len(TABLES))
        return tomli_w.dumps({key: self._model[key] for key in keys})

    def source(self) -> library.Source:
        """Returns text and file name for the checker.

        The text is that of the original file, so that errors have its lines, unless the scenario was changed.

        Examples
        --------
        >>> import penstock as ps
        >>> scenario = ps.Scenario(duration="1 ms").topology.star(hosts=2, rate="10 Gb/s")
        >>> scenario.source().file
        'scenario.toml'
        """
        simulation = self._model.get("simulation")
        name = simulation.get("name", "scenario") if isinstance(simulation, dict) else "scenario"
        return library.Source(self._text or self.to_toml(), self._file or f"{name}.toml")

    def save(self, file: str | PathLike[str]) -> None:
        """Writes the scenario to a new file.

        Raises
        ------
        FileExistsError
            If the file exists.

        Examples
        --------
        >>> import penstock as ps
        >>> scenario = ps.Scenario(duration="1 ms").topology.star(hosts=2, rate="10 Gb/s")
        >>> scenario.save("star.toml")
        >>> ps.Scenario.from_file("star.toml").to_dict()["topology"]["star"]["hosts"]
        2
        """
        with library.path_of("file", file).open("x", encoding="utf-8") as out:
            out.write(self.to_toml())

    def check(self) -> str:
        """Returns the effective scenario as TOML; raises `ScenarioError` if it cannot be run.

        Examples
        --------
        >>> import penstock as ps
        >>> scenario = ps.Scenario(duration="100 us").topology.star(hosts=3, rate="10 Gb/s")
        >>> scenario.check().splitlines()[2:5]
        ['[simulation]', 'name = "scenario"', 'duration = "100 us"']
        """
        from penstock.running import check

        return check(self)

    def run(
        self, *, seed: int | None = None, threads: Threads = "auto", progress: ProgressCallback | None = None
    ) -> Result:
        """Runs the scenario; see `penstock.run`.

        Examples
        --------
        >>> import penstock as ps
        >>> scenario = ps.Scenario(duration="100 us").topology.star(hosts=3, rate="10 Gb/s")
        >>> scenario.flow("one", from_="h0", to="h2", source="greedy").run(seed=7).seed
        7
        """
        from penstock.running import run

        return run(self, seed=seed, threads=threads, progress=progress)

    def _copy(self) -> Scenario:
        """Returns a new scenario that shares the tables of this one; copy a table before changing it."""
        other = type(self).__new__(type(self))
        other._model = self._model.copy()
        other._file, other._text = self._file, None
        return other

    def _appended(self, table: str, entry: Mapping[str, Any]) -> Scenario:
        changed = self._copy()
        changed._model[table] = [*self._model.get(table, ()), entry]
        return changed

    def _merged(self, path: tuple[str, ...], keys: Mapping[str, Any]) -> Scenario:
        """Returns a copy with `keys` added to the table at `path`."""
        changed = self._copy()
        table = changed._model
        for step in path:
            table[step] = dict(table.get(step, {}))
            table = table[step]
        table.update(keys)
        return changed
