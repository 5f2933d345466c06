"""Readers of traces and workloads: real files, rules of the formats, hostile files, and what is refused."""

from __future__ import annotations

import gzip
import json
import struct
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import Command, json_of
from penstock import _core
from penstock.errors import InputError
from penstock.programs import formats
from penstock.programs.reading import Found, Options
from penstock.result import Result
from program_clock import Clock

DATA = Path(__file__).parent / "traces"


def read(*names: str, **options: object) -> Found:
    files = [(name, (DATA / name).read_bytes()) for name in names]
    return formats.read(files, Options(**options))  # type: ignore[arg-type]


def of_text(text: str | bytes, name: str = "file", **options: object) -> Found:
    data = text.encode() if isinstance(text, str) else text
    return formats.read([(name, data)], Options(**options))  # type: ignore[arg-type]


def program(found: Found) -> _core.Program:
    """The program, of which everything runs."""
    made = found.program()
    assert made.unmatched() == []
    assert Clock(made).left == []
    return made


def sent(made: _core.Program) -> list[int]:
    return [rank[1] for rank in made.totals()]


# Protocol Buffers, written by hand: what a reader meets is not what its own encoder would write.


def varint(value: int) -> bytes:
    out = b""
    while value >= 0x80:
        out, value = out + bytes([value & 0x7F | 0x80]), value >> 7
    return out + bytes([value])


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value & (2**64 - 1))


def block(field: int, data: bytes) -> bytes:
    return varint(field << 3 | 2) + varint(len(data)) + data


def attribute(name: str, value: int | str | bool, field: int = 9) -> bytes:
    body = block(1, name.encode())
    if isinstance(value, str):
        body += block(29, value.encode())
    else:
        body += number(27 if isinstance(value, bool) else field, value)
    return block(10, body)


def node(own: int, kind: int, *parts: bytes, micros: int = 0, data: tuple[int, ...] = ()) -> bytes:
    body = (number(1, own) if own else b"") + block(2, f"n{own}".encode()) + number(3, kind) + b"".join(parts)
    body += b"".join(number(5, one) for one in data) + (number(7, micros) if micros else b"")
    return body


def trace(*nodes: bytes) -> bytes:
    return b"".join(varint(len(one)) + one for one in (block(1, b"0.0.4"), *nodes))


COMP, SEND, RECV, COLL = 4, 5, 6, 7


def chakra(*ranks: bytes, **options: object) -> Found:
    files = [(f"t.{rank}.et", data) for rank, data in enumerate(ranks)]
    return formats.read(files, Options(**options))  # type: ignore[arg-type]


def test_the_official_chakra_trace_runs_to_its_end() -> None:
    found = read("feeder_tests_trace.tar.gz")
    made = program(found)
    assert made.operations == 3_664
    assert found.contents[1] == "181,878 dependencies in force"
    assert "5 COMM_COLL all-reduce, 2 COMM_COLL broadcast, 14 COMM_COLL without size" in found.contents[0]
    assert any(line.startswith("14 collectives without comm_size") for line in found.repairs)
    copies = program(read("feeder_tests_trace.tar.gz", ranks=4))
    assert copies.ranks == 4
    assert {rank[0] for rank in copies.totals()} == {6 * 5 + 2, 6 * 5}
    direct = program(read("feeder_tests_trace.tar.gz", ranks=4, algorithm="direct"))
    assert sum(sent(direct)) == sum(sent(copies))


def test_control_dependencies_of_the_official_trace_are_repaired_and_cyclic() -> None:
    with pytest.raises(InputError, match="2,283 of 3,664 nodes can never run") as caught:
        read("feeder_tests_trace.tar.gz", ctrl_deps=True)
    assert "the smallest wait: " in str(caught.value)
    nodes = [node(1, COMP, number(4, 1), number(4, 9), number(4, 9)), node(2, COMP, number(4, 1))]
    found = chakra(trace(*nodes), ctrl_deps=True)
    assert found.repairs[0].startswith("1 control dependencies of nodes on themselves: dropped")
    assert found.repairs[1].startswith("2 control dependencies on nodes that are not in the file: dropped")
    assert program(found).dependencies == 1
    assert program(chakra(trace(*nodes))).dependencies == 0


