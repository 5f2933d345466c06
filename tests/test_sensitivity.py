"""Sensitivities: a sum whose shares are known, and what cannot be asked."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import penstock as ps
from penstock.cli import main
from penstock.errors import InputError
from penstock.laboratory.engines import Engine
from penstock.laboratory.sensitivity import Effect, sensitivity

TWO = """
[simulation]
duration = "1 ms"

[probes]
bin = "off"

[topology.star]
hosts = 3
rate = "10 Gb/s"
length = "0 m"
phy = "none"

[switch.buffer]
queue = "50 frames"

[[flows]]
name = "a"
from = "h0"
to = "h2"
frame = "128 B"
source = { constant = { rate = "1 Gb/s" } }

[[flows]]
name = "b"
from = "h1"
to = "h2"
frame = "128 B"
source = { constant = { rate = "1 Gb/s" } }
"""
A, B = "flows.0.source.constant.rate", "flows.1.source.constant.rate"
RANGES = {A: "1 Gb/s:2 Gb/s", B: "1 Gb/s:3 Gb/s"}


def found(
    out: Path, method: str, number: int, vary: dict[str, str], measure: str
) -> dict[tuple[str, str], Effect]:
    plan = ps.Plan(ps.Scenario.from_toml(TWO), vary, measure={"x_bps": measure}, mode="latin", points=1)
    with ThreadPoolExecutor(2) as pool:
        effects = sensitivity(plan, out, method=method, number=number, executor=Engine(pool, 2))
    return {(effect.key, effect.index): effect for effect in effects}


def test_the_effect_of_a_rate_on_the_sum_is_its_range(tmp_path: Path) -> None:
    effects = found(tmp_path / "s", "morris", 4, RANGES, "sum(flows.throughput_bps)")
    assert next(iter(effects)) == (B, "effect")
    for key, range_bps in ((A, 1e9), (B, 2e9)):
        assert effects[key, "effect"].value == pytest.approx(range_bps, rel=0.01)
        assert effects[key, "spread"].value < 0.01 * range_bps
    assert (tmp_path / "s/pictures/sensitivity.png").stat().st_size > 5_000
    assert (tmp_path / "s/sensitivity.parquet").exists()


def test_shares_of_the_variance_are_those_of_the_squared_ranges(tmp_path: Path) -> None:
    """Uniform and added: 1 to 4, and nothing that only both together explain."""
    effects = found(tmp_path / "s", "sobol", 64, RANGES, "sum(flows.throughput_bps)")
    for key, share in ((A, 0.2), (B, 0.8)):
        assert effects[key, "alone"].value == pytest.approx(share, abs=0.05)
        assert effects[key, "with others"].value == pytest.approx(share, abs=0.05)


def test_what_nothing_moves(tmp_path: Path) -> None:
    effects = found(tmp_path / "s", "sobol", 4, RANGES, "sum(ports.drops)")
    assert {effect.value for effect in effects.values()} == {0.0}


def test_an_effect_needs_all_points(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"(?s)with .*frame = .* failed: .*all points are required"):
        found(tmp_path / "s", "morris", 4, {"flows.0.frame": "64 B:20000 B"}, "sum(flows.throughput_bps)")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "no key varies"),
        (("--vary", f"{A}=1 Gb/s:2 Gb/s", "--method", "moris"), "did you mean morris"),
        (("--vary", f"{A}=1 Gb/s:2 Gb/s", "--number", "1"), "at least 2"),
        (("--vary", f"{A}=1 Gb/s:2 Gb/s", "--method", "sobol"), "power of two"),
        (("--vary", f"{A}=1 Gb/s:2 Gb/s", "--measure", "x=flows.jitter_ns"), "one value per row"),
    ],
)
def test_wrong_words(
    tmp_path: Path,
    words: tuple[str, ...],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("two.toml").write_text(TWO, "utf-8")
    assert main(["sensitivity", "two.toml", *words]) == 2
    assert message in capsys.readouterr().err


def test_the_command_shows_a_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("two.toml").write_text(TWO, "utf-8")
    words = [word for key, values in RANGES.items() for word in ("--vary", f"{key}={values}")]
    assert main(["sensitivity", "two.toml", *words, "--number", "2", "--workers", "1"]) == 0
    reported = capsys.readouterr().out
    assert "effect" in reported
    assert "sensitivity.png" in reported
