"""Where the ranks of a job are, and how long they compute."""

from __future__ import annotations

import math
from statistics import mean, pstdev

import pytest

import penstock as ps
from penstock.analysis.critical_path import critical_path

LEAF_SPINE = "[topology.leaf_spine]\nleaves = 3\nspines = 2\nhosts_per_leaf = 2"
FAT_TREE = "[topology.fat_tree]\nk = 4"
RAILS = "[topology.rails]\nsegments = 2\nservers_per_segment = 2\nrails = 3\nspines = 1"


def run(topology: str, keys: str, workload: str = 'collective = "barrier"', threads: int = 1) -> ps.Result:
    text = f"""
    [simulation]
    duration = "100 ms"
    {topology}
    rate = "100 Gb/s"
    phy = "none"
    [flow_control.pfc]
    [[jobs]]
    name = "job"
    workload = {{ {workload} }}
    {keys}
    """
    return ps.Scenario.from_toml(text).run(threads=threads)


def hosts(result: ps.Result) -> list[str]:
    """By rank, its host."""
    found = {row["rank"]: row["host"] for row in result.rows("rank_steps")}
    return [found[rank] for rank in sorted(found)]


@pytest.mark.parametrize(
    ("topology", "ranks", "placement", "expected"),
    [
        (LEAF_SPINE, '["h5", "h0", "h3", "h1"]', "linear", ["h5", "h0", "h3", "h1"]),
        (LEAF_SPINE, '["h5", "h0", "h3", "h4", "h1"]', "packed", ["h0", "h1", "h3", "h5", "h4"]),
        (LEAF_SPINE, '"all"', "spread", ["h0", "h2", "h4", "h1", "h3", "h5"]),
        (LEAF_SPINE, '["h1", "h0", "h3"]', "spread", ["h1", "h3", "h0"]),
        (FAT_TREE, '["h12", "h0", "h13", "h3", "h4"]', "by_pod", ["h0", "h3", "h4", "h12", "h13"]),
        (FAT_TREE, '["h12", "h3", "h0", "h13"]', "by_pod", ["h3", "h0", "h12", "h13"]),
        (
            RAILS,
            '["h0.0", "h0.1", "h1.0", "h1.1", "h2.0"]',
            "by_rail",
            ["h0.0", "h1.0", "h2.0", "h0.1", "h1.1"],
        ),
        ("[topology.star]\nhosts = 4", '"all"', "by_pod", ["h0", "h1", "h2", "h3"]),
    ],
)
def test_ranks_are_placed(topology: str, ranks: str, placement: str, expected: list[str]) -> None:
    keys = f'ranks = {ranks}\nplacement = "{placement}"'
    assert hosts(run(topology, keys)) == expected


def test_a_placement_decides_what_crosses_leaves() -> None:
    """A ring that is packed leaves each switch once; spread, with every message."""

    def crossing(placement: str) -> int:
        keys = f'ranks = "all"\nplacement = "{placement}"'
        result = run(LEAF_SPINE, keys, 'collective = "all_reduce", bytes = "600 kB"')
        ports = [row for row in result.rows("ports") if "->spine" in row["port"]]
        return sum(row["bytes_sent"] for row in ports)

    assert crossing("spread") == pytest.approx(2 * crossing("packed"), rel=0.01)


def test_a_host_without_a_rail_is_refused() -> None:
    with pytest.raises(ps.ScenarioError, match='"h0" has no rail'):
        run("[topology.star]\nhosts = 4", 'ranks = "all"\nplacement = "by_rail"')


STAR = "[topology.star]\nhosts = 8"


def computed(result: ps.Result) -> list[float]:
    """Time of each computation, by rank and iteration."""
    rows = [row for row in result.rows("rank_steps") if row["kind"] == "compute"]
    return [row["end_ns"] - row["begin_ns"] for row in rows]


def test_a_list_of_times_is_taken_in_turn() -> None:
    result = run(STAR, 'ranks = ["h0", "h1"]\niterations = 5\ncompute = ["1 us", "3 us"]')
    assert computed(result) == [1_000, 3_000, 1_000, 3_000, 1_000] * 2
    (job,) = result.rows("jobs")
    assert job["compute_ns"] == pytest.approx(9_000 / 5)


def test_jitter_is_exponential_and_of_each_rank() -> None:
    keys = 'ranks = "all"\niterations = 400\ncompute = "10 us"\ncompute_jitter = 0.2'
    one, two = (run(STAR, keys, threads=threads) for threads in (1, 2))
    times = computed(one)
    assert len(times) == 3_200 and min(times) >= 10_000
    extra = [time - 10_000 for time in times]
    # Six standard deviations of the mean of 3,200 exponential draws of mean 2 us.
    assert abs(mean(extra) - 2_000) < 6 * 2_000 / math.sqrt(3_200)
    assert pstdev(extra) == pytest.approx(2_000, rel=0.15)
    assert len(set(times)) > 3_000
    assert one.fingerprint == two.fingerprint and computed(two) == times
    assert one.table("rank_steps").equals(two.table("rank_steps"))


def test_a_straggler_is_slow_and_on_the_critical_path() -> None:
    keys = 'ranks = "all"\ncompute = "10 us"\nstragglers = { hosts = ["h3"], slowdown = 2.5 }'
    result = run(STAR, keys)
    times = computed(result)
    assert times == [25_000 if rank == 3 else 10_000 for rank in range(8)]
    path = critical_path(result, "job")
    assert path is not None
    assert path.parts["straggler"] == 15_000_000 and path.parts["computation"] == 10_000_000
    assert path.segments[0].rank == 3


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ('ranks = "all"\ncompute = []', "an empty list of times"),
        ('ranks = "all"\ncompute = "1 us"\ncompute_jitter = 11', "a jitter of 11"),
        (
            'ranks = "all"\ncompute = "1 us"\nstragglers = { hosts = "h1", slowdown = 0.5 }',
            "a slowdown of 0.5",
        ),
        ('ranks = "all"\ncompute = "1 us"\nstragglers = { hosts = "h9", slowdown = 2 }', "h9"),
        ('ranks = "all"\nplacement = "by_rack"', "by_rack"),
        ('ranks = "all"\ntimeline_rows = 1000000000', "1000000000 rows"),
    ],
)
def test_bad_values_are_named(keys: str, message: str) -> None:
    with pytest.raises(ps.ScenarioError, match=message):
        run(STAR, keys)
