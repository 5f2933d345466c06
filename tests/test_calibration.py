"""Fits of latency and bandwidth to measurements: forms of the files, the fit itself, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import Command, json_of
from penstock.errors import InputError
from penstock.programs import calibration
from penstock.programs.measured import bus_factor, check, read, steps

DATA = Path(__file__).parent / "traces"
SIZES = tuple(size << 20 for size in (16, 32, 64, 128, 256, 512))
PUBLISHED = {
    # SimAI's tutorial, bus bandwidths of an all-reduce in GB/s by these sizes; ranks; GB/s, us a step and the
    # largest error of the fit.
    "rails": ((33.1, 38.6, 42.0, 44.0, 45.1, 45.65), 256, 46.2, 0.561, 0.002),
    "single ToR": ((23.3, 25.8, 23.7, 35.2, 36.2, 36.2), 256, 36.7, None, 0.06),
    "NVLink": ((141.8, 153.7, 160.6, 163.9, 165.7, 166.7), 32, 167.7, 0.5695, 0.002),
    "NVLS": ((148.9, 178.0, 197.4, 208.7, 214.9, 218.1), 32, 221.5, 1.154, 0.001),
}


def rows(name: str) -> str:
    return (DATA / name).read_text("utf-8")


def test_real_output_of_nccl_tests_is_fitted_within_its_error() -> None:
    found = read("f", rows("tests_aws_0_0.txt"))
    assert (found.collective, found.ranks, len(found.times_us)) == ("all-reduce", 2, 29)
    assert found.times_us[1 << 30] == 344_981
    assert read("f", rows("tests_aws_0_0.txt"), in_place=True).times_us[1 << 30] == 344_454
    assert check(found) == {"factor": 1.0, "steps": 2}
    fitted = calibration.fit(found.times_us, "f")
    assert len(fitted.ranges) == 3
    assert fitted.rms < 0.025
    assert abs(fitted.worst[1]) < 0.075
    assert fitted.ranges[0].latency_us == pytest.approx(65.2, abs=0.5)
    # The last rows of the file say 3.11 to 3.15 GB/s.
    assert 3.09 < fitted.ranges[-1].bytes_per_s / 1e9 < 3.16
    for one, following in zip(fitted.ranges, fitted.ranges[1:], strict=False):
        assert one.last < following.first


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_curves_are_fitted_within_their_error(name: str) -> None:
    values, ranks, bandwidth, step_us, error = PUBLISHED[name]
    text = "bytes,busbw_GBps\n" + "".join(f"{size},{one}\n" for size, one in zip(SIZES, values, strict=True))
    found = read("f", text, collective="all_reduce", ranks=ranks)
    fitted = calibration.fit(found.times_us, "f")
    assert max(abs(one) for one in fitted.errors.values()) < error
    last = fitted.ranges[-1]
    assert last.bytes_per_s * bus_factor("all-reduce", ranks) / 1e9 == pytest.approx(bandwidth, rel=0.005)
    if step_us is not None:
        assert len(fitted.ranges) == 1
        assert last.latency_us / steps("all-reduce", ranks) == pytest.approx(step_us, rel=0.01)


@pytest.mark.parametrize(
    ("row", "time"),
    [
        ("1024 256 float sum -1 10.5 0.10 0.10 0 11.5 0.09 0.09 0", 10.5),
        ("1024 256 float sum 10.5 0.10 0.10 0 11.5 0.09 0.09 0", 10.5),
        ("1024 256 float 10.5 0.10 0.10 0 11.5 0.09 0.09 N/A", 10.5),
        ("1024 256 float sum -1 10.5 0.10 0.10 0", 10.5),
        ("1024 256 float none 10.5 0.10 0.10 N/A", 10.5),
        ("1024 256 bfloat16 1.5e+05 0.10 0.10 N/A", 150_000),
        ("[1,0]<stdout>:  1024 256 float sum -1 171351 0.10 0.10 0 11.5 0.09 0.09 0", 171_351),
    ],
)
def test_forms_of_rows_of_nccl_tests(row: str, time: float) -> None:
    assert read("f", f"#  size  count  type\nNCCL INFO x\n{row}\n").times_us == {1024: time}


PERFTEST = """---------------------------------------------------------------------------------------
                    RDMA_Write {what} Test
 Dual-port       : OFF          Device         : mlx5_0
 {head}
{rows}---------------------------------------------------------------------------------------
"""
LATENCY = " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]"


def test_output_of_perftest() -> None:
    lines = "".join(
        f" {size} 1000 0.9 9.9 {1 + size / 10_000} {2 + size / 12_500} 0.1 3.0\n" for size in (2, 4096, 65536)
    )
    found = read("f", PERFTEST.format(what="Latency", head=LATENCY, rows=lines))
    assert found.times_us == {size: pytest.approx(2 + size / 12_500) for size in (2, 4096, 65536)}
    fitted = calibration.fit(found.times_us, "f")
    assert fitted.ranges[0].latency_us == pytest.approx(2)
    assert fitted.ranges[0].bytes_per_s == pytest.approx(12.5e9)
    for unit, factor in (("MB/sec", 2**20), ("Gb/sec", 1e9 / 8)):
        head = f"#bytes     #iterations    BW peak[{unit}]    BW average[{unit}]   MsgRate[Mpps]"
        lines = "".join(
            f" {size} 5000 99.0 {size / (0.5 + size / 1e4) / factor * 1e6:.6f} 0.1\n"
            for size in (64, 1024, 65536)
        )
        found = read("f", PERFTEST.format(what="BW", head=head, rows=lines))
        assert found.is_interval
        assert found.times_us[65536] == pytest.approx(0.5 + 6.5536, rel=1e-5)


@given(
    st.floats(0.1, 1_000),
    st.floats(1e-7, 1e-2),
    st.lists(st.integers(0, 34), min_size=3, max_size=20, unique=True),
)
def test_a_line_is_found_exactly(latency: float, slope: float, powers: list[int]) -> None:
    times = {1 << power: latency + slope * (1 << power) for power in powers}
    fitted = calibration.fit(times, "f")
    assert len(fitted.ranges) == 1 or fitted.rms < 1e-6
    assert all(abs(error) < 1e-5 for error in fitted.errors.values())


@given(st.dictionaries(st.integers(1, 10**9), st.floats(0.01, 1e6), min_size=3, max_size=12))
def test_no_number_is_negative_whatever_was_measured(times: dict[int, float]) -> None:
    fitted = calibration.fit(times, "f")
    assert all(one.latency_us >= 0 and one.us_per_byte >= 0 for one in fitted.ranges)
    assert set(fitted.errors) == set(times)


def test_ranges_are_those_of_the_protocols() -> None:
    small = {1 << power: 5 + (1 << power) / 1_000 for power in range(3, 12)}
    large = {1 << power: 40 + (1 << power) / 50_000 for power in range(12, 24)}
    fitted = calibration.fit(small | large, "f")
    assert [(one.first, one.last) for one in fitted.ranges] == [(8, 2048), (4096, 1 << 23)]
    assert fitted.rms < 1e-6
    cost = calibration.host_cost(fitted.ranges[1], 1.0, 4, 2.0, 100e9)
    assert cost.overhead_us == pytest.approx(8)
    assert cost.overhead_ns_per_byte == pytest.approx(0.02 - 0.01)


def test_what_is_refused() -> None:
    head = "# size count type\n"
    for text, message in (
        (rows("tests_aws_2_2.txt"), "has no rows of nccl-tests or perftest.* It has averages alone"),
        (head + "8 2 float sum -1 1 2 3 4 5\n", "f:2: a row of 10 fields"),
        (head + "8 2 float sum -1 x 0.1 0.1 0\n", "f:2: x; expected a number"),
        (head, "has no sizes of more than 0 bytes"),
        ("bytes,time\n8,5\n", "f:2: no time; expected the column time_us"),
        ("bytes,time_us\n-8,5\n", "f:2: bytes is -8; expected a whole number"),
        ("bytes,busbw_GBps\n8,5\n", "has bus bandwidths; expected --collective and --ranks"),
    ):
        with pytest.raises(InputError, match=message):
            read("f", text)
    with pytest.raises(InputError, match="--collective all-reduced; did you mean all-reduce"):
        read("f", head, collective="all-reduced")
    with pytest.raises(InputError, match="does not say the collective; expected --collective all-reduce"):
        check(read("f", rows("tests_aws_2_0.txt")))
    with pytest.raises(InputError, match="1 sizes; at least 3"):
        calibration.fit({8: 1.0}, "f")
    with pytest.raises(InputError, match=r"the time of 16 B is 0\.0; expected more than 0"):
        calibration.fit({8: 1.0, 16: 0.0, 32: 2.0}, "f")
    with pytest.raises(InputError, match="401 sizes; at most 400"):
        calibration.fit(dict.fromkeys(range(1, 402), 1.0), "f")


def test_the_command_prints_costs_of_the_host(penstock: Command) -> None:
    file = DATA / "tests_aws_0_0.txt"
    found = json_of(penstock("calibrate", file, "--json", "--rate", "25 Gb/s", "--latency", "10 us"))
    first = found["ranges"][0]
    assert first["overhead_us"] == pytest.approx(first["latency_us"] / 2 - 10)
    assert first["overhead_ns_per_byte"] == pytest.approx(1 / first["bus_bandwidth_GBps"] - 0.32)
    done = penstock("calibrate", file, "--rate", "25 Gb/s", "--latency", "10 us")
    last = found["ranges"][-1]
    assert f'overhead = "{last["overhead_us"] * 1e3:.0f} ns"' in done.stdout
    done = penstock("calibrate", file)
    assert "keys of a job" not in done.stdout
    assert "nccl-tests: all-reduce over 2 ranks, 29 sizes" in done.stdout
    assert "error 2.2%" in done.stdout
    done = penstock("calibrate", file, "--rate", "25 Gb/s")
    assert done.returncode == 2
    assert "--rate and --latency: expected both" in done.stderr
    done = penstock("calibrate", file, "--rate", "25 us", "--latency", "2 us")
    assert 'expected a rate, such as "400 Gb/s"' in done.stderr
