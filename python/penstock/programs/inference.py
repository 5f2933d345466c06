"""Generates inference jobs from a dozen parameters: prefill, transfer of the KV cache, decode.

A batch of b prompts of s tokens is prefilled by one group of t ranks and decoded by the same or, if
`disaggregated`, by another group. A token costs 2 P / t floating-point operations. A decode step takes at
least the time to read a rank's parameters from memory. Each layer has 2 all-reduces over its tensor group, of
h values per token. The KV cache of a prompt has 2 L s h_kv values. Each prefill rank sends its part to the
decode rank with the same tensor index, either layer by layer as it is computed (`kv_by_layer`) or at the end.

Source: Pope et al., "Efficiently Scaling Transformer Inference" (2022); Zhong et al., "DistServe" (2024). Not
modelled: attention over the context, sampling, scheduling of requests.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields

from penstock import _core
from penstock.errors import InputError

from .building import MOST_OPERATIONS, Builder, Op, without_collection
from .collectives import Ends, expand, operations


@dataclass(frozen=True)
class Inference:
    """Parameters of an inference job.

    Parameters
    ----------
    parameters
        Number of parameters of the whole model.
    layers
        Number of layers of the model.
    hidden
        Size of the hidden state.
    prompt
        Tokens per prompt.
    tokens
        Tokens generated per prompt.
    flops
        Effective floating-point operations per second of a GPU.
    memory_bandwidth
        Bytes per second that a GPU reads from its memory.
    batch
        Prompts per batch.
    batches
        Batches in sequence; if disaggregated, prefill of a batch overlaps decode of the previous one.
    tensor
        Ranks per group.
    kv_hidden
        Size of the keys of a token per layer. Default: `hidden`.
    value_bytes
        Bytes per value.
    disaggregated
        True if prefill and decode use separate groups.
    kv_by_layer
        True if the KV cache of a layer is sent while the next layer is computed.
    """

    parameters: float
    layers: int
    hidden: int
    prompt: int
    tokens: int
    flops: float
    memory_bandwidth: float
    batch: int = 1
    batches: int = 1
    tensor: int = 1
    kv_hidden: int | None = None
    value_bytes: int = 2
    disaggregated: bool = True
    kv_by_layer: bool = True

    def __post_init__(self) -> None:
        for one in fields(self):
            value = getattr(self, one.name)
            if value is not None and not isinstance(value, bool) and not 1 <= value <= 1e24:
                raise InputError(f"{one.name} is {value}; expected at least 1")
        if self.prefill_ns > 1e15:
            raise InputError(f"flops is {self.flops}; a prefill takes {self.prefill_ns:.3g} ns")

    @property
    def ranks(self) -> int:
        """Number of ranks: those of prefill, then those of decode."""
        return self.tensor * (2 if self.disaggregated else 1)

    @property
    def prefill_ns(self) -> float:
        """Computation time of a prefill in ns."""
        return 2 * self.parameters / self.tensor * self.batch * self.prompt / self.flops * 1e9

    @property
    def token_ns(self) -> float:
        """Computation time in ns of one token for each prompt of a batch."""
        compute = 2 * self.parameters / self.tensor * self.batch / self.flops
        memory = self.parameters * self.value_bytes / self.tensor / self.memory_bandwidth
        return max(compute, memory) * 1e9

    @property
    def kv_bytes(self) -> int:
        """Bytes of a batch's KV cache that a prefill rank sends."""
        return self.layers * self.layer_kv_bytes

    @property
    def layer_kv_bytes(self) -> int:
        """Bytes of a layer's KV cache that a prefill rank sends."""
        width = self.kv_hidden or self.hidden
        return -(-2 * self.batch * self.prompt * width * self.value_bytes // self.tensor)


def sent_bytes(job: Inference) -> dict[str, float]:
    """Bytes that a rank sends in the all-reduces of prefill and of decode, and for the KV cache."""
    share = 2 * (job.tensor - 1) / job.tensor
    values = job.batch * job.hidden * job.value_bytes * 2 * job.layers * job.batches
    return {
        "prefill": share * values * job.prompt,
        "decode": share * values * job.tokens,
        "kv": job.kv_bytes * job.batches if job.disaggregated else 0,
    }


def program(job: Inference, algorithm: str = "ring") -> _core.Program:
    """Builds the program of all batches.

    Raises
    ------
    InputError
        If the program would be too large.
    """
    reductions = 2 * job.layers * job.batches * (1 + job.tokens)
    total = reductions * (operations("all-reduce", job.tensor, job.tensor) + job.tensor)
    if total > MOST_OPERATIONS:
        raise InputError(
            f"{job.batches:,} batches of {job.tokens:,} tokens have about {total:,} operations; at most "
            f"{MOST_OPERATIONS:,} are accepted. Choose fewer tokens, batches or layers"
        )
    with without_collection():
        return _Job(job, algorithm).program()


class _Job:
    """A job under construction."""

    def __init__(self, job: Inference, algorithm: str) -> None:
        self.job, self.algorithm = job, algorithm
        self.builder = Builder(job.ranks, "inference")
        self.prefill = list(range(job.tensor))
        self.decode = [rank + job.tensor for rank in self.prefill] if job.disaggregated else self.prefill
        self.latest: Ends = {rank: [] for rank in range(job.ranks)}

    def program(self) -> _core.Program:
        """The program."""
        for _ in range(self.job.batches):
            cache = self._prefill()
            for rank, own in cache.items():
                self.latest[rank] = self.builder.join(rank, [*self.latest[rank], *own])
            for _ in range(self.job.tokens):
                self._layers(self.decode, self.job.token_ns, 1)
        return self.builder.build()

    def _prefill(self) -> dict[int, list[Op]]:
        """Prefills a batch; returns the receives of its KV cache by decode rank."""
        job = self.job
        received: dict[int, list[Op]] = {rank: [] for rank in self.decode} if job.disaggregated else {}

        def passed(layer: int) -> None:
            if not job.disaggregated or not (job.kv_by_layer or layer == job.layers - 1):
                return
            size = job.layer_kv_bytes if job.kv_by_layer else job.kv_bytes
            tag = self.builder.tags(1)
            for rank, to in zip(self.prefill, self.decode, strict=True):
                self.builder.send(rank, to, size, tag, self.latest[rank])
                received[to].append(self.builder.recv(to, rank, size, tag))

        self._layers(self.prefill, job.prefill_ns, job.prompt, passed)
        return received

    def _layers(
        self, ranks: list[int], ns: float, tokens: int, passed: Callable[[int], None] = lambda _: None
    ) -> None:
        """Adds computation and all-reduces of all layers; `passed` is called after each layer."""
        job = self.job
        size = job.batch * tokens * job.hidden * job.value_bytes
        for layer in range(job.layers):
            own = round(ns / job.layers * (layer + 1)) - round(ns / job.layers * layer)
            for rank in ranks:
                self.latest[rank] = [self.builder.calc(rank, own, self.latest[rank])]
            for _ in range(2):
                self.latest |= expand(self.builder, "all-reduce", ranks, size, self.latest, self.algorithm)
            passed(layer)
