"""``penstock demo``."""

from __future__ import annotations

from pathlib import Path

from penstock import library
from penstock.errors import StudyError

from . import EXIT_DONE
from .console import console

STUDY = "hagen-2012/ch7"
PICTURE = "ch7.png"
SCENARIO = library.STUDIES / STUDY / "aggressor-fair-bandwidth.toml"

SHOWS = """
Two victims and an aggressor share one link, and from 4 ms on the aggressor sends all it can. One column for
each way to protect the buffer: PFC stops all three; targeted PFC by random sampling stops one of them, often
the wrong one; targeted PFC by fair bandwidth stops the aggressor alone. The bars below are the pauses.
"""

NEXT = """
Next, change one line and see what becomes of the victims:

    penstock new fair.toml --like {scenario}
    penstock run fair.toml
    # in fair.toml:  method = "fair_bandwidth"   ->   method = "random_sampling"
    penstock run fair.toml --out out/changed
    penstock compare out/fair out/changed
"""


def demo(*, out: Path = Path("out/demo")) -> int:
    """Reproduces a chapter of a paper with few replications, and says what its picture shows.

    Parameters
    ----------
    out
        Directory for pictures and outcomes.
    """
    from .reproduce import reproduce

    code = reproduce(STUDY, quick=True, out=out)
    picture = out / STUDY / PICTURE
    if not picture.exists():
        raise StudyError(f"there is no picture: {STUDY} did not run to its end")
    place = SCENARIO.relative_to(Path.cwd()) if SCENARIO.is_relative_to(Path.cwd()) else SCENARIO
    for text in (SHOWS, NEXT.format(scenario=place), f"picture  {picture}"):
        console().print(*text.split("\n"))
    return code or EXIT_DONE
