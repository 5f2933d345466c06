"""What `make demo` runs: one chapter of a paper again, its picture, and the line to change next."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

STUDY = "hagen-2012/ch7"
OUT = Path("out/demo")
SCENARIO = Path("studies") / STUDY / "aggressor-fair-bandwidth.toml"

SHOWS = """
Two victims and an aggressor share one link, and from 4 ms on the aggressor sends all it can. One column for
each way to protect the buffer: PFC stops all three; targeted PFC by random sampling stops one of them, often
the wrong one; targeted PFC by fair bandwidth stops the aggressor alone. The bars below are the pauses.
"""

NEXT = """
Next, change one line and see what becomes of the victims:

    cp {scenario} fair.toml
    {penstock} run fair.toml
    # in fair.toml:  method = "fair_bandwidth"   ->   method = "random_sampling"
    {penstock} run fair.toml --out out/changed
    {penstock} compare out/fair out/changed
"""


def main() -> int:
    """Runs the study; its exit code is that of the demo."""
    penstock = Path(sys.executable).with_name("penstock")
    code = subprocess.run([penstock, "reproduce", STUDY, "--quick", "--out", OUT], check=False).returncode
    picture = OUT / STUDY / "ch7.png"
    if not picture.exists():
        print(f"there is no picture: {STUDY} did not run to its end", file=sys.stderr)
        return code or 1
    print(SHOWS + NEXT.format(scenario=SCENARIO, penstock=penstock.relative_to(Path.cwd())))
    print(f"picture: {picture}")
    return code


if __name__ == "__main__":
    raise SystemExit(main())
