"""Packet trimming of SONiC as settings of a scenario, and back."""

from __future__ import annotations

import copy
import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from conftest import Command
from penstock.errors import InputError
from penstock.interchange.formats import format_of
from penstock.interchange.piece import Document, Piece

TRIMS: dict[str, Any] = {
    "PORT": {name: {"speed": "100000"} for name in ("Ethernet0", "Ethernet4", "Ethernet8")},
    "PORT_QOS_MAP": {"Ethernet0,Ethernet4,Ethernet8": {"dscp_to_tc_map": "AZURE", "tc_to_dscp_map": "trim"}},
    "DSCP_TO_TC_MAP": {"AZURE": {"0": "0", "10": "2", "26": "3", "48": "6"}},
    "TC_TO_DSCP_MAP": {"trim": {"5": "10"}},
    "TC_TO_QUEUE_MAP": {"AZURE": {str(number): str(number) for number in range(8)}},
    "BUFFER_POOL": {"egress_lossy_pool": {"type": "egress", "mode": "dynamic", "size": "12766208"}},
    "BUFFER_PROFILE": {
        "q_lossy_trim_profile": {
            "pool": "egress_lossy_pool",
            "size": "0",
            "dynamic_th": "3",
            "packet_discard_action": "trim",
        },
        "q_trimmed_profile": {
            "pool": "egress_lossy_pool",
            "size": "0",
            "dynamic_th": "-7",
            "packet_discard_action": "drop",
        },
    },
    "BUFFER_QUEUE": {
        "Ethernet0,Ethernet4,Ethernet8|0-3": {"profile": "q_lossy_trim_profile"},
        "Ethernet0,Ethernet4,Ethernet8|6": {"profile": "q_trimmed_profile"},
    },
    "SWITCH_TRIMMING": {"GLOBAL": {"size": "256", "dscp_value": "48", "queue_index": "6"}},
}
TRAFFIC = """
[simulation]
duration = "100 us"
[topology.star]
hosts = 3
rate = "100 Gb/s"
length = "10 m"
phy = "none"
[[flows]]
name = "f"
from = ["h0", "h1"]
to = "h2"
dscp = 26
frame = "1500 B"
source = "greedy"
"""


def read(tables: object) -> Piece:
    document = Document("config_db.json", json.dumps(tables, indent=1))
    return format_of(document, "sonic").read(document)


def trimming(**fields: str | None) -> dict[str, Any]:
    """The configuration with other fields of trimming; ``None``: without the field."""
    tables = copy.deepcopy(TRIMS)
    entry = tables["SWITCH_TRIMMING"]["GLOBAL"] | fields
    tables["SWITCH_TRIMMING"]["GLOBAL"] = {name: text for name, text in entry.items() if text is not None}
    return tables


def test_a_configuration_is_read_whole() -> None:
    piece = read(TRIMS)
    switch = piece.keys["switch"]
    assert switch["trimming"] == {"size": "256 B", "dscp": 48}
    profiles = switch["buffer"]["memory"]["profiles"]
    assert profiles["q_lossy_trim_profile"]["discard_action"] == "trim"
    assert "discard_action" not in profiles["q_trimmed_profile"]
    # The ledger has each field as imported.
    noted = "\n".join(str(note) for note in piece.notes)
    for field in ("packet_discard_action", "dscp_value", "queue_index"):
        assert field in noted
    assert not [line for line in piece.remarks if "not read" in line and "TRIMMING" in line]


@pytest.mark.parametrize(
    ("fields", "keys", "message"),
    [
        ({"size": None}, {"dscp": 48}, "assumed: no size: frames are trimmed to 128 B"),
        ({"dscp_value": None}, {"size": "256 B"}, "assumed: no dscp_value: trimmed frames have DSCP 48"),
        (
            {"dscp_value": "from-tc", "tc_value": "5"},
            {"size": "256 B", "dscp": 10},
            "traffic class 5 has DSCP 10",
        ),
        ({"tc_value": "5"}, {"size": "256 B", "dscp": 48}, "tc_value has no effect"),
        ({"queue_index": "9"}, {"size": "256 B", "dscp": 48}, "assumed: queue_index is 9"),
        ({"queue_index": "dynamic"}, {"size": "256 B", "dscp": 48}, ""),
    ],
)
def test_what_a_configuration_leaves_open_is_reported(
    fields: dict[str, str | None], keys: dict[str, Any], message: str
) -> None:
    piece = read(trimming(**fields))
    assert piece.keys["switch"]["trimming"] == keys
    about = [line for line in piece.remarks if "SWITCH_TRIMMING" in line]
    assert any(message in line for line in about) if message else not about


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"size": "32"}, "size is 32; expected a whole number from 64 to 4088"),
        ({"size": "4089"}, "from 64 to 4088"),
        ({"dscp_value": "64"}, "from 0 to 63"),
        ({"dscp_value": "high"}, "from 0 to 63"),
        ({"queue_index": "20"}, "from 0 to 19"),
        ({"dscp_value": "from-tc"}, "there is no tc_value; expected 0 to 15"),
        (
            {"dscp_value": "from-tc", "tc_value": "4"},
            "is not in the TC_TO_DSCP_MAP of the port; expected one of 5",
        ),
        (dict.fromkeys(("size", "dscp_value", "queue_index")), "expected at least one of size, dscp_value"),
    ],
)
def test_wrong_values_name_file_line_and_what_is_accepted(
    fields: dict[str, str | None], message: str
) -> None:
    with pytest.raises(InputError, match=r"config_db\.json:[0-9]+") as error:
        read(trimming(**fields))
    assert message in str(error.value)


