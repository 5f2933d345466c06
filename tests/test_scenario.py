"""The builder makes the same model as the file."""

from __future__ import annotations

import inspect
import re
import sys
import time
import tomllib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock import library, oracle
from penstock.scenario import Scenario


def demo() -> Scenario:
    return (
        ps.Scenario(duration="200 us", name="demo", seed=3)
        .topology.star(hosts=4, rate="10 Gb/s", length="20 m", phy="none")
        .switch(buffer={"queue": "200 frames"})
        .flow_control.pfc(accounting="ingress", xoff="40 frames", xon="20 frames")
        .flow("victim", from_="h0", to="h3", source=ps.constant("2.5 Gb/s", random_phase=True))
        .flow(
            "aggressor",
            from_=("h1", "h2"),
            to="h3",
            priority=3,
            source="greedy",
            script=[{"at": "100 us", "stop": True}],
        )
    )


def test_calls_read_like_the_file() -> None:
    assert demo().to_dict() == tomllib.loads("""
        [simulation]
        duration = "200 us"
        name = "demo"
        seed = 3
        [topology.star]
        hosts = 4
        rate = "10 Gb/s"
        length = "20 m"
        phy = "none"
        [switch.buffer]
        queue = "200 frames"
        [flow_control.pfc]
        accounting = "ingress"
        xoff = "40 frames"
        xon = "20 frames"
        [[flows]]
        name = "victim"
        from = "h0"
        to = "h3"
        source = { constant = { rate = "2.5 Gb/s", random_phase = true } }
        [[flows]]
        name = "aggressor"
        from = ["h1", "h2"]
        to = "h3"
        priority = 3
        source = "greedy"
        script = [{ at = "100 us", stop = true }]
    """)


def test_toml_round_trip() -> None:
    assert Scenario.from_toml(demo().to_toml()) == demo()


def test_faults_and_receiving_hosts() -> None:
    scenario = (
        demo()
        .fault(link=("h0", "sw"), at="50 us", down=True, duration="20 us", waiting="kept")
        .fault(link="all", bit_error_rate=1e-9, from_="10 us")
        .host("h3", receive={"time_per_frame": "3 us", "script": [{"at": "90 us", "stop": True}]})
    )
    assert Scenario.from_toml(scenario.to_toml()) == scenario
    assert scenario.to_dict()["faults"][1] == {"link": "all", "bit_error_rate": 1e-9, "from": "10 us"}
    faults = scenario.run().table("faults").to_pydict()
    assert faults["what"] == [*["bit_errors_begin"] * 4, "link_down", "link_up", "reading_stops"]
    assert faults["where"][-3:] == ["h0<->sw", "h0<->sw", "h3"]
    assert faults["time_ns"][-3:] == [50_000, 70_000, 90_000]


def test_links_that_are_not_ethernet() -> None:
    coded = demo().topology.star(hosts=4, rate="8 Gb/s", phy="none", line_code="128b/130b")
    assert coded.to_dict()["topology"]["star"]["line_code"] == "128b/130b"
    lossy = coded.fault(link=("h0", "sw"), frame_loss=0.5, towards="sw")
    assert lossy.to_dict()["faults"] == [{"link": ["h0", "sw"], "frame_loss": 0.5, "towards": "sw"}]
    result = lossy.run()
    assert {link["rate_bps"] for link in result.topology["links"]} == {8e9 * 64 / 65}
    assert {row["rate_bps"] for row in result.rows("ports")} == {8e9 * 64 / 65}
    assert {row["cause"] for row in result.rows("drops")} == {"link_loss"}
    lost = next(row["value"] for row in result.rows("summary") if row["name"] == "lost_link_loss")
    assert lost == sum(row["frames"] for row in result.rows("drops")) > 0


def test_the_oracle_shares_the_rate_of_data() -> None:
    base = ps.Scenario(duration="200 us").topology
    for code, rate in (("8b/10b", "12.5 Gb/s"), (None, "10 Gb/s")):
        link = {} if code is None else {"line_code": code}
        flows = base.star(hosts=3, rate=rate, phy="none", **link).flow(
            "f", from_=("h1", "h2"), to="h0", frame="1522 B", source="greedy"
        )
        shares = [share.fair_bps["max_min"] for share in oracle.assess(flows.run()).shares]
        assert shares == pytest.approx([5e9 * 1522 / 1542] * 2)


