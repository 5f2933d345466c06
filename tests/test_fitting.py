"""Lines through fair weights: against lines that are known, numpy, and what they ought to say."""

from __future__ import annotations

import doctest
import json
from pathlib import Path

import numpy as np
import pytest

from penstock.analysis import fitting
from penstock.analysis.fitting import PUBLISHED, Line, fit, read_baseline
from penstock.cli import main
from penstock.errors import InputError

SIZES = (68, 100, 128, 146, 256, 512, 1024, 1522)


def test_examples() -> None:
    failed, tried = doctest.testmod(fitting)
    assert (failed, tried > 0) == (0, True)


def test_the_published_lines_come_back_from_what_they_say() -> None:
    found = fit({size: PUBLISHED.weight(size) for size in SIZES})
    for line, known in ((found.small, PUBLISHED.small), (found.large, PUBLISHED.large)):
        assert (line.slope, line.intercept) == pytest.approx((known.slope, known.intercept))
    assert found.rms < 1e-12
    # The lines cross at 147.8 B, above the printed pivot of 146 B.
    assert 146 <= found.pivot_bytes < 149
    assert [found.weight(size) for size in SIZES] == pytest.approx([PUBLISHED.weight(size) for size in SIZES])


def test_no_other_pivot_is_nearer() -> None:
    """The closed form of wire and payload, by numpy, with every way to part the sizes."""
    weights = {size: (size + 20) / (size - 18) * 1504 / 1542 for size in SIZES}
    found = fit(weights)
    x, y = np.array(SIZES, float), np.array(list(weights.values()))
    squares = []
    for at in range(2, len(SIZES) - 1):
        parts = [slice(None, at), slice(at, None)]
        away = [np.polyval(np.polyfit(x[part], y[part], 1), x[part]) - y[part] for part in parts]
        squares.append(float(np.sqrt(np.mean(np.concatenate(away) ** 2))))
    assert found.rms == pytest.approx(min(squares))
    assert found.worst >= found.rms


def test_lines_that_do_not_cross_part_half_way() -> None:
    found = fit({64: 2.0, 100: 2.0, 200: 1.0, 300: 1.0})
    assert (found.small, found.large, found.pivot_bytes) == (Line(0.0, 2.0), Line(0.0, 1.0), 150.0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("68,1.7\n68,1.6\n", "b.csv:2: 68 B comes twice"),
        ("68;1.7\n", "b.csv:1: '68;1.7'; expected SIZE,WEIGHT"),
        ("size,weight\n68,1.7\nsize,weight\n", "b.csv:3"),
    ],
)
def test_wrong_lines_are_named(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_baseline(text, "b.csv")


def test_too_few_sizes_and_no_weights_are_refused() -> None:
    with pytest.raises(InputError, match="3 sizes; two lines need at least 4"):
        fit({64: 1.0, 128: 1.0, 256: 1.0})
    with pytest.raises(InputError, match="weight 0 at 64 B"):
        fit({64: 0.0, 128: 1.0, 256: 1.0, 512: 1.0})


def test_the_command_prints_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    baseline = tmp_path / "baseline.csv"
    rows = "\n".join(f"{size},{PUBLISHED.weight(size)}" for size in SIZES)
    baseline.write_text(f"# made up\nsize,weight\n{rows}\n", "utf-8")
    assert main(["fit", str(baseline)]) == 0
    assert "f(x) = -0.008 x + 2.276" in capsys.readouterr().out
    assert main(["fit", str(baseline), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["schema"], round(report["large"]["intercept"], 6)) == ("penstock-fit/1", 1.106)
    assert main(["fit", str(tmp_path / "none.csv")]) == 2
