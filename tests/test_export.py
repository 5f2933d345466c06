"""Settings of a scenario as commands of Linux."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from conftest import DYNAMIC, THREE_CLASSES, Command

BASE = """
[simulation]
name = "x"
duration = "1 us"

[topology.star]
hosts = 2
rate = "10 Gb/s"
phy = "none"

[[flows]]
name = "one"
from = "h0"
to = "h1"
priority = 3
source = "greedy"
"""

ETS = THREE_CLASSES + "\n[flow_control.pfc]\npriorities = [3]\n"


def exported(penstock: Command, directory: Path, keys: str, *options: str) -> str:
    (directory / "x.toml").write_text(BASE + keys, "utf-8")
    done = penstock("export", "x.toml", *options)
    return done.stdout if done.returncode == 0 else f"{done.returncode}: {done.stderr}"


def test_ets_and_pfc_for_dcb(penstock: Command, tmp_path: Path) -> None:
    """The published example of `dcb ets set`: priority 3 to class 1, 7 to class 2; 70, 30 and strict."""
    assert exported(penstock, tmp_path, ETS, "--format", "dcb", "--interface", "swp1").splitlines() == [
        "dcb dcbx set dev swp1 host ieee",
        "dcb ets set dev swp1 willing off prio-tc 0:0 1:0 2:0 3:1 4:0 5:0 6:0 7:2 "
        "tc-tsa 0:ets 1:ets 2:strict 3:strict 4:strict 5:strict 6:strict 7:strict "
        "tc-bw 0:70 1:30 2:0 3:0 4:0 5:0 6:0 7:0",
        "dcb pfc set dev swp1 prio-pfc all:off 3:on",
    ]


def test_ets_and_pfc_for_mlnx_qos(penstock: Command, tmp_path: Path) -> None:
    assert exported(penstock, tmp_path, ETS, "--format", "mlnx_qos") == (
        "mlnx_qos -i eth0 --dcbx os --pfc 0,0,0,1,0,0,0,0 --prio_tc 0,0,0,1,0,0,0,2 "
        "--tsa ets,ets,strict,strict,strict,strict,strict,strict --tcbw 70,30,0,0,0,0,0,0\n"
    )


@pytest.mark.parametrize("form", ["dcb", "mlnx_qos"])
def test_what_frames_depend_on_and_no_format_has_is_reported(
    form: str, penstock: Command, tmp_path: Path
) -> None:
    maps = "[switch]\nqueues = 'per_priority'\nmaps.dscp_to_tc = { 26 = 3 }\n"
    red = "[[switch.queue_managers]]\nred = { yellow = { min = '2 frames' } }\n"
    flow = BASE.replace("priority = 3", "dscp = 26\ncolor = 'yellow'").replace(
        'rate = "10 Gb/s"', 'rate = "10 Gb/s"\nlength = "5 m"'
    )
    (tmp_path / "x.toml").write_text(flow + maps + red, "utf-8")
    done = penstock("export", "x.toml", "--format", form)
    for key in ("switch.maps.dscp_to_tc", "switch.queue_managers red.yellow"):
        assert done.stderr.count(f"note: {key} is left out") == 1, done


def test_strict_priority_without_pfc(penstock: Command, tmp_path: Path) -> None:
    lines = exported(penstock, tmp_path, "", "--format", "dcb", "--role", "host").splitlines()
    assert "prio-tc 0:0 1:1 2:2 3:3 4:4 5:5 6:6 7:7 tc-tsa 0:strict" in lines[1]
    assert lines[2] == "dcb pfc set dev eth0 prio-pfc all:off"


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ('[switch]\nscheduler = "drr"\n', "switch.scheduler is drr; expected strict_priority and ets"),
        ('[switch]\nqueues = "shared"\n', "switch.queues is shared; expected per_priority"),
        ("[flow_control.pause]\n", "flow_control is pause; expected pfc"),
        (ETS.replace("percent = 30", 'idle_slope = "1 Gb/s"').replace("70", "100"), "credit-based shaper"),
    ],
    ids=["scheduler", "queues", "flow control", "shaper"],
)
def test_what_the_tools_have_no_words_for(keys: str, message: str, penstock: Command, tmp_path: Path) -> None:
    answer = exported(penstock, tmp_path, keys, "--format", "dcb")
    assert answer.startswith("2: ")
    assert "x.toml: " in answer
    assert message in answer


def test_what_is_no_scenario(penstock: Command, tmp_path: Path) -> None:
    answer = exported(penstock, tmp_path, "[switch]\nscheduler = 7\n", "--format", "dcb")
    assert answer.startswith("2: ")
    assert "x.toml" in answer
    assert "Traceback" not in answer


@pytest.mark.parametrize("name", ["", "a b", "eth0;reboot", "x" * 16])
def test_what_is_no_interface(name: str, penstock: Command, tmp_path: Path) -> None:
    answer = exported(penstock, tmp_path, "", "--format", "dcb", "--interface", name)
    assert answer.startswith("2: ")
    assert "--interface" in answer


SONIC = (
    BASE.replace("10 Gb/s", '100 Gb/s"\nlength = "40 m')
    + """
