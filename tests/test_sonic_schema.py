"""SONiC exports, validated against a schema of CONFIG_DB.

The schema says what the YANG models of SONiC say of these tables (sonic-scheduler, sonic-port-qos-map,
sonic-buffer-pool, -profile and -pg, sonic-pfcwd, sonic-cable-length and the maps): types, ranges, and which
entry a name refers to.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from conftest import DYNAMIC, Command
from test_interchange_sonic import ETS, STATIC, WATCHDOG

NUMBER = {"type": "string", "pattern": "^(0|[1-9][0-9]{0,19})$"}
ECN_COLORS = ("none", "green", "yellow", "red", "green_yellow", "green_red", "yellow_red", "all")
ECN = tuple(f"ecn_{colors}" for colors in ECN_COLORS)
COLORS = ("green", "yellow", "red")
EIGHT = {"type": "string", "pattern": "^[0-7]$"}


def between(least: int, most: int) -> dict[str, Any]:
    """A number as text, within limits."""
    return {"enum": [str(number) for number in range(least, most + 1)]}


def entries(key: str, fields: dict[str, Any], *required: str, more: bool = False) -> dict[str, Any]:
    """A table whose keys fit a pattern, and whose entries have these fields."""
    entry = {
        "type": "object",
        "properties": fields,
        "required": list(required),
        "additionalProperties": more,
    }
    return {"type": "object", "patternProperties": {key: entry}, "additionalProperties": False}


def of_eight(key: dict[str, Any]) -> dict[str, Any]:
    """A named map of eight numbers."""
    return entries("^[a-zA-Z0-9_-]{1,32}$", {str(number): key for number in range(8)}, *map(str, range(8)))


def numbers(keys: int, values: int) -> dict[str, Any]:
    """A named map of some numbers."""
    return entries("^[a-zA-Z0-9_-]{1,32}$", {str(number): between(0, values - 1) for number in range(keys)})


NAME = "^[a-zA-Z0-9_.-]{1,128}$"
PORT = "^Ethernet[0-9]{1,4}$"
NAMED = {"type": "string"}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["PORT_QOS_MAP", "SCHEDULER", "QUEUE"],
    "properties": {
        "DOT1P_TO_TC_MAP": of_eight(EIGHT),
        "TC_TO_QUEUE_MAP": of_eight(EIGHT),
        "TC_TO_PRIORITY_GROUP_MAP": of_eight(EIGHT),
        "MAP_PFC_PRIORITY_TO_QUEUE": of_eight(EIGHT),
        "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP": of_eight(EIGHT),
        "DSCP_TO_TC_MAP": numbers(64, 16),
        "TC_TO_DSCP_MAP": numbers(16, 64),
        "PORT_QOS_MAP": entries(
            PORT,
            {
                "pfc_enable": {"type": "string", "pattern": "^([0-7](,[0-7])*)?$"},
                "dot1p_to_tc_map": NAMED,
                "tc_to_pg_map": NAMED,
                "tc_to_queue_map": NAMED,
                "pfc_to_queue_map": NAMED,
                "pfc_to_pg_map": NAMED,
                "dscp_to_tc_map": NAMED,
                "tc_to_dscp_map": NAMED,
            },
        ),
        "SCHEDULER": entries(
            NAME, {"type": {"enum": ["DWRR", "WRR", "STRICT"]}, "weight": between(1, 100)}, "type"
        ),
        "QUEUE": entries(
            "^Ethernet[0-9]{1,4}\\|[0-9]$", {"scheduler": NAMED, "wred_profile": NAMED}, "scheduler"
        ),
        "PORT": entries(PORT, {"speed": NUMBER, "mtu": NUMBER}, "speed"),
        "WRED_PROFILE": entries(
            NAME,
            {
                "ecn": {"enum": [*ECN]},
                **{f"wred_{color}_enable": {"enum": ["true", "false"]} for color in COLORS},
                **{f"{color}_{what}_threshold": NUMBER for color in COLORS for what in ("min", "max")},
                **{f"{color}_drop_probability": between(0, 100) for color in COLORS},
            },
            "ecn",
        ),
        "CABLE_LENGTH": {
            "type": "object",
            "additionalProperties": {
                "type": "object",
                "patternProperties": {PORT: {"type": "string", "pattern": "^[0-9]+m$"}},
                "additionalProperties": False,
            },
        },
        "BUFFER_POOL": entries(
            NAME,
            {
                "type": {"enum": ["ingress", "egress", "both"]},
                "mode": {"enum": ["static", "dynamic"]},
                "size": NUMBER,
                "xoff": NUMBER,
            },
            "type",
            "mode",
        ),
        "BUFFER_PROFILE": entries(
            NAME,
            {
                "pool": NAMED,
                "size": NUMBER,
                "xon": NUMBER,
                "xoff": NUMBER,
                "xon_offset": NUMBER,
                "static_th": NUMBER,
                "dynamic_th": between(-8, 7),
            },
            "pool",
            "size",
        ),
        "BUFFER_PG": entries("^Ethernet[0-9]{1,4}\\|[0-7](-[0-7])?$", {"profile": NAMED}, "profile"),
        "PFC_WD": {
            "type": "object",
            "properties": {
                "GLOBAL": {
                    "type": "object",
                    "properties": {"POLL_INTERVAL": between(100, 1_000)},
                    "additionalProperties": False,
                }
            },
            "patternProperties": {
                PORT: {
                    "type": "object",
                    "properties": {
                        "action": {"enum": ["drop", "forward", "alert"]},
                        "detection_time": between(100, 5_000),
                        "restoration_time": between(100, 60_000),
                    },
                    "required": ["action", "detection_time"],
                    "additionalProperties": False,
                }
            },
            "additionalProperties": False,
        },
    },
}
REFERENCES = (
    ("PORT_QOS_MAP", "dot1p_to_tc_map", "DOT1P_TO_TC_MAP"),
    ("PORT_QOS_MAP", "tc_to_pg_map", "TC_TO_PRIORITY_GROUP_MAP"),
    ("PORT_QOS_MAP", "tc_to_queue_map", "TC_TO_QUEUE_MAP"),
    ("PORT_QOS_MAP", "pfc_to_queue_map", "MAP_PFC_PRIORITY_TO_QUEUE"),
    ("PORT_QOS_MAP", "pfc_to_pg_map", "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP"),
    ("PORT_QOS_MAP", "dscp_to_tc_map", "DSCP_TO_TC_MAP"),
    ("PORT_QOS_MAP", "tc_to_dscp_map", "TC_TO_DSCP_MAP"),
    ("QUEUE", "scheduler", "SCHEDULER"),
    ("QUEUE", "wred_profile", "WRED_PROFILE"),
    ("BUFFER_PROFILE", "pool", "BUFFER_POOL"),
    ("BUFFER_PG", "profile", "BUFFER_PROFILE"),
)


def check(tables: dict[str, Any]) -> None:
    """Fails where the models would."""
    jsonschema.validate(tables, SCHEMA)
    for table, field, target in REFERENCES:
        for key, entry in tables.get(table, {}).items():
            name = entry.get(field)
            if name is not None and name not in tables.get(target, {}):
                raise jsonschema.ValidationError(f"{table}|{key}: {field} is {name}, which {target} has not")
    watchdog = tables.get("PFC_WD", {})
    poll = int(watchdog.get("GLOBAL", {}).get("POLL_INTERVAL", 0))
    for port, entry in watchdog.items():
        times = [int(entry[key]) for key in ("detection_time", "restoration_time") if key in entry]
        if any(time < poll for time in times):
            raise jsonschema.ValidationError(f"PFC_WD|{port}: a time is less than the poll interval")


def exported(penstock: Command, directory: Path, text: str, *options: str) -> dict[str, Any]:
    (directory / "x.toml").write_text(text, "utf-8")
    done = penstock("export", "x.toml", "--format", "sonic", *options)
    assert done.returncode == 0, done.stderr
    tables: dict[str, Any] = json.loads(done.stdout)
    return tables


RED = """
[[switch.queue_managers]]
classes = [3]
[switch.queue_managers.red]
weight = 1.0
min = "100 kB"
max = "400 kB"
max_probability = 0.2
gentle = false
spacing = "geometric"
action = "mark_only"
mark_above_max = true
"""
MAPS = """
[switch]
queues = "per_priority"
[switch.maps]
dscp_to_tc = { 26 = 3, 48 = 6, other = 1 }
pfc_to_queue = [0, 1, 2, 3, 4, 5, 6, 0]
pfc_to_group = [0, 1, 2, 3, 4, 5, 6, 0]
remap = [{ to = ["*"], dscp = { 48 = 49 } }]
"""
COLORED = (
    RED + 'yellow = { min = "50 kB", action = "mark" }\nred = { max_probability = 0.5, action = "drop" }\n'
)
SCENARIOS = {
    "maps": STATIC + MAPS,
    "colors": STATIC + COLORED,
    "WRED": STATIC + '\n[switch]\nmtu = "9122 B"\n' + RED,
    "static": STATIC,
    "watchdog": STATIC + WATCHDOG,
    "shares": STATIC + ETS,
    "dynamic": STATIC + DYNAMIC + WATCHDOG,
}


def test_maps_and_colors(penstock: Command, tmp_path: Path) -> None:
    tables = exported(penstock, tmp_path, STATIC + MAPS)
    assert tables["PORT_QOS_MAP"]["Ethernet0"].keys() == {
        "dscp_to_tc_map",
        "pfc_enable",
        "pfc_to_pg_map",
        "pfc_to_queue_map",
        "tc_to_dscp_map",
        "tc_to_pg_map",
        "tc_to_queue_map",
    }
    of_dscp = tables["DSCP_TO_TC_MAP"]["PENSTOCK"]
    assert [*map(of_dscp.get, ("0", "26", "48", "63"))] == ["1", "3", "6", "1"]
    assert len(of_dscp) == 64
    # Class 6 is DSCP 48 alone, which leaves as 49; of the others all keep theirs, which no class can say.
    assert tables["TC_TO_DSCP_MAP"]["PENSTOCK"] == {"3": "26", "6": "49"}
    for name in ("MAP_PFC_PRIORITY_TO_QUEUE", "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP"):
        assert tables[name]["PENSTOCK"]["7"] == "0"
    (wred,) = exported(penstock, tmp_path, STATIC + COLORED)["WRED_PROFILE"].values()
    assert wred["ecn"] == "ecn_green_yellow"
    enabled = {"green": "false", "yellow": "true", "red": "true"}
    assert {color: wred[f"wred_{color}_enable"] for color in COLORS} == enabled
    assert [wred[f"{color}_min_threshold"] for color in COLORS] == ["100000", "50000", "100000"]
    assert [wred[f"{color}_drop_probability"] for color in COLORS] == ["20", "20", "50"]


@pytest.mark.parametrize("text", SCENARIOS.values(), ids=SCENARIOS)
def test_what_is_exported_fits_the_models(text: str, penstock: Command, tmp_path: Path) -> None:
    check(exported(penstock, tmp_path, text))
    check(exported(penstock, tmp_path, text, "--cell", "144 B", "--interface", "Ethernet12"))


@pytest.mark.parametrize(
    ("table", "key", "field", "value"),
    [
        ("BUFFER_PROFILE", None, "dynamic_th", "9"),
        ("BUFFER_PROFILE", None, "pool", "gone"),
        ("BUFFER_PROFILE", None, "size", 58368),
        ("BUFFER_PG", None, "profile", "gone"),
        ("SCHEDULER", "scheduler.0", "weight", "0"),
        ("SCHEDULER", "scheduler.0", "type", "DRR"),
        ("QUEUE", None, "scheduler", "gone"),
        ("PORT_QOS_MAP", None, "pfc_enable", "3,8"),
        ("PORT_QOS_MAP", None, "tc_to_queue_map", "gone"),
        ("PFC_WD", "Ethernet0", "detection_time", "99"),
        ("PFC_WD", "Ethernet0", "action", "report"),
        ("PFC_WD", "GLOBAL", "POLL_INTERVAL", "1000"),
    ],
)
def test_the_schema_bites(
    table: str, key: str | None, field: str, value: object, penstock: Command, tmp_path: Path
) -> None:
    tables = exported(penstock, tmp_path, STATIC + DYNAMIC + WATCHDOG)
    tables[table][key or next(iter(tables[table]))][field] = value
    with pytest.raises(jsonschema.ValidationError):
        check(tables)


def test_a_share_of_nothing_is_no_weight(penstock: Command, tmp_path: Path) -> None:
    """A class of 0 % sends what the others leave, which a weight from 1 to 100 cannot say."""
    text = (STATIC + ETS).replace("percent = 70", "percent = 100").replace("percent = 30", "percent = 0")
    (tmp_path / "x.toml").write_text(text, "utf-8")
    done = penstock("export", "x.toml", "--format", "sonic")
    assert done.returncode != 0
    assert "weights from 1 to 100 can be exported" in done.stderr
