"""`make test` leaves exactly the tests listed in tests/long.txt to `make test-all`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).parents[1]


class Item:
    """A test that notes its marks."""

    def __init__(self, nodeid: str) -> None:
        self.nodeid = nodeid
        self.marks: list[str] = []

    def add_marker(self, name: str) -> None:
        """Notes one."""
        self.marks.append(name)


def test_tests_that_are_named_as_long_are_there_and_marked(request: pytest.FixtureRequest) -> None:
    """A renamed test would be a quick one without a word; and for months none was marked."""
    lines = (TESTS / "long.txt").read_text("utf-8").splitlines()
    named = [line for line in lines if "::" in line]
    assert named
    for name in named:
        file, function = name.split("::")
        assert f"def {function}(" in (TESTS / file).read_text("utf-8"), name
    plugins = request.config.pluginmanager.get_plugins()
    own: Any = next(one for one in plugins if getattr(one, "__file__", None) == str(TESTS / "conftest.py"))
    items = [Item(f"tests/{name}[case]") for name in named] + [Item("tests/house/test_long.py::test_else")]
    own.pytest_collection_modifyitems(items)
    assert [item.marks for item in items] == [["long"]] * len(named) + [[]]
