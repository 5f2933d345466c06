"""CONFIG_DB of SONiC as settings of a scenario."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from conftest import DYNAMIC, SMALL, Command
from conftest import THREE_CLASSES as ETS
from penstock.errors import InputError
from penstock.interchange.formats import format_of
from penstock.interchange.piece import Document, Piece

SCENARIO = SMALL.replace('queue = "200 frames"', 'total = "12 MiB"').replace(
    'accounting = "ingress"\nxoff = "20 frames"\nxon = "10 frames"\n',
    'accounting = "ingress"\npriorities = [3]\nxoff = "100 KiB"\nxon = "19456 B"\nheadroom = "38912 B"\n',
)
STATIC = (
    SCENARIO.replace('duration = "200 us"', 'duration = "1 s"')
    .replace("4 Gb/s", "4 Mb/s")
    .replace('source = "greedy"', 'source = { constant = { rate = "1 Mb/s" } }')
)
WATCHDOG = '\n[watchdog]\ndetection_time = "400 ms"\nrestoration_time = "300 ms"\naction = "report"\n'

REAL: dict[str, Any] = {
    "VERSIONS": {"DATABASE": {"VERSION": "version_4_0_3"}},
    "PORT_QOS_MAP": {
        "global": {"dscp_to_tc_map": "AZURE"},
        "Ethernet0": {"pfc_enable": "3,4", "dscp_to_tc_map": "AZURE", "tc_to_queue_map": "AZURE"},
        "Ethernet4": {"pfc_enable": "3,4", "dscp_to_tc_map": "AZURE", "tc_to_queue_map": "AZURE"},
    },
    "TC_TO_QUEUE_MAP": {"AZURE": {str(number): str(number) for number in range(8)}},
    "SCHEDULER": {
        "scheduler.0": {"type": "DWRR", "weight": "14"},
        "scheduler.1": {"type": "DWRR", "weight": "15"},
    },
    "QUEUE": {
        "Ethernet0,Ethernet4|0-2": {"scheduler": "scheduler.0"},
        "Ethernet0,Ethernet4|3-4": {"scheduler": "[SCHEDULER|scheduler.1]"},
        "Ethernet0,Ethernet4|5-6": {"scheduler": "scheduler.0"},
    },
    "BUFFER_POOL": {"ingress_lossless_pool": {"type": "ingress", "mode": "dynamic", "size": "12766208"}},
    "BUFFER_PROFILE": {
        "pg_lossless_100000_40m_profile": {
            "pool": "ingress_lossless_pool",
            "size": "58368",
            "xon": "19456",
            "xoff": "38912",
            "dynamic_th": "0",
        }
    },
    "BUFFER_PG": {"Ethernet0,Ethernet4|3-4": {"profile": "pg_lossless_100000_40m_profile"}},
    "PFC_WD": {
        "GLOBAL": {"POLL_INTERVAL": "200"},
        "Ethernet0": {"action": "drop", "detection_time": "400", "restoration_time": "400"},
    },
}


def read(tables: object) -> Piece:
    document = Document("config_db.json", tables if isinstance(tables, str) else json.dumps(tables, indent=1))
    return format_of(document, "sonic").read(document)


@pytest.mark.parametrize(
    "text",
    [STATIC + WATCHDOG, STATIC + ETS, STATIC + DYNAMIC + WATCHDOG],
    ids=["static", "shares", "dynamic"],
)
def test_what_is_exported_comes_back(text: str, penstock: Command, tmp_path: Path) -> None:
    """Export, import over the same scenario without these settings, export: the same tables."""
    (tmp_path / "x.toml").write_text(text, "utf-8")
    (tmp_path / "plain.toml").write_text(STATIC.partition("[switch.buffer]")[0] + "[[flows]]" +
                                         STATIC.partition("[[flows]]")[2], "utf-8")  # fmt: skip
    first = penstock("export", "x.toml", "--format", "sonic")
    assert first.returncode == 0, first.stderr
    (tmp_path / "db.json").write_text(first.stdout, "utf-8")
    done = penstock("import", "db.json", "--like", "plain.toml", "--out", "back.toml")
    assert done.returncode == 0, done.stderr
    second = penstock("export", "back.toml", "--format", "sonic")
    assert second.returncode == 0, second.stderr
    assert json.loads(second.stdout) == json.loads(first.stdout)
    assert tomllib.loads((tmp_path / "back.toml").read_text("utf-8"))["flow_control"]["pfc"][
        "priorities"
    ] == [3]


def test_the_usual_configuration() -> None:
    """Lossless classes 3 and 4, weights of 14 and 15, a dynamic threshold: what SONiC's templates make."""
    piece = read(REAL)
    assert piece.keys["switch"]["queues"] == "per_priority"
    classes = piece.keys["switch"]["scheduler"]["ets"]["classes"]
    shares = [14, 14, 14, 15, 15, 14, 14]
    assert classes[:7] == [{"queues": [number], "percent": share} for number, share in enumerate(shares)]
    assert classes[7] == {"queues": [7], "strict": True}
    assert piece.keys["flow_control"]["pfc"] == {
        "priorities": [3, 4],
        "accounting": "ingress",
    }
    # The size of the pool is what is shared; each group has headroom of its own, which its size counts.
    memory = piece.keys["switch"]["buffer"]["memory"]
    assert memory["pools"]["ingress_lossless_pool"] == {
        "side": "ingress",
        "size": "12467 KiB",
        "mode": "dynamic",
    }
    assert memory["profiles"][PROFILE] == {
        "pool": "ingress_lossless_pool",
        "reserved": "19 KiB",
        "alpha": 1.0,
        "headroom": "38 KiB",
        "xon": "19 KiB",
    }
    assert {"profile": PROFILE, "groups": [3, 4]} in memory["attach"]
    assert piece.keys["watchdog"]["detection_time"] == "400 ms"
    text = "\n".join(piece.remarks)
    for output in (
        "QUEUE: queues 7 have no scheduler: taken as strict priority",
        "BUFFER_POOL: size is taken as the shared part",
        "not read: VERSIONS: not part of a scenario",
        "DSCP_TO_TC_MAP: is not in the document: dscp_to_tc_map has no effect",
        "not read: PFC_WD POLL_INTERVAL: the watchdog detects a storm immediately",
    ):
        assert text.count(output) == 1, output


