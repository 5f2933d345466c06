"""Real files of the field and cases that showed a defect: each is read, or refused with its reason.

They lie beside the checkout, in `../shared`; where they do not, there is nothing to test.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from penstock import _core, running
from penstock.cli.export import Base, export
from penstock.errors import InputError
from penstock.interchange.files import document
from penstock.interchange.formats import format_of
from penstock.interchange.join import join
from penstock.interchange.piece import Document
from penstock.library import Source
from sonic_templates import buffers, rendered
from test_interchange_fabrics import DRAWN

SHARED = Path(__file__).parents[2] / "shared"
FIELD, DEFECTS = SHARED / "data/field", SHARED / "defects"
MEMORY = DRAWN.replace("[[transfers]]", '[switch.buffer]\ntotal = "64 MiB"\n[[transfers]]')


def like(path: Path) -> Source:
    """A fabric with hosts for all that a list of transfers has, or of a few."""
    listed = not path.name.startswith("d5a_") and path.suffix in (".cm", ".tm", ".csv", ".txt")
    return Source(MEMORY.replace("hosts = 3", "hosts = 8192") if listed else MEMORY, "like.toml")


READ = {
    "astra/network": "astra-network",
    "htsim": "htsim",
    "simai/topo": "simai-topology",
    "SimAI.conf": "ns3-config",
    "data/field/sonic": "pg-profile",
    "nccl": "nccl-topology",
}
REFUSED = {
    ".et": "is not UTF-8; expected text",
    ".bin": "a binary GOAL schedule",
    ".gz": "compressed with gzip",
    ".goal": "a GOAL schedule",
    "sn5600_buffers.json.j2": "Error of each reader:",
    ".j2": "a Jinja template",
    ".toml": "Error of each reader:",
    ".md": "Error of each reader:",
    ".py": "Error of each reader:",
    ".proto": "a description of protocol buffers",
    "dgx_v100_8gpu.yml": ":11: bandwidth is tbd",
    "graph.xml": "NCCL_GRAPH_FILE",
    ".msccl.xml": "an algorithm of MSCCL",
    "tests_aws_2_2.txt": "Error of each reader:",
    "tests_aws": "output of nccl-tests",
    "astra/system": "a system of ASTRA-sim",
    "astra/logical": "a logical topology of ASTRA-sim",
    "astra/memory": "a memory of ASTRA-sim",
    "hostile/astra_full.yml": "2147450880 links between NPUs",
    "hostile/htsim_tiers.topo": "4295032833 switches",
    "hostile/redos_": "Error of each reader:",
    "small_chakra": "a trace of Chakra",
    "aicb_csv": "a workload of AICB",
    "simai/workload/aiob": "Error of each reader:",
    "simai/workload": "a workload of SimAI",
    "microAllReduce": "a workload of SimAI",
    "_ratio.csv": "Error of each reader:",
    "busbw.yaml": "Error of each reader:",
    "comment_pg.ini": "pg-profile (headroom of a switch, pg_profile_lookup.ini): 1: there is no row, "
    "only comments",
    "odd2_1182_d": "ethtype_prio is 1e+308; expected a list",
    "odd2_291_s": "BUFFER_PG|Ethernet0|3: profile is {'a': 1}; expected text",
    "odd2_903_d": "tc_tsa is",
    ".pcap": "a capture",
}
"""Rejected files: part of the path, and part of the message; the first match applies."""


WITHOUT_ROOM = ("d10a_pg_profile_lookup.ini",)
"""Headroom that is too small for the link of these tests, which `check` refuses."""


def every(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file()) if folder.is_dir() else []


@pytest.mark.parametrize("path", [*every(FIELD), *every(DEFECTS)], ids=lambda path: path.name)
def test_every_file_is_read_or_refused_with_its_reason(path: Path) -> None:
    where = path.relative_to(SHARED).as_posix()
    why = next((why for part, why in REFUSED.items() if where.endswith(part) or f"{part}" in where), None)
    rate = "400 Gb/s" if "th5" in path.name else "100 Gb/s"
    try:
        text = document(path, rate=rate, length="40 m")
        found = format_of(text)
        piece = found.read(text)
    except InputError as error:
        assert why is not None, error
        assert why in str(error)
        assert str(path) in str(error)
        return
    assert why is None, f"{where} is read"
    for part, name in READ.items():
        assert part not in where or found.name in (name, f"{name}-topology", "htsim-topology"), found.name
    made = join([(text, piece)], Path("out.toml"), like=like(path))
    if not made.transfers and not where.endswith(WITHOUT_ROOM):
        with running.engine_errors():
            _core.check(made.text, "out.toml")


@pytest.mark.skipif(not (FIELD / "sonic").is_dir(), reason="the templates are not there")
def test_what_the_templates_of_sonic_render_is_imported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each with the pools of a real device, and the profile of its table for 400 Gb/s and 40 m.

    Without a change of the scenario, nothing in the configuration changes.
    """
    device = buffers(FIELD / "sonic", "th5_7060x6_buffers_defaults_t1.j2")
    device["BUFFER_PROFILE"]["pg_lossless"] = {
        "pool": "ingress_lossless_pool",
        "size": "18796",
        "xon": "0",
        "xoff": "612140",
        "xon_offset": "3556",
        "dynamic_th": "0",
    }
    count = 0
    for name, tables in rendered(FIELD / "sonic"):
        ports = [port for port in tables["PORT_QOS_MAP"] if port != "global"]
        groups = {f"{port}|3-4": {"profile": "pg_lossless"} for port in ports}
        text = Document(name, json.dumps({**tables, **device, "BUFFER_PG": groups}, indent=1))
        found = format_of(text)
        assert found.name == "sonic"
        piece = found.read(text)
        made = join([(text, piece)], Path("out.toml"), like=Source(DRAWN, "like.toml"))
        with running.engine_errors():
            _core.check(made.text, "out.toml")
        scenario, config = tmp_path / "out.toml", tmp_path / "config_db.json"
        scenario.write_text(made.text)
        config.write_text(text.text)
        export(str(scenario), format="sonic", base=Base(config=config))
        assert json.loads(capsys.readouterr().out) == [], name
        count += 1
    assert count >= 20
