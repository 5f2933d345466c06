"""Ports of a CONFIG_DB that differ by speed, cable and profile, on links of a fabric."""

from __future__ import annotations

import copy
import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from conftest import Command
from penstock.interchange.formats import format_of
from penstock.interchange.piece import Document, Piece

UPLINKS = ("Ethernet8", "Ethernet16")
"""400 Gb/s over 40 m; all other ports have 100 Gb/s over 5 m."""


def switch(*, uplink_xoff: int = 60_000) -> dict[str, Any]:
    """A leaf with two downlinks and two uplinks."""

    def profile(xoff: int) -> dict[str, str]:
        own = {"pool": "ingress_lossless_pool", "size": "1248", "xoff": str(xoff), "dynamic_th": "0"}
        return own | {"xon": "2288", "xon_offset": "2288"}

    ports = {f"Ethernet{one}": (100_000, "5m", 100) for one in (0, 4)}
    ports |= dict.fromkeys(UPLINKS, (400000, "40m", 400))
    names = {100: "pg_lossless_100000_5m_profile", 400: "pg_lossless_400000_40m_profile"}
    return {
        "DEVICE_METADATA": {"localhost": {"hostname": "leaf7"}},
        "PORT": {name: {"speed": str(speed), "mtu": "9100"} for name, (speed, _, _) in ports.items()},
        "CABLE_LENGTH": {"AZURE": {name: cable for name, (_, cable, _) in ports.items()}},
        "BUFFER_POOL": {
            "ingress_lossless_pool": {
                "type": "ingress",
                "mode": "dynamic",
                "size": "33554432",
                "xoff": "8388608",
            },
            "egress_lossless_pool": {"type": "egress", "mode": "static", "size": "67108864"},
        },
        "BUFFER_PROFILE": {
            names[100]: profile(80_000),
            names[400]: profile(uplink_xoff),
            "egress_lossless_profile": {
                "pool": "egress_lossless_pool",
                "size": "0",
                "static_th": "67108864",
            },
        },
        "BUFFER_PG": {f"{name}|3": {"profile": names[kind]} for name, (_, _, kind) in ports.items()},
        "BUFFER_QUEUE": {f"{name}|3": {"profile": "egress_lossless_profile"} for name in ports},
        "PORT_QOS_MAP": {name: {"pfc_enable": "3"} for name in ports},
    }


LEAF_SPINE = """
[simulation]
duration = "1 ms"
[topology.leaf_spine]
leaves = 2
spines = 2
hosts_per_leaf = 8
rate = "100 Gb/s"
uplink_rate = "400 Gb/s"
length = "40 m"
phy = "none"
[[transfers]]
name = "incast"
from = "h8..h15"
to = "h0"
sizes = "500 kB"
arrivals = "once"
priority = 3
frame = "4200 B"
over = { rdma = { control = "none" } }
"""


def read(tables: object) -> Piece:
    document = Document("config_db.json", json.dumps(tables, indent=1))
    return format_of(document).read(document)


def attachments(piece: Piece, what: str) -> list[tuple[str, str | None, str | None]]:
    attach = piece.keys["switch"]["buffer"]["memory"]["attach"]
    return [(one["profile"], one.get("rate"), one.get("length")) for one in attach if what in one]


def imported(tables: object, like: str | None, penstock: Command, folder: Path) -> dict[str, Any]:
    (folder / "config_db.json").write_text(json.dumps(tables, indent=1))
    if like is not None:
        (folder / "like.toml").write_text(like)
    more = ["--like", "like.toml"] if like is not None else []
    done = penstock("import", "config_db.json", *more, "--out", "s.toml")
    assert done.returncode == 0, done.stderr
    return tomllib.loads((folder / "s.toml").read_text())


def test_a_profile_for_each_speed_and_cable() -> None:
    piece = read(switch())
    assert attachments(piece, "groups") == [
        ("pg_lossless_100000_5m_profile", "100 Gb/s", "5 m"),
        ("pg_lossless_400000_40m_profile", "400 Gb/s", "40 m"),
    ]
    assert attachments(piece, "queues") == [("egress_lossless_profile", None, None)]
    assert {str(one): one.ports for one in piece.links} == {
        "100 Gb/s and 5 m": ("Ethernet0", "Ethernet4"),
        "400 Gb/s and 40 m": UPLINKS,
    }
    # Everything that CONFIG_DB has is used, but for the tables that no scenario has.
    assert not [one for one in piece.remarks if "not read" in one or "set up otherwise" in one]


def test_shorter_cables_come_first() -> None:
    tables = switch()
    tables["CABLE_LENGTH"]["AZURE"] |= {"Ethernet8": "300m", "Ethernet16": "40m"}
    tables["PORT"] |= {"Ethernet0": {"speed": "400000", "mtu": "9100"}}
    own = tables["BUFFER_PROFILE"]["pg_lossless_400000_40m_profile"]
    tables["BUFFER_PROFILE"]["far"] = own | {"xoff": "300000"}
    tables["BUFFER_PG"]["Ethernet8|3"] = {"profile": "far"}
    assert attachments(read(tables), "groups") == [
        ("pg_lossless_100000_5m_profile", "100 Gb/s", "5 m"),
        ("pg_lossless_100000_5m_profile", "400 Gb/s", "5 m"),
        ("pg_lossless_400000_40m_profile", "400 Gb/s", "40 m"),
        ("far", "400 Gb/s", "300 m"),
    ]