@pytest.mark.parametrize("entry", library.scenarios(), ids=lambda entry: entry.name)
def test_files_survive_the_builder(entry: library.Entry) -> None:
    scenario = Scenario.from_file(entry.name)
    assert Scenario.from_toml(scenario.to_toml()).to_dict() == tomllib.loads(entry.path.read_text("utf-8"))


@given(
    name=st.text(min_size=1, max_size=20), text=st.text(max_size=40), number=st.integers(-(2**63), 2**63 - 1)
)
def test_any_text_survives_toml(name: str, text: str, number: int) -> None:
    text, name = (value.encode("utf-8", "replace").decode() for value in (text, name))
    scenario = (
        ps.Scenario(duration=text, description=text).switch(name, latency=text).host(name, queues=[number])
    )
    assert Scenario.from_toml(scenario.to_toml()) == scenario


def test_a_scenario_never_changes() -> None:
    base = demo()
    before = base.to_dict()
    base.flow("more", from_="h0", to="h1", source="greedy")
    base.topology.fat_tree(k=4, rate="10 Gb/s", phy="none")
    base.flow_control.off()
    base.with_value("flow_control.pfc.xoff", "50 frames")
    base.to_dict()["flows"].clear()
    assert base.to_dict() == before


def test_a_second_choice_replaces_the_first() -> None:
    changed = (
        demo()
        .topology.fat_tree(k=4, rate="25 Gb/s", phy="none")
        .flow_control.pause(xoff="9 frames", xon="3 frames")
    )
    assert changed.to_dict()["topology"] == {"fat_tree": {"k": 4, "rate": "25 Gb/s", "phy": "none"}}
    assert changed.to_dict()["flow_control"] == {"pause": {"xoff": "9 frames", "xon": "3 frames"}}
    assert changed.flow_control.off().to_dict()["flow_control"] == "off"


def test_single_values_for_sweeps() -> None:
    model = (
        demo()
        .with_value("flow_control.pfc.xoff", "50 frames")
        .with_value("flows.victim.priority", 5)
        .with_value("flows.1.priority", 4)
        .with_value("flow_control.pfc.target.method", "fair_bandwidth")
        .with_value("switches.sw.latency", "1 us")
        .with_value("simulation.seed", None)
        .to_dict()
    )
    assert model["flow_control"]["pfc"]["xoff"] == "50 frames"
    assert [flow["priority"] for flow in model["flows"]] == [5, 4]
    assert model["flow_control"]["pfc"]["target"] == {"method": "fair_bandwidth"}
    assert model["switches"] == {"sw": {"latency": "1 us"}}
    assert "seed" not in model["simulation"]
    for key in ("flows.nobody.priority", "flows.9.priority", "simulation.duration.unit"):
        with pytest.raises(KeyError):
            demo().with_value(key, 1)


def test_values_of_flows() -> None:
    assert ps.on_off("10 Gb/s", on=ps.exponential("10 us"), off=ps.pareto("1 ms", shape=1.5)) == {
        "on_off": {
            "peak": "10 Gb/s",
            "on": {"exponential": "10 us"},
            "off": {"pareto": {"mean": "1 ms", "shape": 1.5}},
        }
    }
    assert ps.window("64 KiB", ack_every=2) == {"window": {"size": "64 KiB", "ack_every": 2}}
    assert ps.request_response("64 B", "4 KiB", think=ps.exponential("10 us")) == {
        "request_response": {"request": "64 B", "response": "4 KiB", "think": {"exponential": "10 us"}}
    }
    assert ps.uniform(["h1", "h2"]) == {"uniform": ["h1", "h2"]}
    assert ps.uniform(min="64 B", max="1522 B") == {"uniform": {"min": "64 B", "max": "1522 B"}}
    assert ps.permutation() == {"permutation": "random"}
    assert ps.permutation(2) == {"permutation": {"shift": 2}}
    assert ps.hot_spot("h0", share=0.2) == {"hot_spot": {"host": "h0", "share": 0.2}}
    assert ps.bimodal(small="64 B", large="1522 B", small_share=0.5)["bimodal"]["small_share"] == 0.5
    assert ps.bernoulli("1 Gb/s") == {"bernoulli": {"rate": "1 Gb/s"}}
    assert ps.poisson("1 Gb/s") == {"poisson": {"rate": "1 Gb/s"}}
    assert ps.empirical("sizes.csv") == {"empirical": "sizes.csv"}
    assert ps.constant("1 Gb/s") == {"constant": {"rate": "1 Gb/s"}}


