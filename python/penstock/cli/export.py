"""``penstock export``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from json import loads
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tomli_w
from cyclopts import Parameter

from penstock import library
from penstock.errors import InputError
from penstock.interchange.port_settings import PortSettings

if TYPE_CHECKING:
    from penstock.interchange.sonic_patch import Patched

from . import EXIT_DONE
from .console import print_json, say, write_data

Role = Literal["host", "switch"]

PRIORITIES = range(8)
TOP = 7
"""The highest traffic class of eight."""


@Parameter(name="*")
@dataclass(frozen=True)
class Base:
    """The original CONFIG_DB of an imported scenario.

    Parameters
    ----------
    config
        CONFIG_DB of the switch from which the scenario was imported, with sonic.
    whole
        Prints the whole CONFIG_DB with the changes instead of a patch.
    """

    config: Annotated[Path | None, Parameter(name="--from")] = None
    whole: Annotated[bool, Parameter(negative=())] = False


@Parameter(name="*")
@dataclass(frozen=True)
class Link:
    """Link of a port, for the calculation of its headroom.

    Parameters
    ----------
    rate
        Rate of the link, with sonic. Default: that of the topology.
    length
        Length of the link, with sonic and nvue. Default: that of the topology.
    mtu
        Longest frame, with sonic. Default: "9216 B".
    cell
        Cell size of the switch's memory, with sonic. Default: memory without cells.
    """

    rate: str | None = None
    length: str | None = None
    mtu: str = "9216 B"
    cell: str | None = None


def export(
    scenario: str,
    /,
    *,
    format: Literal["dcb", "mlnx_qos", "sonic", "nvue"],
    role: Role = "switch",
    interface: str | None = None,
    link: Link = Link(),
    base: Base = Base(),
) -> int:
    """Prints the ETS and PFC settings of a scenario for a real port; for SONiC also its buffers.

    With --from, prints the changes to the configuration of a switch as a JSON patch for `config apply-patch`.
    Names and unchanged settings are kept.

    Parameters
    ----------
    scenario
        Scenario file, or the name of a scenario in the package.
    format
        Commands of dcb (iproute2), mlnx_qos (NVIDIA) or nvue (Cumulus Linux), or the tables of sonic (its
        CONFIG_DB, as JSON).
    role
        Stations whose port settings are printed: hosts or switches.
    interface
        Name of the interface. Default: "eth0", with sonic "Ethernet0" (with --from all ports), with nvue all
        ports.
    """
    from penstock import running

    name = interface if interface is not None else "Ethernet0" if format == "sonic" else "eth0"
    if re.fullmatch(r"[\w.:@-]{1,15}", name) is None:
        raise InputError(f"--interface {name}: expected at most 15 letters, such as eth0")
    if base.config is not None and format != "sonic":
        raise InputError(f"--from {base.config} with --format {format}: expected --format sonic")
    if base.whole and base.config is None:
        raise InputError("--whole: expected --from CONFIG_DB")
    effective = library.toml(running.check(scenario))
    for option in _unused(link, format):
        say(f"note: {option} has no effect with --format {format}")
    try:
        if base.config is not None:
            changes = _changes(scenario, effective, base.config, interface, role, link)
            for line in changes.reported:
                say(f"note: {line}")
            print_json(changes.tables if base.whole else changes.operations)
            return EXIT_DONE
        if format == "sonic":
            tables, reported = _sonic(effective, name, role, link)
            for line in reported:
                say(f"note: {line}")
            print_json(tables)
            return EXIT_DONE
        if format == "nvue":
            commands, reported = _nvue(effective, interface, role, link)
            for line in reported:
                say(f"note: {line}")
            write_data("".join(f"{line}\n" for line in commands))
            return EXIT_DONE
        for key in _left_out(effective, role):
            say(f"note: {key} is left out")
        settings = read(effective, role)
    except InputError as error:
        raise InputError(f"{scenario}: {error}") from error
    lines = {"dcb": _dcb, "mlnx_qos": _mlnx_qos}[format](settings, name)
    write_data("".join(f"{line}\n" for line in lines))
    return EXIT_DONE


def _unused(link: Link, format: str) -> list[str]:
    """Link options that have no effect in this format."""
    used = {"sonic": {"rate", "length", "mtu", "cell"}, "nvue": {"length"}}.get(format, set())
    given = {key for key, value in vars(link).items() if value != getattr(Link(), key)}
    return [f"--{key}" for key in sorted(given - used)]


def _left_out(effective: dict[str, Any], role: Role) -> Iterator[str]:
    """Keys of ports that affect frames but that Linux commands cannot set."""
    ports = effective[role]
    yield from (f"{role}.maps.{key}" for key in ports.get("maps", {}))
    for entry in ports.get("queue_managers") or ():
        colors = {"yellow", "red"} & {*entry.get("red", {})}
        yield from (f"{role}.queue_managers red.{color}" for color in sorted(colors))


def read(effective: dict[str, Any], role: Role, *, has_weights: bool = False) -> PortSettings:
    """Reads the settings of a scenario that the tools can express.

    Parameters
    ----------
    effective : dict
        The effective scenario.
    role : {"host", "switch"}
        Stations whose ports are read.
    has_weights : bool, optional
        Accepts any weights as shares. Default: false, percentages that sum to 100.

    Raises
    ------
    InputError
        If the ports have queues, a scheduler or a flow control that the tools cannot express.
    """
    ports = effective[role]
    queues = ports["queues"]
    if queues == "shared":
        raise InputError(f"{role}.queues is shared; expected per_priority, or one class per priority")
    queue_of = list(PRIORITIES) if queues == "per_priority" else queues
    scheduler = ports["scheduler"]
    if scheduler == "strict_priority":
        classes: list[dict[str, Any]] = [{"queues": [priority], "strict": True} for priority in PRIORITIES]
    elif isinstance(scheduler, dict) and "ets" in scheduler:
        classes = scheduler["ets"]["classes"]
    elif has_weights and isinstance(scheduler, dict) and "drr" in scheduler:
        classes = _weighted(scheduler["drr"], queue_of, role)
    else:
        known = "strict_priority, drr and ets" if has_weights else "strict_priority and ets"
        raise InputError(f"{role}.scheduler is {_word(scheduler)}; expected {known}")
    control = effective["flow_control"]
    if control == "off":
        control = {}
    if other := sorted(set(control) - {"pfc"}):
        raise InputError(f"flow_control is {', '.join(other)}; expected pfc")
    class_of_queue, algorithms, percent = _classes(classes, role)
    lossless = control.get("pfc", {}).get("priorities", [])
    return PortSettings([class_of_queue[queue] for queue in queue_of], algorithms, percent, sorted(lossless))


def _weighted(keys: dict[str, Any], queue_of: list[int], role: str) -> list[dict[str, Any]]:
    """Classes of a deficit round robin scheduler."""
    if keys.get("quanta") is not None or keys["quantum"] != "computed":
        raise InputError(f"{role}.scheduler is drr with quanta; expected weights")
    weights = keys["weights"]
    if weights == "equal":
        weights = [1] * (max(queue_of) + 1)
    return [{"queues": [queue], "percent": weight} for queue, weight in enumerate(weights)]


def _classes(classes: list[dict[str, Any]], role: str) -> tuple[list[int], list[str], list[int]]:
    """The class of each queue, and the algorithm and share of each class."""
    class_of, algorithms, percent = [0] * len(PRIORITIES), ["strict"] * (TOP + 1), [0] * (TOP + 1)
    single = all(len(entry["queues"]) == 1 for entry in classes)
    for place, entry in enumerate(classes):
        number = entry["queues"][0] if single else place  # a class with a single queue has the queue's number
        for queue in entry["queues"]:
            class_of[queue] = number
        if "idle_slope" in entry:
            raise InputError(f"{role}.scheduler has a credit-based shaper, which the tools cannot set")
        if "percent" in entry:
            algorithms[number], percent[number] = "ets", entry["percent"]
    return class_of, algorithms, percent


def _sonic(
    effective: dict[str, Any], interface: str, role: Role, link: Link
) -> tuple[dict[str, Any], list[str]]:
    """CONFIG_DB with the headroom of the link, and remarks on unsupported settings."""
    from penstock import _core
    from penstock.interchange import sonic

    if role == "host":
        raise InputError("--role host: SONiC runs on switches")
    settings = read(effective, role, has_weights=True)
    (topology,) = effective["topology"].values()
    rate, length = link.rate or topology.get("rate"), link.length or topology.get("length")
    if rate is None or length is None:
        raise InputError("the links of this topology differ; set --rate and --length")
    question = {"rate": rate, "length": length, "mtu": link.mtu, "cell": link.cell}
    try:
        answer = loads(_core.headroom(question))
    except ValueError as error:
        raise InputError(str(error)) from error
    room = answer["headroom_memory_bytes" if link.cell else "headroom_bytes"]
    return sonic.config_db(effective, sonic.Port(interface, rate, length, settings, headroom_bytes=room))


SETTINGS = ("queues", "scheduler", "buffer", "queue_managers", "maps", "mtu")
"""Keys of switches that a CONFIG_DB can express."""


def _changes(
    scenario: str, effective: dict[str, Any], config: Path, interface: str | None, role: Role, link: Link
) -> Patched:
    """Changes to a CONFIG_DB."""
    from penstock.interchange import sonic_config
    from penstock.interchange.files import document
    from penstock.interchange.join import join
    from penstock.interchange.piece import LinkClass
    from penstock.interchange.sonic_patch import Database, patched
    from penstock.running import check_source

    text = document(config, interface=interface)
    if not sonic_config.recognises(text):
        raise InputError(f"{config}: expected a CONFIG_DB of SONiC")
    switch = sonic_config.ports_of([text.fresh()])
    source = library.read(scenario)
    like = library.toml(source.text, source.file)
    for key in ("flow_control", "watchdog"):
        like.pop(key, None)
    like["switch"] = {key: value for key, value in like.get("switch", {}).items() if key not in SETTINGS}
    rest = library.Source(tomli_w.dumps(like), source.file, source.allow_files)
    joined = join([(text, sonic_config.read(text.fresh()))], Path(source.file), like=rest)
    before = library.toml(check_source(library.Source(joined.text, source.file, source.allow_files)))
    reported: list[dict[str, None]] = [{}, {}]

    def exported(nth: int, port: str, of: LinkClass) -> Database:
        own = replace(link, rate=of.rate or link.rate, length=of.length or link.length)
        tables, lines = _sonic((before, effective)[nth], port, role, own)
        reported[nth] |= dict.fromkeys(lines)
        return tables

    done = patched(switch, partial(exported, 0), partial(exported, 1))
    return replace(
        done, reported=[*done.reported, *(line for line in reported[1] if line not in reported[0])]
    )


def _nvue(
    effective: dict[str, Any], interface: str | None, role: Role, link: Link
) -> tuple[list[str], list[str]]:
    """NVUE commands, and remarks on unsupported settings."""
    from penstock.interchange import nvue_commands

    if role == "host":
        raise InputError("--role host: NVUE runs on switches")
    settings = read(effective, role)
    (topology,) = effective["topology"].values()
    length = link.length or topology.get("length")
    return nvue_commands.commands(effective, nvue_commands.Port(interface, length, settings))


def _word(value: object) -> str:
    return next(iter(value), "empty") if isinstance(value, dict) else str(value)


def _dcb(settings: PortSettings, interface: str) -> Iterator[str]:
    def pairs(values: list[Any]) -> str:
        return " ".join(f"{number}:{value}" for number, value in enumerate(values))

    yield f"dcb dcbx set dev {interface} host ieee"
    yield (
        f"dcb ets set dev {interface} willing off prio-tc {pairs(settings.class_of)} "
        f"tc-tsa {pairs(settings.algorithms)} tc-bw {pairs(settings.percent)}"
    )
    on = "".join(f" {priority}:on" for priority in settings.lossless)
    yield f"dcb pfc set dev {interface} prio-pfc all:off{on}"


def _mlnx_qos(settings: PortSettings, interface: str) -> Iterator[str]:
    def row(values: list[Any]) -> str:
        return ",".join(map(str, values))

    lossless = [int(priority in settings.lossless) for priority in PRIORITIES]
    yield (
        f"mlnx_qos -i {interface} --dcbx os --pfc {row(lossless)} --prio_tc {row(settings.class_of)} "
        f"--tsa {row(settings.algorithms)} --tcbw {row(settings.percent)}"
    )