def test_ports_that_differ_within_a_class_are_reported() -> None:
    tables = switch()
    tables["BUFFER_PROFILE"]["other"] = tables["BUFFER_PROFILE"]["pg_lossless_400000_40m_profile"] | {
        "xoff": "1"
    }
    tables["PORT"]["Ethernet24"] = {"speed": "400000", "mtu": "9100"}
    tables["CABLE_LENGTH"]["AZURE"]["Ethernet24"] = "40m"
    tables["PORT_QOS_MAP"]["Ethernet24"] = {"pfc_enable": "3"}
    tables["BUFFER_PG"]["Ethernet24|3"] = {"profile": "other"}
    tables["BUFFER_QUEUE"]["Ethernet24|3"] = {"profile": "egress_lossless_profile"}
    piece = read(tables)
    assert len(attachments(piece, "groups")) == 2
    entries = [one for one in piece.remarks if "differ from" in one]
    assert len(entries) == 1 and "Ethernet24 differ from Ethernet8 (profiles of groups)" in entries[0]


def test_one_port_can_be_named() -> None:
    document = Document("config_db.json", json.dumps(switch()), interface="Ethernet8")
    piece = format_of(document).read(document)
    assert attachments(piece, "groups") == [("pg_lossless_400000_40m_profile", None, None)]
    assert piece.links == [("400 Gb/s", "40 m", ("Ethernet8",))]


@pytest.mark.parametrize(("xoff", "lost"), [(60_000, True), (120_000, False)])
def test_uplinks_have_their_own_headroom(xoff: int, lost: bool, penstock: Command, tmp_path: Path) -> None:
    """The uplinks of the leaves need 90,529 bytes of headroom each."""
    keys = imported(switch(uplink_xoff=xoff), LEAF_SPINE, penstock, tmp_path)
    tree = keys["topology"]["leaf_spine"]
    assert (tree["length"], tree["uplink_length"]) == ("5 m", "40 m")
    done = penstock("check", "s.toml")
    assert ("less than the 90529 B that the link" in done.stdout + done.stderr) == lost
    assert ('profile "pg_lossless_400000_40m_profile" is less' in done.stdout + done.stderr) == lost


def test_links_that_no_port_has_get_the_profiles_of_most(penstock: Command, tmp_path: Path) -> None:
    tables = switch()
    names = [name for name in tables["PORT"] if name not in UPLINKS]
    like = LEAF_SPINE.replace('length = "40 m"', 'delay = "1 us"')
    keys = imported(tables, like, penstock, tmp_path)
    attach = keys["switch"]["buffer"]["memory"]["attach"]
    assert attach[-1] == {"profile": "pg_lossless_100000_5m_profile", "groups": [3]}, names
    assert "no port has links of 100 Gb/s and 200 m" in (tmp_path / "s.toml").read_text()
    assert penstock("check", "s.toml").returncode in (0, 1)


def test_a_configuration_alone_is_a_star_of_its_ports(penstock: Command, tmp_path: Path) -> None:
    tables = copy.deepcopy(switch(uplink_xoff=200_000))
    tables["PORT"]["Ethernet4"]["admin_status"] = "down"
    keys = imported(tables, None, penstock, tmp_path)
    fabric = keys["topology"]["explicit"]
    assert fabric["switches"] == ["leaf7"]
    assert fabric["hosts"] == ["Ethernet0", *UPLINKS]
    assert {(one["rate"], one["length"]) for one in fabric["links"]} == {
        ("100 Gb/s", "5 m"),
        ("400 Gb/s", "40 m"),
    }
    # Links have a PHY, and their cables are those of the ports: no profile is attached a second time.
    effective = tomllib.loads(penstock("check", "s.toml", "--effective").stdout)
    phys = {link["phy"] for link in effective["topology"]["explicit"]["links"]}
    assert phys == {"100GBASE-R RS-FEC", "400GBASE-R"}
    groups = [one for one in keys["switch"]["buffer"]["memory"]["attach"] if "groups" in one]
    assert [one["length"] for one in groups] == ["5 m", "40 m"]
    assert "no port is for links" not in (tmp_path / "s.toml").read_text()
    with (tmp_path / "s.toml").open("a") as file:
        file.write(
            '[[flows]]\nname = "f"\nfrom = "Ethernet8"\nto = "Ethernet0"\npriority = 3\nsource = "greedy"\n'
        )
    done = penstock("run", "s.toml")
    assert done.returncode == 0, done.stderr
    assert "->Ethernet0" in done.stdout