[switch.buffer]
total = "12 MiB"

[flow_control.pfc]
priorities = [3, 4]
xoff = "100 KiB"
xon = "19456 B"
headroom = "38912 B"
"""
)
WATCHDOG = """
[watchdog]
detection_time = "400 ms"
restoration_time = "300 ms"
action = "forward"
"""
FRAMES = SONIC.partition("xoff =")[0] + 'xoff = "40 frames"\nxon = "9 frames"\n'
WATCHED = SONIC.replace('duration = "1 us"', 'duration = "1 s"') + WATCHDOG

NUMBER = r"\d+"
COLORS = ("green", "yellow", "red")
WRED = ("min_threshold", "max_threshold", "drop_probability")
FIELDS = {
    "BUFFER_POOL": {"type": "ingress|egress", "mode": "static|dynamic", "size": NUMBER, "xoff": NUMBER},
    "BUFFER_PROFILE": {
        **dict.fromkeys(("size", "xon", "xoff", "xon_offset", "static_th"), NUMBER),
        "dynamic_th": "-[1-8]|[0-7]",
        "pool": r"\w+",
    },
    "BUFFER_PG": {"profile": r"\w+"},
    "SCHEDULER": {"type": "DWRR|WRR|STRICT", "weight": r"[1-9]\d?|100"},
    "QUEUE": {"scheduler": r"[\w.]+", "wred_profile": r"[\w.]+"},
    "PORT": {"speed": NUMBER, "mtu": NUMBER},
    "WRED_PROFILE": {
        "ecn": "ecn_none|ecn_all",
        **{f"wred_{color}_enable": "true|false" for color in COLORS},
        **{f"{color}_{what}": NUMBER for color in COLORS for what in WRED},
    },
    "CABLE_LENGTH": {"Ethernet0": r"\d+m"},
    "PFC_WD": {
        **dict.fromkeys(("POLL_INTERVAL", "detection_time", "restoration_time"), r"\d{3,5}"),
        "action": "drop|forward|alert",
    },
    "PORT_QOS_MAP": {
        **dict.fromkeys(("dot1p_to_tc_map", "tc_to_pg_map", "tc_to_queue_map", "pfc_to_queue_map"), r"\w+"),
        "pfc_enable": r"[0-7](,[0-7])*",
    },
    **dict.fromkeys(
        ("DOT1P_TO_TC_MAP", "TC_TO_PRIORITY_GROUP_MAP", "TC_TO_QUEUE_MAP", "MAP_PFC_PRIORITY_TO_QUEUE"),
        dict.fromkeys("01234567", "[0-7]"),
    ),
}
"""Values that SONiC's YANG models accept for each field."""
MAPS = {
    "dot1p_to_tc_map": "DOT1P_TO_TC_MAP",
    "tc_to_pg_map": "TC_TO_PRIORITY_GROUP_MAP",
    "tc_to_queue_map": "TC_TO_QUEUE_MAP",
    "pfc_to_queue_map": "MAP_PFC_PRIORITY_TO_QUEUE",
}
LEADS_TO = {
    ("BUFFER_PROFILE", "pool"): "BUFFER_POOL",
    ("BUFFER_PG", "profile"): "BUFFER_PROFILE",
    ("QUEUE", "scheduler"): "SCHEDULER",
    ("QUEUE", "wred_profile"): "WRED_PROFILE",
    **{("PORT_QOS_MAP", field): table for field, table in MAPS.items()},
}


def config_db(penstock: Command, directory: Path, text: str, *options: str) -> Any:
    """CONFIG_DB of a scenario: every field is in SONiC's schema, and every reference is defined."""
    (directory / "x.toml").write_text(text, "utf-8")
    done = penstock("export", "x.toml", "--format", "sonic", *options)
    assert done.returncode == 0, done.stderr
    tables = json.loads(done.stdout)
    for table, entries in tables.items():
        for name, fields in entries.items():
            for field, value in fields.items():
                assert re.fullmatch(FIELDS[table][field], value), (table, name, field, value)
                assert value in tables[LEADS_TO[table, field]] if (table, field) in LEADS_TO else True
    return tables


