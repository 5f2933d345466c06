"""Links of a SONiC fabric: port channels, aliases, LLDP tables and minigraphs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from penstock.errors import InputError
from penstock.interchange import lldp_table
from penstock.interchange.piece import Document
from sonic_folders import Tables, change, imported, leaf_spine, notes, pairs_of, switch, written

LLDP = (
    "Capability codes: (R) Router, (B) Bridge, (O) Other\n"
    "LocalPort    RemoteDevice    RemotePortID    Capability    RemotePortDescr\n"
    "-----------  --------------  --------------  ------------  -----------------\n"
)
END = "--------------------------------------------------\nTotal entries displayed:  9\n"


def lldp(*rows: tuple[str, str, str, str, str]) -> str:
    """Output of `show lldp table`."""
    widths = (11, 14, 14, 12, 0)
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]
    return LLDP + "\n".join(lines) + "\n" + END


def channels(members: dict[str, list[str]]) -> Tables:
    """The tables of port channels."""
    return {
        "PORTCHANNEL": {name: {"min_links": "1"} for name in members},
        "PORTCHANNEL_MEMBER": {f"{name}|{port}": {} for name, ports in members.items() for port in ports},
    }


def two_trunks() -> dict[str, Tables]:
    """Two leaves with a server each, and a port channel of three links between them."""
    speeds = dict.fromkeys(["Ethernet0", "Ethernet4", "Ethernet8", "Ethernet12"], 100_000)
    made = {}
    for n in range(2):
        neighbors = {"Ethernet0": (f"server{n}", "eth0"), "Ethernet4": (f"leaf{1 - n}", "Ethernet4")}
        made[f"leaf{n}"] = switch(f"leaf{n}", speeds, neighbors)
        made[f"leaf{n}"] |= channels({"PortChannel1": ["Ethernet4", "Ethernet8", "Ethernet12"]})
    return made


def test_members_of_a_port_channel_are_parallel_links(tmp_path: Path) -> None:
    keys, remarks = imported(written(tmp_path / "fabric", two_trunks()))
    assert pairs_of(keys) == sorted([["leaf0", "leaf1"]] * 3 + [["leaf0", "server0"], ["leaf1", "server1"]])
    assert any(
        "leaf0 PortChannel1: no neighbour at Ethernet8, Ethernet12: using leaf1" in line for line in remarks
    )


def test_a_port_channel_as_the_neighbour(tmp_path: Path) -> None:
    switches = two_trunks()
    switches["leaf0"]["DEVICE_NEIGHBOR"] = {"PortChannel1": {"name": "leaf1", "port": "PortChannel1"}}
    switches["leaf1"]["DEVICE_NEIGHBOR"] = {"Ethernet0": {"name": "server1", "port": "eth0"}}
    keys, _ = imported(written(tmp_path / "fabric", switches))
    assert pairs_of(keys).count(["leaf0", "leaf1"]) == 3


def test_a_host_at_a_port_channel_has_all_its_links(tmp_path: Path) -> None:
    switches = {"leaf": switch("leaf", dict.fromkeys(["Ethernet0", "Ethernet4", "Ethernet8"], 25_000), {})}
    switches["leaf"] |= channels({"PortChannel7": ["Ethernet0", "Ethernet4"]})
    keys, _ = imported(written(tmp_path / "fabric", switches))
    assert pairs_of(keys) == [["leaf", "leaf-Ethernet8"], *[["leaf", "leaf-PortChannel7"]] * 2]


def test_free_members_that_do_not_match_are_an_error(tmp_path: Path) -> None:
    switches = two_trunks()
    del switches["leaf1"]["PORTCHANNEL_MEMBER"]["PortChannel1|Ethernet12"]
    with pytest.raises(
        InputError, match=r"PortChannel1: no neighbour at .* has 1 free members .* expected 2"
    ):
        imported(written(tmp_path / "fabric", switches))


@pytest.mark.parametrize(
    ("member", "message"),
    [
        (
            "PortChannel1|Ethernet99",
            r"leaf0\.json:\d+: PORTCHANNEL_MEMBER\|.*no port Ethernet99; did you mean",
        ),
        ("PortChannel2|Ethernet4", "Ethernet4 is also a member of PortChannel1"),
        ("PortChannel1", r"there is no port \(none\)"),
    ],
)
def test_wrong_members_are_named(member: str, message: str, tmp_path: Path) -> None:
    switches = two_trunks()
    switches["leaf0"]["PORTCHANNEL_MEMBER"][member] = {}
    with pytest.raises(InputError, match=message):
        imported(written(tmp_path / "fabric", switches))


def test_members_of_different_speed_are_an_error(tmp_path: Path) -> None:
    switches = two_trunks()
    switches["leaf0"]["PORT"]["Ethernet12"]["speed"] = "40000"
    with pytest.raises(InputError, match="PortChannel1 has members of 40000 Mb/s and 100000 Mb/s"):
        imported(written(tmp_path / "fabric", switches))


def test_an_alias_that_is_the_name_of_another_port(tmp_path: Path) -> None:
    # Some platforms count aliases by port and names by lane: "Ethernet4" may be either.
    switches = leaf_spine()
    ports = switches["spine0"]["PORT"]
    ports["Ethernet0"]["alias"], ports["Ethernet4"]["alias"] = "Ethernet4", "Ethernet8"
    directory = written(tmp_path / "fabric", switches)
    for n, alias in enumerate(("Ethernet4", "Ethernet8")):
        row = ("Ethernet4", "spine0", alias, "BR", f"Ethernet{4 * n}")
        (directory / f"leaf{n}.lldp").write_text(lldp(row), "utf-8")
    assert {"leaf0 Ethernet4 to spine0 Ethernet0", "leaf1 Ethernet4 to spine0 Ethernet4"} <= notes(directory)


def test_lldp_of_a_real_switch(tmp_path: Path) -> None:
    """Management ports, several devices on a port, a NIC with a MAC, an FQDN, and a device without a name."""
    switches = leaf_spine()
    directory = written(tmp_path / "fabric", switches)
    (directory / "leaf0.lldp").write_text(
        lldp(
            ("Ethernet0", "server0", "0c:42:a1:88:0a:1c", "O", "Interface   8 as enp5s0f0"),
            ("Ethernet0", "server0-dpu", "0c:42:a1:88:0a:1d", "R", "p0"),
            ("Ethernet4", "SPINE0.dc1.example.com", "etp0", "BR", "Ethernet0"),
            ("eth0", "mgmt1", "12", "BR", ""),
            ("eth0", "mgmt2", "3", "BR", ""),
        ),
        "utf-8",
    )
    keys, remarks = imported(directory)
    assert ["leaf0", "server0"] in pairs_of(keys) and ["leaf0", "spine0"] in pairs_of(keys)
    assert "leaf0 Ethernet0: LLDP has server0 and server0-dpu: server0 applies" in remarks
    (directory / "leaf0.lldp").write_text(lldp(("Ethernet4", "spine1", "etp0", "BR", "Ethernet0")), "utf-8")
    switches["spine0"]["DEVICE_NEIGHBOR"].pop("Ethernet0")
    keys, remarks = imported(written(directory, switches))
    assert ["leaf0", "spine1"] in pairs_of(keys)
    assert keys["topology"]["explicit"]["switches"] == ["leaf0..leaf1", "spine0..spine1"]
    assert any(
        "LLDP has spine1, DEVICE_NEIGHBOR has spine0: LLDP takes precedence; check" in line
        for line in remarks
    )


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([("Ethernet9", "spine0", "etp0", "BR", "")], r"leaf0\.lldp:4: there is no port Ethernet9; did you"),
        ([("Ethernet4", "spine0", "etp9", "BR", "x")], "leaf0 Ethernet4 leads to spine0|port etp9 of spine0"),
        (
            [("Ethernet0", f"h{n}", "eth0", "O", "") for n in range(2)],
            r"leaf0\.lldp:5: .*neighbours, h0 and h1",
        ),
        ([("Ethernet0", "a*b", "eth0", "O", "")], r'leaf0\.lldp:4: the name "a\*b" is not valid'),
    ],
)
def test_rows_that_do_not_fit_are_named(
    rows: list[tuple[str, str, str, str, str]], message: str, tmp_path: Path
) -> None:
    switches = leaf_spine()
    switches["leaf0"]["DEVICE_NEIGHBOR"] = {}
    switches["spine0"]["DEVICE_NEIGHBOR"].pop("Ethernet0")
    directory = written(tmp_path / "fabric", switches)
    (directory / "leaf0.lldp").write_text(lldp(*rows), "utf-8")
    with pytest.raises(InputError, match=message):
        imported(directory)


@pytest.mark.parametrize("width", [40, 60, 72, 79, 200])
@pytest.mark.parametrize("stripped", [False, True])
def test_wrapped_lines_are_joined(width: int, stripped: bool) -> None:
    table = (
        "LocalPort    RemoteDevice    RemotePortID       Capability    RemotePortDescr\n"
        "-----------  --------------  -----------------  ------------  ------------------------------\n"
        "Ethernet0    server0         0c:42:a1:88:0a:1c  R             Interface   8 as enp5s0f0 of it\n"
        "Ethernet4                    etp1               BR\n"
        "Ethernet104  spine0          etp0a              BR            Ethernet0\n"
    )
    pieces = []
    for line in (table + END).splitlines():
        parts = [line[at : at + width] for at in range(0, len(line), width)]
        pieces += [part.rstrip() if stripped else part for part in parts]
    found = lldp_table.rows(Document("t", "\n".join(piece for piece in pieces if piece.strip())))
    assert [row[1:4] for row in found] == [
        ("Ethernet0", "server0", "0c:42:a1:88:0a:1c"),
        ("Ethernet4", "", "etp1"),
        ("Ethernet104", "spine0", "etp0a"),
    ]
    assert [row.capability for row in found] == ["R", "BR", "BR"]


def test_cells_of_several_lines_belong_to_their_row() -> None:
    text = LLDP + "Ethernet0    server0         eth0            O             a long\n"
    text += " " * 59 + "description\nEthernet4    spine0          etp0            BR            x\n" + END
    assert [row.local_port for row in lldp_table.rows(Document("t", text))] == ["Ethernet0", "Ethernet4"]


def test_ports_that_are_down_have_no_link(tmp_path: Path) -> None:
    switches = leaf_spine()
    switches["spine0"]["PORT"]["Ethernet4"]["admin_status"] = "down"
    keys, remarks = imported(written(tmp_path / "fabric", switches))
    assert ["leaf1", "spine0"] not in pairs_of(keys)
    assert "left out: links of ports that are down (spine0 Ethernet4)" in remarks


def test_an_entry_named_after_the_neighbour(tmp_path: Path) -> None:
    switches = leaf_spine()
    switches["leaf0"]["DEVICE_NEIGHBOR"] = {
        "spine0": {"local_port": "etp4", "port": "Ethernet0", "type": "SpineRouter"},
        "server0": {"local_port": "Ethernet0", "port": "eth0"},
    }
    assert ["leaf0", "spine0"] in pairs_of(imported(written(tmp_path / "fabric", switches))[0])


@pytest.mark.parametrize(
    ("where", "value", "message"),
    [
        (
            "leaf0|DEVICE_NEIGHBOR|Ethernet4",
            {"name": "leaf0", "port": "Ethernet0"},
            "leads to its own switch",
        ),
        ("leaf0|DEVICE_NEIGHBOR|Ethernet0", {"name": "spine0", "port": "Ethernet0"}, "to name each other"),
        ("leaf0|DEVICE_NEIGHBOR|Ethernet0", {"port": "eth0"}, "has no name; expected name and port"),
        (
            "leaf0|CABLE_LENGTH|AZURE",
            {"Ethernet4": "5 feet"},
            'is 5 feet; expected whole metres, such as "40m"',
        ),
        ("leaf0|PORT|Ethernet4", "100G", r"leaf0\.json:\d+: PORT\|Ethernet4: is 100G; expected fields"),
    ],
)
def test_contradictions_are_named(where: str, value: Any, message: str, tmp_path: Path) -> None:
    switches = leaf_spine()
    change(switches, where, value)
    with pytest.raises(InputError, match=message):
        imported(written(tmp_path / "fabric", switches))


def minigraph(name: str, links: list[tuple[str, str, str, str]], more: str = "") -> str:
    """A minigraph with the links and types of a small fabric; the names of its namespaces have no effect."""
    entries = "".join(
        f'<DeviceLinkBase i:type="DeviceInterfaceLink"><ElementType>DeviceInterfaceLink</ElementType>'
        f"<Bandwidth>100000</Bandwidth><EndDevice>{far}</EndDevice><EndPort>{at}</EndPort>"
        f"<StartDevice>{near}</StartDevice><StartPort>{port}</StartPort></DeviceLinkBase>\n"
        for near, port, far, at in links
    )
    return f"""<DeviceMiniGraph xmlns="Microsoft.Search.Autopilot.Evolution"
 xmlns:i="urn:instance">
