"""YAML of NVUE."""

from __future__ import annotations

import re

import pytest
import yaml

from penstock.errors import InputError
from penstock.interchange.formats import format_of
from penstock.interchange.nvue_yaml import leaves
from penstock.interchange.piece import Document, Piece
from switch_configs import NVUE_YAML


def read(text: str, **others: str) -> Piece:
    document = Document("startup.yaml", text, **others)
    found = format_of(document)
    assert found.name == "nvue-yaml"
    return found.read(document)


def commands(text: str) -> str:
    """The settings as commands."""
    found = [words[1:] for _, words in leaves(Document("startup.yaml", text)) if words[0] == "set"]
    return "".join(f"nv set {' '.join(words)}\n" for words in found)


def test_yaml_is_read_as_its_commands() -> None:
    one = read(NVUE_YAML)
    document = Document("commands.nv", commands(NVUE_YAML))
    assert format_of(document).name == "nvue"
    other = format_of(document).read(document)
    assert (one.keys, one.links) == (other.keys, other.links)
    assert one.keys["flow_control"] == {"pfc": {"priorities": [3], "xoff": "40000 B", "xon": "20000 B"}}
    (red,) = one.keys["switch"]["queue_managers"]
    assert (red["red"]["min"], red["red"]["max"], red["red"]["max_probability"]) == (
        "40000 B",
        "200000 B",
        0.05,
    )
    assert one.keys["switch"]["mtu"] == "9238 B"
    assert one.links[0].length == "40 m"


def test_leaves_are_those_of_a_reader_of_yaml() -> None:
    """The subset of YAML that NVUE writes, against PyYAML."""

    def of(value: object, way: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
        if isinstance(value, dict) and value:
            return [one for key, inner in value.items() for one in of(inner, (*way, str(key)))]
        if isinstance(value, list):
            return [one for inner in value for one in of(inner, way)]
        return [way if value in ({}, None) else (*way, str(value))]

    extra = (
        "      dns:\n        server:\n        - 8.8.8.8\n        - '9.9.9.9'\n      message: \"a: b # c\"\n"
        "      empty:\n      other: plain  # comment\n"
    )
    for text in (NVUE_YAML, NVUE_YAML + extra):
        document = yaml.load(text, Loader=yaml.BaseLoader)
        expected = list(of(document))
        assert [tuple(words) for _, words in leaves(Document("file", text))] == [
            tuple(one for one in way if one != "") for way in expected
        ]


def test_roce_pools_and_what_is_not_read() -> None:
    text = NVUE_YAML.replace("enable: 'off'", "mode: lossless")
    piece = read(text)
    assert piece.keys["switch"]["queues"] == [0, 0, 0, 3, 0, 0, 6, 0]
    assert any("traffic-pool: pools are shares of the memory" in line for line in piece.remarks)
    sized = read(NVUE_YAML, buffer="40 MiB")
    assert sized.keys["switch"]["buffer"]["memory"]["pools"]["default-lossless"]["size"] == "32 MiB"
    assert sized.assumed is not None
    assert sized.assumed.pool == "default-lossless"
    assert any("default-lossy: it has no lossless priority, or" in line for line in sized.remarks)
    assert any(
        re.search(r":\d+: not read: interface type: not a setting of queues", line) for line in sized.remarks
    )


def test_texts_in_blocks_are_passed_over() -> None:
    text = (
        NVUE_YAML
        + "      config:\n        snippet:\n          mine: |\n            key: [ a\n            b\n"
    )
    assert read(text).keys == read(NVUE_YAML).keys


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("bw-percent: 50", "bw-percent: many", ":36: bw-percent is many; expected a whole number"),
        ("profile: P", "profile: Q", ":17: no command defines the pfc profile Q"),
        ("mode: strict", "mode strict", "mode strict: expected a key with a colon"),
        ("rx: enable", "rx: &a enable", "&a enable: expected a plain or quoted value"),
        ("'off'", "'off", "'off: an unmatched quote"),
        ("          tx:", "\t  tx:", "is indented by a tab; expected spaces"),
    ],
)
def test_errors_name_the_line(before: str, after: str, message: str) -> None:
    with pytest.raises(InputError, match=r"startup\.yaml:\d+: ") as reported:
        read(NVUE_YAML.replace(before, after))
    assert re.search(re.escape(message), str(reported.value)), str(reported.value)
