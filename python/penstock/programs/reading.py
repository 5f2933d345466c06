"""What readers of programs share: contents of a file, repairs, and the options of a conversion."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from penstock import _core


@dataclass(frozen=True)
class Options:
    """Choices that files leave open.

    Parameters
    ----------
    ranks
        Number of ranks, where the files do not say it: AICB tables, SimAI workloads without all_gpus, and one
        Chakra trace that all ranks run.
    bytes
        Bytes of the collective that an MSCCL algorithm performs. Default: 1 MiB.
    algorithm
        Expansion of collectives into messages: "ring" or "direct".
    iterations
        Repetitions of a training step.
    ctrl_deps
        Follows the control dependencies of Chakra beside the data dependencies.
    chain_streams
        Runs the GPU kernels of one stream of Chakra in the order of the file.
    time_unit
        Unit of the starts of a connection matrix: "us" or "ps". Default: "us".
    groups
        Ranks of the process groups of Chakra by name, beside those that traces list: the communicator groups
        of ASTRA-sim.
    """

    ranks: int | None = None
    bytes: int | None = None
    algorithm: str = "ring"
    iterations: int = 1
    ctrl_deps: bool = False
    chain_streams: bool = False
    time_unit: str | None = None
    groups: Mapping[str, Sequence[int]] = field(default_factory=dict)


@dataclass
class Repairs:
    """Deviations from a format that were repaired, counted by kind, each with its first place."""

    counts: dict[str, int] = field(default_factory=dict)
    first: dict[str, str] = field(default_factory=dict)

    def count(self, what: str, place: str, times: int = 1) -> None:
        """Counts a repair; `place` is that of the first one."""
        self.counts[what] = self.counts.get(what, 0) + times
        self.first.setdefault(what, place)

    def lines(self) -> list[str]:
        """A line for each kind."""
        return [f"{count:,} {what}; the first: {self.first[what]}" for what, count in self.counts.items()]


@dataclass
class Found:
    """What was found in a file, or in several that go together.

    Attributes
    ----------
    format : str
        Name of the format.
    contents : list of str
        What it holds, a line each.
    repairs : list of str
        Repairs that reading has made, with their number.
    notes : list of str
        Choices that the file leaves open, and how they were made.
    program : callable
        Makes the program; raises InputError if it cannot be made. Repairs and notes that it makes are in the
        lists afterwards.
    """

    format: str
    contents: list[str]
    repairs: list[str]
    notes: list[str]
    program: Callable[[], _core.Program]


Reader = Callable[[Sequence[tuple[str, bytes]], Options], Found]
"""Reads files, each its name and contents."""
