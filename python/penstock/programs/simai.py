"""Workloads of SimAI and ASTRA-sim 1: the layers of one training step, with computations and collectives.

Source: `Workload.cc` and `Layer.cc` of SimAI's ASTRA-sim; its Tutorial.md. Times are in ns. Forward and
input-gradient collectives use the tensor group, weight-gradient collectives the data group. The suffix _EP
selects the expert group, _DP_EP the ranks that hold the same experts. Weight-gradient collectives overlap
with the following operations; all others block. Sizes are those of the full vector, or for an all-to-all, of
the data that each rank sends.

The file does not mark the beginnings of micro-batches, so the stages of a pipeline run one after the other.
All messages are included, and the time is an upper bound.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from penstock import _core
from penstock.errors import InputError
from penstock.interchange.piece import brief
from penstock.library import suggestion

from .building import Builder
from .collectives import Ends, operations
from .parallel import Layout, layout
from .reading import Found, Options, Repairs
from .stream import Streams

FULL = ("HYBRID_TRANSFORMER_FWD_IN_BCKWD", "HYBRID_TRANSFORMER")
BY_GROUPS = {"DATA": (False, True), "MODEL": (True, False), "HYBRID_DATA_MODEL": (True, True)}
"""Policies, each with flags that are true if its tensor and its data groups communicate."""
REFUSED = ("HYBRID_DLRM", "HYBRID_DLRM_ENHANCED", "HYBRID_CUSTOMIZED", "DISTRIBUTED_INFERENCE")
POLICIES = (*FULL, "MICRO", *BY_GROUPS, "HYBRID_MODEL_DATA", *REFUSED)
_WORDS = {
    "ALLREDUCE": "all-reduce",
    "ALLREDUCEALLTOALL": "all-reduce",
    "ALLGATHER": "all-gather",
    "REDUCESCATTER": "reduce-scatter",
    "ALLTOALL": "all-to-all",
}
_SUFFIXES = {"_DP_EP": "data-expert", "_EP": "expert"}
_NUMBERS = {
    "model_parallel_NPU_group": "tensor",
    "ep": "expert",
    "pp": "pipeline",
    "vpp": "vpp",
    "ga": "ga",
    "all_gpus": "ranks",
    "pp_comm": "pp_comm",
    "DLRM_LAST_BOTTOM_LAYER": "bottom",
}
_LISTS = ("checkpoints", "checkpoint_initiates")
_MOST_LAYERS = 10**6
_WHOLE = re.compile(r"(\d{1,19})(?:\.0{1,9})?", re.ASCII)


@dataclass(frozen=True)
class Phase:
    """A computation, and the collective that follows it.

    Attributes
    ----------
    ns : int
        Kind and group of the collective; the kind is empty if there is none.
    kind, group : str
        Collective and group; an empty kind: none.
    size : int
        Bytes.
    """

    ns: int
    kind: str
    group: str
    size: int


@dataclass(frozen=True)
class Layer:
    """A line of the file: its phases, and the duration of its update."""

    name: str
    forward: Phase
    input_gradient: Phase
    weight_gradient: Phase
    update_ns: int


@dataclass
class Workload:
    """Contents of a file."""

    file: str
    policy: str
    numbers: dict[str, int] = field(default_factory=dict)
    checkpoints: set[int] = field(default_factory=set)
    layers: list[Layer] = field(default_factory=list)


def read(files: Sequence[tuple[str, bytes]], options: Options) -> Found:
    """One workload."""
    if len(files) != 1:
        raise InputError(f"{files[1][0]}: a second workload; expected one file")
    file, data = files[0]
    repairs = Repairs()
    workload = parse(file, data.decode("utf-8-sig", errors="replace"), repairs)
    numbers = ", ".join(f"{name} {value}" for name, value in workload.numbers.items()) or "no sizes of groups"
    phases = [
        one
        for layer in workload.layers
        for one in (layer.forward, layer.input_gradient, layer.weight_gradient)
    ]
    by_kind: dict[str, int] = {}
    for one in phases:
        if one.kind and one.size:
            by_kind[f"{one.kind} ({one.group})"] = by_kind.get(f"{one.kind} ({one.group})", 0) + 1
    counted = ", ".join(f"{count:,} {kind}" for kind, count in by_kind.items()) or "no collectives"
    contents = [
        f"policy {workload.policy}; {numbers}",
        f"{len(workload.layers):,} layers, {sum(one.ns for one in phases) / 1e6:,.3f} ms of "
        f"computation; {counted}",
    ]
    found = Found("SimAI workload", contents, repairs.lines(), [], lambda: _core.Program([]))
    found.program = lambda: _program(workload, options, found)
    return found


class _Tokens:
    """Words of a text with their lines; the words of a layer may span lines."""

    def __init__(self, file: str, text: str) -> None:
        self.file = file
        self._all = [(line, word) for line, row in enumerate(text.splitlines(), 1) for word in row.split()]
        self.at = 0
        self.line = 1

    def __bool__(self) -> bool:
        return self.at < len(self._all)

    def word(self, what: str) -> str:
        """Returns the next word and advances."""
        if not self:
            raise self.error(f"the file ends; expected {what}")
        self.line, word = self._all[self.at]
        self.at += 1
        return word

    def peek(self) -> str:
        """Returns the next word without advancing; empty at the end."""
        return self._all[self.at][1] if self else ""

    def peek_line(self) -> int:
        """Line of the next word, or 0 at the end."""
        return self._all[self.at][0] if self else 0

    def number(self, what: str, most: int = 2**63 - 1) -> int:
        """Returns a whole number, which AICB may write as 8388608.0."""
        word = self.word(what)
        found = _WHOLE.fullmatch(word)
        if found is None or int(found[1]) > most:
            raise self.error(f"{what} is {brief(word)}; expected a whole number from 0 to {most}")
        return int(found[1])

    def error(self, message: str) -> InputError:
        """Returns the error with file and line."""
        return InputError(f"{self.file}:{self.line}: {message}")


def parse(file: str, text: str, repairs: Repairs) -> Workload:
    """Reads a workload.

    Raises
    ------
    InputError
        If the text is not a workload; the message has the line.
    """
    tokens = _Tokens(file, text)
    policy = tokens.word("a policy")
    if policy not in POLICIES:
        raise tokens.error(f"policy {brief(policy)}; {suggestion(policy, POLICIES)}")
    workload = Workload(file, policy)
    first = tokens.line
    while tokens and tokens.peek_line() == first:
        _header(tokens, workload)
    count = tokens.number("the number of layers", _MOST_LAYERS)
    line = tokens.line
    while tokens:
        workload.layers.append(_layer(tokens, workload, repairs))
    if len(workload.layers) != count:
        raise InputError(f"{file}:{line}: says {count:,} layers; the file has {len(workload.layers):,}")
    return workload


def _header(tokens: _Tokens, workload: Workload) -> None:
    key = tokens.word("a key")
    name = key.removesuffix(":")
    if name in _LISTS:
        count = tokens.number(f"the length of {name}", _MOST_LAYERS)
        listed = [tokens.number(f"a layer of {name}", _MOST_LAYERS) for _ in range(count)]
        if name == "checkpoints":
            workload.checkpoints = set(listed)
    elif name in _NUMBERS:
        own = _NUMBERS[name]
        value = tokens.number(name)
        if own in ("tensor", "expert", "pipeline", "ranks", "vpp", "ga") and value < 1:
            raise tokens.error(f"{name} is {value}; expected at least 1")
        workload.numbers[own] = value
    else:
        raise tokens.error(f"{brief(key)} is not a key of a header; {suggestion(name, [*_NUMBERS, *_LISTS])}")


def _layer(tokens: _Tokens, workload: Workload, repairs: Repairs) -> Layer:
    name = tokens.word("a layer")
    tokens.word("the dependency, -1")
    forward, inputs, weights = (
        _phase(tokens, column, repairs) for column in ("forward", "input gradient", "weight gradient")
    )
    update = tokens.number("the update time in ns")
    if workload.policy == "HYBRID_CUSTOMIZED":
        tokens.word("the policy of the layer")
    return Layer(name, forward, inputs, weights, update)


def _phase(tokens: _Tokens, column: str, repairs: Repairs) -> Phase:
    ns = tokens.number(f"the {column} time in ns", 2**53)
    word = tokens.word(f"the {column} collective")
    size = tokens.number(f"the {column} bytes", 2**53)
    place = f"{tokens.file}:{tokens.line}"
    suffix = next((one for one in _SUFFIXES if word.endswith(one)), "")
    kind = _WORDS.get(word.removesuffix(suffix), "")
    group = _SUFFIXES.get(suffix) or ("data" if column == "weight gradient" else "tensor")
    if word == "BROADCAST":
        repairs.count("collectives BROADCAST: no transfer, as SimAI reads them", place)
    elif word == "ALLREDUCEALLTOALL":
        repairs.count("collectives ALLREDUCEALLTOALL: all-reduce, as SimAI runs them", place)
    elif word == "NONE" and size:
        repairs.count("sizes beside collective NONE: no transfer", place)
    elif not kind and word != "NONE":
        raise tokens.error(f"collective {brief(word)}; {suggestion(word, ['NONE', *_WORDS])}")
    elif kind and not size:
        repairs.count("collectives of 0 bytes: no transfer", place)
    return Phase(ns, kind, group, size)


def _program(workload: Workload, options: Options, found: Found) -> _core.Program:
    """Builds the program of a number of iterations."""
    if workload.policy in REFUSED:
        raise InputError(
            f"{workload.file}: policy {workload.policy} has no program; expected "
            f"{', '.join(POLICIES[: -len(REFUSED)])}"
        )
    numbers = workload.numbers
    ranks = options.ranks or numbers.get("ranks")
    if ranks is None:
        raise InputError(f"{workload.file}: has no all_gpus; give the number of GPUs with --ranks")
    if options.ranks and options.ranks != numbers.get("ranks", options.ranks):
        found.notes.append(f"{options.ranks} ranks by --ranks instead of all_gpus {numbers['ranks']}")
    tensor = 1 if workload.policy in ("DATA", "MICRO") else numbers.get("tensor", 1)
    tensor = ranks if workload.policy == "MODEL" else tensor
    groups = layout(workload.file, ranks, tensor, numbers.get("pipeline", 1), numbers.get("expert", 1))
    found.notes.append(
        f"groups: tensor {groups.tensor}, data {groups.data}, pipeline {groups.pipeline}, expert "
        f"{groups.expert}"
    )
    streams = Streams(Builder(ranks, workload.file), groups, options.algorithm)
    total = _operations(workload, groups) * options.iterations
    streams.builder.reserve(total, f"{ranks:,} ranks with {len(workload.layers):,} layers")
    updated: dict[int, Ends] = {}
    for _ in range(options.iterations):
        _iteration(workload, streams, updated)
    if groups.pipeline > 1:
        found.notes.append("stages of the pipeline run one after the other: the file has no micro-batches")
    return streams.builder.build()


def _operations(workload: Workload, groups: Layout) -> int:
    """Approximate number of operations of an iteration."""
    sizes = {name: len(groups.groups(name)[0]) for name in ("tensor", "data", "expert", "data-expert")}
    total = 4 * len(workload.layers) * groups.ranks
    if groups.pipeline > 1 and workload.numbers.get("pp_comm"):
        total += 4 * groups.ranks * _messages(workload)
    for layer in workload.layers:
        for phase in (layer.forward, layer.input_gradient, layer.weight_gradient):
            if phase.kind and phase.size:
                total += operations(phase.kind, sizes[phase.group], groups.ranks)
    return total


def _messages(workload: Workload) -> int:
    """Adds the messages of a rank to the next stage, in each direction."""
    return workload.numbers.get("ga", 1) * workload.numbers.get("vpp", 1)


def _iteration(workload: Workload, streams: Streams, updated: dict[int, Ends]) -> None:
    """Adds a forward pass over all layers, then a backward pass; `updated` has the ends of layer updates."""
    is_micro = workload.policy == "MICRO"
    if not is_micro:
        for stage in _stages(workload, streams, forward=True):
            for number, layer in enumerate(workload.layers):
                if number in updated:
                    streams.wait({rank: own for rank, own in updated[number].items() if rank in stage})
                _blocking(streams, layer.forward, stage)
    for stage in _stages(workload, streams, forward=False):
        for number, layer in reversed(list(enumerate(workload.layers))):
            if not is_micro:
                if number in workload.checkpoints:
                    _blocking(streams, layer.forward, stage)
                _blocking(streams, layer.input_gradient, stage)
            streams.compute(layer.weight_gradient.ns, stage)
            phase = layer.weight_gradient
            ends: Ends = {rank: streams.latest[rank] for rank in stage}
            if phase.kind and phase.size:
                ends = streams.aside(phase.kind, phase.group, phase.size, streams.layout.stage(stage[0]))
            if layer.update_ns and not is_micro:
                ends = {
                    rank: [streams.builder.calc(rank, layer.update_ns, own, cpu=1)]
                    for rank, own in ends.items()
                }
            updated.setdefault(number, {}).update(ends)


def _blocking(streams: Streams, phase: Phase, stage: Sequence[int]) -> None:
    streams.compute(phase.ns, stage)
    if phase.kind and phase.size:
        streams.latest |= streams.aside(phase.kind, phase.group, phase.size, streams.layout.stage(stage[0]))


def _stages(workload: Workload, streams: Streams, *, forward: bool) -> Iterator[range]:
    """Ranks of each stage in execution order; all messages of a step are sent between two stages."""
    groups = streams.layout
    width = groups.tensor * groups.data
    order = range(groups.pipeline) if forward else reversed(range(groups.pipeline))
    count = _messages(workload)
    for stage in order:
        own = range(stage * width, (stage + 1) * width)
        yield own
        following = stage + (1 if forward else -1)
        if not 0 <= following < groups.pipeline or not workload.numbers.get("pp_comm"):
            continue
        for rank in own:
            to = groups.neighbour(rank, following - stage)
            sent, received = [], []
            for _ in range(count):
                send, recv = streams.message(rank, to, workload.numbers["pp_comm"], streams.latest[rank])
                sent.append(send)
                received.append(recv)
            streams.wait({rank: sent, to: received})
