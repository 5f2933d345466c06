"""``penstock export``."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from penstock.errors import InputError

from . import EXIT_DONE

PRIORITIES = range(8)
TOP = 7
"""The highest traffic class of eight."""


@dataclass(frozen=True)
class Settings:
    """What the tools of Linux can say of a port.

    Attributes
    ----------
    class_of : list of int
        Traffic class of each priority, 0 to 7.
    algorithms : list of str
        Algorithm of each traffic class: "strict" or "ets".
    percent : list of int
        Share of each traffic class in per cent; 0 of those that are strict.
    lossless : list of int
        Priorities with PFC.
    """

    class_of: list[int]
    algorithms: list[str]
    percent: list[int]
    lossless: list[int]


def export(
    scenario: str,
    /,
    *,
    form: Literal["dcb", "mlnx_qos"],
    of: Literal["host", "switch"] = "switch",
    interface: str = "eth0",
) -> int:
    """Prints the commands that set a port of Linux up as those of a scenario: ETS, PFC and traffic classes.

    Parameters
    ----------
    scenario
        A file, or the name of a scenario that comes with Penstock.
    form
        dcb (of iproute2) or mlnx_qos (of NVIDIA).
    of
        Whose ports: those of hosts, or those of switches.
    interface
        Name of the interface.
    """
    from penstock import running

    if re.fullmatch(r"[\w.:@-]{1,15}", interface) is None:
        raise InputError(
            f"--interface {interface}: no name of an interface, such as eth0; at most 15 letters"
        )
    effective = tomllib.loads(running.check(scenario))
    try:
        settings = read(effective, of)
    except InputError as error:
        raise InputError(f"{scenario}: {error}") from error
    lines = {"dcb": _dcb, "mlnx_qos": _mlnx_qos}[form](settings, interface)
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    return EXIT_DONE


def read(effective: dict[str, Any], of: Literal["host", "switch"]) -> Settings:
    """The settings of a scenario that tools of Linux can say.

    Parameters
    ----------
    effective : dict
        The effective scenario.
    of : {"host", "switch"}
        Whose ports.

    Raises
    ------
    InputError
        If the ports have queues, a scheduler or a flow control that the tools have no words for.
    """
    ports = effective[of]
    queues = ports["queues"]
    if queues == "shared":
        raise InputError(f"{of}.queues is shared; per_priority and a class for each priority can be exported")
    queue_of = list(PRIORITIES) if queues == "per_priority" else queues
    scheduler = ports["scheduler"]
    if scheduler == "strict_priority":
        classes: list[dict[str, Any]] = [{"queues": [priority], "strict": True} for priority in PRIORITIES]
    elif isinstance(scheduler, dict) and "ets" in scheduler:
        classes = scheduler["ets"]["classes"]
    else:
        raise InputError(f"{of}.scheduler is {_word(scheduler)}; strict_priority and ets can be exported")
    control = effective["flow_control"]
    if control == "off":
        control = {}
    if other := sorted(set(control) - {"pfc"}):
        raise InputError(f"flow_control is {', '.join(other)}; only pfc can be exported")
    class_of_queue, algorithms, percent = _classes(classes, of)
    lossless = control.get("pfc", {}).get("priorities", [])
    return Settings([class_of_queue[queue] for queue in queue_of], algorithms, percent, sorted(lossless))


def _classes(classes: list[dict[str, Any]], of: str) -> tuple[list[int], list[str], list[int]]:
    """The class of each queue; algorithm and share of each class."""
    class_of, algorithms, percent = [0] * len(PRIORITIES), ["strict"] * (TOP + 1), [0] * (TOP + 1)
    for number, entry in enumerate(classes):
        for queue in entry["queues"]:
            class_of[queue] = number
        if "idle_slope" in entry:
            raise InputError(f"{of}.scheduler has a credit-based shaper, whose slope the tools cannot say")
        if "percent" in entry:
            algorithms[number], percent[number] = "ets", entry["percent"]
    return class_of, algorithms, percent


def _word(value: object) -> str:
    return next(iter(value), "empty") if isinstance(value, dict) else str(value)


def _dcb(settings: Settings, interface: str) -> Iterator[str]:
    def pairs(values: list[Any]) -> str:
        return " ".join(f"{number}:{value}" for number, value in enumerate(values))

    yield f"dcb dcbx set dev {interface} host ieee"
    yield (
        f"dcb ets set dev {interface} willing off prio-tc {pairs(settings.class_of)} "
        f"tc-tsa {pairs(settings.algorithms)} tc-bw {pairs(settings.percent)}"
    )
    on = "".join(f" {priority}:on" for priority in settings.lossless)
    yield f"dcb pfc set dev {interface} prio-pfc all:off{on}"


def _mlnx_qos(settings: Settings, interface: str) -> Iterator[str]:
    def row(values: list[Any]) -> str:
        return ",".join(map(str, values))

    lossless = [int(priority in settings.lossless) for priority in PRIORITIES]
    yield (
        f"mlnx_qos -i {interface} --dcbx os --pfc {row(lossless)} --prio_tc {row(settings.class_of)} "
        f"--tsa {row(settings.algorithms)} --tcbw {row(settings.percent)}"
    )
