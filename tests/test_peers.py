"""BookSim as a peer: configurations, what is read of its output, the verdict. It need not be installed."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from penstock import validation

FILE = Path(__file__).parent.parent / "benches" / "peers" / "booksim.py"

# In the form of BookSim 2: statistics so far, and those of all samples at the end.
SO_FAR = """\
Class 0:
Packet latency average = 40.2
\tminimum = 4
\tmaximum = 120
Accepted packet rate average = 0.71
\tminimum = 0.58 (at node 3)
\tmaximum = 0.74 (at node 6)
Accepted flit rate average = 0.71
\tminimum = 0.58 (at node 3)
\tmaximum = 0.74 (at node 6)
"""
OVERALL = """\
Draining remaining packets ...
Time taken is 345678 cycles
====== Overall Traffic Statistics ======
====== Traffic class 0 ======
Packet latency average = 812.25 (1 samples)
\tminimum = 4 (1 samples)
\tmaximum = 2411 (1 samples)
Injected packet rate average = 0.99985 (1 samples)
\tminimum = 0.9981 (1 samples)
\tmaximum = 1 (1 samples)
Accepted packet rate average = RATE (1 samples)
\tminimum = 0.6 (1 samples)
\tmaximum = 0.63 (1 samples)
Injected flit rate average = 0.99985 (1 samples)
\tminimum = 0.9981 (1 samples)
\tmaximum = 1 (1 samples)
Accepted flit rate average = RATE (1 samples)
\tminimum = 0.6 (1 samples)
\tmaximum = 0.63 (1 samples)
Injected packet size average = 1 (1 samples)
Total run time 12.5
"""


@pytest.fixture(scope="module")
def booksim() -> ModuleType:
    spec = importlib.util.spec_from_file_location("booksim", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["booksim"] = module
    spec.loader.exec_module(module)
    return module


def overall(rate: float) -> str:
    return SO_FAR + OVERALL.replace("RATE", f"{rate:g}")


def test_the_load_is_that_of_all_samples(booksim: ModuleType) -> None:
    assert booksim.accepted(overall(0.6184)) == 0.6184
    assert booksim.accepted(overall(9e-05)) == 9e-05


@pytest.mark.parametrize("message", ["", SO_FAR, SO_FAR + "Simulation unstable, ending ...\n"])
def test_a_run_without_an_end_has_no_load(booksim: ModuleType, message: str) -> None:
    with pytest.raises(ValueError, match="no overall statistics"):
        booksim.accepted(message)


def test_runs_are_those_of_the_validations(booksim: ModuleType) -> None:
    cases = [case for case in validation.cases() if case.name in {run.case for run in booksim.RUNS}]
    assert len(cases) == 2
    rows = {row.quantity for outcome in validation.validate(cases, quick=True) for row in outcome.rows}
    assert {run.quantity for run in booksim.RUNS} <= rows
    for run in booksim.RUNS:
        lines = run.configuration().splitlines()
        keys = [line.partition(" = ")[0] for line in lines]
        assert len(set(keys)) == len(keys), "a key is given twice"
        assert all(line.endswith(";") for line in lines)


def test_the_verdict_of_a_program(
    booksim: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A program that answers as BookSim does: with what Penstock has, with more, and with no end."""
    ours = {run.quantity: 0.6184 for run in booksim.RUNS}
    monkeypatch.setattr(booksim, "by_penstock", lambda: ours)
    program = tmp_path / "program"

    def answers(text: str) -> int:
        script = f"#!{sys.executable}\nimport sys\nopen(sys.argv[1]).read()\nprint({text!r})\n"
        program.write_text(script, "utf-8")
        program.chmod(0o755)
        return int(booksim.main([str(program)]))

    assert answers(overall(0.61)) == 0
    assert "| 8 inputs, round_robin: load carried | 0.6100 | 0.6184 | +1.38% |" in capsys.readouterr().out
    assert answers(overall(0.64)) == 1
    assert "**-3.38%**" in capsys.readouterr().out
    assert answers(SO_FAR) == 2
    assert "no overall statistics" in capsys.readouterr().err
    assert booksim.main([str(tmp_path / "absent")]) == 2


def test_configurations_are_printed(booksim: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert booksim.main([]) == 0
    printed = capsys.readouterr().out
    assert printed.count("sim_type = throughput;") == len(booksim.RUNS)
    assert "topology = fattree;" in printed
