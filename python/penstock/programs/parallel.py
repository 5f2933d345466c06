"""Process groups of training: tensor, data, pipeline and expert parallelism.

Ranks are numbered with the tensor index fastest, then the data index, then the pipeline stage, as in
Megatron-LM and SimAI. An expert group has the ranks with the same tensor index in consecutive tensor groups.
`data-expert` groups connect the ranks that hold the same experts; the sizes of both multiply to the size of
the data group.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from penstock.errors import InputError

NAMES = ("tensor", "data", "expert", "data-expert")


@dataclass(frozen=True)
class Layout:
    """Sizes of the process groups.

    Attributes
    ----------
    tensor, data, pipeline, expert : int
        Ranks per group, at least 1. `expert` divides `data`.
    """

    tensor: int = 1
    data: int = 1
    pipeline: int = 1
    expert: int = 1

    @property
    def ranks(self) -> int:
        """All ranks."""
        return self.tensor * self.data * self.pipeline

    def rank(self, stage: int, data: int, tensor: int) -> int:
        """Returns the rank with these indices."""
        return (stage * self.data + data) * self.tensor + tensor

    def stage(self, rank: int) -> int:
        """Pipeline stage of a rank."""
        return rank // (self.tensor * self.data)

    def neighbour(self, rank: int, stages: int) -> int:
        """The rank with the same tensor and data index, a number of stages further on."""
        return rank + stages * self.tensor * self.data

    def groups(self, name: str) -> Sequence[Sequence[int]]:
        """All groups of a kind, with their ranks in order; `name` is one of `NAMES`."""
        return [group for stage in range(self.pipeline) for group in self.groups_of(name, stage)]

    def groups_of(self, name: str, stage: int) -> Sequence[Sequence[int]]:
        """The groups of a kind in one stage of the pipeline."""
        return _groups(self, name, stage)


@cache
def _groups(own: Layout, name: str, stage: int) -> Sequence[Sequence[int]]:
    datas, tensors = range(own.data), range(own.tensor)
    if name == "tensor":
        return [[own.rank(stage, d, t) for t in tensors] for d in datas]
    blocks = [range(one, one + own.expert) for one in range(0, own.data, own.expert)]
    strides = [range(one, own.data, own.expert) for one in range(own.expert)]
    chosen: Sequence[Sequence[int]] = {"data": [datas], "expert": blocks, "data-expert": strides}[name]
    return [[own.rank(stage, d, t) for d in part] for t in tensors for part in chosen]


def layout(place: str, ranks: int, tensor: int, pipeline: int, expert: int) -> Layout:
    """Returns the layout for a number of ranks.

    Raises
    ------
    InputError
        If the sizes do not divide the number of ranks; `place` begins the message.
    """
    for name, size in (("tensor", tensor), ("pipeline", pipeline), ("expert", expert), ("ranks", ranks)):
        if size < 1:
            raise InputError(f"{place}: {name} is {size}; expected at least 1")
    if ranks % (tensor * pipeline):
        raise InputError(
            f"{place}: {ranks} ranks are no multiple of tensor {tensor} times pipeline {pipeline}; expected "
            f"{-(-ranks // (tensor * pipeline)) * tensor * pipeline}"
        )
    data = ranks // (tensor * pipeline)
    if data % expert:
        raise InputError(f"{place}: expert groups of {expert} do not divide data groups of {data} ranks")
    return Layout(tensor, data, pipeline, expert)
