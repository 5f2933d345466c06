"""``penstock dcbx run`` and ``penstock dcbx show``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from penstock import library
from penstock.errors import InputError, TomlError

from . import EXIT_DONE
from .console import Table, console, print_json, print_now

Role = Literal["host", "switch"]

LONGEST_S = 200 * 86_400
"""Longest run in seconds: the agent counts picoseconds in 64 bits."""


def run(
    *,
    interface: str,
    settings: Path | None = None,
    like: str | None = None,
    role: Role = "switch",
    uplink: str | None = None,
    seconds: float | None = None,
    json: Annotated[bool, Parameter(negative=())] = False,
) -> int:
    """Runs a DCBX agent (IEEE 802.1Qaz) on a Linux interface, until Ctrl-C.

    Prints the operational parameters whenever they change. Does not configure the interface: `penstock
    export` prints the commands for that.

    Parameters
    ----------
    interface
        The interface, as `ip link` lists it. Needs root, or the capability CAP_NET_RAW.
    settings
        TOML file with the administrator's settings. Default: a willing port without PFC.
    like
        Scenario, by file or name, whose ETS and PFC are used instead of settings. Switches are not willing
        and recommend their ETS; hosts are willing.
    role
        Stations whose settings `--like` uses: hosts or switches.
    uplink
        Interface with another agent. Its operational parameters replace the classes, shares and priorities
        in the settings of this port. Default: the uplink in the settings, or none.
    seconds
        Ends after this many seconds.
    json
        Prints one JSON object per line.
    """
    from penstock.dcbx import serving

    if seconds is not None and not 0 <= seconds <= LONGEST_S:
        raise InputError(f"--seconds is {seconds:g}; expected 0 to {LONGEST_S}")
    if settings is not None and like is not None:
        raise InputError("--settings and --like: expected only one of them")
    text, file = "", "default settings"
    if settings is not None:
        text, file = library.text_in(settings, "settings"), str(settings)
    elif like is not None:
        text, file = _settings_of(like, role), f"settings of {like}"
    uplink = uplink if uplink is not None else _uplink_of(text)
    if uplink == interface:
        raise InputError(f"--uplink {uplink}: expected an interface other than --interface")
    wanted = serving.Settings(text, file, uplink)
    record: dict[str, str] = {}

    def show(now_s: float, state: dict[str, Any]) -> None:
        if json:
            print_json({"time_s": now_s, **state}, indent=None)
            return
        lines = dict(_lines(state))
        for what, line in lines.items():
            if record.get(what) != line:
                print_now(f"{now_s:9.3f} s  {what:<12}  {line}")
        for what in record.keys() - lines.keys():
            print_now(f"{now_s:9.3f} s  {what:<12}  gone")
        record.clear()
        record.update(lines)

    serving.serve(interface, wanted, seconds=seconds, show=show)
    return EXIT_DONE


def show(*, interface: str, json: Annotated[bool, Parameter(negative=())] = False) -> int:
    """Shows the local, remote and operational parameters of the agent at an interface, and the reasons.

    Parameters
    ----------
    interface
        Interface on which `penstock dcbx run` runs.
    json
        Prints one JSON object instead of a table.
    """
    from penstock.dcbx.query import request_state

    state = request_state(interface)
    if json:
        print_json(state)
        return EXIT_DONE
    try:
        _show(state)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise InputError(
            f"--interface {interface}: cannot read the state of the agent ({error!r}); is it another version?"
        ) from error
    return EXIT_DONE


def _show(state: dict[str, Any]) -> None:
    shown = Table(f"{state['interface']}, {state['mac']}", "", "local", "peer", "in force", "why")
    for row in _rows(state):
        shown.add_row(*row)
    lines: list[str | Table] = [shown]
    lines += [f"! {condition}" for condition in state["operational"]["conditions"]]
    lines += [f"peer {_station(one)}, for another {one['remaining_s']} s" for one in state["neighbours"]]
    counts = ", ".join(f"{name.replace('_', ' ')} {number:,}" for name, number in state["counters"].items())
    console().print(*lines, f"LLDPDUs: {counts}")


def _uplink_of(text: str) -> str | None:
    """The uplink in the settings. Errors in the settings are reported by the agent."""
    try:
        named = library.toml(text).get("uplink")
    except TomlError:
        return None
    return named if isinstance(named, str) else None


def _settings_of(scenario: str, role: Role) -> str:
    """Agent settings that correspond to the ports of a scenario."""
    import tomli_w

    from penstock import _core

    from . import export

    source = library.read(scenario)
    ports = export.read(
        library.toml(_core.check(source.text, source.file, allow_files=source.allow_files)), role
    )
    own = {"classes": ports.class_of, "percent": ports.percent, "algorithms": ports.algorithms}
    willing = role == "host"
    ets = {"willing": willing, "own": own} | ({} if willing else {"recommended": own})
    return tomli_w.dumps({"ets": ets, "pfc": {"willing": willing, "priorities": ports.lossless}})


def _lines(state: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Operational parameters, one per line."""
    yield "port", str(state["mac"])
    now = state["operational"]
    yield "PFC", f"{_set(now['pfc']['enabled'])} ({now['pfc']['why']})"
    yield "ETS", f"{_classes(now['ets']['table'])}; {_shares(now['ets']['table'])} ({now['ets']['why']})"
    yield "applications", _applications(now["applications"])
    for number, condition in enumerate(now["conditions"], 1):
        yield f"condition {number}", condition
    for number, one in enumerate(state["neighbours"], 1):
        yield f"peer {number}", _station(one)


