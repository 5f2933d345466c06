"""Labels for values of varied keys: no braces, no quotes, and only the differences."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conftest import Command
from penstock.laboratory.labels import labels

TIMELY = {"rdma": {"control": "timely"}}


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["10 KiB", "40 KiB"], ["10 KiB", "40 KiB"]),
        ([1, 2.5], ["1", "2.5"]),
        ([TIMELY, {"rdma": {"control": {"dcqcn": {}}}}], ["timely", "dcqcn"]),
        ([{"red": {"min": 1, "max": 2}}, {"red": {"min": 1, "max": 3}}], ["2", "3"]),
        ([{"drr": {}}, {"drr": {"weights": [1, 2]}}, "fifo"], ["drr", "drr: weights [1, 2]", "fifo"]),
        ([{"drr": {}}, {"drr": {"quantum": "1 KiB"}}], ["drr", "drr: quantum 1 KiB"]),
        ([{"a": 1, "b": 2}, {"a": 2, "b": 1}], ["a 1, b 2", "a 2, b 1"]),
        ([{"a": 1}, {"a": 1, "b": 2}], ["a 1", "a 1, b 2"]),
        ([TIMELY], ["rdma: control timely"]),
        ([[{"queues": [0]}], [{"queues": [0, 1]}]], ["queues [0]", "queues [0, 1]"]),
        # What would be called the same is called as it is written.
        ([{"a": "1"}, {"a": 1}], ['{"a": "1"}', '{"a": 1}']),
        (["{not JSON", "2"], ["{not JSON", "2"]),
    ],
)
def test_labels(values: list[object], expected: list[str]) -> None:
    texts = [json.dumps(one) if isinstance(one, dict | list) else one for one in values]
    assert labels([*texts, *texts]) == dict(zip(texts, expected, strict=True))


def test_tables_and_page_of_a_sweep_have_labels(penstock: Command, small: Path, tmp_path: Path) -> None:
    vary = 'switch.scheduler={ drr = {} }, { wrr = { weights = [1, 2, 3, 4, 5, 6, 7, 8] } }, "fifo"'
    ran = penstock("sweep", str(small), "--vary", vary, "--out", str(tmp_path / "out"))
    output = ran.stdout
    assert "wrr: weights [1, 2, 3, 4, 5, 6, 7, 8]" in output
    assert "{" not in output
    page = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert "<td>wrr: weights [1, 2, 3, 4, 5, 6, 7, 8]</td>" in page
    assert "{&quot;" not in page
