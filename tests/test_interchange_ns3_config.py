"""Configurations of the HPCC fork of ns-3 and of SimAI."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from conftest import Command
from penstock import _core, running
from penstock.errors import InputError
from penstock.interchange.formats import format_of
from penstock.interchange.join import join
from penstock.interchange.piece import Document, Piece
from penstock.library import Source
from switch_configs import NS3_CONFIG
from test_interchange import FLOWS, TOPOLOGY

LIKE = """\
[simulation]
duration = "1 ms"
[topology.star]
hosts = 3
rate = "25 Gb/s"
phy = "none"
[[transfers]]
name = "all"
from = "h1..h2"
to = "h0"
sizes = "100 kB"
arrivals = "once"
priority = 3
"""


def read(text: str) -> Piece:
    document = Document("config.txt", text)
    found = format_of(document)
    assert found.name == "ns3-config"
    return found.read(document)


def scenario(text: str, like: str = LIKE) -> tuple[dict[str, Any], list[str]]:
    """The scenario of a configuration, which the engine has checked, and what was told."""
    made = join(
        [(Document("config.txt", text), read(text))], Path("out.toml"), like=Source(like, "like.toml")
    )
    with running.engine_errors():
        _core.check(made.text, "out.toml")
    return tomllib.loads(made.text), made.remarks


def test_dcqcn_and_the_switches_of_a_fabric() -> None:
    keys, reported = scenario(NS3_CONFIG)
    (entry,) = keys["transfers"]
    assert entry["frame"] == "1066 B"
    rdma = entry["over"]["rdma"]
    assert rdma["control"]["dcqcn"] == {
        "preset": "hpcc",
        "g": 0.00390625,
        "alpha_period": "1 us",
        "monitor_period": "4 us",
        "time_reset": "300 us",
        "threshold": 1,
        "ai_rate": "40 Mb/s",
        "hai_rate": "400 Mb/s",
        "scale_rates": False,
        "clamp_target": False,
        "clamp_target_after_time": True,
        "min_rate": "100 Mb/s",
    }
    assert (rdma["window"], rdma["mtu"], rdma["ack_every"], rdma["cnp_gap"]) == ("bdp", "1000 B", 1, "0 s")
    # Thresholds are those of 25 Gb/s, the rate of the links, in kilobytes of 1,000 B.
    (manager,) = keys["switch"]["queue_managers"]
    assert (manager["classes"], manager["red"]["min"], manager["red"]["max"]) == ([3], "100000 B", "400000 B")
    assert manager["red"]["max_probability"] == 0.2
    assert keys["switch"]["buffer"]["total"] == "32 MiB"
    threshold = keys["switch"]["buffer"]["dynamic_threshold"]
    assert (threshold["alpha"], threshold["minimum"], threshold["resume_offset"]) == (0.125, "4 KiB", "3 KiB")
    assert keys["flow_control"]["pfc"] == {"priorities": [3], "accounting": "ingress"}
    assert any("not read: SIMULATOR_STOP_TIME 4.00: the duration follows" in line for line in reported)
    assert any("DCTCP_RATE_AI 1000Mb/s, U_TARGET 0.95, MI_THRESH 5" in line for line in reported)


@pytest.mark.parametrize(
    ("mode", "name", "own"),
    [
        (3, "hpcc", {"eta": 0.95, "max_stage": 5, "ai_rate": "40 Mb/s", "min_rate": "100 Mb/s"}),
        (7, "timely", {"delta": "40 Mb/s", "min_rate": "100 Mb/s"}),
        (8, "dctcp", {"gain": 0.00390625, "ai_rate": "1 Gb/s", "min_rate": "100 Mb/s"}),
        (10, "hpcc_pint", {"eta": 0.95, "max_stage": 5, "ai_rate": "40 Mb/s", "min_rate": "100 Mb/s"}),
    ],
)
def test_other_controls(mode: int, name: str, own: dict[str, Any]) -> None:
    keys, _ = scenario(NS3_CONFIG.replace("CC_MODE 1", f"CC_MODE {mode}"))
    assert keys["transfers"][0]["over"]["rdma"]["control"] == {name: own}


def test_links_of_other_rates_are_reported() -> None:
    uplinks = LIKE.replace(
        '[topology.star]\nhosts = 3\nrate = "25 Gb/s"\nphy = "none"\n',
        '[topology.leaf_spine]\nleaves = 2\nspines = 1\nhosts_per_leaf = 3\nrate = "25 Gb/s"\nphy = "none"\n'
        'uplink_rate = "100 Gb/s"\n',
    )
    _, reported = scenario(NS3_CONFIG, uplinks)
    assert any("thresholds of links of 100 Gb/s: all use those of 25 Gb/s" in line for line in reported)
    _, reported = scenario(NS3_CONFIG, LIKE.replace("25 Gb/s", "40 Gb/s"))
    assert any("assumed: no thresholds for 40 Gb/s: taken from 25 Gb/s" in line for line in reported)


def test_switches_of_the_simulator() -> None:
    keys, reported = scenario(NS3_CONFIG.replace("ENABLE_QCN 1", "ENABLE_QCN 0"))
    assert "queue_managers" not in keys["switch"]
    assert keys["transfers"][0]["over"]["rdma"]["control"] == "none"
    assert any("ENABLE_QCN is 0" in line for line in reported)
    off, _ = scenario(NS3_CONFIG + "ENABLE_PFC 0\nENABLE_IRN 1\n")
    assert off["flow_control"] == "off"
    assert off["transfers"][0]["over"]["rdma"]["recovery"] == "selective"
    _, reported = scenario(NS3_CONFIG, LIKE.replace("priority = 3\n", ""))
    assert any("all traffic has priority 0, whose queue never marks" in line for line in reported)


def test_a_configuration_needs_traffic() -> None:
    like = LIKE[: LIKE.index("[[transfers]]")]
    with pytest.raises(InputError, match="there are no transfers; import the flows as well"):
        scenario(NS3_CONFIG, like)


def test_fabric_flows_and_configuration_are_a_scenario_that_runs(penstock: Command, tmp_path: Path) -> None:
    for name, text in (("fabric.txt", TOPOLOGY), ("flow.txt", FLOWS), ("config.txt", NS3_CONFIG)):
        (tmp_path / name).write_text(text, "utf-8")
    files = [tmp_path / name for name in ("fabric.txt", "flow.txt", "config.txt")]
    done = penstock("import", *files, "--out", tmp_path / "out.toml")
    assert done.returncode == 0, done.stderr
    done = penstock("run", tmp_path / "out.toml", "--out", tmp_path / "result", "--no-report")
    assert done.returncode == 0, done.stderr
    assert "lost" in done.stdout


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("CC_MODE 1\n", "CC_MODE 4\n", ":8: CC_MODE is 4; expected one of 1 (dcqcn), 3 (hpcc), 7 (timely)"),
        ("RATE_AI 40Mb/s", "RATE_AI fast", 'RATE_AI is fast; expected a rate, such as "50Mb/s"'),
        ("EWMA_GAIN 0.00390625", "EWMA_GAIN 2", "EWMA_GAIN is 2; expected at most 1"),
        ("KMAX_MAP 2 ", "KMAX_MAP 3 ", "KMAX_MAP has 4 numbers; expected 3 pairs"),
        (
            "KMIN_MAP 2 25000000000",
            "KMIN_MAP 2 26000000000",
            "have different rates; expected the same rates in each",
        ),
        ("25000000000 100 ", "25000000000 500 ", "Kmin is 500000 B, Kmax 400000 B"),
        ("PACKET_PAYLOAD_SIZE 1000", "PACKET_PAYLOAD_SIZE 0", "PACKET_PAYLOAD_SIZE is 0; expected bytes"),
        ("HAS_WIN 1", "HAS_WIN 2", "HAS_WIN is 2; expected a whole number from 0 to 1"),
        ("HAS_WIN 1", "CC_MODE 3", "CC_MODE is already in line 8; expected it once"),
        ("RP_TIMER 300", "RP_TIMER 300 1", "RP_TIMER has 2 words; expected one"),
    ],
)
def test_errors_name_the_line(before: str, after: str, message: str) -> None:
    with pytest.raises(InputError, match=r"config\.txt:\d+: ") as reported:
        read(NS3_CONFIG.replace(before, after))
    assert re.search(re.escape(message), str(reported.value)), str(reported.value)
