"""Types shared by the readers of programs: contents of a file, repairs, and conversion options."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from penstock import _core


@dataclass(frozen=True)
class Options:
    """Conversion choices that the files do not determine.

    Parameters
    ----------
    ranks
        Number of ranks, if the files do not state it: for AICB tables, SimAI workloads without all_gpus, and
        one Chakra trace that all ranks run.
    bytes
        Bytes of the collective that an MSCCL algorithm performs. Default: 1 MiB.
    algorithm
        Expansion of collectives to messages: "ring" or "direct".
    iterations
        Number of repetitions of a training step.
    ctrl_deps
        True to use the control dependencies of Chakra in addition to data dependencies.
    chain_streams
        True to run the GPU kernels of each Chakra stream in the order of the file.
    time_unit
        Unit of the start times of a connection matrix: "us" or "ps". Default: "us".
    groups
        Ranks of Chakra process groups by name, in addition to those in the traces: the communicator groups of
        ASTRA-sim.
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
    """Repaired deviations from a format, counted by kind, with the first place of each kind."""

    counts: dict[str, int] = field(default_factory=dict)
    first: dict[str, str] = field(default_factory=dict)

    def count(self, what: str, place: str, times: int = 1) -> None:
        """Counts a repair; `place` is recorded for the first one of its kind."""
        self.counts[what] = self.counts.get(what, 0) + times
        self.first.setdefault(what, place)

    def lines(self) -> list[str]:
        """One line per kind of repair."""
        return [f"{count:,} {what}; the first: {self.first[what]}" for what, count in self.counts.items()]


@dataclass
class Found:
    """Contents of a file, or of several that belong together.

    Attributes
    ----------
    format : str
        Name of the format.
    contents : list of str
        Description of the contents, one line each.
    repairs : list of str
        Repairs made while reading, with their counts.
    notes : list of str
        Choices that the file does not determine, and the values used.
    program : callable
        Builds the program; raises InputError if that is impossible. Repairs and notes that it makes are
        appended to the lists.
    """

    format: str
    contents: list[str]
    repairs: list[str]
    notes: list[str]
    program: Callable[[], _core.Program]


Reader = Callable[[Sequence[tuple[str, bytes]], Options], Found]
"""Function that reads files, given as pairs of name and contents."""
