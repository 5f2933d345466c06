"""Generates training steps from a dozen parameters: data, tensor, pipeline and expert parallelism.

A micro-batch of b sequences of s tokens costs 2 P b s floating-point operations forward and 4 P b s backward,
where P is the number of parameters of a rank. Each layer has 2 all-reduces of b s h values over its tensor
group forward and 2 backward. With sequence parallelism, each is a reduce-scatter and an all-gather of the
same bytes. A layer with experts adds 2 all-to-alls of k b s h / t values forward and 2 backward. A stage
passes b s h / t values to the next. Stages alternate one forward and one backward pass (1F1B).

Gradients are reduced over the data group in buckets, once per step, during the backward pass of the last
micro-batch (`overlap`) or after it. ZeRO stage 0 all-reduces gradients. Stages 1 and 2 reduce-scatter
gradients and all-gather parameters. Stage 3 all-gathers the parameters of each layer before its forward and
its backward pass of each micro-batch, one layer ahead, and reduce-scatters gradients.

Source: Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters Using Megatron-LM"
(2021), sections 2 and 3; Rajbhandari et al., "ZeRO" (2020). Not modelled: attention beyond the parameters,
embeddings apart from their parameters, recomputation, the duration of an update.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from penstock import _core
from penstock.errors import InputError

from .building import LONGEST_NS, MOST_OPERATIONS, MOST_RANKS, Builder, Op, without_collection
from .collectives import Ends, operations
from .parallel import Layout
from .stream import Streams


@dataclass(frozen=True)
class Training:
    """Parameters of a training step.

    Parameters
    ----------
    parameters
        Number of parameters of the whole model, including experts.
    layers
        Layers of the model, a multiple of `pipeline`.
    hidden
        Size of the hidden state.
    sequence
        Tokens per sequence.
    micro_batch
        Sequences per micro-batch.
    micro_batches
        Micro-batches per step and data-parallel rank.
    flops
        Effective floating-point operations per second of a GPU.
    data
        Ranks per data-parallel group.
    tensor
        Ranks per tensor-parallel group.
    pipeline
        Number of pipeline stages.
    expert
        Number of ranks that share the experts of a layer; divides `data`.
    value_bytes
        Bytes per value.
    expert_parameters
        Number of parameters of all experts, included in `parameters`; 0 without experts.
    experts_per_token
        Number of experts per token.
    zero
        ZeRO stage, 0 to 3.
    bucket
        Bytes of gradients that are reduced together.
    overlap
        True if gradients are reduced during the backward pass.
    sequence_parallel
        True if tensor groups use reduce-scatter and all-gather instead of all-reduce.
    """

    parameters: float
    layers: int
    hidden: int
    sequence: int
    flops: float
    micro_batch: int = 1
    micro_batches: int = 1
    data: int = 1
    tensor: int = 1
    pipeline: int = 1
    expert: int = 1
    value_bytes: int = 2
    expert_parameters: float = 0
    experts_per_token: int = 1
    zero: int = 0
    bucket: int = 25 << 20
    overlap: bool = True
    sequence_parallel: bool = False

    def __post_init__(self) -> None:
        for one in fields(self):
            value = getattr(self, one.name)
            least = 0 if one.name in ("zero", "expert_parameters") else 1
            if not isinstance(value, bool) and not least <= value <= 1e24:
                raise InputError(f"{one.name} is {value}; expected at least {least}")
        for name, wrong, expected in (
            ("zero", self.zero > 3, "0 to 3"),
            ("layers", self.layers % self.pipeline, f"a multiple of pipeline, {self.pipeline}"),
            ("data", self.data % self.expert, f"a multiple of expert, {self.expert}"),
            ("expert_parameters", self.expert_parameters > self.parameters, "at most parameters"),
            ("layers", self.layers > 10**5, "at most 100000"),
            ("micro_batches", self.micro_batches > 10**6, "at most 1000000"),
            ("parameters", self.parameters > 1e15, "at most 1e15"),
            ("data", self.layout.ranks > MOST_RANKS, f"at most {MOST_RANKS} ranks in all"),
        ):
            if wrong:
                raise InputError(f"{name} is {getattr(self, name)}; expected {expected}")
        if self.forward_ns * 2 > LONGEST_NS:
            raise InputError(f"flops is {self.flops}; a micro-batch takes {self.forward_ns:.3g} ns")

    @property
    def layout(self) -> Layout:
        """The process groups."""
        return Layout(self.tensor, self.data, self.pipeline, self.expert)

    @property
    def rank_parameters(self) -> tuple[float, float]:
        """Numbers of parameters of a rank: shared by its data group, and of its experts."""
        split = self.tensor * self.pipeline
        shared = (self.parameters - self.expert_parameters) / split
        return shared, self.expert_parameters / (split * self.expert)

    @property
    def forward_ns(self) -> float:
        """Forward computation time in ns of a micro-batch in a stage, a third of the total."""
        shared, _ = self.rank_parameters
        split = self.tensor * self.pipeline
        active = shared + self.expert_parameters / split
        return 2 * active * self.micro_batch * self.sequence / self.flops * 1e9

    @property
    def compute_ns(self) -> float:
        """Computation time of a rank per step in ns."""
        return 3 * self.forward_ns * self.micro_batches

    @property
    def bubble(self) -> float:
        """Share of a step in which a stage is idle if messages take no time (the pipeline bubble)."""
        return (self.pipeline - 1) / (self.micro_batches + self.pipeline - 1)

    @property
    def activation(self) -> int:
        """Bytes of the hidden states of a micro-batch."""
        return self.micro_batch * self.sequence * self.hidden * self.value_bytes


def sent_bytes(step: Training) -> dict[str, float]:
    """Bytes that a rank sends per step, by group; for the pipeline, those of an inner stage."""
    layers, m = step.layers // step.pipeline, step.micro_batches
    share = {name: (size - 1) / size for name, size in _sizes(step).items()}
    shared, experts = (one * step.value_bytes for one in step.rank_parameters)
    reductions = 2 * m + 1 if step.zero == 3 else 2
    return {
        "tensor": 4 * layers * m * 2 * share["tensor"] * step.activation,
        "expert": 4 * layers * m * share["expert"] * _exchanged(step) if step.expert_parameters else 0.0,
        "data": reductions * share["data"] * shared,
        "data-expert": reductions * share["data-expert"] * experts,
        "pipeline": 2 * m * step.activation / step.tensor if step.pipeline > 1 else 0.0,
    }


def _sizes(step: Training) -> dict[str, int]:
    return {
        "tensor": step.tensor,
        "data": step.data,
        "expert": step.expert,
        "data-expert": step.data // step.expert,
    }


def _exchanged(step: Training) -> int:
    """Bytes that a rank sends in an expert all-to-all, including its own part."""
    return -(-step.activation * step.experts_per_token // step.tensor)


def program(step: Training, algorithm: str = "ring", iterations: int = 1) -> _core.Program:
    """Builds the program of one or more steps.

    Raises
    ------
    InputError
        If the program would be too large.
    """
    total = _operations(step) * iterations
    if total > MOST_OPERATIONS:
        raise InputError(
            f"a step of {step.layout.ranks:,} ranks has about {total:,} operations; at most "
            f"{MOST_OPERATIONS:,} are accepted. Choose fewer layers, micro-batches, ranks or iterations"
        )
    with without_collection():
        streams = Streams(Builder(step.layout.ranks, "training"), step.layout, algorithm)
        for _ in range(iterations):
            _Step(step, streams).build()
        return streams.builder.build()


def _operations(step: Training) -> int:
    sizes, ranks = _sizes(step), step.layout.ranks
    units = step.layers // step.pipeline * step.micro_batches
    tensor = 4 * units * operations("all-reduce", sizes["tensor"], ranks)
    experts = 4 * units * operations("all-to-all", sizes["expert"], ranks) if step.expert_parameters else 0
    buckets = 1 + sum(step.rank_parameters) * step.value_bytes / step.bucket
    buckets = max(buckets, 2 * units) if step.zero == 3 else buckets
    data = round(buckets) * (operations("all-reduce", sizes["data"], ranks) + ranks)
    return tensor + experts + data + 8 * units * ranks


class _Step:
    """One step under construction."""

    def __init__(self, step: Training, streams: Streams) -> None:
        self.step, self.streams, self.builder = step, streams, streams.builder
        self.layers = step.layers // step.pipeline
        first = self.builder.tags(2 * step.micro_batches * step.pipeline)
        self.first_tag = first
        self.data: Ends = {}
        """Operations that the next collective of the data group waits for: they run one after the other."""
        self.gathered: Ends = {}
        """Ends of the all-gather of the next layer's parameters, with ZeRO 3."""
        self.pending = [0.0, 0.0]
        """Bytes of gradients that are not yet reduced: of the data group, and of experts."""

    def build(self) -> None:
        """Adds all stages, each with its sequence of forward and backward passes."""
        for stage in range(self.step.pipeline):
            self.data, self.gathered = {}, {}
            m = self.step.micro_batches
            warm = min(self.step.pipeline - 1 - stage, m)
            order = [(True, one) for one in range(warm)]
            for one in range(m - warm):
                order += [(True, warm + one), (False, one)]
            order += [(False, one) for one in range(m - warm, m)]
            for forward, number in order:
                self._pass(stage, number, forward=forward)
            self._update(stage)

    def _pass(self, stage: int, number: int, *, forward: bool) -> None:
        """Adds the forward or backward pass of a micro-batch through the layers of a stage."""
        ranks, step = self._ranks(stage), self.step
        last = step.pipeline - 1
        if stage > 0 if forward else stage < last:
            self._receive(stage, number, forward=forward)
        for layer in range(self.layers):
            if step.zero == 3:
                self._gather(stage, layer)
            ns = step.forward_ns / self.layers * (1 if forward else 2)
            # Rounded so that all layers together take exactly the time of the pass.
            own = round(ns * (layer + 1)) - round(ns * layer)
            self.streams.compute(own, ranks)
            self._communicate(stage)
            if not forward and number == step.micro_batches - 1:
                self._gradients(stage, last=layer == self.layers - 1)
        if stage < last if forward else stage > 0:
            self._send(stage, number, forward=forward)

    def _communicate(self, stage: int) -> None:
        """Adds the collectives of a layer in one direction: two of its tensor group, two of its experts."""
        step, streams = self.step, self.streams
        for _ in range(2):
            if step.tensor > 1 and step.sequence_parallel:
                streams.latest |= streams.aside("reduce-scatter", "tensor", step.activation, stage)
                streams.latest |= streams.aside("all-gather", "tensor", step.activation, stage)
            elif step.tensor > 1:
                streams.latest |= streams.aside("all-reduce", "tensor", step.activation, stage)
            if step.expert > 1 and step.expert_parameters:
                streams.latest |= streams.aside("all-to-all", "expert", _exchanged(step), stage)

    def _gather(self, stage: int, layer: int) -> None:
        """Waits for the parameters of a layer, and starts the all-gather of the next layer (ZeRO 3)."""
        if layer == 0:
            self.gathered = self._on_data(stage, "all-gather")
        self.streams.wait(self.gathered)
        if layer + 1 < self.layers:
            self.gathered = self._on_data(stage, "all-gather")

    def _gradients(self, stage: int, *, last: bool) -> None:
        """Adds the gradients of a layer to its bucket; reduces full buckets, and the rest at the end."""
        step = self.step
        for place, count in enumerate(step.rank_parameters):
            self.pending[place] += count * step.value_bytes / self.layers
        if not step.overlap and not last:
            return
        for place, group in enumerate(("data", "data-expert")):
            while self.pending[place] >= step.bucket or (last and round(self.pending[place]) > 0):
                size = min(step.bucket, round(self.pending[place]))
                self.pending[place] = max(0.0, self.pending[place] - size)
                kind = "all-reduce" if step.zero == 0 else "reduce-scatter"
                self.data |= self.streams.aside(kind, group, size, stage, self._after_data(stage))
        if last:
            self.pending = [0.0, 0.0]

    def _on_data(self, stage: int, kind: str) -> Ends:
        """Adds a collective over the parameters of a layer, after the previous one of the data group."""
        ends: Ends = {rank: [] for rank in self._ranks(stage)}
        for group, count in zip(("data", "data-expert"), self.step.rank_parameters, strict=True):
            size = round(count * self.step.value_bytes / self.layers)
            self.data |= self.streams.aside(kind, group, size, stage, self._after_data(stage))
            ends = {rank: self.data[rank] for rank in ends}
        return ends

    def _after_data(self, stage: int) -> Ends:
        """The latest operations of each rank, and the previous collective of the data group."""
        latest, data = self.streams.latest, self.data
        return {
            rank: self.builder.join(rank, list(dict.fromkeys([*latest[rank], *data.get(rank, ())])))
            for rank in self._ranks(stage)
        }

    def _update(self, stage: int) -> None:
        """Waits for all gradients and, with ZeRO 1 and 2, for the updated parameters."""
        self.streams.wait(self.data)
        if self.step.zero in (1, 2):
            for group, count in zip(("data", "data-expert"), self.step.rank_parameters, strict=True):
                size = round(count * self.step.value_bytes)
                self.streams.latest |= self.streams.aside("all-gather", group, size, stage)

    def _ranks(self, stage: int) -> range:
        width = self.step.tensor * self.step.data
        return range(stage * width, (stage + 1) * width)

    def _tag(self, boundary: int, number: int, *, forward: bool) -> int:
        """Tag of a micro-batch's message between a stage and the next one."""
        return self.first_tag + (boundary * self.step.micro_batches + number) * 2 + forward

    def _send(self, stage: int, number: int, *, forward: bool) -> None:
        tag = self._tag(stage if forward else stage - 1, number, forward=forward)
        size = -(-self.step.activation // self.step.tensor)
        for rank in self._ranks(stage):
            to = self.step.layout.neighbour(rank, 1 if forward else -1)
            # The following operations do not wait: the message has been handed over.
            self.builder.send(rank, to, size, tag, self.streams.latest[rank])

    def _receive(self, stage: int, number: int, *, forward: bool) -> None:
        tag = self._tag(stage - 1 if forward else stage, number, forward=forward)
        size = -(-self.step.activation // self.step.tensor)
        got: dict[int, list[Op]] = {}
        for rank in self._ranks(stage):
            sender = self.step.layout.neighbour(rank, -1 if forward else 1)
            got[rank] = [self.builder.recv(rank, sender, size, tag)]
        self.streams.wait(got)