def test_save_does_not_overwrite(tmp_path: Path) -> None:
    demo().save(tmp_path / "demo.toml")
    assert Scenario.from_file(tmp_path / "demo.toml") == demo()
    with pytest.raises(FileExistsError):
        demo().save(tmp_path / "demo.toml")


def test_errors_name_the_lines_of_the_file_that_was_read(tmp_path: Path) -> None:
    file = tmp_path / "wrong.toml"
    file.write_text("# why\n\n" + demo().to_toml().replace('rate = "10 Gb/s"', 'rate = "10 GB"'), "utf-8")
    line = next(n for n, text in enumerate(file.read_text("utf-8").split("\n"), 1) if "10 GB" in text)
    with pytest.raises(ps.ScenarioError, match=f"wrong.toml:{line}:"):
        Scenario.from_file(file).check()


def test_errors_come_from_the_checker_of_the_file() -> None:
    with pytest.raises(ps.ScenarioError, match="Gbit") as caught:
        demo().topology.star(hosts=4, rate="10 Gbit", phy="none").check()
    assert "demo.toml:" in str(caught.value)


def test_a_built_scenario_runs() -> None:
    result = demo().run(seed=5)
    assert result.seed == 5
    assert result.complete
    assert {"victim", "aggressor[h1]", "aggressor[h2]"} == set(result.table("flows")["flow"].to_pylist())


def test_probes_are_a_table_or_a_list() -> None:
    chosen = demo().probe("queue", which="sw", every="1 us").probe("flow", which=["victim"]).probe("pauses")
    result = chosen.run()
    assert set(result.table("series")["metric"].to_pylist()) == {
        "queue_bytes",
        "queue_frames",
        "flow_throughput_bps",
    }
    assert list(result.all_series("flow_throughput_bps")) == ["victim"]
    times, _ = next(iter(result.all_series("queue_bytes").values()))
    assert times[1] - times[0] == 1000.0
    assert tomllib.loads(chosen.check())["probes"][1]["which"] == ["victim"]
    with pytest.raises(ps.ScenarioError, match='"nobody" names no flow'):
        demo().probe("flow", which="nobody").check()
    with pytest.raises(ps.InputError, match="one by one"):
        chosen.probes(bin="off")
    with pytest.raises(ps.InputError, match="records everything"):
        demo().probes(pauses=False).probe("queue")


def test_schedulers_by_name_and_by_table() -> None:
    keys = {"drr": {"weights": (3, 1, 1, 1, 1, 1, 1, 1), "quantum": "1542 B"}}
    scenario = demo().host(scheduler="wfq").switch(scheduler=keys)
    assert scenario.to_dict()["switch"]["scheduler"] == {
        "drr": {**keys["drr"], "weights": [3, 1, 1, 1, 1, 1, 1, 1]}
    }
    effective = tomllib.loads(scenario.check())
    assert effective["switch"]["scheduler"]["drr"]["accounted_length"] == "wire"
    assert effective["host"]["scheduler"]["wfq"]["weights"] == "equal"
    with pytest.raises(ps.ScenarioError, match="weight of queue 1 is 0"):
        demo().switch(scheduler={"drr": {"weights": [1, 0, 1, 1, 1, 1, 1, 1]}}).check()


def test_a_keyword_or_value_that_cannot_be_meant_is_named() -> None:
    for call, words in (
        (lambda: demo().fault(lnk="all"), ("fault()", "'lnk'", "did you mean link?")),
        (lambda: ps.Scenario("1 ms", sede=1), ("Scenario()", "'sede'", "seed")),
        (
            lambda: demo().flow("f", from_="h0", to="h1", source="greedy", limit=object()),
            ("flow.limit", "object"),
        ),
        (lambda: demo().switch(buffer={"queue": b"1 kB"}), ("switch.buffer.queue", "b'1 kB'")),
        (lambda: demo().with_value("flows.victm.priority", 1), ("victm", "did you mean victim?")),
    ):
        with pytest.raises(ps.PenstockError) as caught:
            call()
        assert all(word in str(caught.value) for word in words), str(caught.value)


