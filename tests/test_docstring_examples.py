"""Examples in docstrings print what they say."""

from __future__ import annotations

import doctest
import inspect
from collections.abc import Iterator
from typing import Any

import pytest

import penstock as ps


def public() -> Iterator[tuple[str, Any]]:
    """The functions of the package, and the methods of results and scenarios."""
    for name in ps.__all__:
        one = getattr(ps, name)
        if inspect.isfunction(one):
            yield name, one
    for owner in (ps.Result, ps.Scenario):
        for name, method in inspect.getmembers(owner, callable):
            if not name.startswith("_"):
                yield f"{owner.__name__}.{name}", method


WITH_EXAMPLES = {name: one for name, one in public() if ">>>" in (inspect.getdoc(one) or "")}


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_examples_print_what_they_say(name: str) -> None:
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    text = inspect.getdoc(WITH_EXAMPLES[name]) or ""
    runner.run(parser.get_doctest(text, {}, name, None, None))
    assert runner.summarize().failed == 0


def test_what_users_call_first_has_examples() -> None:
    first = {"run", "check", "explain", "Result.table", "Result.series", "Scenario.flow", "Scenario.run"}
    assert first <= set(WITH_EXAMPLES) and len(WITH_EXAMPLES) >= 25