def test_collectives_of_astra_move_the_bytes_of_the_algebra() -> None:
    mib = 1 << 20
    reduced = read(*(f"all_reduce.4npus.{rank}.et" for rank in range(4)))
    assert sent(program(reduced)) == [2 * 3 * mib // 4] * 4
    # comm_size of an all-gather is the part of one rank.
    gathered = read(*(f"all_gather.4npus.{rank}.et" for rank in range(4)))
    assert sent(program(gathered)) == [3 * mib] * 4
    swapped = read(*(f"all_reduce.4npus.{rank}.et" for rank in (2, 0, 3, 1)))
    assert sent(program(swapped)) == sent(program(reduced))
    with pytest.raises(InputError, match=r"3 traces, and none of rank 1; expected ranks 0 to 2"):
        read(*(f"all_reduce.4npus.{rank}.et" for rank in (0, 2, 3)))


def test_every_integer_type_of_an_attribute_is_accepted() -> None:
    for field, value in ((7, 64), (9, 64), (11, 64), (13, 64), (15, 128), (17, 128)):
        size = attribute("comm_size", value, field)
        one = trace(node(0, SEND, size, attribute("comm_dst", 1, 7), attribute("comm_tag", 3, 7)))
        two = trace(node(0, RECV, size, attribute("comm_src", 0, 7), attribute("comm_tag", 3, 7)))
        assert sent(program(chakra(one, two))) == [64, 0], field
    for form, field, wire in (("<Q", 21, 1), ("<I", 19, 5)):
        size = block(10, block(1, b"comm_size") + varint(field << 3 | wire) + struct.pack(form, 64))
        one = trace(node(0, SEND, size, attribute("comm_dst", 1)))
        two = trace(node(0, RECV, size, attribute("comm_src", 0)))
        assert sent(program(chakra(one, two))) == [64, 0]


def test_members_of_a_group_match_by_order_of_issue() -> None:
    groups = '["[{\\"pg_name\\": \\"7\\", \\"ranks\\": [2, 0]}]"]'
    metadata = node(100, 1, block(8, block(1, groups.encode())))

    def coll(own: int, size: int, *data: int) -> bytes:
        parts = (attribute("comm_type", 0), attribute("comm_size", size), attribute("pg_name", "7"))
        return node(own, COLL, *parts, data=data)

    own = trace(metadata, coll(1, 800), coll(2, 400, 1))
    other = trace(metadata, coll(50, 800), coll(40, 400, 50))  # issued in this order by its dependency
    made = program(chakra(own, trace(), other))
    assert sent(made) == [1_200, 0, 1_200]
    wrong = trace(metadata, coll(50, 800), coll(40, 400))
    with pytest.raises(
        InputError, match=r"rank 2 node 40 is all-reduce of 400 B, and rank 0 node 1 is all-reduce of 800"
    ):
        chakra(own, trace(), wrong).program()
    with pytest.raises(InputError, match="rank 0 has 2 collectives and rank 2 has 1; expected equal numbers"):
        chakra(own, trace(), trace(metadata, coll(1, 800))).program()
    with pytest.raises(InputError, match=r"process group 7 has ranks 2, 0; .*--ranks 3"):
        chakra(own).program()


def test_groups_of_a_file_of_astra(penstock: Command, tmp_path: Path) -> None:
    parts = (attribute("comm_type", 0), attribute("comm_size", 800), attribute("pg_name", "1"))
    one = trace(node(1, COLL, *parts))
    for rank in range(4):
        (tmp_path / f"t.{rank}.et").write_bytes(one if rank in (1, 3) else trace())
    names = [f"t.{rank}.et" for rank in range(4)]
    (tmp_path / "groups.json").write_text('{"0": [0, 2], "1": [1, 3]}', "utf-8")
    (row,) = json_of(penstock("trace", "check", "--json", *names, "--groups", "groups.json"))["files"]
    assert row["program"]["bytes"] == 1_600
    assert row["repairs"] == []
    (row,) = json_of(penstock("trace", "check", "--json", *names))["files"]
    assert "rank 1 has 1 collectives and rank 0 has 0" in row["no_program"]
    (tmp_path / "groups.json").write_text('{"0": [0, -2]}', "utf-8")
    done = penstock("trace", "check", *names, "--groups", "groups.json")
    assert "groups.json: group 0 is not a list of ranks" in done.stdout


def test_bad_traces_are_refused_with_a_place() -> None:
    good = trace(node(1, COMP, micros=5), node(2, COMP, data=(1,)))
    assert program(chakra(good)).totals()[0][5] == 5_000_000 + 1_000
    for cut in range(1, len(good)):
        with pytest.raises(InputError, match=r"t\.0\.et"):
            chakra(good[:cut] + b"\xff")
    for data, message in (
        (trace(node(1, COMP), node(1, COMP)), "two nodes have id 1"),
        (trace(node(1, 9)), "node type 9; expected 0 to 7"),
        (
            trace(node(1, COMP, data=(2,)), node(2, COMP, data=(1,))),
            "2 of 2 nodes can never run.*1 for 2; 2 for 1",
        ),
    ):
        with pytest.raises(InputError, match=message):
            chakra(data)
    with pytest.raises(InputError, match=r"node 1: comm_dst is 5; expected a whole number from 0 to 0"):
        chakra(trace(node(1, SEND, attribute("comm_dst", 5), attribute("comm_size", 1)))).program()
    with pytest.raises(InputError, match="comm_type is missing; expected 0 to 9"):
        chakra(*[trace(node(1, COLL, attribute("comm_size", 1)))] * 2).program()


def test_dimensions_of_a_logical_topology_have_to_be_all() -> None:
    def of_dimensions(*flags: int) -> Found:
        listed = block(28, b"".join(number(1, flag) for flag in flags))
        dimensions = block(10, block(1, b"involved_dim") + listed)
        one = node(1, COLL, attribute("comm_type", 0), attribute("comm_size", 8), dimensions)
        return chakra(trace(one), trace(one))

    assert sent(program(of_dimensions(1, 1))) == [8, 8]
    with pytest.raises(InputError, match=r"t\.0\.et, node 1: involved_dim leaves out dimensions"):
        of_dimensions(1, 0).program()


def test_traces_may_be_compressed_but_not_endless() -> None:
    good = trace(node(1, COMP, micros=5))
    assert program(of_text(gzip.compress(good))).operations == 1
    with pytest.raises(InputError, match="the compressed data ends too early"):
        of_text(gzip.compress(good)[:-9])
    with pytest.raises(InputError, match="is damaged"):
        of_text(b"\x1f\x8b\x08\x00" + b"\xff" * 40)


def test_streams_are_chained_by_choice() -> None:
    kernels = [
        node(own, COMP, attribute("is_cpu_op", False), attribute("tid", tid), micros=10)
        for own, tid in ((1, 7), (2, 8), (3, 7))
    ]
    assert program(chakra(trace(*kernels))).dependencies == 0
    chained = program(chakra(trace(*kernels), chain_streams=True))
    assert chained.rank(0)[1] == [(2, 0, False)]


# MSCCL


def test_a_real_msccl_algorithm_is_a_ring() -> None:
    found = read("custom_allreduce.msccl.xml")
    made = program(found)
    assert sent(made) == [2 * 7 * (1 << 20) // 8] * 8
    clock = Clock(made, 700.0, 50.0)
    assert clock.total_ns == pytest.approx(2 * 7 * (700 + (1 << 20) / 8 / 50))
    with pytest.raises(InputError, match=r"1,000 B are no multiple of 8 chunks|expected --bytes 1008"):
        read("custom_allreduce.msccl.xml", bytes=1_001).program()


MSCCL = """<algo name="x" nchunksperloop="2" ngpus="2" coll="allgather">
<gpu id="0" i_chunks="2" o_chunks="0" s_chunks="0"><tb id="0" send="1" recv="-1" chan="0">
<step s="0" type="s" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="1" depid="1" deps="0"/></tb>
<tb id="1" send="-1" recv="1" chan="0">
<step s="0" type="r" cnt="1" depid="-1" deps="-1" hasdep="1"/></tb></gpu>
<gpu id="1"><tb id="0" send="0" recv="0" chan="0">
<step s="0" type="s" cnt="1" depid="-1"/><step s="1" type="rrc" cnt="1"/></tb>
</gpu></algo>"""


def test_bad_msccl_algorithms_are_refused_with_a_line() -> None:
    assert sent(program(of_text(MSCCL))) == [1 << 19, 1 << 19]
    for before, after, message in (
        ('type="rrc"', 'type="rcr"', r"file:7: type is rcr; did you mean"),
        (
            'send="1" recv="-1"',
            'send="2" recv="-1"',
            "file:2: send is 2; expected a whole number from -1 to 1",
        ),
        ('send="1" recv="-1"', 'send="-1" recv="-1"', "file:3: type s in thread block 0, which has send -1"),
        ('srcoff="0"', 'srcoff="2"', "file:3: chunks 2 to 2 of buffer i, which has 2"),
        (
            'depid="1" deps="0"',
            'depid="1" deps="1"',
            "file:3: waits for step 1 of thread block 1; gpu 0 has no such",
        ),
        ('s="1" type="rrc"', 's="2" type="rrc"', "file:7: step 2 of thread block 0; expected step 1"),
        ('<step s="0" type="r" cnt="1"', '<step s="0" type="r" cnt="2"', "1 chunks are sent and 2 received"),
        ('<step s="1" type="rrc" cnt="1"/>', "", "1 sends and 0 receives; expected as many"),
        (
            'ngpus="2"',
            'ngpus="4000000000"',
            "file:1: ngpus is 4000000000; expected a whole number from 1 to 16384",
        ),
        ("</algo>", "", "this is no XML"),
        ("<algo name", '<!DOCTYPE algo [<!ENTITY a "b">]><algo name', "declares the entity a"),
        ('<gpu id="1">', '<gpu id="0">', "gpu 0 is there twice"),
    ):
        assert before in MSCCL
        with pytest.raises(InputError, match=message):
            formats.FORMATS[1].reads([("file", MSCCL.replace(before, after).encode())], Options()).program()
    older = MSCCL.replace(' ngpus="2"', "").replace(' cnt="1"', "")
    assert sent(program(of_text(older))) == sent(program(of_text(MSCCL)))
    with pytest.raises(InputError, match="file:6: send 7 and recv 0; the file has gpu 0 to 1"):
        of_text(older.replace('send="0" recv="0"', 'send="7" recv="0"'))
    # The buffer of a receive that is not its own is that of the sender.
    remote = MSCCL.replace('type="r" cnt="1"', 'type="r" srcbuf="i" srcoff="9" dstbuf="i" dstoff="1" cnt="1"')
    assert sent(program(of_text(remote))) == sent(program(of_text(MSCCL)))
    circular = MSCCL.replace('type="r" cnt="1" depid="-1" deps="-1"', 'type="r" cnt="1" depid="0" deps="0"')
    with pytest.raises(InputError, match="rank 0: operations wait for each other in a cycle"):
        of_text(circular).program()


# SimAI


def test_real_simai_workloads() -> None:
    made = program(read("microAllReduce.txt"))
    assert sent(made) == [2 * 7 * (16777216 + 67108864) // 8] * 8
    assert {rank[5] for rank in made.totals()} == {2 * (556_000 + 1 + 1 + 1) * 1_000}
    found = read("L7B-M1-C04_Llama7B_megatron_tp2_pp1_mbs1_A100.txt", ranks=8)
    assert program(found).ranks == 8
    assert found.notes == ["groups: tensor 2, data 4, pipeline 1, expert 1"]
    with pytest.raises(InputError, match=r"A100\.txt:2: says 839 layers; the file has 33"):
        read("L65B-M1-C05_Llama65B_megatron_tp8_pp1_mbs1_A100.txt")
    with pytest.raises(InputError, match="has no all_gpus; give the number of GPUs with --ranks"):
        read("all_reduce.txt").program()
    twice = program(read("microAllReduce.txt", iterations=2))
    assert sent(twice) == [2 * one for one in sent(made)]


SIMAI = (
    "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 2 pp: 2 vpp: 1 ga: 3 all_gpus: 16 "
    """checkpoints: 1 0 checkpoint_initiates: 0 pp_comm 1000
2
dense -1 10 ALLGATHER 800 20 REDUCESCATTER 800 30 ALLREDUCE 400 5
moe -1 10
 ALLTOALL_EP 600 20 NONE 7 30 REDUCESCATTER_DP_EP 400 5
"""
)


def test_groups_of_simai_are_by_column_and_suffix() -> None:
    found = of_text(SIMAI)
    made = program(found)
    assert found.repairs == ["1 sizes beside collective NONE: no transfer; the first: file:5"]
    # Forward twice (checkpoint) for the first layer, tensor 2: 400 B each; input gradient 400 B; all-reduce
    # over data 4: 600 B; all-to-all over expert 2: 300 B; reduce-scatter over the 2 ranks of the same
    # experts: 200 B; 3 messages of 1,000 B to the next stage, and 3 back.
    assert sent(made) == [400 + 400 + 400 + 600 + 300 + 200 + 3_000] * 16
    compute = 10 + 20 + 30 + 5 + 10 + 20 + 30 + 5 + 10
    assert {rank[5] for rank in made.totals()} == {compute * 1_000}


def test_whole_numbers_of_simai_may_have_a_point() -> None:
    written = of_text(
        SIMAI.replace("pp_comm 1000", "pp_comm: 1000.0").replace("ALLREDUCE 400", "ALLREDUCE 400.00")
    )
    assert sent(program(written)) == sent(program(of_text(SIMAI)))
    with pytest.raises(InputError, match=r"pp_comm is 1000\.5; expected a whole number"):
        of_text(SIMAI.replace("pp_comm 1000", "pp_comm: 1000.5"))


def test_bad_simai_workloads_are_refused_with_a_line() -> None:
    for before, after, message in (
        (
            "HYBRID_TRANSFORMER_FWD_IN_BCKWD",
            "HYBRID_TRANSFORMER_FWD",
            "file:1: policy HYBRID_TRANSFORMER_FWD; did you mean",
        ),
        (
            "all_gpus: 16",
            "all_gpus: 18",
            "18 ranks are no multiple of tensor 2 times pipeline 2; expected 20",
        ),
        ("ep: 2", "ep: 3", "expert groups of 3 do not divide data groups of 4 ranks"),
        ("ga: 3", "ga: 1000000000000000", "16 ranks with 2 layers needs about"),
        ("ep: 2", "epp: 2", "file:1: epp: is not a key of a header; did you mean"),
        ("ALLTOALL_EP", "ALLTOAL_EP", r"file:5: collective ALLTOAL_EP; did you mean ALLTOALL"),
        ("\n2\n", "\n3\n", "file:2: says 3 layers; the file has 2"),
        (
            "\n2\n",
            "\n1000001\n",
            "file:2: the number of layers is 1000001; expected a whole number from 0 to 1000000",
        ),
        (" 400 5\n", " 400 -5\n", "file:3: the update time in ns is -5; expected a whole number"),
        ("checkpoints: 1 0", "checkpoints: 9 0", "file:1: a layer of checkpoints is checkpoint_initiates:"),
        (
            "REDUCESCATTER_DP_EP 400 5",
            "REDUCESCATTER_DP_EP",
            r"file:5: the file ends; expected the weight gradient bytes",
        ),
    ):
        assert before in SIMAI
        with pytest.raises(InputError, match=message):
            formats.FORMATS[4].reads(
                [("file", SIMAI.replace(before, after, 1).encode())], Options()
            ).program()


# AICB


def test_a_real_aicb_table() -> None:
    name = "L7B-M1-C04_Llama7B_megatron_tp2_pp1_mbs1.csv"
    found = read(name)
    assert "128 ranks; 149 lines" in found.contents[0]
    made = found.program()
    assert made.ranks == 128
    assert made.unmatched() == []
    with pytest.raises(
        InputError, match=r"data groups have 64 ranks; 64 ranks .* make 32\. Expected --ranks 128"
    ):
        read(name, ranks=64).program()


AICB = """comm_type,comm_group,comm_group_size,msg_size,stage,dst,src,additional,_elapsed_time,a,b,count
CommType.all_reduce,CommGroup.tp_group,2,1000,a,None,None,,None,None,None,3
CommType.computation,None,None,None,a,None,None,,12.5,None,None,1
CommType.barrier,CommGroup.dp_group,2,None,a,None,None,,None,None,None,1
"""


def test_rows_of_aicb() -> None:
    made = program(of_text(AICB, ranks=4))
    assert sent(made) == [3_000] * 4
    assert {rank[5] for rank in made.totals()} == {12_500_000}
    for before, after, message in (
        ("all_reduce", "all_reduced", "file:2: comm_type is CommType.all_reduced; did you mean all-reduce"),
        ("tp_group", "tq_group", "file:2: comm_group is tq_group; did you mean"),
        (",1000,", ",-1,", "file:2: msg_size is -1; expected a whole number"),
        (",None,1\n", ",None\n", "file:3: 11 cells; the header has 12"),
        ("12.5", "soon", "file:3: _elapsed_time is soon; expected microseconds"),
        (
            "CommType.barrier,CommGroup.dp_group,2",
            "CommType.isend,CommGroup.pp_group,1",
            "file:4: isend of one rank",
        ),
        (
            "CommType.barrier,CommGroup.dp_group,2",
            "CommType.barrier,CommGroup.tp_group,4",
            "file:4: a tensor group of 4",
        ),
    ):
        assert before in AICB
        with pytest.raises(InputError, match=message):
            of_text(AICB.replace(before, after, 1), ranks=4).program()


# htsim


def test_triggers_of_htsim_are_dependencies() -> None:
    made = program(read("uet_foo2.cm"))
    assert sum(rank[0] for rank in made.totals()) == 12
    assert made.dependencies > 0
    matrix = (
        "Nodes 4\nConnections 3\nTriggers 1\n0->1 id 1 start 2.5 size 100 recv_done_trigger 1\n"
        "2->1 id 2 start 0 size 100 send_done_trigger 1\n3->0 id 3 trigger 1 size 50\ntrigger id 1 "
        "barrier count 2\n"
    )
    found = of_text(matrix)
    made = program(found)
    assert found.repairs == ["2 triggers of another host: messages of 0 bytes; the first: line 6"]
    clock = Clock(made, 10.0, 1.0)
    # 2.5 us, 100 ns to send, 10 ns to arrive, 10 ns for the notice, 50 ns to send, 10 ns to arrive.
    assert clock.total_ns == 2_500 + 100 + 10 + 10 + 50 + 10
    local = matrix.replace("3->0 id 3", "1->0 id 3").replace("2->1 id 2", "1->2 id 2")
    found = of_text(local)
    assert program(found).operations == 7
    assert found.repairs == []
    with pytest.raises(
        InputError, match=r"file:6: begins when trigger 1 \(line 7\) fires, after 1 of 2 connections"
    ):
        of_text(matrix.replace("barrier count 2", "oneshot")).program()
    with pytest.raises(InputError, match=r"incast\.cm:\d+: the connection has no end \(size 0\)"):
        read("csg_example_incast.cm").program()


def test_starts_of_one_host_do_not_delay_each_other() -> None:
    matrix = "Nodes 2\nConnections 3\n0->1 start 30 size 1\n0->1 start 10 size 1\n0->1 start 30 size 1\n"
    clock = Clock(program(of_text(matrix)), 0.0, 1e9)
    assert sorted(round(clock.ends[0, number]) for number in range(3)) == [10_000, 30_000, 30_000]
    assert Clock(program(of_text(matrix, time_unit="ps")), 0.0, 1e9).total_ns == pytest.approx(0, abs=1)


# The command


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("custom_allreduce.msccl.xml", "MSCCL algorithm"),
        ("chained_1.goal", "repaired: 32 sends of 0 bytes to a rank that does not exist"),
        ("perm64.bin", "program: 64 ranks, 128 operations, 64 messages of 32,000,000 B"),
        ("all_reduce.txt", "no program: has no all_gpus; give the number of GPUs with --ranks"),
        ("L65B-M1-C05_Llama65B_megatron_tp8_pp1_mbs1_A100.txt", "line 2: says 839 layers; the file has 33"),
        (
            "uet_test.topo",
            "holds no program but a fabric of htsim; penstock import --format htsim-topology reads it",
        ),
        ("azure_ncv4-graph.xml", "is a graph of NCCL (NCCL_GRAPH_FILE)"),
        ("tests_aws_0_0.txt", "penstock calibrate reads"),
        ("HGX-H100-validated.json", "is a system of ASTRA-sim, which is not imported"),
    ],
)
def test_check_says_what_a_file_is(penstock: Command, name: str, expected: str) -> None:
    done = penstock("trace", "check", DATA / name)
    assert done.returncode in (0, 2), done.stderr
    assert expected in " ".join(done.stdout.split()), done.stdout


def test_every_file_is_read_or_refused_with_a_reason(penstock: Command) -> None:
    files = sorted(one for one in DATA.iterdir() if one.name != "README.md")
    done = penstock("trace", "check", "--json", *files)
    rows = json.loads(done.stdout)["files"]
    assert sorted(name for row in rows for name in row["files"]) == sorted(map(str, files))
    for row in rows:
        reasons = {"program", "no_program", "refused"} & set(row)
        assert len(reasons) == 1, row
        assert all(len(row[one]) > 10 for one in reasons if one != "program")


def test_the_page_lists_what_becomes_of_each_file(penstock: Command) -> None:
    page = (DATA.parents[1] / "docs" / "traces.md").read_text("utf-8")
    files = sorted(one for one in DATA.iterdir() if one.name != "README.md")
    for row in json.loads(penstock("trace", "check", "--json", *files).stdout)["files"]:
        name = Path(row["files"][0]).name
        (line,) = [line for line in page.splitlines() if line.startswith(f"| `{name}`")]
        reason = row.get("refused") or row.get("no_program")
        if row.get("refused") is None:
            assert row["format"] in line, line
        assert reason is None or reason.replace("|", "/") in line, line


def test_convert_writes_what_check_reads(penstock: Command, tmp_path: Path) -> None:
    traces = [DATA / f"all_reduce.4npus.{rank}.et" for rank in range(4)]
    for name in ("out.goal", "out.bin"):
        done = penstock("trace", "convert", *traces, "-o", name)
        assert done.returncode == 0, done.stderr
        assert "4 ranks, 52 operations" in done.stdout
    rows = json_of(penstock("trace", "check", "--json", "out.goal", "out.bin"))["files"]
    assert rows[0]["program"] == rows[1]["program"]
    assert rows[0]["program"]["bytes"] == 6 << 20
    again = penstock("trace", "convert", *traces, "-o", "out.bin")
    assert again.returncode == 2
    assert "exists; choose another name" in again.stderr
    assert penstock("trace", "convert", *traces, "-o", "out.txt").returncode == 2
    assert "--ranks is 0; expected at least 1" in penstock("trace", "check", traces[0], "--ranks", "0").stdout


SEEDS = [
    ("goal", (DATA / "perm64.bin").read_bytes()[:2_000]),
    ("msccl", MSCCL.encode()),
    ("simai", SIMAI.encode()),
    ("aicb", AICB.encode()),
    ("htsim", (DATA / "uet_foo2.cm").read_bytes()),
    (
        "chakra",
        trace(node(1, COMP, micros=5), node(2, COLL, attribute("comm_type", 0), attribute("comm_size", 9))),
    ),
    ("chakra", (DATA / "small_chakra.0.json").read_bytes()),
]


@settings(max_examples=150)
@given(
    st.sampled_from(SEEDS),
    st.lists(
        st.tuples(
            st.integers(0, 3_000), st.sampled_from([b"", b"0", b"9", b"-", b"\xff", b"\n", b"<", b"{"])
        ),
        min_size=1,
        max_size=4,
    ),
)
def test_changed_files_are_refused_or_read(seed: tuple[str, bytes], edits: list[tuple[int, bytes]]) -> None:
    name, data = seed
    for at, piece in edits:
        place = at % (len(data) + 1)
        data = data[:place] + piece + data[place + 1 :]
    try:
        made = formats.read([("file.0.et", data)], Options(ranks=4), name).program()
    except InputError as error:
        assert str(error).startswith("file.0.et")
    else:
        assert _core.Program.read_goal(made.goal_binary()).operations == made.operations


STAR = """
[simulation]
duration = "1 s"
[topology.star]
hosts = 8
rate = "400 Gb/s"
phy = "none"
[flow_control.pfc]
[[jobs]]
name = "job"
ranks = "all"
workload = { goal = "program.bin" }
over = { rdma = { control = "none" } }
frame = "4200 B"
priority = 3
"""


@pytest.mark.parametrize(
    ("name", "options", "least_ns"),
    [
        # A ring of 2 (n - 1) steps of S / n.
        ("custom_allreduce.msccl.xml", ("--bytes", "16777216"), 14 * (1 << 21) * 8 / 400),
        # The longest chain of computations, and 6 all-reduces and 2 broadcasts in it or beside it.
        ("feeder_tests_trace.tar.gz", ("--ranks", "8"), 290e6),
    ],
)
def test_a_converted_trace_runs_over_packets(
    name: str, options: tuple[str, ...], least_ns: float, penstock: Command, tmp_path: Path
) -> None:
    assert penstock("trace", "convert", DATA / name, *options, "-o", "program.bin").returncode == 0
    (tmp_path / "star.toml").write_text(STAR, "utf-8")
    done = penstock("run", "star.toml", "--no-report", "--out", "result")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "verdict  complete" in done.stdout
    (step,) = Result.load(tmp_path / "result").table("jobs")["step_ns"].to_pylist()
    # Headers take 2.5 % of the wire; the rest is latency.
    assert least_ns < step < 1.05 * least_ns