def changed(table: str, entry: str, **fields: object) -> dict[str, Any]:
    """The usual configuration with other fields."""
    tables: dict[str, Any] = json.loads(json.dumps(REAL))
    own = tables.setdefault(table, {})
    own[entry] = {**own.get(entry, {}), **fields}
    return tables


PROFILE = "pg_lossless_100000_40m_profile"


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ("{", "config_db.json:1: not valid JSON"),
        ("[]", "config_db.json:1: expected the tables of CONFIG_DB"),
        ('{"QUEUE": {}, "QUEUE": {}}', '"QUEUE" appears twice in one object'),
        ('{"QUEUE": {"Ethernet0|3": {"scheduler": NaN}}}', "NaN is not valid JSON"),
        ("[" * 100_000, "nested too deeply"),
        ({"sonic-port-qos-map:sonic-port-qos-map": {}}, "has none of the tables"),
        ({"PORT_QOS_MAP": {}}, "has no port"),
        ({"PORT_QOS_MAP": [], "QUEUE": {}}, "PORT_QOS_MAP: is not a table"),
        ({"PORT_QOS_MAP": {"Ethernet0": "3,4"}}, "PORT_QOS_MAP|Ethernet0: is 3,4; expected fields"),
        (changed("PORT_QOS_MAP", "Ethernet0", pfc_enable="3,8"), "pfc_enable is 3,8; expected priorities"),
        (
            changed("PORT_QOS_MAP", "Ethernet0", pfc_enable={"3": True}),
            "pfc_enable is {'3': True}; expected text",
        ),
        (changed("PORT_QOS_MAP", "Ethernet0", tc_to_queue_map="gone"), "TC_TO_QUEUE_MAP has no entry gone"),
        (changed("TC_TO_QUEUE_MAP", "AZURE", **{"3": "9"}), "queue 9 of Ethernet0; expected queues 0 to 7"),
        (changed("TC_TO_QUEUE_MAP", "AZURE", x="3"), "x is mapped; expected numbers from 0 to 15"),
        (changed("SCHEDULER", "scheduler.1", type="DRR"), "type is DRR; expected DWRR, WRR, STRICT"),
        (changed("SCHEDULER", "scheduler.1", weight="0"), "weight is 0; expected a whole number from 1"),
        (changed("QUEUE", "Ethernet0|7", scheduler="gone"), "SCHEDULER has no entry gone"),
        (
            changed("QUEUE", "Ethernet0|7-x", scheduler="scheduler.0"),
            "QUEUE|Ethernet0|7-x: 7-x is not a number",
        ),
        (changed("QUEUE", "Ethernet0|3", scheduler="scheduler.0"), "also defines 3 of Ethernet0"),
        (changed("BUFFER_PROFILE", PROFILE, pool="gone"), "BUFFER_POOL has no entry gone"),
        (
            changed("BUFFER_PROFILE", PROFILE, dynamic_th="9"),
            "dynamic_th is 9; expected a whole number from -8 to 8",
        ),
        (changed("BUFFER_PROFILE", PROFILE, static_th="9"), "has both dynamic_th and static_th"),
        (changed("BUFFER_PROFILE", PROFILE, size="-1"), "size is -1"),
        (changed("BUFFER_PROFILE", PROFILE, size=True), "size is True; expected text"),
        (
            changed("BUFFER_POOL", "ingress_lossless_pool", type="egress"),
            "is used by a priority group, but its pool",
        ),
        (changed("PFC_WD", "Ethernet0", action="shoot"), "action is shoot; expected alert, drop, forward"),
        (changed("PFC_WD", "Ethernet0", detection_time="10"), "detection_time is 10"),
        (changed("PORT", "Ethernet0", speed="fast"), "speed is fast; expected a whole number"),
        (changed("CABLE_LENGTH", "AZURE", Ethernet0="40"), "Ethernet0 is 40; expected metres"),
    ],
)
def test_what_cannot_be_imported(tables: object, message: str) -> None:
    """The message has the line, but of a text without lines."""
    with pytest.raises(InputError, match=r"config_db\.json") as wrong:
        read(tables)
    assert message in str(wrong.value)


