"""CONFIG_DB of SONiC in and out: what is known comes back as it was, and what is not is told once."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock import _core, running
from penstock.cli.export import read
from penstock.interchange import sonic, sonic_config
from penstock.interchange.join import join
from penstock.interchange.piece import Document
from penstock.library import Source
from penstock.validation.bench import flow_text, star

LIKE = (
    '[simulation]\nduration = "1 s"\non_lossless_drop = "count"\n'
    + star(3, rate="100 Gb/s", length="5 m")
    + flow_text("both", "h0..h1", "h2", "priority = 3", 'source = "greedy"')
)
COLORED = "".join(
    f'[[flows]]\nname = "{color}"\nfrom = "h0"\nto = "h1"\ncolor = "{color}"\nsource = "greedy"\n'
    for color in ("yellow", "red")
)
SWITCH: Literal["switch"] = "switch"


def imported(tables: Mapping[str, Any], like: str = LIKE + COLORED) -> tuple[str, list[str]]:
    document = Document("db.json", json.dumps(tables, indent=1))
    made = join([(document, sonic_config.read(document))], Path("out.toml"), like=Source(like, "like.toml"))
    return made.text, made.remarks


def checked(text: str) -> str:
    """The effective scenario."""
    with running.engine_errors():
        return str(_core.check(text, "out.toml"))


def exported(text: str) -> dict[str, Any]:
    effective = tomllib.loads(checked(text))
    settings = read(effective, SWITCH, has_weights=True)
    (topology,) = effective["topology"].values()
    port = sonic.Port("Ethernet0", topology["rate"], topology["length"], settings, headroom_bytes=0)
    return sonic.config_db(effective, port)[0]


SIZES = st.integers(0, 500_000)


def number_of(draw: st.DrawFn, value: int) -> str:
    """A number as templates write it."""
    return draw(st.sampled_from([str(value), f" {value}", f"{value} "]))


def wred(draw: st.DrawFn) -> dict[str, str]:
    """A profile of green frames, or of all colors."""
    found = {"ecn": draw(st.sampled_from(["ecn_all", "ecn_green", "ecn_green_yellow", "ecn_green_red"]))}
    colors = ("green", "yellow", "red")[: draw(st.sampled_from([1, 3]))]
    for color in colors:
        least = draw(st.integers(1_000, 10**6))
        # Of the others, what is neither dropped nor marked is told.
        drops = draw(st.booleans()) or (color not in found["ecn"] and found["ecn"] != "ecn_all")
        found |= {
            f"wred_{color}_enable": str(drops).lower(),
            f"{color}_min_threshold": number_of(draw, least),
            f"{color}_max_threshold": number_of(draw, least + draw(st.integers(1, 10**6))),
            f"{color}_drop_probability": number_of(draw, draw(st.integers(1, 100))),
        }
    return found if len(colors) == 3 else found | {"ecn": "ecn_all"}


def maps(draw: st.DrawFn, tables: dict[str, Any], lossless: list[int]) -> dict[str, str]:
    """Maps of DSCP and of PFC, which go into the tables; their names."""
    found = {}
    if draw(st.booleans()):
        named = draw(st.sampled_from([range(64), range(0, 64, 5), [26, 48]]))
        found["dscp_to_tc_map"] = "AZURE"
        tables["DSCP_TO_TC_MAP"] = {
            "AZURE": {str(dscp): number_of(draw, draw(st.integers(0, 7))) for dscp in named}
        }
        if draw(st.booleans()):
            found["tc_to_dscp_map"] = "TUNNEL"
            new = draw(st.dictionaries(st.integers(0, 7), st.integers(0, 63), min_size=1))
            tables["TC_TO_DSCP_MAP"] = {"TUNNEL": {str(one): str(dscp) for one, dscp in new.items()}}
    if draw(st.booleans()):
        found["pfc_to_queue_map"] = "AZURE"
        tables["MAP_PFC_PRIORITY_TO_QUEUE"] = {
            "AZURE": {str(one): str(one if one in lossless else draw(st.integers(0, 7))) for one in range(8)}
        }
    return found


@st.composite
def configurations(draw: st.DrawFn) -> dict[str, Any]:
    """A port with every supported setting; numbers as in templates, some with blanks."""

    def number(value: int) -> str:
        return number_of(draw, value)

    lossless = draw(st.lists(st.integers(0, 7), min_size=1, max_size=3, unique=True))
    shared, dynamic = draw(st.booleans()), draw(st.booleans())
    xon, xoff = draw(st.integers(1_000, 20_000)), draw(st.integers(1_000, 200_000))
    pool = {"type": "ingress", "size": number(draw(st.integers(4 << 20, 200 << 20)))}
    profile: dict[str, Any] = {"pool": "ingress_lossless_pool", "xon": number(xon), "xoff": number(xoff)}
    if dynamic:
        pool["mode"] = "dynamic"
        profile["dynamic_th"] = number(draw(st.integers(-3, 7)))
        size = draw(st.sampled_from([xon, draw(SIZES) // 100])) if shared else xon + xoff
        profile["size"] = number(size)
        if shared:
            pool["xoff"] = number(draw(st.integers(1 << 20, 8 << 20)))
        if draw(st.booleans()):
            profile["xon_offset"] = number(draw(st.integers(0, 20_000)))
    else:
        pool["mode"] = "static"
        profile |= {"static_th": number(xon + draw(st.integers(1, 500_000))), "size": number(xon + xoff)}
    tables: dict[str, Any] = {
        "PORT": {"Ethernet0": {"speed": "100000", "mtu": str(draw(st.integers(1_500, 9_216)))}},
        "CABLE_LENGTH": {"AZURE": {"Ethernet0": draw(st.sampled_from(["5m", "40m", "300m"]))}},
        "PORT_QOS_MAP": {"Ethernet0": {"pfc_enable": ",".join(map(str, sorted(lossless)))}},
        "BUFFER_POOL": {"ingress_lossless_pool": pool},
        "BUFFER_PROFILE": {"pg": profile},
        "BUFFER_PG": {f"Ethernet0|{one}": {"profile": "pg"} for one in lossless},
        "PFC_WD": {"Ethernet0": {"action": "alert", "detection_time": "200", "restoration_time": "400"}},
    }
    weights = draw(st.lists(st.integers(1, 100), min_size=8, max_size=8))
    strict = draw(st.sets(st.integers(0, 7), max_size=7))
    tables["SCHEDULER"] = {
        f"s{one}": {"type": "STRICT"} if one in strict else {"type": "DWRR", "weight": number(weights[one])}
        for one in range(8)
    }
    tables["QUEUE"] = {f"Ethernet0|{one}": {"scheduler": f"s{one}"} for one in range(8)}
    tables["WRED_PROFILE"] = {"wred": wred(draw)}
    tables["PORT_QOS_MAP"]["Ethernet0"] |= maps(draw, tables, lossless)
    for one in draw(st.lists(st.integers(0, 7), max_size=3, unique=True)):
        tables["QUEUE"][f"Ethernet0|{one}"]["wred_profile"] = "wred"
    return tables


def values(tables: Mapping[str, Any], table: str, field: str) -> set[str]:
    return {str(entry[field]).strip() for entry in tables.get(table, {}).values() if field in entry}


@given(configurations())
@settings(max_examples=40, deadline=None)
def test_import_export_import_gives_the_same_document(tables: dict[str, Any]) -> None:
    first, reported = imported(tables)
    back = exported(first)
    again, _ = imported(back)
    assert checked(again) == checked(first)
    for table, names in {
        "BUFFER_POOL": ("size", "xoff", "mode", "type"),
        "BUFFER_PROFILE": ("xon", "xoff", "xon_offset", "size", "dynamic_th", "static_th"),
        "PORT": ("speed", "mtu"),
        "CABLE_LENGTH": ("Ethernet0",),
        "PORT_QOS_MAP": ("pfc_enable",),
        "PFC_WD": ("action", "detection_time", "restoration_time"),
    }.items():
        for name in names:
            assert values(back, table, name) == values(tables, table, name), (table, name)
    used = {
        "WRED_PROFILE": {
            entry["wred_profile"] for entry in tables["QUEUE"].values() if "wred_profile" in entry
        }
    }
    if used["WRED_PROFILE"]:
        for name, value in tables["WRED_PROFILE"]["wred"].items():
            assert values(back, "WRED_PROFILE", name) == {str(value).strip()}, name
    named = tables.get("DSCP_TO_TC_MAP", {}).get("AZURE", {})
    assert back.get("DSCP_TO_TC_MAP", {}).get("PENSTOCK", {}) == {
        dscp: one.strip() for dscp, one in named.items()
    }
    if stops := tables.get("MAP_PFC_PRIORITY_TO_QUEUE"):
        assert back["MAP_PFC_PRIORITY_TO_QUEUE"]["PENSTOCK"] == stops["AZURE"]
    rounded = any("as whole per cent" in line for line in reported)
    if not rounded:
        scheduled = [tables["SCHEDULER"][f"s{one}"] for one in range(8)]
        requested = [int(str(one["weight"])) for one in scheduled if "weight" in one]
        given_back = [int(back["SCHEDULER"][f"scheduler.{one}"].get("weight", 0)) for one in range(8)]
        assert [weight * sum(requested) for weight in given_back if weight] == [
            weight * sum(filter(None, given_back)) for weight in requested
        ]


def test_wred_of_colors_that_no_flow_has_is_left_out_and_reported_once() -> None:
    """Every check would warn of it. What only marks yellow frames needs no `mark_above_max` without them."""
    thresholds = {"min_threshold": "250000", "max_threshold": "3000000", "drop_probability": "5"}
    profile = {
        f"{color}_{key}": value for color in ("green", "yellow", "red") for key, value in thresholds.items()
    }
    profile |= {"yellow_min_threshold": "1", "red_min_threshold": "2", "ecn": "ecn_yellow"}
    tables = {
        "PORT_QOS_MAP": {"Ethernet0": {"pfc_enable": "4"}},
        "QUEUE": {"Ethernet0|3": {"wred_profile": "W"}},
        "WRED_PROFILE": {
            "W": profile | {f"wred_{color}_enable": "true" for color in ("green", "yellow", "red")}
        },
    }
    for like, has in ((LIKE, set()), (LIKE + COLORED, {"yellow", "red", "mark_above_max"})):
        text, reported = imported(tables, like)
        [manager] = tomllib.loads(text)["switch"]["queue_managers"]
        assert {"yellow", "red", "mark_above_max"} & manager["red"].keys() == has
        lines = [line for line in reported if "WRED of yellow and red frames is left out" in line]
        assert len(lines) == (not has)
        assert not any("changes nothing" in line for line in _core.warnings(text, "out.toml"))


def nvidia(hosts: int) -> tuple[str, str]:
    """The profile of an NVIDIA switch, which resumes at XON alone, over a star of so many hosts."""
    tables = {
        "PORT_QOS_MAP": {"Ethernet0": {"pfc_enable": "3,4"}},
        "BUFFER_POOL": {
            "ingress_lossless_pool": {
                "type": "ingress",
                "mode": "dynamic",
                "size": "9047040",
                "xoff": "851968",
            }
        },
        "BUFFER_PROFILE": {
            "pg": {
                "pool": "ingress_lossless_pool",
                "xon": "19456",
                "xoff": "47104",
                "size": "19456",
                "dynamic_th": "0",
            }
        },
        "BUFFER_PG": {"Ethernet0|3-4": {"profile": "pg"}},
    }
    text, _ = imported(tables, LIKE.replace("hosts = 3", f"hosts = {hosts}").replace("1 s", "3 ms"))
    return text, "9047040"


def test_a_paused_group_resumes_at_its_xon_however_many_ports_there_are() -> None:
    """Two groups share with alpha 1: each is paused at a third of the pool above its reserve, and drains to
    XON at half of the rate of the link. By hand, the size of the pool being what is shared: 9047040 / 3 /
    (50 Gb/s) = 482.5 us."""
    for hosts in (3, 32):
        text, pool = nvidia(hosts)
        pauses = running.run_source(Source(text, "out.toml")).rows("pauses")
        shares = [pause["occupancy"] for pause in pauses]
        assert all(abs(share - int(pool) / 3 - 19_456) < 3 * 1_522 for share in shares), shares
        lengths = [pause["end_ns"] - pause["start_ns"] for pause in pauses if pause["end_ns"] < 2_999_000]
        drained = int(pool) / 3 * 8 / 50
        assert lengths
        assert all(abs(length - drained) < 0.05 * drained for length in lengths), lengths