def test_a_profile_of_a_priority_group_cannot_trim() -> None:
    tables = copy.deepcopy(TRIMS)
    tables["BUFFER_POOL"]["in"] = {"type": "ingress", "mode": "dynamic", "size": "1000000"}
    profile = tables["BUFFER_PROFILE"]["q_lossy_trim_profile"]
    tables["BUFFER_PROFILE"]["group"] = profile | {"pool": "in"}
    tables["BUFFER_PG"] = {"Ethernet0|0": {"profile": "group"}}
    with pytest.raises(InputError, match="expected it in profiles of BUFFER_QUEUE"):
        read(tables)
    profile["packet_discard_action"] = "shorten"
    with pytest.raises(InputError, match="expected drop, trim"):
        read(TRIMS | {"BUFFER_PROFILE": tables["BUFFER_PROFILE"]})


def test_half_of_a_configuration_is_reported() -> None:
    """Profiles that trim without a table, and a table without such profiles: nothing is trimmed."""
    tables = copy.deepcopy(TRIMS)
    del tables["SWITCH_TRIMMING"]
    piece = read(tables)
    assert "trimming" not in piece.keys["switch"]
    assert any("there is no SWITCH_TRIMMING: frames are dropped" in line for line in piece.remarks)
    tables = copy.deepcopy(TRIMS)
    del tables["BUFFER_PROFILE"]["q_lossy_trim_profile"]["packet_discard_action"]
    assert any("no frame is trimmed" in line for line in read(tables).remarks)


def test_what_is_imported_trims_and_is_exported_again(penstock: Command, tmp_path: Path) -> None:
    """Import over a scenario, a run in which frames are trimmed, and the tables of the export."""
    (tmp_path / "db.json").write_text(json.dumps(TRIMS), "utf-8")
    (tmp_path / "plain.toml").write_text(TRAFFIC, "utf-8")
    done = penstock("import", "db.json", "--like", "plain.toml", "--out", "trims.toml")
    assert done.returncode == 0, done.stderr
    scenario = tomllib.loads((tmp_path / "trims.toml").read_text("utf-8"))
    assert scenario["switch"]["trimming"] == {"size": "256 B", "dscp": 48}
    assert penstock("check", "trims.toml").returncode == 0
    out = penstock("export", "trims.toml", "--format", "sonic")
    assert out.returncode == 0, out.stderr
    tables = json.loads(out.stdout)
    assert tables["SWITCH_TRIMMING"] == {
        "GLOBAL": {"size": "256", "dscp_value": "48", "queue_index": "dynamic"}
    }
    profiles = tables["BUFFER_PROFILE"]
    assert profiles["q_lossy_trim_profile"]["packet_discard_action"] == "trim"
    assert "packet_discard_action" not in profiles["q_trimmed_profile"]
    again = read(tables)
    assert again.keys["switch"]["trimming"] == scenario["switch"]["trimming"]


def test_what_sonic_has_no_field_for_is_reported(penstock: Command, tmp_path: Path) -> None:
    text = TRAFFIC + '[switch.trimming]\npreset = "htsim"\nthreshold = "100 kB"\nqueues = [3]\n'
    (tmp_path / "x.toml").write_text(text, "utf-8")
    done = penstock("export", "x.toml", "--format", "sonic")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["SWITCH_TRIMMING"]["GLOBAL"]["size"] == "64"
    for output in ("threshold is left out", "preset is htsim", "the queues that trim are left out"):
        assert output in done.stderr
