"""Imports a fabric from one folder: a CONFIG_DB for each switch, and the links between them.

For each switch, a folder has `NAME.json` or a subfolder with `config_db.json`. Optionally it also has a
headroom table, `pg_profile_lookup.ini`, the output of `show lldp table`, and `minigraph.xml`. A minigraph
alone is sufficient. Links come from LLDP, `DEVICE_NEIGHBOR` and the minigraphs. A neighbour without a
configuration is a switch if its type is that of a switch or LLDP reports a bridge, and a host otherwise. A
port that is up and has no neighbour gets its own host. The table `switch` has the most common settings; each
switch that differs has a table `switches.NAME`.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from penstock.library import Source, toml

from .formats import FORMATS, read_all
from .join import Joined, join
from .piece import Document, Note, Piece, explicit
from .sonic_folder import Member, members
from .sonic_wiring import Wiring, wiring


def read_folder(
    directory: Path,
    read: Callable[[Path], Document],
    out: Path,
    *,
    like: Source | None = None,
    duration: str | None = None,
) -> Joined:
    """Converts a folder with the configurations of switches to a scenario.

    Parameters
    ----------
    directory : Path
        The folder.
    read : callable
        Reads a file.
    out : Path
        Path of the scenario file.
    like : Source, optional
        A scenario for everything that the folder does not specify; its traffic is left out.
    duration : str, optional
        ``simulation.duration``.

    Raises
    ------
    InputError
        If a file is not a CONFIG_DB, or the switches contradict each other.
    """
    found = members(directory, read)
    made = wiring(found)
    texts, remarks = {}, list(made.remarks)
    remarks += [line for one in found if one.minigraph is not None for line in one.minigraph.remarks]
    for one in found:
        if one.config is None:
            remarks.append(f"{one.name}: has no CONFIG_DB here: gets the most common settings")
            continue
        scenario, own = _alone(one, made, out)
        texts[one.name] = scenario
        remarks += own
    keys, differ = together(texts) if texts else ({}, [])
    keys |= explicit(made.hosts, made.switches, made.links)
    whole_fabric = Document(str(directory), "")
    notes = [Note(number, text) for number, text in enumerate(made.ports, 1)]
    piece = Piece(keys=keys, remarks=[*_grouped(remarks), *differ], notes=notes)
    return join([(whole_fabric, piece)], out, like=like, duration=duration)


def _alone(one: Member, made: Wiring, out: Path) -> tuple[str, list[str]]:
    """The scenario of one switch with its own links, and remarks on settings that were not read."""
    kinds = {kind.name: kind for kind in FORMATS}
    named = [(kinds["sonic" if nth == 0 else "pg-profile"], doc) for nth, doc in enumerate(one.documents)]
    pieces = list(zip(one.documents, read_all(named), strict=True))
    links = [link for link in made.links if one.name in link["between"]]
    others = [name for link in links for name in link["between"] if name != one.name]
    links_alone = Piece(keys=explicit([*dict.fromkeys(others)], [one.name], links))
    joined = join([(Document(one.name, ""), links_alone), *pieces], out)
    ignored = (
        "DEVICE_NEIGHBOR",
        "PORTCHANNEL_MEMBER",
        "not read: PORT alias",
        "links of the fabric keep theirs",
        "on_lossless_drop",
    )
    return joined.text, [line for line in joined.remarks if not any(word in line for word in ignored)]


def _grouped(remarks: Sequence[str]) -> list[str]:
    """Remarks; those that several switches share are merged and counted."""
    bare = [re.sub(r"^\S+?\.(?:json|ini)(?::\d+)?: ", "", line) for line in remarks]
    counted = Counter(bare)
    first = dict(zip(reversed(bare), reversed(remarks), strict=True))
    return [first[text] + (f" (at {count} switches)" if count > 1 else "") for text, count in counted.items()]


def together(named: Mapping[str, str]) -> tuple[dict[str, Any], list[str]]:
    """Merges the scenarios of all switches into the most common settings and the differences of each switch.

    Parameters
    ----------
    named : mapping
        The scenario of each switch, as TOML.

    Returns
    -------
    dict
        The keys.
    list of str
        Remarks on global settings in which switches differ.
    """
    each = {name: toml(text, name) for name, text in named.items()}
    own = {name: _settings(keys) for name, keys in each.items()}
    counted = Counter(json.dumps(one, sort_keys=True) for one in own.values())
    usual = json.loads(counted.most_common(1)[0][0])
    model = next(name for name, one in own.items() if one == usual)
    keys = {key: value for key, value in each[model].items() if key != "simulation"}
    different = {name: one for name, one in own.items() if one != usual}
    if different:
        keys["switches"] = {name: _instead(usual, one) for name, one in different.items()}
    of_fabric = {*keys} - {"switch", "switches", "flow_control", "topology"}
    remarks = [
        f"{name}: {key} differs from {model}, whose value applies to the fabric"
        for name, one in each.items()
        for key in sorted({*one, *of_fabric} - {"switch", "flow_control", "topology", "simulation"})
        if one.get(key) != each[model].get(key)
    ]
    return keys, remarks


def _settings(keys: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of a switch in the form of `switches.NAME`."""
    settings = dict(keys.get("switch", {}))
    if "flow_control" in keys:
        settings["flow_control"] = keys["flow_control"]
    return settings


def _instead(usual: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of one switch that differ from the most common ones."""
    gone = {key: "off" for key in usual if key not in own and key == "flow_control"}
    return {**gone, **{key: value for key, value in own.items() if value != usual.get(key)}}
