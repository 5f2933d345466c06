"""The Python builder has the keys of the scenario file: no more, no fewer."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from penstock import Scenario, _core
from penstock.scenario import keys as settings

DEFINITIONS = json.loads(_core.json_schema())["definitions"]
EMPTY = Scenario("1 us")
TOPOLOGIES = {
    "Star": EMPTY.topology.star,
    "Dumbbell": EMPTY.topology.dumbbell,
    "Chain": EMPTY.topology.chain,
    "Ring": EMPTY.topology.ring,
    "LeafSpine": EMPTY.topology.leaf_spine,
    "FatTree": EMPTY.topology.fat_tree,
    "NTree": EMPTY.topology.n_tree,
    "Explicit": EMPTY.topology.explicit,
}
OF_EVERY_LINK = {"line_code", "delay", "length", "interface_delay", "phy", "overhead"}
"""What named topologies take beside their own keys."""


def keywords(call: Callable[..., Any]) -> set[str]:
    parameters = inspect.signature(call).parameters.values()
    named = {one.name.rstrip("_") for one in parameters if one.kind is not one.VAR_KEYWORD}
    for one in parameters:
        if one.kind is one.VAR_KEYWORD:
            table = re.fullmatch(r"Unpack\[(\w+)\]", str(one.annotation))
            named |= set(getattr(settings, table[1]).__annotations__) if table else OF_EVERY_LINK
    return {name.rstrip("_") for name in named}


def keys(definition: str) -> set[str]:
    return set(DEFINITIONS[definition]["properties"])


@pytest.mark.parametrize(
    ("call", "definition"),
    [
        (Scenario, "Simulation"),
        (EMPTY.probes, "Probes"),
        (EMPTY.flow, "Flow"),
        (EMPTY.transfers, "Transfers"),
        (EMPTY.fault, "Fault"),
        (EMPTY.flow_control.pfc, "PauseSettings"),
        *((call, name) for name, call in TOPOLOGIES.items()),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_call_has_the_keys_of_its_table(call: Callable[..., Any], definition: str) -> None:
    assert keywords(call) == keys(definition)


@pytest.mark.parametrize(
    ("call", "definition"), [(EMPTY.host, "HostSettings"), (EMPTY.switch, "SwitchSettings")]
)
def test_a_call_for_stations_has_their_keys_and_a_name(call: Callable[..., Any], definition: str) -> None:
    assert keywords(call) == keys(definition) | {"name"}


def test_pause_has_the_keys_of_pfc_but_those_of_single_priorities() -> None:
    assert keywords(EMPTY.flow_control.pause) == keys("PauseSettings") - {"priorities", "target"}
