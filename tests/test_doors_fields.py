"""Each field of a file reaches the scenario or the report: no reader drops one.

A field that is imported has an effect: another value makes another scenario, or is refused. Of a field
without effect the report has the name, the line or the value.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock import interchange
from penstock.errors import InputError
from penstock.interchange.formats import FORMATS, Format
from penstock.interchange.piece import Document, Piece
from test_interchange_mutated import SEEDS

DOORS = Path(__file__).with_name("doors")
JSON = ("sonic", "dcb", "node-link")
NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.])", re.ASCII)
BOOT = {name: json.loads((DOORS / f"{name}.json").read_text("utf-8")) for name in ("d1a_no_lossless_profile",
        "d8a_dynamic_th_in_static_pool", "d8b_static_th_in_dynamic_pool")}  # fmt: skip
PARSERS = ("piece", "reading", "json_text", "xml_text", "gml", "formats", "files", "strangers")
"""Modules that hand out the contents of a document; all others get it through them."""


def known(name: str) -> Format:
    return next(one for one in FORMATS if one.name == name)


def reading(name: str, text: str) -> Piece | None:
    try:
        return known(name).read(Document("file", text, rate="100 Gb/s", length="40 m", buffer="160 MiB"))
    except InputError:
        return None


def effect(piece: Piece) -> str:
    """All of a piece that becomes the scenario and its lists, without what is only reported."""
    transfers = [one[1:] for one in piece.transfers]
    rest = (piece.memory, list(piece.links), piece.alone, list(piece.points), piece.assumed)
    rest += (piece.transfer_keys, piece.simulated)
    return repr((piece.keys, transfers, dict(piece.numbers), rest))


def report(piece: Piece) -> str:
    return "\n".join(piece.remarks)


def has_changed(other: Piece | None, before: Piece) -> bool:
    """True if a file with another value is rejected, or gives another scenario or report."""
    return other is None or effect(other) != effect(before) or report(other) != report(before)


def leaves(value: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, one in items:
            yield from leaves(one, (*way, key))
    else:
        yield way


def replaced(document: Any, way: tuple[Any, ...], value: Any) -> Any:
    if not way:
        return value
    copy = dict(document) if isinstance(document, dict) else list(document)
    copy[way[0]] = replaced(document[way[0]], way[1:], value)
    return copy


def others(value: Any) -> list[Any]:
    """Other values that may stand in its place."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1, max(value - 1, 0)]
    if isinstance(value, str) and value.lstrip("-").isdigit():
        return [str(int(value) + 1), str(max(int(value) - 1, 0))]
    return ["x"]


def documents(name: str) -> list[Any]:
    if name == "sonic":
        return [json.loads(SEEDS[name]), *BOOT.values()]
    return [json.loads(part) for part in re.split(r"(?<=\})\s*(?=\{)", SEEDS[name])]


def missed(name: str, whole: Any) -> Iterator[str]:
    """The fields of a document that another value neither changes nor reports."""
    before = reading(name, json.dumps(whole, indent=1))
    assert before is not None
    for way in leaves(whole):
        value = whole
        for key in way:
            value = value[key]
        found = [reading(name, json.dumps(replaced(whole, way, one), indent=1)) for one in others(value)]
        if any(has_changed(one, before) for one in found):
            continue
        words = [str(key) for key in way if not isinstance(key, int)]
        if not any(word in report(before) for word in (words[-1], *words[:1])):
            yield "|".join(map(str, way))


@pytest.mark.parametrize("name", JSON)
def test_each_field_of_json_has_an_effect_or_is_reported(name: str) -> None:
    for whole in documents(name):
        assert [*missed(name, whole)] == []


@pytest.mark.parametrize("name", JSON)
def test_unknown_fields_are_reported_wherever_they_stand(name: str) -> None:
    """A unique field in each object; of each the report has its name, or that of the table around it."""
    for whole in documents(name):
        objects = {way[:depth] for way in leaves(whole) for depth in range(len(way))}
        for number, way in enumerate(sorted(objects, key=str)):
            value = whole
            for key in way:
                value = value[key]
            if not isinstance(value, dict) or not value:
                continue
            unique = f"unique{number}"
            piece = reading(name, json.dumps(replaced(whole, way, {**value, unique: "12345"}), indent=1))
            if piece is None:
                continue  # it is refused
            seen = report(piece) + "\n".join(note.text for note in piece.notes)
            tables = [str(key) for key in way[:1]]
            assert unique in seen or any(table in report(piece) for table in tables), (way, report(piece))


def lines_of(message: str) -> set[int]:
    """The lines that a report lists, such as "lines 3, 7-9"."""
    found: set[int] = set()
    for one in re.findall(r"lines? ([\d, -]+)", message):
        for run in re.findall(r"(\d+)(?:-(\d+))?", one):
            found |= {*range(int(run[0]), int(run[1] or run[0]) + 1)}
    return found


@pytest.mark.parametrize("name", sorted(set(SEEDS) - {*JSON}))
def test_each_number_of_a_text_has_an_effect_or_is_reported(name: str) -> None:
    text = SEEDS[name]
    before = reading(name, text)
    assert before is not None
    silent = []
    for found in NUMBER.finditer(text):
        line = text.count("\n", 0, found.start()) + 1
        around = text.splitlines()[line - 1]
        if around.lstrip().startswith(("#", "<?xml")):
            continue  # a comment
        number = found[0]
        texts = [
            text[: found.start()] + other + text[found.end() :]
            for other in (str(int(float(number)) + 1), str(max(int(float(number)) - 1, 0)))
        ]
        if any(has_changed(reading(name, one), before) for one in texts):
            continue
        noted = any(number in note.text for note in before.notes)
        words = [word for word in re.findall(r"[a-z]{4,}", around) if word in report(before)]
        if f":{line}:" not in report(before) and not (noted or words or line in lines_of(report(before))):
            silent.append(f"{line}: {around}: {number}")
    assert silent == []


def test_readers_get_a_document_through_what_records_it() -> None:
    """No reader looks at the text of a document past the ledger, but to recognise it."""
    past = []
    for path in sorted(Path(str(interchange.__file__)).parent.glob("*.py")):
        if path.stem in PARSERS:
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name != "recognises":
                past += [
                    f"{path.stem}.{node.name}"
                    for one in ast.walk(node)
                    if isinstance(one, ast.Attribute)
                    and one.attr == "text"
                    and isinstance(one.value, ast.Name)
                    and one.value.id == "document"
                ]
    # Offsets and the number of lines, for places and bounds.
    allowed = {"port_commands._commands", "mlnx_output.output", "ns3._fabric"}
    assert set(past) <= allowed


def test_lines_that_no_reader_took_are_reported() -> None:
    piece = reading("ns3-topology", SEEDS["ns3-topology"] + "a line too much\nand another\n")
    assert piece is not None
    assert any("not read: a line too much and 1 more lines" in line for line in piece.remarks)
