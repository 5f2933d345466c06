"""Writes a scenario as readable text: one line per link, and consecutive names as ranges."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

import tomli_w

_NUMBERED = re.compile(r"(?P<stem>.*?)(?P<number>0|[1-9]\d{0,17})")


def scenario(keys: Mapping[str, Any]) -> str:
    """The text of a scenario with these keys, in order; plain values precede the first table."""
    plain = {key: value for key, value in keys.items() if not isinstance(value, Mapping | list)}
    parts = [tomli_w.dumps(plain).rstrip("\n")] if plain else []
    for key, value in keys.items():
        if key in plain:
            continue
        if isinstance(value, list):
            parts += [f"[[{key}]]\n{_lines(entry)}" for entry in value]
        elif key == "topology" and "explicit" in value:
            parts.append(_explicit(value["explicit"]))
        else:
            parts.append(tomli_w.dumps({key: value}).rstrip("\n"))
    return "\n\n".join(parts) + "\n"


def _explicit(fabric: Mapping[str, Any]) -> str:
    lines = [f"{key} = {_inline(_ranges(fabric.get(key, [])))}" for key in ("hosts", "switches")]
    links = [f"  {_inline(link)}," for link in _grouped(fabric["links"])]
    return "\n".join(["[topology.explicit]", *lines, "links = [", *links, "]"])


def _lines(table: Mapping[str, Any]) -> str:
    return "\n".join(f"{key} = {_inline(value)}" for key, value in table.items())


def _inline(value: Any) -> str:
    """A value in TOML on one line."""
    if isinstance(value, Mapping):
        inside = ", ".join(f"{_key(key)} = {_inline(one)}" for key, one in value.items())
        return f"{{ {inside} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(_inline, value))}]"
    return tomli_w.dumps({"v": value}).removeprefix("v = ").rstrip("\n")


def _key(key: str) -> str:
    return key if re.fullmatch(r"[\w-]+", key, re.ASCII) else json.dumps(key)


def _ranges(names: Sequence[str]) -> list[str]:
    """Names in order, with consecutive ones written as a range."""
    found: list[list[str]] = []
    for name in names:
        if found and _follows(found[-1][-1], name):
            found[-1].append(name)
        else:
            found.append([name])
    return [run[0] if len(run) == 1 else f"{run[0]}..{run[-1]}" for run in found]


def _follows(name: str, after: str) -> bool:
    one, other = _NUMBERED.fullmatch(name), _NUMBERED.fullmatch(after)
    if one is None or other is None:
        return False
    return one["stem"] == other["stem"] and int(one["number"]) + 1 == int(other["number"])


def _grouped(links: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Links in order; equal links from consecutive names to one node are merged."""
    found: list[dict[str, Any]] = []

    def alike(link: Mapping[str, Any]) -> tuple[Any, ...]:
        return link["between"][1], *((key, value) for key, value in link.items() if key != "between")

    for _, group in groupby(links, key=alike):
        members = list(group)
        runs = _ranges([link["between"][0] for link in members])
        found += [{**members[0], "between": [run, members[0]["between"][1]]} for run in runs]
    return found
