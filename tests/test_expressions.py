"""Expressions of measures and keys: what goes together, and messages that know nothing of Python."""

from __future__ import annotations

import functools
import math
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from conftest import SMALL
from penstock.errors import ArgumentError
from penstock.laboratory.measures import Measure, Value
from penstock.laboratory.quantity import Quantity
from penstock.laboratory.search import Goal
from penstock.result import Result

BASE = ps.Scenario.from_toml(SMALL, file="small.toml")
XOFF = "flow_control.pfc.xoff"


@functools.cache
def result() -> Result:
    return BASE.run()


def measured(text: str) -> Value:
    return Measure("m", text).of(result())


INTERNALS = re.compile(
    r"object|attribute|NoneType|_Table|Column|numpy|ufunc|dtype|operand|argument|subscript|iterable"
    r"|Fraction|unsupported|float\b|'\w+' and '\w+'|index out|boolean|OverflowError|convert|name \"\"|key  in"
)
"""Words of Python and NumPy."""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("count(flows)", "flows is a table; name a column, such as flows[.]"),
        ("-flows", "flows is a table; name a column"),
        ("flows + 1", "flows is a table; name a column"),
        ("flows == flows", "flows is a table; name a column"),
        ("flows", "flows is a table; name a column"),
        ("abs(flows)", "flows is a table; name a column"),
        ("flows[0]", 'or flows."flow".'),
        ("-flows.flow", "flows.flow is text"),
        ("abs(flows.flow)", "flows.flow is text"),
        ("flows.flow > 3", "flows.flow is text"),
        ('flows.flow > "a"', "flows.flow is text"),
        ('flows.frames_sent == "a"', 'the text "a" is not a number'),
        ("flows.frames_sent[3]", "expected a name or a comparison between"),
        ("max(flows.frames_sent)[0]", "no rows to select"),
        ('quantile(flows.frames_sent, "x")', 'the text "x" is not a number'),
        ("quantile(flows.frames_sent, flows.frames_sent)", "the quantile flows.frames_sent; expected"),
        ("quantile(flows.frames_sent)", r"expected quantile\(column, share\)"),
        ("min(flows.frames_sent, 3)", "flows.frames_sent is a column; expected it alone"),
        ("max(3)", "expected a column"),
        ("run", "such as run.frame_hops"),
        ("scenario", "such as scenario.switch.buffer.total"),
        ("scenario.switch", "scenario.switch is a table with .*buffer.*; expected a number"),
        ("max(flows.throughput_bps[ports.drops > 0])", "flows and ports have different rows"),
        ("sum(flows.throughput_bps[ports.drops == 0])", "flows and ports have different rows"),
        ("flows.throughput_bps == ports.drops", "flows and ports have different rows"),
        (
            'flows.frames_sent["steady"] + flows.frames_sent["greedy"]',
            'frames_sent."steady".* and .*"greedy".* select different rows',
        ),
        ('flows.frames_sent[flows.frames_sent["steady"] > 0]', "select different rows"),
        ("1e999", "not finite"),
        ("1e308 * 10", "not finite"),
        ("1 / (1 - 1)", "not finite"),
        ("10000000" * 100, "not finite"),
    ],
)
def test_wrong_measures(text: str, message: str) -> None:
    with pytest.raises(ArgumentError, match=message) as wrong:
        measured(text)
    assert not INTERNALS.search(str(wrong.value).replace(text, "")), wrong.value


def test_what_is_divided_by_zero_or_too_large_is_not_known() -> None:
    for text in (
        "flows.frames_sent / flows.frames_dropped",
        "flows.frames_dropped / flows.frames_dropped",
        "1 / flows.frames_dropped",
        "flows.frames_sent / sum(flows.frames_dropped)",
        "flows.frames_sent * 1e300 * 1e300",
    ):
        found = measured(text)
        assert isinstance(found, dict)
        assert all(map(math.isnan, found.values())), text
    for text in (
        "sum(flows.frames_sent) / sum(flows.frames_dropped)",
        "run.events * 1e300 * 1e300",
        f"run.events * 1{'0' * 300} * 1{'0' * 300}",
    ):
        assert math.isnan(float(str(measured(text)))), text
    assert measured("max(run.events / sum(flows.frames_dropped), 3)") == 3  # as functions of columns
    assert measured("count(flows.frames_sent / flows.frames_dropped)") == 0


def test_large_products_are_not_cut_to_64_bits() -> None:
    sent = {row["flow"]: float(row["bytes_sent"]) for row in result().rows("flows")}
    found = measured(" * ".join(["flows.bytes_sent"] * 5))
    assert found == pytest.approx({flow: amount**5 for flow, amount in sent.items()})


def test_comparisons_of_one_table() -> None:
    both = {"steady": 1.0, "greedy": 1.0}
    assert measured("flows.flow == flows.flow") == both
    assert measured('flows.flow["steady"] == "steady"') == {"steady": 1.0}
    assert measured("(flows.frames_sent > 0) - (flows.frames_sent < 0)") == both
    assert measured('flows.frames_sent["steady"] / flows.frames_sent["steady"]') == {"steady": 1.0}


