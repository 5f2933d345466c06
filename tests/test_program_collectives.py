"""Collectives as sends and receives: bytes by the algebra, times on a network without contention."""

from __future__ import annotations

import pytest

from penstock.errors import InputError
from penstock.programs.building import Builder
from penstock.programs.collectives import KINDS, expand, messages
from program_clock import Clock

ALPHA, RATE = 700.0, 50.0


def run(kind: str, count: int, size: int, algorithm: str) -> tuple[Clock, list[tuple[int, ...]]]:
    builder = Builder(count, "test")
    group = list(reversed(range(count)))
    expand(builder, kind, group, size, {}, algorithm)
    program = builder.build()
    clock = Clock(program, ALPHA, RATE)
    assert clock.left == []
    assert program.unmatched() == []
    return clock, program.totals()


@pytest.mark.parametrize("count", [2, 3, 4, 5, 8, 16])
@pytest.mark.parametrize("algorithm", ["ring", "direct"])
@pytest.mark.parametrize("kind", ["all-reduce", "all-gather", "reduce-scatter", "all-to-all"])
def test_bytes_and_time_are_those_of_the_algebra(kind: str, algorithm: str, count: int) -> None:
    size = 1_000 * count
    clock, totals = run(kind, count, size, algorithm)
    phases = 2 if kind == "all-reduce" else 1
    assert {rank[1] for rank in totals} == {phases * (count - 1) * size // count}
    assert {rank[3] for rank in totals} == {phases * (count - 1) * size // count}
    assert sum(rank[0] for rank in totals) == messages(kind, count)
    part = size / count / RATE
    if algorithm == "ring" and kind != "all-to-all":
        assert clock.total_ns == pytest.approx(phases * (count - 1) * (ALPHA + part))
    else:
        assert clock.total_ns == pytest.approx(phases * ((count - 1) * part + ALPHA))


@pytest.mark.parametrize("count", [2, 3, 5, 8])
@pytest.mark.parametrize("size", [1, 7, 1_001])
def test_sizes_that_do_not_divide_lose_no_byte(count: int, size: int) -> None:
    for algorithm in ("ring", "direct"):
        for kind in ("all-gather", "reduce-scatter"):
            _, totals = run(kind, count, size, algorithm)
            assert sum(rank[1] for rank in totals) == (count - 1) * size, (kind, algorithm)


@pytest.mark.parametrize("count", [2, 3, 4, 7, 8])
def test_rooted_collectives_and_barriers(count: int) -> None:
    size = 600 * count
    for kind in ("broadcast", "reduce"):
        clock, totals = run(kind, count, size, "ring")
        assert sum(rank[1] for rank in totals) == (count - 1) * size
        assert max(rank[1] for rank in totals) == size
        assert clock.total_ns == pytest.approx((count - 1) * (size / RATE + ALPHA))
    root = count - 1  # groups are reversed
    for kind, column in (("broadcast", 1), ("scatter", 1), ("reduce", 3), ("gather", 3)):
        _, totals = run(kind, count, size, "direct")
        part = size if kind in ("broadcast", "reduce") else size // count
        assert totals[root][column] == (count - 1) * part
    clock, totals = run("barrier", count, 0, "ring")
    steps = (count - 1).bit_length()
    assert {rank[0] for rank in totals} == {steps}
    assert clock.total_ns == pytest.approx(steps * ALPHA)


def test_a_rank_waits_for_what_came_before_and_what_follows_waits_for_it() -> None:
    for kind in KINDS:
        for algorithm in ("ring", "direct"):
            builder = Builder(3, "test")
            before = {rank: [builder.calc(rank, 1_000 * (rank + 1))] for rank in range(3)}
            ends = expand(builder, kind, [0, 1, 2], 3_000, before, algorithm)
            after = [builder.calc(rank, 0, ends[rank]) for rank in range(3)]
            clock = Clock(builder.build(), ALPHA, RATE)
            assert clock.left == []
            for rank in range(3):
                own = [end for (at, _), end in clock.ends.items() if at == rank]
                assert clock.ends[rank, after[rank].number] == max(own), (kind, algorithm)
                assert clock.ends[rank, after[rank].number] >= 1_000 * (rank + 1)
            if kind in ("all-reduce", "all-gather", "all-to-all", "barrier"):
                assert all(clock.ends[rank, after[rank].number] >= 3_000 for rank in range(3)), kind


def test_nothing_is_sent_by_one_rank_or_of_no_bytes() -> None:
    builder = Builder(2, "test")
    before = {0: [builder.calc(0, 5)]}
    assert expand(builder, "all-reduce", [0], 100, before, "ring") == before
    assert expand(builder, "all-reduce", [0, 1], 0, before, "ring") == {0: before[0], 1: []}
    assert builder.build().operations == 1


def test_bad_names_and_sizes_are_refused() -> None:
    builder = Builder(4_000, "test")
    with pytest.raises(InputError, match="collective all-reduced; did you mean all-reduce"):
        expand(builder, "all-reduced", [0, 1], 1, {}, "ring")
    with pytest.raises(InputError, match='algorithm tree; expected "ring" or "direct"'):
        expand(builder, "all-reduce", [0, 1], 1, {}, "tree")
    with pytest.raises(InputError, match="needs about 63,984,000 operations; at most 10,000,000"):
        expand(builder, "all-reduce", range(4_000), 10**9, {}, "ring")
    with pytest.raises(InputError, match="0 ranks; expected 1 to 1048576"):
        Builder(0, "test")
