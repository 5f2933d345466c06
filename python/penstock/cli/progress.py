"""What a person sees while a run is under way, and what Ctrl-C does."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Protocol

from penstock.running import Progress
from penstock.units import duration

from .console import say


@dataclass
class Wish:
    """Whether the person wants the run to end."""

    stop: bool = False


class Watcher(Protocol):
    """Gets the progress of a run; false ends the run."""

    def __call__(self, progress: Progress) -> bool:
        """Whether the run should go on."""


@contextlib.contextmanager
def stop_on_interrupt() -> Iterator[Wish]:
    """The first Ctrl-C asks the run to end with what was measured so far; the second ends at once."""
    wish = Wish()
    if threading.current_thread() is not threading.main_thread():
        yield wish
        return

    def interrupted(_number: int, _frame: FrameType | None) -> None:
        if wish.stop:
            raise KeyboardInterrupt
        wish.stop = True

    before = signal.signal(signal.SIGINT, interrupted)
    try:
        yield wish
    finally:
        signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def watching(wish: Wish) -> Iterator[Watcher]:
    """A progress bar with simulated time, frame-hops a second and the time left, if there is a terminal."""
    if not sys.stderr.isatty():

        def listen(progress: Progress) -> bool:
            if progress.warning:
                say(f"warning: {progress.warning}")
            return not wish.stop

        yield listen
        return
    from rich.console import Console
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.fields[time]}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[speed]}"),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("run", total=1.0, time="starting", speed="")

        def watch(progress: Progress) -> bool:
            if progress.warning:
                bar.console.print(f"warning: {progress.warning}", markup=False, soft_wrap=True)
            speed = progress.frame_hops / progress.wall_s / 1e6 if progress.wall_s > 0 else 0.0
            bar.update(
                task,
                completed=progress.simulated_s,
                total=progress.duration_s,
                time=f"{duration(progress.simulated_s * 1e9)} of {duration(progress.duration_s * 1e9)}",
                speed=f"{speed:.1f} M frame-hops/s",
            )
            return not wish.stop

        yield watch
