"""Generated steps of training and inference against their algebra."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from conftest import Command
from penstock.errors import InputError
from penstock.programs import inference, training
from penstock.programs.inference import Inference
from penstock.programs.training import Training
from program_clock import Clock

STEP = Training(parameters=48e6, layers=4, hidden=64, sequence=32, flops=1e12, micro_batches=4)
FAST = 1e12
"""Bytes per ns of a network that takes no time."""


def clock(step: Training, alpha_ns: float = 0.0, rate: float = FAST, **options: int) -> Clock:
    made = training.program(step, **options)  # type: ignore[arg-type]
    assert made.unmatched() == []
    found = Clock(made, alpha_ns, rate)
    assert found.left == []
    return found


@pytest.mark.parametrize("stages", [1, 2, 4])
@pytest.mark.parametrize("micro_batches", [1, 2, 4, 7])
def test_the_bubble_is_that_of_one_forward_one_backward(stages: int, micro_batches: int) -> None:
    step = replace(STEP, pipeline=stages, micro_batches=micro_batches)
    total = clock(step).total_ns
    assert step.compute_ns == pytest.approx(6 * 48e6 / stages * 32 * micro_batches / 1e12 * 1e9)
    assert total == pytest.approx((micro_batches + stages - 1) * 3 * step.forward_ns, rel=1e-5)
    assert 1 - step.compute_ns / total == pytest.approx(step.bubble, abs=1e-5)


@pytest.mark.parametrize("zero", [0, 1, 2, 3])
@pytest.mark.parametrize("sequence_parallel", [False, True])
@pytest.mark.parametrize("expert", [1, 2])
def test_bytes_are_those_of_the_algebra(zero: int, sequence_parallel: bool, expert: int) -> None:
    step = replace(
        STEP,
        data=4,
        tensor=2,
        pipeline=2,
        expert=expert,
        expert_parameters=24e6 if expert > 1 else 0,
        experts_per_token=2,
        zero=zero,
        sequence_parallel=sequence_parallel,
        bucket=1_000_000,
    )
    made = training.program(step)
    by_group = training.sent_bytes(step)
    # Two stages: each sends in one direction alone.
    expected = sum(by_group.values()) - by_group["pipeline"] / 2
    for sends in (rank[1] for rank in made.totals()):
        assert sends == pytest.approx(expected, rel=1e-6)
    layers, values = 2, 32 * 64 * 2
    assert by_group["tensor"] == 4 * layers * 4 * 2 * (1 / 2) * values
    copies = 2 * 4 + 1 if zero == 3 else 2
    shared = (48e6 - step.expert_parameters) / 4 * 2
    assert by_group["data"] == copies * 3 / 4 * shared
    if expert > 1:
        assert by_group["expert"] == 4 * layers * 4 * (1 / 2) * values * 2 / 2
        assert by_group["data-expert"] == copies * (1 / 2) * 24e6 / (4 * 2) * 2
    assert clock(step).left == []


def test_overlap_hides_the_reduction_of_gradients() -> None:
    step = replace(STEP, data=4, bucket=1_000_000)
    reduction = 2 * 3 / 4 * 96e6  # ns at 1 B/ns
    rate = reduction / (step.compute_ns / 2)  # half of a step
    exposed = clock(replace(step, overlap=False), rate=rate).total_ns
    assert exposed == pytest.approx(step.compute_ns * 1.5, rel=1e-4)
    hidden = clock(step, rate=rate).total_ns
    last_pass = 2 * step.forward_ns
    assert hidden < exposed
    # The first bucket is ready after one of four layers of the last backward pass.
    assert hidden == pytest.approx(step.compute_ns - last_pass * 3 / 4 + step.compute_ns / 2, rel=0.02)


def test_zero_3_gathers_a_layer_ahead() -> None:
    step = replace(STEP, data=2, zero=3, micro_batches=1)
    layer = 96e6 / 4 / 2  # bytes that a rank sends to gather a layer
    forward = step.forward_ns / 4
    # Gathering a layer takes half of its forward computation: only the first of each pass is exposed, and the
    # reduction of the last gradients.
    total = clock(step, rate=layer / (forward / 2)).total_ns
    assert total == pytest.approx(step.compute_ns + 2 * forward / 2, rel=0.1)
    assert total > step.compute_ns + 0.9 * forward


def test_steps_follow_each_other() -> None:
    step = replace(STEP, data=2, pipeline=2, zero=1)
    once, twice = clock(step), clock(step, iterations=2)
    assert len(twice.ends) == pytest.approx(2 * len(once.ends), rel=0.02)
    assert 1.5 * once.total_ns < twice.total_ns <= 2 * once.total_ns + 1


def test_wrong_numbers_are_refused() -> None:
    for change, message in (
        ({"layers": 5, "pipeline": 2}, "layers is 5; expected a multiple of pipeline, 2"),
        ({"data": 3, "expert": 2}, "data is 3; expected a multiple of expert, 2"),
        ({"zero": 4}, "zero is 4; expected 0 to 3"),
        ({"tensor": 0}, "tensor is 0; expected at least 1"),
        ({"expert_parameters": 1e9}, "expert_parameters is 1000000000.0; expected at most parameters"),
        ({"flops": float("nan")}, "flops is nan"),
        ({"data": 1 << 21}, "data is 2097152; expected at most 1048576 ranks"),
    ):
        with pytest.raises(InputError, match=message):
            replace(STEP, **change)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="a step of 65,536 ranks has about"):
        training.program(replace(STEP, data=65_536))


JOB = Inference(
    parameters=48e6,
    layers=4,
    hidden=64,
    prompt=32,
    tokens=3,
    flops=1e12,
    memory_bandwidth=1e12,
    batch=2,
    tensor=2,
)


def run(job: Inference, alpha_ns: float = 0.0, rate: float = FAST) -> Clock:
    made = inference.program(job)
    assert made.unmatched() == []
    found = Clock(made, alpha_ns, rate)
    assert found.left == []
    return found


def test_inference_is_prefill_transfer_and_decode() -> None:
    assert JOB.prefill_ns == pytest.approx(2 * 24e6 * 2 * 32 / 1e12 * 1e9)
    assert JOB.token_ns == pytest.approx(2 * 24e6 * 2 / 1e12 * 1e9)
    assert replace(JOB, memory_bandwidth=1e11).token_ns == pytest.approx(48e6 / 1e11 * 1e9)
    assert run(JOB).total_ns == pytest.approx(JOB.prefill_ns + 3 * JOB.token_ns, rel=1e-6)
    sent = inference.sent_bytes(JOB)
    totals = [rank[1] for rank in inference.program(JOB).totals()]
    assert totals[:2] == [sent["prefill"] + sent["kv"]] * 2
    assert totals[2:] == [sent["decode"]] * 2
    assert sent["prefill"] == 2 * (1 / 2) * 2 * 4 * 2 * 32 * 64 * 2
    assert sent["kv"] == 2 * 4 * 2 * 32 * 64 * 2 / 2
    together = replace(JOB, disaggregated=False)
    assert sum(rank[1] for rank in inference.program(together).totals()) == 2 * (
        sent["prefill"] + sent["decode"]
    )


def test_the_cache_is_sent_while_the_next_layer_is_computed() -> None:
    job = replace(JOB, tensor=1, tokens=1)
    layer = job.prefill_ns / 4
    rate = job.layer_kv_bytes / (layer / 2)
    by_layer = run(job, rate=rate).total_ns
    at_the_end = run(replace(job, kv_by_layer=False), rate=rate).total_ns
    assert by_layer == pytest.approx(job.prefill_ns + layer / 2 + job.token_ns, rel=1e-6)
    assert at_the_end == pytest.approx(job.prefill_ns + 4 * layer / 2 + job.token_ns, rel=1e-6)


def test_prefill_of_a_batch_overlaps_decode_of_the_one_before() -> None:
    job = replace(JOB, tensor=1, batches=3, tokens=2)
    assert run(job).total_ns == pytest.approx(3 * job.prefill_ns + 2 * job.token_ns, rel=1e-6)
    together = replace(job, disaggregated=False)
    assert run(together).total_ns == pytest.approx(3 * (job.prefill_ns + 2 * job.token_ns), rel=1e-6)


def test_the_commands_write_schedules(penstock: Command, tmp_path: Path) -> None:
    numbers = ["--parameters", "48e6", "--layers", "4", "--hidden", "64", "--flops", "1e12"]
    done = penstock("trace", "train", *numbers, "--sequence", "32", "--data", "2", "-o", "step.goal")
    assert done.returncode == 0, done.stderr
    assert "group data" in done.stderr
    more = ["--prompt", "32", "--tokens", "2", "--memory-bandwidth", "1e12", "--tensor", "2", "-o", "job.bin"]
    done = penstock("trace", "infer", *numbers, *more)
    assert done.returncode == 0, done.stderr
    done = penstock("trace", "check", "step.goal", "job.bin")
    assert "2 read, 0 rejected" in done.stdout
    done = penstock("trace", "train", *numbers, "--sequence", "32", "--zero", "7", "-o", "bad.goal")
    assert done.returncode == 2
    assert "zero is 7; expected 0 to 3" in done.stderr