def test_maps_of_a_tunnel_and_of_colors() -> None:
    """The maps that SONiC's templates make for tunnels: nine classes, and PFC of priorities 2 and 6."""
    tables = json.loads(json.dumps(REAL))
    dscp = {str(number): "1" for number in range(64)} | {"2": "2", "3": "3", "6": "6", "33": "8", "48": "7"}
    tables["DSCP_TO_TC_MAP"] = {"AZURE": dscp}
    queues = {str(number): str(number) for number in range(8)} | {"8": "1"}
    tables["TC_TO_QUEUE_MAP"]["AZURE"] = queues
    tables["TC_TO_DSCP_MAP"] = {"TUNNEL": {"1": "0", "3": "2", "7": "48"}}
    tables["PFC_PRIORITY_TO_PRIORITY_GROUP_MAP"] = {"AZURE": {"3": "3", "4": "4", "2": "3"}}
    wred = {"green_min_threshold": "1000", "green_max_threshold": "9000", "ecn": "ecn_green_yellow"}
    wred |= {"yellow_min_threshold": "500", "yellow_max_threshold": "600", "yellow_drop_probability": "5"}
    tables["WRED_PROFILE"] = {"W": wred}
    tables["QUEUE"]["Ethernet0,Ethernet4|3-4"]["wred_profile"] = "W"
    for port in ("Ethernet0", "Ethernet4"):
        tables["PORT_QOS_MAP"][port] |= {"tc_to_dscp_map": "TUNNEL", "pfc_to_pg_map": "AZURE"}
    piece = read(tables)
    maps = piece.keys["switch"]["maps"]
    # Class 8 has the queue of class 1, which most code points have.
    assert maps["dscp_to_tc"] == {"2": 2, "3": 3, "6": 6, "48": 7, "other": 1}
    assert maps["pfc_to_group"] == [0, 1, 3, 3, 4, 5, 6, 7]
    assert "pfc_to_queue" not in maps
    # Class 1 stays in its queue with DSCP 0, class 7 keeps 48; 3 would go from queue 3 to 2.
    [remap] = maps["remap"]
    assert (remap["to"], remap["dscp"]["1"], "3" in remap["dscp"]) == (["*"], 0, False)
    [manager] = piece.keys["switch"]["queue_managers"]
    assert manager["red"]["yellow"] == {"min": "500 B", "max": "600 B", "max_probability": 0.05}
    assert manager["red"]["mark_above_max"] is True
    text = "\n".join(piece.remarks)
    for output in (
        "TC_TO_QUEUE_MAP: traffic class 8 is taken as 1, which has the same queue",
        "TC_TO_DSCP_MAP: frames of DSCP 3 wait in the queue of their old code point",
        "WRED_PROFILE|W: does not apply to red frames: they are treated as green",
    ):
        assert text.count(output) == 1, (output, text)
    tables["TC_TO_QUEUE_MAP"]["AZURE"]["8"] = "9"
    with pytest.raises(InputError, match="traffic class 8 has queue 9 to itself"):
        read(tables)