def test_the_published_profile_of_sonic(penstock: Command, tmp_path: Path) -> None:
    """pg_lossless_100000_40m_profile of an NVIDIA switch: size 58368, xon 19456, xoff 38912."""
    tables = config_db(penstock, tmp_path, SONIC)
    assert tables["BUFFER_PROFILE"] == {
        "pg_lossless_100000_40m_profile": {
            "pool": "ingress_lossless_pool",
            "xoff": "38912",
            "size": "58368",
            "xon": "19456",
            "static_th": "102400",
        }
    }
    assert set(tables["BUFFER_PG"]) == {"Ethernet0|3", "Ethernet0|4"}
    assert tables["CABLE_LENGTH"] == {"AZURE": {"Ethernet0": "40m"}}
    assert tables["PORT_QOS_MAP"]["Ethernet0"]["pfc_enable"] == "3,4"
    groups = tables["TC_TO_PRIORITY_GROUP_MAP"]["PENSTOCK"]
    assert [groups[str(priority)] for priority in range(8)] == [*"00034000"]
    assert "PFC_WD" not in tables


def test_headroom_of_the_link_in_cells(penstock: Command, tmp_path: Path) -> None:
    computed = SONIC.replace('headroom = "38912 B"', "")
    for cell, key in (((), "headroom_bytes"), (("--cell", "144 B"), "headroom_memory_bytes")):
        requested = penstock(
            "headroom", "--rate", "100 Gb/s", "--length", "40 m", "--mtu", "9216 B", *cell, "--json"
        )
        tables = config_db(penstock, tmp_path, computed, *cell)
        (profile,) = tables["BUFFER_PROFILE"].values()
        assert profile["xoff"] == str(json.loads(requested.stdout)[key])


def test_thresholds_and_watchdog_of_sonic(penstock: Command, tmp_path: Path) -> None:
    tables = config_db(penstock, tmp_path, WATCHED + DYNAMIC, "--interface", "Ethernet0")
    (profile,) = tables["BUFFER_PROFILE"].values()
    assert {key: profile[key] for key in ("size", "xon_offset", "dynamic_th")} == {
        "size": "9216",
        "xon_offset": "18432",
        "dynamic_th": "-3",
    }
    assert tables["BUFFER_POOL"]["ingress_lossless_pool"] == {
        "type": "ingress",
        # What is shared: without headroom, and 9 KiB of each of 8 classes and 2 lossless priorities of 2
        # ports.
        "size": str((12 << 20) - (2 << 20) - 20 * 9216),
        "mode": "dynamic",
        "xoff": str(2 << 20),
    }
    assert tables["PFC_WD"] == {
        "GLOBAL": {"POLL_INTERVAL": "200"},
        "Ethernet0": {"detection_time": "400", "restoration_time": "300", "action": "forward"},
    }


def test_shares_of_sonic(penstock: Command, tmp_path: Path) -> None:
    lossy, shares = SONIC.partition("[flow_control")[0], ETS.partition("[flow_control")[0]
    tables = config_db(penstock, tmp_path, lossy + shares)
    assert tables["SCHEDULER"] == {
        "scheduler.0": {"type": "DWRR", "weight": "70"},
        "scheduler.1": {"type": "DWRR", "weight": "30"},
        "scheduler.2": {"type": "STRICT"},
    }
    assert tables["TC_TO_QUEUE_MAP"]["PENSTOCK"]["7"] == "2"
    assert "BUFFER_POOL" not in tables


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (SONIC.replace('total = "12 MiB"', ""), [], "switch.buffer.total is unlimited; sizes in bytes"),
        (SONIC.partition("xoff =")[0], [], "flow_control.pfc.xoff is computed"),
        (FRAMES, [], "xoff is 40 frames"),
        (SONIC + DYNAMIC.replace("0.125", "0.75"), [], "alpha is 0.75; powers of two"),
        (WATCHED.replace("400 ms", "50 ms"), [], "watchdog.detection_time is 50 ms; 100 ms to 5000 ms"),
        (SONIC.replace("40 m", "1500 mm"), [], "length is 1.5 m; whole metres"),
        (SONIC, ["--role", "host"], "SONiC runs on switches"),
        (SONIC, ["--rate", "fast"], "rate: "),
        (SONIC, ["--cell", "0 B"], "cell: "),
    ],
    ids=lambda value: value if isinstance(value, str) and len(value) < 60 else "",
)
def test_what_sonic_has_no_words_for(
    text: str, options: list[str], message: str, penstock: Command, tmp_path: Path
) -> None:
    (tmp_path / "x.toml").write_text(text, "utf-8")
    done = penstock("export", "x.toml", "--format", "sonic", *options)
    assert done.returncode == 2
    assert message in done.stderr
    assert "x.toml" in done.stderr
