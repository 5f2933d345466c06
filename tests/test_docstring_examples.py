"""Examples in docstrings print what they say."""

from __future__ import annotations

import doctest
import inspect
import tomllib
from collections.abc import Iterator
from pathlib import Path
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


EXAMPLES = tomllib.loads((Path(__file__).parents[1] / "tools/builder_examples.toml").read_text("utf-8"))
WITH_EXAMPLES = {name: one for name, one in public() if ">>>" in (inspect.getdoc(one) or "")}


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_examples_print_their_results(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner(optionflags=flags)
    text = inspect.getdoc(WITH_EXAMPLES[name]) or ""
    runner.run(parser.get_doctest(text, {}, name, None, None))
    assert runner.summarize().failed == 0


FLOW: dict[str, Any] = {"source": {"constant": {"rate": "1 Gb/s"}}, "from_": "h0", "to": "h3"}
TRANSFERS: dict[str, Any] = {
    "from_": "h0..h2",
    "to": "h3",
    "sizes": "web_search",
    "arrivals": {"poisson": {"load": 0.3}},
    "over": "tcp",
}
SPANS = {"peak": "10 Gb/s", "on": {"exponential": "1 us"}, "off": {"exponential": "1 us"}}
RING = {"from_": "all", "to": {"permutation": {"shift": 1}}}
PLACES: dict[str, tuple[str, dict[str, Any]]] = {
    "source": ("source", {}),
    "ring": ("source", RING),
    "frame": ("frame", {}),
    "to": ("to", {}),
    "to_of_all": ("to", RING),
    "copies": ("to", {"channel": "M0"}),
    "on": ("source.on_off.on", {"source": {"on_off": SPANS}}),
    "messages": (
        "source.conversation.messages",
        {"source": {"conversation": {"messages": "ipc", "tcp": {}}}},
    ),
    "controller": ("source.tcp.controller", {"source": {"tcp": {}}}),
    "rdma_control": ("source.rdma.control", {"source": {"rdma": {}}}),
    "uet_control": ("source.uet.control", {"source": {"uet": {}}}),
    "paths": ("source.rdma.paths", {"source": {"rdma": {"recovery": "reordering"}}}),
    "recovery": ("source.rdma.recovery", {"source": {"rdma": {}}}),
    "sizes": ("sizes", TRANSFERS),
    "arrivals": ("arrivals", TRANSFERS),
    "over": ("over", TRANSFERS),
    "listed": ("arrivals", {"over": "tcp", "arrivals": {"file": "transfers.csv"}}),
}
"""Where a value goes, and the other keys of that flow or those transfers."""


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_value_of_an_example_is_accepted(name: str, tmp_path: Path) -> None:
    (tmp_path / "sizes.csv").write_text("bytes,weight\n64,1\n1522,2\n")
    (tmp_path / "cdf.csv").write_text("bytes,cdf\n1000,0.5\n100000,1\n")
    (tmp_path / "transfers.csv").write_text("time_us,from,to,bytes\n0,h0,h3,1000\n")
    place, keys = PLACES[EXAMPLES[name]["key"]]
    scenario = ps.Scenario(duration="1 ms").topology.star(hosts=4, rate="10 Gb/s")
    if place in TRANSFERS and place != "to":
        scenario, place = scenario.transfers("t", **keys), f"transfers.t.{place}"
    else:
        scenario, place = scenario.flow("f", **{**FLOW, **keys}), f"flows.f.{place}"
    if "channel" in keys:
        scenario = scenario.flow_control.credit(channels="all")
    value = eval(f"ps.{name}({EXAMPLES[name]['call']})", {"ps": ps})
    path = tmp_path / "scenario.toml"
    path.write_text(scenario.with_value(place, value).to_toml(), "utf-8")
    ps.check(path)


def test_every_function_has_an_example() -> None:
    assert [name for name, one in public() if inspect.isfunction(one) and name not in WITH_EXAMPLES] == []