<CpgDec><PeeringSessions><BGPSession><StartRouter>x</StartRouter></BGPSession></PeeringSessions></CpgDec>
<PngDec><DeviceInterfaceLinks>
<DeviceLinkBase i:type="DeviceMgmtLink"><ElementType>DeviceMgmtLink</ElementType>
<EndDevice>{name}</EndDevice><EndPort>Management0</EndPort><StartDevice>m</StartDevice>
<StartPort>1</StartPort></DeviceLinkBase>
{entries}{more}</DeviceInterfaceLinks>
<Devices><Device i:type="SpineRouter"><Hostname>spine0</Hostname></Device>
<Device i:type="Server"><Hostname>server0</Hostname></Device></Devices></PngDec>
<DpgDec><DeviceDataPlaneInfo><Hostname>{name}</Hostname><PortChannelInterfaces><PortChannel>
<Name>PortChannel1</Name><AttachTo>etp4;etp8</AttachTo></PortChannel></PortChannelInterfaces>
</DeviceDataPlaneInfo></DpgDec>
<Hostname>{name}</Hostname></DeviceMiniGraph>
"""


def test_links_of_a_minigraph(tmp_path: Path) -> None:
    """Aliases of both ends, ends in either order, the case of the hostname, and a port channel."""
    speeds = dict.fromkeys(["Ethernet0", "Ethernet4", "Ethernet8"], 100_000)
    directory = written(tmp_path / "fabric", {"leaf0": switch("leaf0", speeds, {})})
    links = [("server0", "eth0", "LEAF0", "etp0"), ("leaf0", "etp4", "spine0", "Ethernet1/1")]
    (directory / "leaf0.xml").write_text(minigraph("leaf0", links), "utf-8")
    keys, remarks = imported(directory)
    assert pairs_of(keys) == [["leaf0", "server0"], ["leaf0", "spine0"], ["leaf0", "spine0"]]
    assert keys["topology"]["explicit"]["switches"] == ["leaf0", "spine0"]
    assert "leaf0 PortChannel1: no neighbour at Ethernet8: using spine0, as for its other members" in remarks


def test_minigraphs_without_a_configuration(tmp_path: Path) -> None:
    directory = tmp_path / "fabric"
    links = [("leaf0", "etp0", "server0", "eth0"), *(("leaf0", f"etp{n}", "spine0", f"p{n}") for n in (4, 8))]
    for name in ("leaf0", "spine0"):
        (directory / name).mkdir(parents=True)
        own = links if name == "leaf0" else links[1:]
        text = minigraph(name, own)
        text = text if name == "leaf0" else text.replace("etp4;etp8</Att", "p4;p8</Att")
        (directory / name / "minigraph.xml").write_text(text, "utf-8")
    keys, remarks = imported(directory)
    assert pairs_of(keys) == [["leaf0", "server0"], *[["leaf0", "spine0"]] * 2]
    assert {link["rate"] for link in keys["topology"]["explicit"]["links"]} == {"100 Gb/s"}
    assert any("leaf0: has no CONFIG_DB here" in line for line in remarks)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("<StartPort>etp4</StartPort>", "", r"leaf0\.xml:\d+: a link without StartPort; expected both ends"),
        (
            "<Bandwidth>100000<",
            "<Bandwidth>100G<",
            r"leaf0\.xml:\d+: Bandwidth is 100G; expected a whole number",
        ),
        ("etp4</StartPort>", "etp5</StartPort>", r"leaf0\.xml:\d+: there is no port etp5; did you mean"),
        ("</PngDec>", "", r"leaf0\.xml:\d+: not valid XML: mismatched tag"),
        (
            "<Hostname>leaf0</Hostname></DeviceMiniGraph>",
            "</DeviceMiniGraph>",
            "has no Hostname in DeviceMini",
        ),
        (
            "<Hostname>leaf0</Hostname></DeviceMini",
            "<Hostname>leaf9</Hostname></DeviceMini",
            "describes leaf9",
        ),
        ("AttachTo>etp4;", "AttachTo>etp44;", r"leaf0\.xml: PortChannel1: there is no port etp44; did you"),
    ],
)
def test_wrong_minigraphs_are_named(old: str, new: str, message: str, tmp_path: Path) -> None:
    speeds = dict.fromkeys(["Ethernet0", "Ethernet4", "Ethernet8"], 100_000)
    directory = written(tmp_path / "fabric", {"leaf0": switch("leaf0", speeds, {})})
    text = minigraph("leaf0", [("leaf0", "etp4", "spine0", "Ethernet1/1")])
    assert old in text
    (directory / "leaf0.xml").write_text(text.replace(old, new), "utf-8")
    with pytest.raises(InputError, match=message):
        imported(directory)


def test_several_configurations_in_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "fabric" / "leaf0"
    folder.mkdir(parents=True)
    for name in ("config_db.json", "config_db0.json"):
        (folder / name).write_text(json.dumps(leaf_spine()["leaf0"]), "utf-8")
    with pytest.raises(
        InputError, match=r"several configurations \(config_db0\.json\); expected config_db\.json"
    ):
        imported(tmp_path / "fabric")


def test_sixty_four_switches(tmp_path: Path) -> None:
    """48 leaves and 16 spines with two links from each leaf to each spine, described by the leaves alone."""
    leaves, spines = 48, 16
    switches = {}
    for leaf in range(leaves):
        names = [f"Ethernet{4 * n}" for n in range(2 * spines)]
        far = {port: (f"spine{n // 2}", f"Ethernet{4 * (2 * leaf + n % 2)}") for n, port in enumerate(names)}
        speeds = dict.fromkeys([*names, "Ethernet512"], 400_000)
        switches[f"leaf{leaf}"] = switch(f"leaf{leaf}", speeds, far)
    for spine in range(spines):
        speeds = dict.fromkeys([f"Ethernet{4 * n}" for n in range(2 * leaves)], 400_000)
        switches[f"spine{spine}"] = switch(f"spine{spine}", speeds, {}, cable=40)
    keys, remarks = imported(written(tmp_path / "fabric", switches))
    found = pairs_of(keys)
    assert len(found) == leaves * (2 * spines + 1) and found.count(["leaf17", "spine5"]) == 2
    assert len([line for line in remarks if "cable lengths differ" in line]) == 1
