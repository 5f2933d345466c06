"""What a person sees while a run is under way, and what Ctrl-C does."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Protocol

from penstock.running import Progress
from penstock.units import duration

from .console import Terminated, has_terminal, progress_bar, say

LAST = 2
"""Requests to end that wait until what was measured is saved."""


@dataclass
class Wish:
    """Whether the person wants the run to end, and what may still be given up."""

    asked: int = 0
    """How often."""
    drawing: bool = False
    """Whether only pictures are under way, which may be left out."""
    terminated: bool = False
    """Whether it was SIGTERM."""

    @property
    def stop(self) -> bool:
        """Whether the run should end."""
        return self.asked > 0

    @contextlib.contextmanager
    def leaves_out(self) -> Iterator[None]:
        """A block that the next Ctrl-C after the first leaves out."""
        self.drawing = True
        try:
            yield
        finally:
            self.drawing = False


class Watcher(Protocol):
    """Gets the progress of a run; false ends the run."""

    def __call__(self, progress: Progress) -> bool:
        """Whether the run should go on."""


@contextlib.contextmanager
def stop_on_interrupt() -> Iterator[Wish]:
    """Ctrl-C or SIGTERM asks the run to end with what was measured so far.

    The second leaves out the report; the third ends at once.
    """
    wish = Wish()
    if threading.current_thread() is not threading.main_thread():
        yield wish
        return

    def interrupted(number: int, _frame: FrameType | None) -> None:
        wish.asked += 1
        wish.terminated |= number == signal.SIGTERM
        if wish.asked > LAST or (wish.asked > 1 and wish.drawing):
            raise Terminated if wish.terminated else KeyboardInterrupt

    before = {number: signal.signal(number, interrupted) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield wish
    except Terminated:
        raise
    except KeyboardInterrupt:
        # The engine raises it where a run that is loaded is no longer wanted.
        if wish.terminated:
            raise Terminated from None
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def watching(wish: Wish) -> Iterator[Watcher]:
    """A progress bar with simulated time, frame-hops a second and the time left, if there is a terminal."""
    if not has_terminal():

        def listen(progress: Progress) -> bool:
            if progress.warning:
                say(f"warning: {progress.warning}")
            return not wish.stop

        yield listen
        return
    with progress_bar("starting") as bar:

        def watch(progress: Progress) -> bool:
            if progress.warning:
                bar.say(f"warning: {progress.warning}")
            speed = progress.frame_hops / progress.wall_s / 1e6 if progress.wall_s > 0 else 0.0
            bar.update(
                progress.simulated_s,
                progress.duration_s,
                f"{duration(progress.simulated_s * 1e9)} of {duration(progress.duration_s * 1e9)}",
                f"{speed:.1f} M frame-hops/s",
            )
            return not wish.stop

        yield watch