def _rows(state: dict[str, Any]) -> Iterator[tuple[str, str, str, str, str]]:
    """Rows of local value, remote value, operational value and reason."""
    local, now = state["administered"], state["operational"]
    speaking = [one["remote"] for one in state["neighbours"] if one["remote"]["standard"]]
    remote = speaking[0] if len(speaking) == 1 else {}
    own_pfc, their_pfc = local["pfc"] if local["exchanges_pfc"] else None, _pfc_of(state["neighbours"])
    yield "PFC", _pfc(own_pfc), _pfc(their_pfc), _set(now["pfc"]["enabled"]), now["pfc"]["why"]
    theirs, why = remote.get("recommendation"), now["ets"]["why"]
    in_force, willing = now["ets"]["table"], " (willing)" if local["ets_willing"] else ""
    yield "ETS classes", _classes(local["ets"]) + willing, _classes(theirs), _classes(in_force), why
    yield "ETS shares", _shares(local["ets"]), _shares(theirs), _shares(in_force), ""
    does = remote.get("ets") or {}
    yield "recommended", _shares(local["recommendation"]), f"does {_shares(does.get('table'))}", "", ""
    lists = local["applications"], remote.get("applications", []), now["applications"]
    ours, peers, merged = map(_applications, lists)
    yield "applications", ours, peers, merged, "ours go first"


def _pfc_of(neighbours: list[dict[str, Any]]) -> dict[str, Any] | None:
    """PFC of the only DCBX peer, as in the standard (IEEE) or in the version before it (CEE)."""
    speaking = [one["remote"] for one in neighbours if one["remote"]["standard"] or one["remote"]["before"]]
    if len(speaking) != 1:
        return None
    if speaking[0]["standard"]:
        tlv: dict[str, Any] | None = speaking[0]["pfc"]
        return tlv
    older = (speaking[0]["older"] or {}).get("pfc")
    return older and {"enabled": older["value"]["priorities"], "willing": older["willing"]}


def _set(priorities: list[int]) -> str:
    return ",".join(map(str, priorities)) or "none"


def _pfc(tlv: dict[str, Any] | None) -> str:
    if tlv is None:
        return "-"
    return f"{_set(tlv['enabled'])}{' (willing)' if tlv['willing'] else ''}"


def _classes(ets: dict[str, Any] | None) -> str:
    return " ".join(map(str, ets["classes"])) if ets else "-"


def _shares(ets: dict[str, Any] | None) -> str:
    """Shares of the ETS classes in percent; for other classes the name of the algorithm."""
    if not ets:
        return "-"
    if set(ets["algorithms"]) == {"strict"}:
        return "strict"
    pairs = zip(ets["algorithms"], ets["percent"], strict=True)
    words = [f"{share} %" if how == "ets" else how.replace("_", " ") for how, share in pairs]
    while len(words) > 1 and words[-1] == words[-2] == "strict":
        words.pop()
    return ", ".join(words)


def _applications(entries: list[dict[str, Any]]) -> str:
    def one(entry: dict[str, Any]) -> str:
        kind, number = entry["selector"], entry["protocol"]
        name = f"{number:#06x}" if kind == "ether_type" else f"{kind.replace('_', ' ')} {number}"
        return f"{name}: {entry['priority']}"

    return ", ".join(map(one, entries)) or "none"


def _station(one: dict[str, Any]) -> str:
    return f"{one['chassis']['value']} port {one['port']['value']}"