def test_numbers_of_numpy_and_paths_are_values() -> None:
    built = (
        ps.Scenario("1 ms", seed=np.int64(3))
        .host(queues=np.array([0] * 8))
        .fault(link="all", bit_error_rate=np.float32(0.5), down=np.bool_(True))
        .flow("f", from_="h0", to="h1", source="greedy", frame=ps.empirical(Path("sizes.csv")))
    )
    assert built.to_dict() == {
        "simulation": {"duration": "1 ms", "seed": 3},
        "host": {"queues": [0] * 8},
        "faults": [{"link": "all", "bit_error_rate": 0.5, "down": True}],
        "flows": [
            {"name": "f", "from": "h0", "to": "h1", "source": "greedy", "frame": {"empirical": "sizes.csv"}}
        ],
    }
    assert tomllib.loads(built.to_toml()) == built.to_dict()


def test_values_that_are_handed_over_belong_to_the_scenario() -> None:
    hosts, limits = ["h0", "h1"], {"queue": "1 kB"}
    built = ps.Scenario("1 ms").switch(buffer=limits).flow("f", from_=hosts, to="h3", source="greedy")
    hosts.clear()
    limits.clear()
    assert built.to_dict()["flows"][0]["from"] == ["h0", "h1"]
    assert built.to_dict()["switch"]["buffer"] == {"queue": "1 kB"}


def test_many_flows_take_as_long_as_they_are_many() -> None:
    def seconds(flows: int) -> float:
        began = time.process_time()
        scenario = demo()
        for index in range(flows):
            scenario = scenario.flow(f"f{index}", from_="h0", to="h1", source=ps.constant("1 Mb/s"))
        assert len(scenario.to_dict()["flows"]) == flows + 2
        return time.process_time() - began

    assert min(seconds(4_000) for _ in range(2)) < 2


def test_the_page_on_recording_is_a_scenario() -> None:
    page = (Path(__file__).parents[1] / "docs/recording.md").read_text("utf-8")
    result = Scenario.from_toml(page.split("```toml\n")[1].split("```")[0]).run()
    found = {metric: list(result.all_series(metric)) for metric in ("queue_bytes", "class_tx_bps")}
    assert len(found["class_tx_bps"]) == 4
    assert {name.partition(".")[0] for name in found["queue_bytes"]} == {"sw", "h1", "h2"}
    assert result.rows("pauses")
    # No class sends more than the link carries.
    assert max(values.max() for _, values in result.all_series("class_tx_bps").values()) <= 100e9
    for flow in result.rows("flows"):
        own = [row for row in result.rows("latencies") if row["flow"] == flow["flow"]]
        assert sum(row["frames"] for row in own) == flow["frames_delivered"]
        assert own[-1]["share_below"] == 1.0


def test_help_and_completion_see_the_keys() -> None:
    """Signatures name the keys that type checkers read from ``Unpack``; what is required has no default."""
    star = inspect.signature(demo().topology.star)
    assert list(star.parameters)[:2] == ["hosts", "rate"]
    assert star.parameters["hosts"].default is inspect.Parameter.empty
    assert star.parameters["length"].default is None
    assert "hosts: int, rate: str" in str(star)
    for call in (Scenario, Scenario.flow, Scenario.switch, Scenario.probe, demo().flow_control.pfc):
        found = inspect.signature(call).parameters.values()
        assert not any(one.kind is inspect.Parameter.VAR_KEYWORD for one in found), call
        assert len(found) > 4
    with pytest.raises(ps.InputError, match="has no keyword"):
        demo().topology.star(host=3)  # type: ignore[call-arg]


def test_notebooks_show_a_scenario() -> None:
    shown = demo().with_value("simulation.name", "<b>")._repr_html_()
    assert "&lt;b&gt;" in shown and "<b><b>" not in shown
    assert "<th>duration</th><td>200 us</td>" in shown
    assert "[topology.star]" in shown


def test_notebooks_show_tables_with_units() -> None:
    result = demo().run()
    flows = result.show("flows")
    assert re.search(r"[0-9.]+ [GM]b/s", repr(flows))
    assert "_bps" not in repr(flows)
    assert "<th>throughput</th>" in flows._repr_html_()
    assert "Gb/s</td>" in result._repr_html_()
    assert re.search(r"offered +[0-9.]+ [GM]b/s", repr(result.show("summary")))
    with pytest.raises(ps.InputError, match="did you mean flows"):
        result.show("flow")


@pytest.mark.parametrize(("package", "call"), [("pandas", "to_pandas"), ("polars", "to_polars")])
def test_what_is_not_installed_is_named(package: str, call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    result = demo().run()
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ps.PenstockError, match=f"{call} needs {package}: pip install {package}"):
        getattr(result, call)("flows")
