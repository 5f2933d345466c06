"""Progress of a run on the terminal, and the handling of Ctrl-C."""

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
"""Signals that are deferred until the measurements are saved."""


@dataclass
class Wish:
    """The user's request to end the run, and the current optional part."""

    requested: int = 0
    """Number of interrupts so far."""
    drawing: bool = False
    """True while pictures are being drawn, which can be skipped."""
    terminated: bool = False
    """True if a signal was SIGTERM."""

    @property
    def stop(self) -> bool:
        """True if the run should end."""
        return self.requested > 0

    @contextlib.contextmanager
    def leaves_out(self) -> Iterator[None]:
        """Context of a block that the second Ctrl-C skips."""
        self.drawing = True
        try:
            yield
        finally:
            self.drawing = False


class Watcher(Protocol):
    """Callback for the progress of a run."""

    def __call__(self, progress: Progress) -> bool:
        """Returns true if the run should continue."""


@contextlib.contextmanager
def stop_on_interrupt() -> Iterator[Wish]:
    """Context in which Ctrl-C or SIGTERM ends the run but keeps the measurements so far.

    The second interrupt skips the report; the third terminates the program.
    """
    wish = Wish()
    if threading.current_thread() is not threading.main_thread():
        yield wish
        return

    def interrupted(number: int, _frame: FrameType | None) -> None:
        wish.requested += 1
        wish.terminated |= number == signal.SIGTERM
        if wish.requested > LAST or (wish.requested > 1 and wish.drawing):
            raise Terminated if wish.terminated else KeyboardInterrupt

    before = {number: signal.signal(number, interrupted) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield wish
    except Terminated:
        raise
    except KeyboardInterrupt:
        # The engine raises it if the run is interrupted while loading.
        if wish.terminated:
            raise Terminated from None
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def watching(wish: Wish) -> Iterator[Watcher]:
    """Progress bar with simulated time, frame-hops per second and remaining time, if there is a terminal."""
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