ATOMS = [
    *("1", "0", "2.5", "1e300", '"steady"', '"x"', "True"),
    *("flows", "ports", "run", "scenario", "run.events", "run.name", "scenario.switch"),
    *("scenario.topology.star.hosts", "flows.flow", "flows.frames_sent", "flows.frames_dropped"),
    *("flows.latency_p99_ns", "ports.drops", "ports.port", "queues.drops", "series.metric", "nowhere.x"),
]
TEXTS = st.recursive(
    st.sampled_from(ATOMS),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*", "/", "<", ">=", "==", "!="]), inner).map(
            lambda parts: f"({parts[0]} {parts[1]} {parts[2]})"
        ),
        inner.map(lambda one: f"(-{one})"),
        st.tuples(inner, inner).map(lambda parts: f"({parts[0]})[{parts[1]}]"),
        st.tuples(
            st.sampled_from(["sum", "mean", "min", "max", "quantile", "count", "jain", "abs"]),
            st.lists(inner, max_size=3),
        ).map(lambda parts: f"{parts[0]}({', '.join(parts[1])})"),
    ),
    max_leaves=6,
)


@settings(max_examples=600, deadline=None)
@given(TEXTS)
def test_any_measure_is_numbers_or_an_error_of_ours(text: str) -> None:
    try:
        found = measured(text)
    except ArgumentError as error:
        note = str(error).replace(text, "")
        assert not INTERNALS.search(note), note
    else:
        numbers = found.values() if isinstance(found, dict) else [found]
        assert all(type(one) is float and not math.isinf(one) for one in numbers)


KEYS = ["1", "0", "1e300", '"10 KiB"', '"1 us"', '"x"', "xoff", "hosts", "flow_control.pfc", "flows", "True"]
DERIVED = st.recursive(
    st.sampled_from([*KEYS, "odd", "flow_control.pfc.accounting"]),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*", "/", "<", "=="]), inner).map(
            lambda parts: f"({parts[0]} {parts[1]} {parts[2]})"
        ),
        inner.map(lambda one: f"(-{one})"),
        st.tuples(inner, inner).map(lambda parts: f"({parts[0]})[{parts[1]}]"),
        st.tuples(st.sampled_from(["min", "max", "round"]), st.lists(inner, max_size=3)).map(
            lambda parts: f"{parts[0]}({', '.join(parts[1])})"
        ),
    ),
    max_leaves=5,
)


@settings(max_examples=400, deadline=None)
@given(DERIVED)
def test_any_key_that_follows_is_a_value_or_an_error_of_ours(text: str) -> None:
    vary = {XOFF: "20 frames", "topology.star.hosts": [4], "a.odd": [math.nan]}
    try:
        _ = ps.Plan(BASE, vary, {"host.queue_limit": text}).settings
    except ArgumentError as error:
        note = str(error).replace(text, "")
        assert not INTERNALS.search(note), note


HOSTS = {"topology.star.hosts": [10**19]}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hosts / 0", "division by zero"),
        ("3 - xoff", "have different dimensions"),
        ("2 / xoff", "have different dimensions"),
        ("flow_control.pfc + 1", "a table is not a number"),
        ("min()", r"min\(\) does not accept nothing; expected min\(first, others\)"),
        ("xoff == 3", "have different dimensions"),
        ("xoff * 1e300", "too large: more than 40 digits"),
        (" * ".join(["hosts"] * 240), "too large"),
        ("xoff[0]", "has no such entry"),
    ],
)
def test_wrong_keys_that_follow(text: str, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        _ = ps.Plan(BASE, {XOFF: "20 frames", **HOSTS}, {"host.queue_limit": text}).settings


def test_one_amount_in_two_units_is_one_amount() -> None:
    assert Quantity.read("1 KiB") == Quantity.read("1024 B")
    assert Quantity.read("1 KiB") != Quantity.read("1024 b/s")


@pytest.mark.parametrize("expressions", [{"x": 3}, {"x": ["a"]}, {3: "run.events"}])
def test_expressions_are_text(expressions: dict[str, str]) -> None:
    with pytest.raises(ArgumentError, match="expected text"):
        ps.Plan(BASE, {XOFF: "20 frames"}, measure=expressions)


@pytest.mark.parametrize("text", ["5", "1 + 1", "abs(-3)", "1e999", '"x"'])
def test_an_objective_depends_on_a_result(text: str) -> None:
    with pytest.raises(ArgumentError, match=r"no result affects|not finite"):
        Goal("minimize", text)
    assert Goal("minimize", "scenario.switch.buffer.total").measures


@pytest.mark.parametrize(
    ("dimension", "old", "new"),
    [
        ("time", 'duration = "200 us"', 'duration = "1 xx"'),
        ("rate", 'rate = "10 Gb/s"', 'rate = "1 xx/s"'),
        ("length", 'length = "20 m"', 'length = "1 xx"'),
        ("size", "[simulation]", '[simulation]\nmemory_limit = "1 xx"'),
    ],
)
def test_expressions_know_the_units_of_scenarios(dimension: str, old: str, new: str) -> None:
    with pytest.raises(ps.ScenarioError) as caught:
        ps.Scenario.from_toml(SMALL.replace(old, new, 1)).run()
    accepted = re.search(r"expected one of ([^;]+);", str(caught.value))
    assert accepted is not None
    for unit in accepted[1].split(", "):
        quantity = Quantity.read(f"1 {unit}")
        assert quantity is not None and quantity.dimension == dimension
