"""``penstock demo``."""

from __future__ import annotations

import contextlib
import shlex
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from penstock import library
from penstock.errors import StudyError
from penstock.studies import reproduce as studies

from . import EXIT_DONE, EXIT_FAILED
from .console import aside, console, has_terminal, progress_bar, say

STUDY = "hagen-2012/ch7"
PICTURE = "ch7.png"
SCENARIO = library.STUDIES / STUDY / "aggressor-fair-bandwidth.toml"

SAYS_EVERY_S = 10.0
MOST_LINES = 6
"""Maximum number of progress lines without a terminal."""

SHOWS = """\
Two victims and an aggressor share one link. From 4 ms on the aggressor sends at line rate. The picture has
one column for each pause scheme: PFC pauses all three; targeted PFC by random sampling pauses one of them,
often the wrong one; targeted PFC by fair bandwidth pauses only the aggressor. The bars show the pauses.
Next, change one line and compare the throughput of the victims:
    penstock new fair.toml --like {scenario}
    sed 's/fair_bandwidth/random_sampling/' fair.toml > random.toml
    penstock run fair.toml && penstock run random.toml && penstock compare out/fair out/random"""


def demo(*, out: Path = Path("out/demo")) -> int:
    """Reproduces a chapter of a paper with few replications, and explains the picture.

    Parameters
    ----------
    out
        Directory for pictures and outcomes.
    """
    [study] = studies.find(STUDY)
    with _reporting() as reported, aside():
        result = studies.reproduce(study, out / STUDY, quick=True, say=reported)
    picture = out / STUDY / PICTURE
    if not picture.exists():
        raise StudyError(f"no picture: {STUDY} did not complete")
    place = SCENARIO.relative_to(Path.cwd()) if SCENARIO.is_relative_to(Path.cwd()) else SCENARIO
    within = sum(outcome.judgement.within for outcome in result.outcomes)
    screen = console()
    screen.print(
        f"{within} of {len(result.outcomes)} experiments of {STUDY} agree with the paper, with a few seeds; "
        f"for verdicts with all seeds: penstock reproduce {STUDY}"
    )
    screen.print(*SHOWS.format(scenario=shlex.quote(str(place))).split("\n"))
    screen.print(f"picture  {picture}")
    return EXIT_DONE if result.passed else EXIT_FAILED


@contextlib.contextmanager
def _reporting() -> Iterator[Callable[[str], None]]:
    """Reports progress in a bar that is removed at the end; without a terminal in a few lines."""
    if not has_terminal():
        entries: list[float] = []

        def report(step: str) -> None:
            now = time.monotonic()
            if not entries or (now - entries[-1] >= SAYS_EVERY_S and len(entries) < MOST_LINES):
                entries.append(now)
                say(step)

        yield report
        return
    with progress_bar("starting") as bar:
        yield lambda step: bar.update(0, None, step, "")
